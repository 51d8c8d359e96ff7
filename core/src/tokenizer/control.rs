//! Control tokens of a vocabulary, found in text by their spelling.

use std::collections::HashSet;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::error::{ErrorKind, Result, SdkError};
use crate::position::Embedded;

/// Largest length of a spelling, in bytes. The search automaton for a hundred longer ones would fill the memory.
const MAX_SPELLING: usize = 256;

/// The spellings of a vocabulary's control tokens. Clones share them.
#[derive(Clone)]
pub(crate) struct ControlTokens {
    spellings: Arc<HashSet<String>>,
    /// Finds the longest spelling at each position; `None` for a vocabulary without control tokens.
    longest: Option<AhoCorasick>,
    /// Finds all spellings, also those that overlap.
    overlapping: Option<AhoCorasick>,
    /// The first characters of the spellings.
    first_characters: Arc<[char]>,
}

/// A part of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    /// Text that is encoded as text, even if it spells a control token.
    Text(String),
    /// The spelling of a control token.
    Control(String),
    /// Content that takes the place of tokens.
    Embedded(Embedded),
}

impl Segment {
    /// The text; of embedded content, an empty string.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Control(text) => text,
            Self::Embedded(_) => "",
        }
    }
}

impl ControlTokens {
    pub(crate) fn new(spellings: &[&str]) -> Result<Self> {
        let spellings: Vec<&str> = spellings.iter().copied().filter(|spelling| !spelling.is_empty()).collect();
        if let Some(spelling) = spellings.iter().find(|spelling| MAX_SPELLING < spelling.len()) {
            return Err(SdkError::new(
                ErrorKind::ModelLoad,
                format!("a control token must have at most {MAX_SPELLING} bytes, found {}", spelling.len()),
            ));
        }
        let mut first_characters: Vec<char> = spellings.iter().filter_map(|spelling| spelling.chars().next()).collect();
        first_characters.sort_unstable();
        first_characters.dedup();
        let first_characters = first_characters.into();
        let build = |kind: MatchKind| {
            let finder = AhoCorasick::builder().match_kind(kind).build(&spellings);
            finder.map_err(|err| {
                SdkError::new(ErrorKind::ModelLoad, "the vocabulary has too many control tokens").caused_by(err)
            })
        };
        if spellings.is_empty() {
            return Ok(Self { spellings: Arc::default(), longest: None, overlapping: None, first_characters });
        }
        Ok(Self {
            spellings: Arc::new(spellings.iter().map(|spelling| (*spelling).to_owned()).collect()),
            longest: Some(build(MatchKind::LeftmostLongest)?),
            overlapping: Some(build(MatchKind::Standard)?),
            first_characters,
        })
    }

    /// Whether the vocabulary has a control token with this spelling.
    pub(crate) fn contains(&self, spelling: &str) -> bool {
        self.spellings.contains(spelling)
    }

    /// The spellings in a fixed order.
    pub(crate) fn sorted_spellings(&self) -> Vec<&str> {
        let mut spellings: Vec<&str> = self.spellings.iter().map(String::as_str).collect();
        spellings.sort_unstable();
        spellings
    }

    /// The first characters of the spellings, each once.
    pub(crate) fn first_characters(&self) -> &[char] {
        &self.first_characters
    }

    /// The positions in a text where a spelling starts, in ascending order.
    pub(crate) fn starts(&self, text: &str) -> Vec<usize> {
        let Some(finder) = &self.overlapping else { return Vec::new() };
        let mut starts: Vec<usize> = finder.find_overlapping_iter(text).map(|found| found.start()).collect();
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    /// Splits text at control tokens.
    pub(crate) fn split(&self, text: &str) -> Vec<Segment> {
        let mut segments = Vec::new();
        let mut copied = 0;
        let text_until = |segments: &mut Vec<Segment>, copied: usize, end: usize| {
            if copied < end {
                segments.push(Segment::Text(text[copied..end].to_owned()));
            }
        };
        for found in self.longest.iter().flat_map(|finder| finder.find_iter(text)) {
            text_until(&mut segments, copied, found.start());
            segments.push(Segment::Control(text[found.range()].to_owned()));
            copied = found.end();
        }
        text_until(&mut segments, copied, text.len());
        segments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_control_tokens_everything_is_text() {
        let control = ControlTokens::new(&[]).unwrap();
        assert_eq!(control.split("<|im_end|>"), [Segment::Text("<|im_end|>".into())]);
    }
}
