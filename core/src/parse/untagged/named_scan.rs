//! The shape of a call in Mistral's notation, byte by byte: a name, perhaps tags and an id, and an object of arguments.

use crate::notation::mistral::{ARGUMENTS, CALL_ID};
use crate::notation::offered::OfferedFunctions;
use crate::notation::quoted::QuoteState;
use crate::parse::untagged::scan::{Scanned, content};

/// The longest id of a call.
const MAX_ID: usize = 64;

/// Follows calls that may follow each other.
#[derive(Debug, Default)]
pub(super) struct NamedScan {
    stage: NamedStage,
    quotes: QuoteState,
    /// Brackets that are open in the arguments.
    depth: usize,
    /// Where each call starts.
    pub(super) starts: Vec<usize>,
    is_named: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum NamedStage {
    /// Before a call.
    #[default]
    Between,
    Name,
    /// After a name, before the arguments.
    AfterName,
    /// In a tag that starts here.
    Tag(usize),
    /// In an id that starts here.
    Id(usize),
    Arguments,
}

impl NamedScan {
    /// Whether the name of an offered function was read.
    pub(super) fn is_named(&self) -> bool {
        self.is_named
    }

    /// Whether a control token may come next that is part of a call.
    pub(super) fn expects_tag(&self) -> bool {
        matches!(self.stage, NamedStage::Name | NamedStage::AfterName | NamedStage::Id(_))
    }

    /// Follows a byte. The text before it is `before`, in two parts.
    pub(super) fn next(&mut self, byte: u8, before: [&str; 2], offered: &OfferedFunctions) -> Scanned {
        let at = before[0].len() + before[1].len();
        let stage = match self.stage {
            NamedStage::Between if offered.has_initial(byte) => {
                self.starts.push(at);
                Some(NamedStage::Name)
            }
            NamedStage::Between => None,
            NamedStage::Name => {
                self.name(byte, &content(before, self.starts.last().copied().unwrap_or(at)), at, offered)
            }
            NamedStage::Tag(start) => tag(content(before, start), byte, start, at),
            NamedStage::Id(start) if byte.is_ascii_alphanumeric() && at - start < MAX_ID => Some(self.stage),
            NamedStage::AfterName | NamedStage::Id(_) => self.arguments(byte, at),
            NamedStage::Arguments => return self.argument(byte),
        };
        self.stage = stage.unwrap_or(self.stage);
        if stage.is_some() { Scanned::Continues } else { Scanned::Refused }
    }

    /// Follows a byte after the beginning of a name.
    fn name(&mut self, byte: u8, name: &str, at: usize, offered: &OfferedFunctions) -> Option<NamedStage> {
        let is_end = matches!(byte, b'[' | b'{') || byte.is_ascii_whitespace();
        if is_end && offered.named(name).is_some() {
            self.is_named = true;
            return self.arguments(byte, at);
        }
        (!is_end && offered.may_begin(name)).then_some(NamedStage::Name)
    }

    /// Follows a byte after a name, a tag or an id.
    fn arguments(&mut self, byte: u8, at: usize) -> Option<NamedStage> {
        match byte {
            b'[' => Some(NamedStage::Tag(at)),
            b'{' => {
                self.depth = 1;
                Some(NamedStage::Arguments)
            }
            byte => byte.is_ascii_whitespace().then_some(NamedStage::AfterName),
        }
    }

    fn argument(&mut self, byte: u8) -> Scanned {
        let was_quoted = self.quotes != QuoteState::Outside;
        self.quotes = self.quotes.after(byte);
        match byte {
            _ if was_quoted => {}
            b'[' | b'{' => self.depth += 1,
            b']' | b'}' => self.depth -= 1,
            _ => {}
        }
        if self.depth == 0 {
            self.stage = NamedStage::Between;
            return Scanned::Ends;
        }
        Scanned::Continues
    }
}

/// Follows a byte in a tag.
fn tag(mut written: String, byte: u8, start: usize, at: usize) -> Option<NamedStage> {
    written.push(char::from(byte));
    match written.as_str() {
        ARGUMENTS => Some(NamedStage::AfterName),
        CALL_ID => Some(NamedStage::Id(at + 1)),
        begun => [ARGUMENTS, CALL_ID].iter().any(|tag| tag.starts_with(begun)).then_some(NamedStage::Tag(start)),
    }
}
