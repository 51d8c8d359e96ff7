//! The results of functions in the order of their calls, in which models read them.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::message::{ChatMessage, Role};

/// The messages, with the results behind a message's calls in the order of these, where each carries the id of one of them.
/// Apps that run functions side by side add results as they come.
pub(super) fn in_order(messages: &[ChatMessage]) -> Cow<'_, [ChatMessage]> {
    let mut ordered = Cow::Borrowed(messages);
    for at in 0..messages.len() {
        let Some(calls) = &messages[at].function_calls else { continue };
        let n_results = messages[at + 1..].iter().take_while(|message| message.role == Role::Tool).count();
        let results = at + 1..at + 1 + n_results;
        // Of two calls with one id the first counts.
        let places = calls.iter().enumerate().rev().map(|(place, call)| (call.call_id.as_str(), place));
        let places: HashMap<&str, usize> = places.collect();
        let place = |result: &ChatMessage| places.get(result.tool_call_id.as_deref()?).copied();
        let all_have_one = messages[results.clone()].iter().all(|result| place(result).is_some());
        if all_have_one && !messages[results.clone()].is_sorted_by_key(place) {
            ordered.to_mut()[results].sort_by_key(place);
        }
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::messages_from_json;

    #[track_caller]
    fn check(ids: [&str; 3], expect: [&str; 3]) {
        let calls = r#"{"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f"}},
            {"id": "b", "function": {"name": "g"}}]}"#;
        let result = |id| format!(r#"{{"role": "tool", "tool_call_id": "{id}", "content": "{id}"}}"#);
        let json = format!(
            r#"[{calls}, {}, {}, {{"role": "user", "content": "And?"}}, {}]"#,
            result(ids[0]),
            result(ids[1]),
            result(ids[2])
        );
        let history = messages_from_json(&json).unwrap();
        let ordered = in_order(&history);
        let found: Vec<_> =
            ordered.iter().filter(|message| message.role == Role::Tool).map(ChatMessage::text).collect();
        assert_eq!(found, expect);
        assert_eq!(matches!(ordered, Cow::Borrowed(_)), ids == expect, "what is in order is not copied");
    }

    #[test]
    fn results_follow_the_order_of_their_calls() {
        check(["a", "b", "z"], ["a", "b", "z"]);
        check(["b", "a", "z"], ["a", "b", "z"]);
    }

    #[test]
    fn where_one_has_no_call_all_stay() {
        check(["b", "c", "a"], ["b", "c", "a"]);
    }
}
