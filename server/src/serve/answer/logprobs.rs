//! The log-probabilities of a text's tokens, in the forms that clients know.

use causerie::{MessageResponse, ReplySection, ScoredToken, TokenLogprob};
use serde_json::{Map, Value as Json, json};

/// The log-probability of an impossible token: JSON has no infinity.
const IMPOSSIBLE: f64 = -9999.0;

/// Tokens of a text, held until their text comes.
pub(super) struct Logprobs {
    /// Whether they were requested.
    is_wanted: bool,
    /// Where no function can be called, calls are text.
    has_functions: bool,
    waiting: Vec<TokenLogprob>,
}

impl Logprobs {
    pub(super) fn new(is_wanted: bool, has_functions: bool) -> Self {
        Self { is_wanted, has_functions, waiting: Vec::new() }
    }

    /// Takes the tokens of an event, except those that add nothing to the text.
    pub(super) fn take_from(&mut self, event: &MessageResponse) {
        if let (MessageResponse::Logprobs(tokens), true) = (event, self.is_wanted) {
            let is_text = |token: &&TokenLogprob| match token.place {
                ReplySection::Text => true,
                ReplySection::Reasoning => false,
                ReplySection::Calls => !self.has_functions,
            };
            let tokens = tokens.iter().filter(|token| !token.token.bytes.is_empty());
            self.waiting.extend(tokens.filter(is_text).cloned());
        }
    }

    /// The tokens held so far, if they are wanted.
    pub(super) fn take(&mut self) -> Option<Vec<TokenLogprob>> {
        self.is_wanted.then(|| std::mem::take(&mut self.waiting))
    }
}

/// A token as chat completions and responses have it.
pub(super) fn entry(token: &TokenLogprob) -> Json {
    let mut entry = scored(&token.token);
    entry["top_logprobs"] = token.alternatives.iter().map(scored).collect();
    entry
}

fn scored(token: &ScoredToken) -> Json {
    json!({ "token": token.text, "logprob": finite(token.logprob), "bytes": token.bytes })
}

fn finite(logprob: f64) -> f64 {
    logprob.max(IMPOSSIBLE)
}

/// Tokens as chat completions have them.
pub(super) fn chat(tokens: &[TokenLogprob]) -> Json {
    json!({ "content": tokens.iter().map(entry).collect::<Json>(), "refusal": null })
}

/// Tokens as completions write them, in parallel arrays.
#[derive(Default)]
pub(super) struct LogprobColumns {
    /// Characters begun so far.
    n_characters: usize,
}

impl LogprobColumns {
    pub(super) fn add(&mut self, tokens: &[TokenLogprob]) -> Json {
        let mut columns = json!({ "tokens": [], "token_logprobs": [], "top_logprobs": [], "text_offset": [] });
        for token in tokens {
            let mut top = Map::new();
            for token in token.alternatives.iter().chain([&token.token]) {
                top.entry(&token.text).or_insert_with(|| json!(finite(token.logprob)));
            }
            let entry = [
                ("tokens", json!(token.token.text)),
                ("token_logprobs", json!(finite(token.token.logprob))),
                ("top_logprobs", Json::Object(top)),
                ("text_offset", json!(self.offset(&token.token.bytes))),
            ];
            for (name, value) in entry {
                push(&mut columns, name, value);
            }
        }
        columns
    }

    /// The index of the character that a token begins or continues.
    fn offset(&mut self, bytes: &[u8]) -> usize {
        let continues = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
        let offset = self.n_characters - usize::from(0 < self.n_characters && bytes.first().is_some_and(continues));
        self.n_characters += bytes.iter().filter(|byte| !continues(byte)).count();
        offset
    }
}

/// Appends the arrays of a piece to the arrays of the whole.
pub(super) fn append(whole: &mut Json, piece: Json) {
    if whole.is_null() {
        *whole = piece;
        return;
    }
    let Json::Object(piece) = piece else { return };
    for (name, values) in piece {
        if let (Some(Json::Array(whole)), Json::Array(values)) = (whole.get_mut(&name), values) {
            whole.extend(values);
        }
    }
}

fn push(columns: &mut Json, name: &str, value: Json) {
    if let Some(Json::Array(column)) = columns.get_mut(name) {
        column.push(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(text: &[u8], logprob: f64) -> ScoredToken {
        ScoredToken { id: 0, text: String::from_utf8_lossy(text).into_owned(), bytes: text.to_vec(), logprob }
    }

    fn written(text: &[u8]) -> TokenLogprob {
        TokenLogprob {
            token: token(text, -1.0),
            place: ReplySection::Text,
            alternatives: vec![token(b"x", f64::NEG_INFINITY)],
        }
    }

    #[test]
    fn offsets_count_characters_and_not_tokens() {
        let tokens = ["aé".as_bytes(), &"👍".as_bytes()[..2], &"👍".as_bytes()[2..], b"b"].map(written);
        let mut columns = LogprobColumns::default();
        let mut whole = columns.add(&tokens[..1]);
        append(&mut whole, columns.add(&tokens[1..]));
        assert_eq!(whole["text_offset"], json!([0, 2, 2, 3]));
        assert_eq!(whole["tokens"][3], "b");
        assert_eq!(whole["top_logprobs"][3], json!({ "x": -9999.0, "b": -1.0 }));
    }
}
