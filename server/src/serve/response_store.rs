//! Recent responses, so that a request can continue from one and its client need not keep the conversation. They are in
//! memory only, within limits; the oldest is dropped first.

use std::collections::VecDeque;
use std::sync::Arc;

use hyper::StatusCode;
use parking_lot::Mutex;
use serde_json::Value as Json;

use crate::serve::error::HttpError;

const MAX_RESPONSES: usize = 1000;
const MAX_BYTES: usize = 64 << 20;
/// Limit on one response and its conversation, in bytes of JSON: more than a model reads. Parsed, they may take a hundred
/// times the memory.
pub(super) const MAX_RESPONSE: usize = 1 << 20;
/// Limit on the bytes of responses that one request may search for items, as it may name one item many times.
const MAX_SEARCHED: usize = 16 << 20;

/// Responses, the oldest first.
#[derive(Default)]
pub(super) struct StoredResponses {
    responses: VecDeque<Arc<StoredResponse>>,
    n_bytes: usize,
}

/// A response and the items before it as JSON text, which takes much less memory than parsed values.
struct StoredResponse {
    id: String,
    caller: Option<String>,
    input: String,
    response: String,
}

impl StoredResponse {
    fn n_bytes(&self) -> usize {
        self.id.len() + self.input.len() + self.response.len()
    }

    fn response(&self) -> Json {
        serde_json::from_str(&self.response).unwrap_or_default()
    }

    fn input(&self) -> Vec<Json> {
        serde_json::from_str(&self.input).unwrap_or_default()
    }

    fn output(&self) -> Vec<Json> {
        match self.response()["output"].take() {
            Json::Array(items) => items,
            _ => Vec::new(),
        }
    }
}

impl StoredResponses {
    fn add(&mut self, response: StoredResponse) {
        if MAX_RESPONSE < response.n_bytes() {
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

    /// The id of the request's key, where keys are asked for.
    pub(super) fn caller(&self) -> Option<&str> {
        self.caller.as_deref()
    }

    /// Stores a response. `input` are the items of the conversation before it.
    pub(super) fn add(&self, id: String, input: String, response: &Json) {
        let response = StoredResponse { id, caller: self.caller.clone(), input, response: response.to_string() };
        self.responses.lock().add(response);
    }

    /// The items up to the end of a response.
    pub(super) fn conversation(&self, id: &str) -> Result<Vec<Json>, HttpError> {
        let Some(response) = self.find(id) else {
            let message =
                "previous_response_id must be that of a recent response that was not requested with store false";
            let error = HttpError::new(StatusCode::BAD_REQUEST, "previous_response_not_found", message);
            return Err(error.at("previous_response_id"));
        };
        Ok(response.input().into_iter().chain(response.output()).collect())
    }

    /// A response, as its request was answered.
    pub(super) fn response(&self, id: &str) -> Option<Json> {
        self.find(id).map(|response| response.response())
    }

    /// The items that a response replied to.
    pub(super) fn input(&self, id: &str) -> Option<Vec<Json>> {
        self.find(id).map(|response| response.input())
    }

    /// Forgets a response; returns whether there was one.
    pub(super) fn remove(&self, id: &str) -> bool {
        let mut stored = self.responses.lock();
        let at = stored.responses.iter().position(|response| self.owns(response, id));
        let removed = at.and_then(|at| stored.responses.remove(at));
        stored.n_bytes -= removed.as_ref().map_or(0, |response| response.n_bytes());
        removed.is_some()
    }

    /// An item of a response; its id contains that of the response. `n_searched` counts the bytes that the request has
    /// searched; beyond the limit nothing is found.
    pub(super) fn item(&self, id: &str, n_searched: &mut usize) -> Option<Json> {
        let response = self.find(&format!("resp_{}", id.split('_').nth(1)?))?;
        *n_searched += response.response.len();
        let items = if *n_searched <= MAX_SEARCHED { response.output() } else { Vec::new() };
        items.into_iter().find(|item| item["id"] == id)
    }

    fn find(&self, id: &str) -> Option<Arc<StoredResponse>> {
        let stored = self.responses.lock();
        stored.responses.iter().find(|response| self.owns(response, id)).cloned()
    }

    fn owns(&self, response: &StoredResponse, id: &str) -> bool {
        response.id == id && response.caller == self.caller
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_oldest_responses_are_dropped() {
        let store = ResponseStore::new(&Arc::default(), None);
        let add = |n: usize, input: String| store.add(format!("resp_{n}"), input, &json!({}));
        let is_stored = |n: usize| store.conversation(&format!("resp_{n}")).is_ok();
        (0..=MAX_RESPONSES).for_each(|n| add(n, "[]".to_owned()));
        assert_eq!([0, 1, MAX_RESPONSES].map(is_stored), [false, true, true]);
        let long = |length: usize| format!("[{}]", " ".repeat(length));
        (0..70).for_each(|n| add(2000 + n, long(MAX_RESPONSE - 100)));
        assert_eq!([MAX_RESPONSES, 2005, 2006, 2069].map(is_stored), [false, false, true, true]);
        add(3000, long(MAX_RESPONSE));
        assert_eq!([2006, 3000].map(is_stored), [true, false]);
    }

    #[test]
    fn responses_of_another_key_are_not_found() {
        let responses = Arc::default();
        let [ours, theirs] = ["a", "b"].map(|key| ResponseStore::new(&responses, Some(key.to_owned())));
        ours.add("resp_1".to_owned(), r#"[{"role": "user"}]"#.to_owned(), &json!({ "output": [{ "id": "msg_1_0" }] }));
        assert_eq!(ours.conversation("resp_1").unwrap(), [json!({ "role": "user" }), json!({ "id": "msg_1_0" })]);
        let mut n_searched = 0;
        assert_eq!(ours.item("msg_1_0", &mut n_searched), Some(json!({ "id": "msg_1_0" })));
        assert_eq!(["msg_1_1", "msg"].map(|id| ours.item(id, &mut 0)), [None, None]);
        n_searched = MAX_SEARCHED;
        assert_eq!(ours.item("msg_1_0", &mut n_searched), None, "too much was searched");
        assert_eq!(theirs.conversation("resp_1").unwrap_err().code(), "previous_response_not_found");
        assert_eq!(theirs.item("msg_1_0", &mut 0), None);
        assert_eq!((theirs.response("resp_1"), theirs.input("resp_1"), theirs.remove("resp_1")), (None, None, false));
        assert!(ours.response("resp_1").is_some() && ours.remove("resp_1"));
        assert_eq!((ours.response("resp_1"), ours.remove("resp_1")), (None, false));
        assert_eq!(ours.responses.lock().n_bytes, 0);
    }
}
