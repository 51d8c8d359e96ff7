//! Call ids that are unique within a message.

use std::collections::HashSet;

use crate::function::SdkFunctionCall;

/// Gives every call of a message its own id.
#[derive(Debug, Default)]
pub(super) struct CallIds {
    given: HashSet<String>,
    n_calls: usize,
}

impl CallIds {
    pub(super) fn give(&mut self, call: &mut SdkFunctionCall) {
        let mut id = std::mem::take(&mut call.call_id);
        while id.is_empty() || self.given.contains(&id) {
            id = format!("call_{}", self.n_calls);
            self.n_calls += 1;
        }
        self.given.insert(id.clone());
        call.call_id = id;
    }
}
