//! From texts to tokens: prompts, the tokens around texts, and cutting texts that are too long.

use crate::checkpoint::{EmbeddingFacts, Pooling};
use crate::embedding::options::{EmbedOptions, TextUse};
use crate::error::{ErrorKind, Result, SdkError};
use crate::plain_prompt::Prompt;
use crate::tokenizer::{ModelTokenizer, PairFrame};

/// The names of prompts for documents in sentence-transformers' files.
const DOCUMENT: [&str; 3] = ["document", "passage", "corpus"];

/// Bytes of a text for each token of the limit. What lies beyond is cut before the text is encoded, so that no text takes long.
const MAX_BYTES_PER_TOKEN: usize = 1 << 10;

/// The tokens of a text, or of two.
pub(super) struct FramedText {
    pub(super) ids: Vec<u32>,
    /// The type of each token; empty if all have type 0.
    pub(super) types: Vec<u32>,
    /// Tokens at the beginning that belong to the prompt.
    pub(super) n_prompt: usize,
    /// Whether the text was cut.
    pub(super) is_cut: bool,
}

/// Frames texts for one model.
pub(super) struct TextFramer<'a> {
    pub(super) tokenizer: &'a ModelTokenizer,
    pub(super) facts: &'a EmbeddingFacts,
    pub(super) n_vocabulary: usize,
}

impl TextFramer<'_> {
    /// The tokens of a text at most, with the tokens around it.
    pub(super) fn limit(&self, text_use: TextUse) -> usize {
        match text_use {
            TextUse::Query if self.facts.pooling == Some(Pooling::Rows) => self.facts.max_query_tokens,
            _ => self.facts.max_tokens,
        }
    }

    /// Frames a text. Token ids are read as they are.
    ///
    /// # Errors
    /// [`ErrorKind::PromptExceedsContext`] for a text that is too long and must not be cut, [`ErrorKind::InvalidMessage`] for ids
    /// outside of the vocabulary, and for no tokens at all.
    pub(super) fn frame(&self, text: &Prompt, options: &EmbedOptions) -> Result<FramedText> {
        let limit = self.limit(options.text_use);
        match text {
            Prompt::Tokens(ids) => {
                if let Some(id) = ids.iter().find(|id| self.n_vocabulary <= **id as usize) {
                    let message = format!("token ids must be below {}, found {id}", self.n_vocabulary);
                    return Err(SdkError::new(ErrorKind::InvalidMessage, message));
                }
                self.fitted(Vec::new(), ids.clone(), Vec::new(), (0, limit), options.truncates)
            }
            Prompt::Text(text) => {
                let frames = self.tokenizer.frames();
                let prompt = options.prompt.as_deref().unwrap_or_else(|| self.prompt(options.text_use));
                let (text, is_cut) = shortened(text, limit);
                if is_cut && !options.truncates {
                    return Err(too_long(text.len() / MAX_BYTES_PER_TOKEN + 1, limit));
                }
                let ids = self.tokenizer.encode_plain(&format!("{prompt}{text}"))?;
                let n_prompt = match (self.facts.prompts.are_left_out, prompt) {
                    (true, prompt) if !prompt.is_empty() => {
                        frames.before.len() + self.tokenizer.encode_plain(prompt)?.len()
                    }
                    _ => 0,
                };
                let places = (n_prompt, limit);
                let (before, after) = (frames.before.clone(), frames.after.clone());
                let framed = self.fitted(before, ids, after, places, options.truncates)?;
                Ok(FramedText { is_cut: framed.is_cut || is_cut, ..framed })
            }
        }
    }

    /// The prompt that the files have for texts of a use; empty if they have none.
    fn prompt(&self, text_use: TextUse) -> &str {
        let prompts = &self.facts.prompts;
        let default = || prompts.default.as_deref().and_then(|name| prompts.find(&[name]));
        let found = match text_use {
            TextUse::Unspecified => default(),
            TextUse::Query => prompts.find(&["query"]).or_else(default),
            TextUse::Document => prompts.find(&DOCUMENT).or_else(default),
        };
        found.unwrap_or_default()
    }

    /// Joins a text with the tokens around it, and cuts its end if it is too long: the tokens after it are kept.
    fn fitted(
        &self,
        mut ids: Vec<u32>,
        text: Vec<u32>,
        after: Vec<u32>,
        (n_prompt, limit): (usize, usize),
        truncates: bool,
    ) -> Result<FramedText> {
        let needed = ids.len() + text.len() + after.len();
        let is_cut = limit < needed;
        if is_cut && !truncates {
            return Err(too_long(needed, limit));
        }
        let n_kept = text.len().min(limit.saturating_sub(ids.len() + after.len()));
        ids.extend_from_slice(&text[..n_kept]);
        ids.extend(after);
        ids.truncate(limit);
        if ids.is_empty() {
            return Err(SdkError::new(ErrorKind::InvalidMessage, "a text must have at least one token, found none"));
        }
        Ok(FramedText { ids, types: Vec::new(), n_prompt, is_cut })
    }

    /// Frames the tokens of a query and a document as two texts. Of those that are too long together, the longer one is cut first.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`] for text that cannot be encoded.
    pub(super) fn pair(&self, frame: &PairFrame, first: &[u32], document: &str) -> Result<FramedText> {
        let limit = self.facts.max_tokens;
        let (document, is_shortened) = shortened(document, limit);
        let second = self.tokenizer.encode_plain(document)?;
        let n_around = frame.before.len() + frame.between.len() + frame.after.len();
        let kept = shares((first.len(), second.len()), limit.saturating_sub(n_around));
        let is_cut = is_shortened || kept != (first.len(), second.len());
        let (first, second) = (&first[..kept.0], &second[..kept.1]);
        let n_first = frame.before.len() + first.len() + frame.between.len();
        let mut ids = [&frame.before, first, &frame.between, second, &frame.after].concat();
        ids.truncate(limit);
        let types = (0..ids.len()).map(|at| if at < n_first { 0 } else { frame.second_type }).collect();
        Ok(FramedText { ids, types, n_prompt: 0, is_cut })
    }
}

