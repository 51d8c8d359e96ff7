//! Where a block without markers stands: what comes before its calls, and after them.

use crate::options::FunctionCallParser;
use crate::parse::notation::TAG_END;
use crate::parse::offered::OfferedFunctions;

/// Bytes before the calls, of a fence and the white space around it.
const LONGEST_OPENING: usize = 64;
const FENCE: &str = "```";
/// What Phi's models write before a list of calls without its markers.
const PHI_PREFIX: &str = "functools";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CandidatePlace {
    Bare,
    Fenced,
    InTag { end: &'static str },
}

/// Whether a byte at the start of the reply may begin bare calls.
pub(super) fn begins_bare(byte: u8, notation: FunctionCallParser, offered: &OfferedFunctions) -> bool {
    match notation {
        _ if matches!(byte, b'{' | b'[') => true,
        FunctionCallParser::MistralFunctionCallParser => offered.has_initial(byte),
        FunctionCallParser::PhiFunctionCallParser => PHI_PREFIX.as_bytes().first() == Some(&byte),
        _ => false,
    }
}

impl CandidatePlace {
    /// Whether the calls may begin after this opening.
    pub(super) fn may_begin_after(self, opening: &str, notation: FunctionCallParser) -> bool {
        match self {
            Self::Bare => opening.is_empty() || opening == PHI_PREFIX,
            Self::Fenced => opening.strip_prefix(FENCE).is_some_and(|language| is_whole(language.trim(), notation)),
            Self::InTag { .. } => true,
        }
    }

    /// Whether the opening may go on with a byte.
    pub(super) fn goes_on(self, opening: &str, byte: u8, notation: FunctionCallParser) -> bool {
        if LONGEST_OPENING <= opening.len() {
            return false;
        }
        let is_space = byte.is_ascii_whitespace();
        match (self, opening.strip_prefix(FENCE)) {
            (Self::Bare, _) => {
                let is_phi = notation == FunctionCallParser::PhiFunctionCallParser;
                is_phi && continues(PHI_PREFIX, opening, byte)
            }
            (Self::Fenced, None) => byte == b'`',
            (Self::Fenced, Some(language)) if is_space => is_whole(language.trim(), notation),
            (Self::Fenced, Some(language)) => {
                let language = language.trim_start_matches(' ');
                languages(notation).iter().any(|known| continues(known, language, byte))
            }
            (Self::InTag { .. }, _) => is_space,
        }
    }

    /// What is written after the calls.
    pub(super) fn closing(self) -> &'static str {
        match self {
            Self::Bare => TAG_END.0,
            Self::Fenced => FENCE,
            Self::InTag { end } => end,
        }
    }
}

/// The languages of fences around calls.
fn languages(notation: FunctionCallParser) -> &'static [&'static str] {
    match notation {
        FunctionCallParser::DefaultFunctionCallParser => &["json", "python"],
        _ => &["json"],
    }
}

/// Whether this is the language of a fence around calls, or none.
fn is_whole(language: &str, notation: FunctionCallParser) -> bool {
    language.is_empty() || languages(notation).iter().any(|known| language.eq_ignore_ascii_case(known))
}

/// Whether a byte after the beginning of a word continues it.
fn continues(word: &str, beginning: &str, byte: u8) -> bool {
    let is_begun = word.get(..beginning.len()).is_some_and(|begun| begun.eq_ignore_ascii_case(beginning));
    is_begun && word.as_bytes().get(beginning.len()).is_some_and(|next| next.eq_ignore_ascii_case(&byte))
}
