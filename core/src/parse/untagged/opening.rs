//! Where a block without markers stands: what comes before its calls, and after them.

use crate::notation::definition::UntaggedForms;
use crate::notation::marker::TAG_END;
use crate::notation::offered::OfferedFunctions;

/// Bytes before the calls, of a fence and the white space around it.
const MAX_OPENING: usize = 64;
const FENCE: &str = "```";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CandidatePlace {
    Bare,
    /// After the word of the notation, up to the end of the list.
    AfterWord,
    Fenced,
    InTag {
        end: &'static str,
    },
}

/// Whether a byte at the start of the reply may begin bare calls.
pub(super) fn begins_bare(byte: u8, forms: &UntaggedForms, offered: &OfferedFunctions) -> bool {
    let begins_name = forms.has_names && offered.has_initial(byte);
    matches!(byte, b'{' | b'[') || begins_name || forms.word.bytes().next() == Some(byte)
}

impl CandidatePlace {
    /// Whether the calls may begin after this opening.
    pub(super) fn may_begin_after(self, opening: &str, forms: &UntaggedForms) -> bool {
        match self {
            Self::Bare => opening.is_empty() || opening == forms.word,
            Self::AfterWord => opening == forms.word,
            Self::Fenced => opening.strip_prefix(FENCE).is_some_and(|language| is_whole(language.trim(), forms)),
            Self::InTag { .. } => true,
        }
    }

    /// Whether the opening may go on with a byte.
    pub(super) fn goes_on(self, opening: &str, byte: u8, forms: &UntaggedForms) -> bool {
        if MAX_OPENING <= opening.len() {
            return false;
        }
        let is_space = byte.is_ascii_whitespace();
        match (self, opening.strip_prefix(FENCE)) {
            (Self::Bare, _) => continues(forms.word, opening, byte),
            (Self::AfterWord, _) => forms.word.as_bytes().get(opening.len()) == Some(&byte),
            (Self::Fenced, None) => byte == b'`',
            (Self::Fenced, Some(language)) if is_space => is_whole(language.trim(), forms),
            (Self::Fenced, Some(language)) => {
                let language = language.trim_start_matches(' ');
                forms.languages.iter().any(|known| continues(known, language, byte))
            }
            (Self::InTag { .. }, _) => is_space,
        }
    }

    /// What is written after the calls.
    pub(super) fn closing(self) -> &'static str {
        match self {
            Self::Bare => TAG_END.0,
            Self::AfterWord => "",
            Self::Fenced => FENCE,
            Self::InTag { end } => end,
        }
    }
}

/// Whether this is the language of a fence around calls, or none.
fn is_whole(language: &str, forms: &UntaggedForms) -> bool {
    language.is_empty() || forms.languages.iter().any(|known| language.eq_ignore_ascii_case(known))
}

/// Whether a byte after the beginning of a word continues it.
fn continues(word: &str, beginning: &str, byte: u8) -> bool {
    let is_begun = word.get(..beginning.len()).is_some_and(|begun| begun.eq_ignore_ascii_case(beginning));
    is_begun && word.as_bytes().get(beginning.len()).is_some_and(|next| next.eq_ignore_ascii_case(&byte))
}
