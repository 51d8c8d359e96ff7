//! Which call a result in a prompt answers.

use std::collections::VecDeque;

use crate::function::SdkFunctionCall;

/// The latest calls without a result. Results name their call, or follow in the order of the calls.
#[derive(Default)]
pub(super) struct UnansweredCalls {
    n_created: usize,
    calls: VecDeque<UnansweredCall>,
}

pub(super) struct UnansweredCall {
    call_id: String,
    /// The id in the template's input.
    pub(super) id: String,
    pub(super) name: String,
}

impl UnansweredCalls {
    /// Replaces the calls, and returns their ids for the template: their own, or with `creates_ids` ids of nine
    /// letters and digits. A call without an id gets such an id as well.
    pub(super) fn replace(&mut self, calls: &[SdkFunctionCall], creates_ids: bool) -> Vec<String> {
        let id = |(n, call): (usize, &SdkFunctionCall)| match call.call_id.as_str() {
            id if creates_ids || id.is_empty() => format!("call{n:05}"),
            id => id.to_owned(),
        };
        let ids: Vec<String> = (self.n_created..).zip(calls).map(id).collect();
        self.n_created += calls.len();
        let entries = calls.iter().zip(&ids).map(|(call, id)| UnansweredCall {
            call_id: call.call_id.clone(),
            id: id.clone(),
            name: call.name.clone(),
        });
        self.calls = entries.collect();
        ids
    }

    /// The call that the next result answers, with placeholders if there is none.
    pub(super) fn take_answered(&mut self, call_id: Option<&str>) -> UnansweredCall {
        let named = self.calls.iter().position(|call| Some(call.call_id.as_str()) == call_id);
        let unknown =
            || UnansweredCall { call_id: String::new(), id: "call00000".to_owned(), name: "unknown".to_owned() };
        self.calls.remove(named.unwrap_or(0)).unwrap_or_else(unknown)
    }
}
