//! Recent responses, so that a request can continue from one and its client need not keep the conversation. They are in
//! memory only, within limits; the oldest is dropped first.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::StatusCode;
use serde_json::Value as Json;

use crate::serve::error::HttpError;

const MAX_RESPONSES: usize = 1000;
const MAX_BYTES: usize = 64 << 20;
/// Limit on one response and its conversation, in bytes of JSON: more than a model reads. Parsed, they may take a hundred
/// times the memory.
pub(super) const LONGEST_RESPONSE: usize = 1 << 20;
/// Limit on the bytes of responses that one request may search for items, as it may name one item many times.
const MAX_SEARCHED: usize = 16 << 20;

/// Responses, the oldest first.
#[derive(Default)]
pub(super) struct StoredResponses {
    responses: VecDeque<Arc<StoredResponse>>,
    n_bytes: usize,
}

/// The items of a conversation as JSON text, which takes much less memory than parsed values.
struct StoredResponse {
    id: String,
    caller: Option<String>,
    input: String,
    output: String,
}

impl StoredResponse {
    fn n_bytes(&self) -> usize {
        self.id.len() + self.input.len() + self.output.len()
    }
}

impl StoredResponses {
    fn add(&mut self, response: StoredResponse) {
        if LONGEST_RESPONSE < response.n_bytes() {
            return;
        }
        self.n_bytes += response.n_bytes();
        self.responses.push_back(Arc::new(response));
        while MAX_RESPONSES < self.responses.len() || MAX_BYTES < self.n_bytes {
            self.n_bytes -= self.responses.pop_front().map_or(0, |oldest| oldest.n_bytes());
        }
    }
}

/// The responses of one caller. Responses that were made with another key are not found.
#[derive(Clone)]
pub(super) struct ResponseStore {
    responses: Arc<Mutex<StoredResponses>>,
    caller: Option<String>,
}

impl ResponseStore {
    /// `caller` is the id of the request's key, where keys are asked for.
    pub(super) fn new(responses: &Arc<Mutex<StoredResponses>>, caller: Option<String>) -> Self {
        Self { responses: Arc::clone(responses), caller }
    }

    /// Stores a response. `input` are the items of the conversation before it, `output` are its own.
    pub(super) fn add(&self, id: String, input: String, output: &[Json]) {
        let output = Json::from(output).to_string();
        let response = StoredResponse { id, caller: self.caller.clone(), input, output };
        self.responses.lock().unwrap_or_else(PoisonError::into_inner).add(response);
    }

    /// The items up to the end of a response.
    pub(super) fn conversation(&self, id: &str) -> Result<Vec<Json>, HttpError> {
        let Some(response) = self.find(id) else {
            let message =
                "previous_response_id must be that of a recent response that was not requested with store false";
            let error = HttpError::new(StatusCode::BAD_REQUEST, "previous_response_not_found", message);
            return Err(error.at("previous_response_id"));
        };
        Ok([&response.input, &response.output].into_iter().flat_map(|text| items(text)).collect())
    }

    /// An item of a response; its id contains that of the response. `n_searched` counts the bytes that the request has
    /// searched; beyond the limit nothing is found.
    pub(super) fn item(&self, id: &str, n_searched: &mut usize) -> Option<Json> {
        let response = self.find(&format!("resp_{}", id.split('_').nth(1)?))?;
        *n_searched += response.output.len();
        let items = if *n_searched <= MAX_SEARCHED { items(&response.output) } else { Vec::new() };
        items.into_iter().find(|item| item["id"] == id)
    }

    fn find(&self, id: &str) -> Option<Arc<StoredResponse>> {
        let stored = self.responses.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |response: &&Arc<StoredResponse>| response.id == id && response.caller == self.caller;
        stored.responses.iter().find(is_it).cloned()
    }
}

fn items(text: &str) -> Vec<Json> {
    serde_json::from_str(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_oldest_responses_are_dropped() {
        let store = ResponseStore::new(&Arc::default(), None);
        let add = |n: usize, input: String| store.add(format!("resp_{n}"), input, &[]);
        let is_stored = |n: usize| store.conversation(&format!("resp_{n}")).is_ok();
        (0..=MAX_RESPONSES).for_each(|n| add(n, "[]".to_owned()));
        assert_eq!([0, 1, MAX_RESPONSES].map(is_stored), [false, true, true]);
        let long = |length: usize| format!("[{}]", " ".repeat(length));
        (0..70).for_each(|n| add(2000 + n, long(LONGEST_RESPONSE - 100)));
        assert_eq!([MAX_RESPONSES, 2005, 2006, 2069].map(is_stored), [false, false, true, true]);
        add(3000, long(LONGEST_RESPONSE));
        assert_eq!([2006, 3000].map(is_stored), [true, false]);
    }

    #[test]
    fn responses_of_another_key_are_not_found() {
        let responses = Arc::default();
        let [ours, theirs] = ["a", "b"].map(|key| ResponseStore::new(&responses, Some(key.to_owned())));
        ours.add("resp_1".to_owned(), r#"[{"role": "user"}]"#.to_owned(), &[json!({ "id": "msg_1_0" })]);
        assert_eq!(ours.conversation("resp_1").unwrap(), [json!({ "role": "user" }), json!({ "id": "msg_1_0" })]);
        let mut n_searched = 0;
        assert_eq!(ours.item("msg_1_0", &mut n_searched), Some(json!({ "id": "msg_1_0" })));
        assert_eq!(["msg_1_1", "msg"].map(|id| ours.item(id, &mut 0)), [None, None]);
        n_searched = MAX_SEARCHED;
        assert_eq!(ours.item("msg_1_0", &mut n_searched), None, "too much was searched");
        assert_eq!(theirs.conversation("resp_1").unwrap_err().code(), "previous_response_not_found");
        assert_eq!(theirs.item("msg_1_0", &mut 0), None);
    }
}
