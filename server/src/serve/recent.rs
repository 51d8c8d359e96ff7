//! Recent responses, so that a request can go on from one where its client keeps no conversation. They are in memory only: a
//! bounded number of them, of which the oldest is dropped first.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::StatusCode;
use serde_json::Value as Json;

use crate::serve::fault::Fault;

const MOST_RESPONSES: usize = 1000;
const MOST_BYTES: usize = 64 << 20;
/// Bytes of one response and what it answers: more than a model reads. As values they take up to a hundred times as much.
pub(super) const LONGEST: usize = 1 << 20;

/// Bytes of responses that one request may look for items in: a few items may be named many times.
const MOST_SEARCHED: usize = 16 << 20;

/// Responses, the oldest first.
#[derive(Default)]
pub(super) struct Recent {
    responses: VecDeque<Arc<Response>>,
    n_bytes: usize,
}

/// The items of a conversation as JSON text, which takes a small part of the memory that values take.
struct Response {
    id: String,
    caller: Option<String>,
    input: String,
    output: String,
}

impl Response {
    fn n_bytes(&self) -> usize {
        self.id.len() + self.input.len() + self.output.len()
    }
}

impl Recent {
    fn keep(&mut self, response: Response) {
        if LONGEST < response.n_bytes() {
            return;
        }
        self.n_bytes += response.n_bytes();
        self.responses.push_back(Arc::new(response));
        while MOST_RESPONSES < self.responses.len() || MOST_BYTES < self.n_bytes {
            self.n_bytes -= self.responses.pop_front().map_or(0, |oldest| oldest.n_bytes());
        }
    }
}

/// What one caller may go on from: nobody finds the responses that were made with another key.
#[derive(Clone)]
pub(super) struct Memory {
    recent: Arc<Mutex<Recent>>,
    caller: Option<String>,
}

impl Memory {
    /// `caller` tells keys apart, where they are asked for.
    pub(super) fn new(recent: &Arc<Mutex<Recent>>, caller: Option<String>) -> Self {
        Self { recent: Arc::clone(recent), caller }
    }

    /// Keeps a response: `input` are the items that it answers, all of the conversation, and `output` are its own.
    pub(super) fn keep(&self, id: String, input: String, output: &[Json]) {
        let output = Json::from(output).to_string();
        let response = Response { id, caller: self.caller.clone(), input, output };
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).keep(response);
    }

    /// The items up to the end of a response.
    pub(super) fn conversation(&self, id: &str) -> Result<Vec<Json>, Fault> {
        let Some(response) = self.find(id) else {
            let message =
                "no response of this id is kept: only recent ones are, and none that was asked for with store false";
            let fault = Fault::new(StatusCode::BAD_REQUEST, "previous_response_not_found", message);
            return Err(fault.at("previous_response_id"));
        };
        Ok([&response.input, &response.output].into_iter().flat_map(|text| items(text)).collect())
    }

    /// An item of a response, whose id has that of the response in it. `n_searched` counts the bytes that the request has
    /// looked through; beyond a limit nothing is found.
    pub(super) fn item(&self, id: &str, n_searched: &mut usize) -> Option<Json> {
        let response = self.find(&format!("resp_{}", id.split('_').nth(1)?))?;
        *n_searched += response.output.len();
        let items = if *n_searched <= MOST_SEARCHED { items(&response.output) } else { Vec::new() };
        items.into_iter().find(|item| item["id"] == id)
    }

    fn find(&self, id: &str) -> Option<Arc<Response>> {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |response: &&Arc<Response>| response.id == id && response.caller == self.caller;
        recent.responses.iter().find(is_it).cloned()
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
    fn the_oldest_responses_make_room() {
        let memory = Memory::new(&Arc::default(), None);
        let keep = |n: usize, input: String| memory.keep(format!("resp_{n}"), input, &[]);
        let is_kept = |n: usize| memory.conversation(&format!("resp_{n}")).is_ok();
        (0..=MOST_RESPONSES).for_each(|n| keep(n, "[]".to_owned()));
        assert_eq!([0, 1, MOST_RESPONSES].map(is_kept), [false, true, true]);
        let long = |length: usize| format!("[{}]", " ".repeat(length));
        (0..70).for_each(|n| keep(2000 + n, long(LONGEST - 100)));
        assert_eq!([MOST_RESPONSES, 2005, 2006, 2069].map(is_kept), [false, false, true, true]);
        keep(3000, long(LONGEST));
        assert_eq!([2006, 3000].map(is_kept), [true, false]);
    }

    #[test]
    fn nobody_finds_what_was_made_with_another_key() {
        let recent = Arc::default();
        let [ours, theirs] = ["a", "b"].map(|key| Memory::new(&recent, Some(key.to_owned())));
        ours.keep("resp_1".to_owned(), r#"[{"role": "user"}]"#.to_owned(), &[json!({ "id": "msg_1_0" })]);
        assert_eq!(ours.conversation("resp_1").unwrap(), [json!({ "role": "user" }), json!({ "id": "msg_1_0" })]);
        let mut n_searched = 0;
        assert_eq!(ours.item("msg_1_0", &mut n_searched), Some(json!({ "id": "msg_1_0" })));
        assert_eq!(["msg_1_1", "msg"].map(|id| ours.item(id, &mut 0)), [None, None]);
        n_searched = MOST_SEARCHED;
        assert_eq!(ours.item("msg_1_0", &mut n_searched), None, "too much was looked through");
        assert_eq!(theirs.conversation("resp_1").unwrap_err().code(), "previous_response_not_found");
        assert_eq!(theirs.item("msg_1_0", &mut 0), None);
    }
}
