//! Sorts the results of functions in the order of their calls, which models expect.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::message::{ChatMessage, Role};

/// The messages, with the results after a message's calls in the order of the calls, if each result has the id of one of
/// the calls. Apps that run functions in parallel add results in the order in which they finish.
pub(super) fn in_order(messages: &[ChatMessage]) -> Cow<'_, [ChatMessage]> {
    let mut ordered = Cow::Borrowed(messages);
    for at in 0..messages.len() {
        let Some(calls) = &messages[at].function_calls else { continue };
        let n_results = messages[at + 1..].iter().take_while(|message| message.role == Role::Tool).count();
        let results = at + 1..at + 1 + n_results;
        // The first of two calls with the same id counts.
        let indices = calls.iter().enumerate().rev().map(|(i, call)| (call.call_id.as_str(), i));
        let indices: HashMap<&str, usize> = indices.collect();
        let index = |result: &ChatMessage| indices.get(result.tool_call_id.as_deref()?).copied();
        let all_name_a_call = messages[results.clone()].iter().all(|result| index(result).is_some());
        if all_name_a_call && !messages[results.clone()].is_sorted_by_key(index) {
            ordered.to_mut()[results].sort_by_key(index);
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
        assert_eq!(matches!(ordered, Cow::Borrowed(_)), ids == expect, "messages in order are not copied");
    }

    #[test]
    fn results_follow_the_order_of_their_calls() {
        check(["a", "b", "z"], ["a", "b", "z"]);
        check(["b", "a", "z"], ["a", "b", "z"]);
    }

    #[test]
    fn the_order_is_kept_if_one_result_names_no_call() {
        check(["b", "c", "a"], ["b", "c", "a"]);
    }
}
