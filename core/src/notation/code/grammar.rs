//! The grammar of calls.

use crate::notation::grammar::{CallWriter, GrammarForm};
use crate::notation::python::grammar::GRAMMAR as PYTHON;

pub(super) const GRAMMAR: GrammarForm = GrammarForm { terminals: &[r"LINE_END: /\n/"], body, ..PYTHON };

fn body(writer: &mut dyn CallWriter) -> String {
    format!("LINE_END? call {} LINE_END?", writer.more("LINE_END"))
}
