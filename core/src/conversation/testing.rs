//! Greedy replies, for tests that compare them with recorded ones.

use crate::conversation::Conversation;
use crate::options::GenerationOptions;
use crate::response::{Completion, MessageResponse};

/// Eight tokens at most, with their log-probabilities.
pub(crate) fn options() -> GenerationOptions {
    GenerationOptions { temperature: Some(0.0), max_tokens: Some(8), logprobs: Some(0), ..Default::default() }
}

/// The tokens of the reply with their log-probabilities.
pub(crate) fn reply(conversation: &Conversation) -> (Completion, Vec<(u32, f64)>) {
    let mut tokens = Vec::new();
    for event in conversation.continue_response(options()) {
        match event.unwrap() {
            MessageResponse::Logprobs(logprobs) => {
                tokens.extend(logprobs.iter().map(|logprob| (logprob.token.id, logprob.token.logprob)));
            }
            MessageResponse::Complete(completion) => return (*completion, tokens),
            _ => {}
        }
    }
    panic!("the reply ends");
}
