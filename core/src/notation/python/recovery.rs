//! Recovers calls whose strings contain quotes without escapes, as in `run(cmd='grep 'a b' notes.txt')`.
//!
//! Every quote after which a value could end may close a string. All choices are tried; the calls are accepted only if
//! exactly one choice can be read as a whole.

use crate::notation::list::List;
use crate::notation::offered::OfferedFunctions;
use crate::notation::python::calls::{CallSeparator, read_with};
use crate::notation::python::closings::Closings;

/// Work allowed per byte of the block, in bytes looked at.
const WORK_PER_BYTE: usize = 64;

/// Reads the calls between `from` and the end of `text`, if exactly one choice of closing quotes makes them readable.
pub(super) fn recover(text: &str, from: usize, offered: &OfferedFunctions, separator: CallSeparator) -> Option<List> {
    let most_work = WORK_PER_BYTE.saturating_mul(text.len() - from);
    let mut closings = Closings::default();
    let mut found = None;
    loop {
        closings.n_seen = 0;
        closings.is_doubtful = false;
        let (list, end) = read_with(text, from, offered, separator, &mut closings);
        closings.work += end - from;
        if list.is_sound() {
            if found.is_some() || closings.is_doubtful {
                return None;
            }
            found = Some(list);
        }
        let has_another = closings.advance(text);
        if closings.work > most_work {
            return None;
        }
        if !has_another {
            return found;
        }
    }
}
