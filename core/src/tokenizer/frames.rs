//! The tokens that a model's files put around a text, or around two texts, that the model reads as a whole.

use serde::{Deserialize, Serialize};

use crate::tokenizer::guarded::guarded;

/// A text that most vocabularies have as one token.
const PROBE: &str = "a";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TextFrames {
    /// Tokens before a text, and after it.
    pub(crate) before: Vec<u32>,
    pub(crate) after: Vec<u32>,
    /// `None` if the files do not say how two texts are read together.
    pub(crate) pair: Option<PairFrame>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PairFrame {
    pub(crate) before: Vec<u32>,
    pub(crate) between: Vec<u32>,
    pub(crate) after: Vec<u32>,
    /// The type of the tokens of the second text, and of those after it. All other tokens have type 0.
    pub(crate) second_type: u32,
}

impl TextFrames {
    /// Reads the frames from what an encoder makes of short texts. Frames that are not around the texts are none.
    pub(super) fn probe(encoder: &tokenizers::Tokenizer) -> Self {
        let Ok(single) = guarded("tokenizer.json", || encoder.encode(PROBE, true)) else { return Self::default() };
        let (ids, parts) = (single.get_ids(), runs(single.get_special_tokens_mask()));
        let [before, text, after] = parts[..] else { return Self::default() };
        let before = ids[..before].to_vec();
        let after = ids[ids.len() - after..].to_vec();
        if text == 0 {
            return Self::default();
        }
        Self { before, after, pair: PairFrame::probe(encoder) }
    }
}

impl PairFrame {
    fn probe(encoder: &tokenizers::Tokenizer) -> Option<Self> {
        let pair = guarded("tokenizer.json", || encoder.encode((PROBE, PROBE), true)).ok()?;
        let ids = pair.get_ids();
        let [before, first, between, second, after] = runs(pair.get_special_tokens_mask())[..] else { return None };
        let start = before + first + between;
        Some(Self {
            before: ids[..before].to_vec(),
            between: ids[before + first..start].to_vec(),
            after: ids[start + second..start + second + after].to_vec(),
            second_type: *pair.get_type_ids().get(start)?,
        })
    }
}

/// The lengths of runs of special tokens and of text, in turn; the first and the last are special, and may be empty.
fn runs(mask: &[u32]) -> Vec<usize> {
    let mut runs = vec![0];
    for is_special in mask {
        // Runs of special tokens have even places.
        if (*is_special == 1) != (runs.len() % 2 == 1) {
            runs.push(0);
        }
        if let Some(last) = runs.last_mut() {
            *last += 1;
        }
    }
    if runs.len() % 2 == 0 {
        runs.push(0);
    }
    runs
}