/// The lengths of two texts that have this many tokens together at most: a text shorter than half is kept whole.
fn shares((first, second): (usize, usize), limit: usize) -> (usize, usize) {
    if first + second <= limit {
        return (first, second);
    }
    let half = limit / 2;
    match first <= second {
        true if first <= half => (first, limit - first),
        false if second <= half => (limit - second, second),
        // As the tokenizers library divides an odd number.
        true => (half, limit - half),
        false => (limit - half, half),
    }
}

/// A text without what certainly lies beyond a limit of tokens, and whether something was left out.
pub(super) fn shortened(text: &str, limit: usize) -> (&str, bool) {
    let most = limit.saturating_mul(MAX_BYTES_PER_TOKEN);
    match text.len() <= most {
        true => (text, false),
        false => (&text[..text.floor_char_boundary(most)], true),
    }
}

fn too_long(needed: usize, available: usize) -> SdkError {
    SdkError::new(
        ErrorKind::PromptExceedsContext { needed, available },
        format!("a text must have at most {available} tokens with the tokens around it, found at least {needed}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_text_of_a_pair_is_cut_first() {
        for (lengths, limit, expect) in [
            ((3, 4), 7, (3, 4)),
            ((3, 100), 10, (3, 7)),
            ((100, 3), 10, (7, 3)),
            ((100, 100), 10, (5, 5)),
            ((100, 100), 11, (5, 6)), // tokenizers 0.23, `longest_first`
            ((100, 90), 11, (6, 5)),
            ((5, 5), 0, (0, 0)),
        ] {
            assert_eq!(shares(lengths, limit), expect, "{lengths:?} in {limit}");
        }
    }
}
