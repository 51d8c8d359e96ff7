//! The shape of lists of calls in Python, byte by byte: enough to find out early that a text is something else.

use crate::notation::offered::OfferedFunctions;
use crate::notation::quoted::QuoteState;
use crate::parse::untagged::scan::{Scanned, content};

/// Follows lists, from after the first opening bracket.
#[derive(Debug, Default)]
pub(super) struct PythonScan {
    stage: PythonStage,
    quotes: QuoteState,
    /// Where the name starts that is being read.
    name_start: usize,
    /// Brackets that are open in the arguments.
    depth: usize,
    /// Where the first call starts.
    first_name: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PythonStage {
    /// Before a call, or after the comma that follows one.
    #[default]
    Between,
    Name,
    Arguments,
    AfterCall,
    AfterList,
}

impl PythonScan {
    /// Where the first call of an offered function starts, once its name was read.
    pub(super) fn first_name(&self) -> Option<usize> {
        self.first_name
    }

    /// Follows a byte. The text before it is `before`, in two parts.
    pub(super) fn next(&mut self, byte: u8, before: [&str; 2], offered: &OfferedFunctions) -> Scanned {
        let at = before[0].len() + before[1].len();
        let is_space = byte.is_ascii_whitespace();
        match self.stage {
            PythonStage::Between | PythonStage::AfterCall if is_space => {}
            PythonStage::Between if offered.has_initial(byte) => {
                (self.stage, self.name_start) = (PythonStage::Name, at)
            }
            PythonStage::Name => return self.name(byte, &content(before, self.name_start), offered),
            PythonStage::Arguments => self.argument(byte),
            PythonStage::AfterCall if byte == b',' => self.stage = PythonStage::Between,
            PythonStage::Between | PythonStage::AfterCall if byte == b']' && self.first_name.is_some() => {
                self.stage = PythonStage::AfterList;
                return Scanned::Ends;
            }
            PythonStage::AfterList if byte == b'[' => self.stage = PythonStage::Between,
            _ => return Scanned::Refused,
        }
        Scanned::Continues
    }

    /// Follows a byte after the beginning of a name.
    fn name(&mut self, byte: u8, name: &str, offered: &OfferedFunctions) -> Scanned {
        let is_possible = match byte {
            b'(' => offered.named(name).is_some(),
            _ => offered.may_begin(name),
        };
        if !is_possible {
            return Scanned::Refused;
        }
        if byte == b'(' {
            (self.stage, self.depth) = (PythonStage::Arguments, 1);
            self.first_name.get_or_insert(self.name_start);
        }
        Scanned::Continues
    }

    fn argument(&mut self, byte: u8) {
        let was_quoted = self.quotes != QuoteState::Outside;
        self.quotes = self.quotes.after(byte);
        match byte {
            _ if was_quoted => {}
            b'(' | b'[' | b'{' => self.depth += 1,
            b')' | b']' | b'}' => self.depth -= 1,
            _ => {}
        }
        if self.depth == 0 {
            self.stage = PythonStage::AfterCall;
        }
    }
}
