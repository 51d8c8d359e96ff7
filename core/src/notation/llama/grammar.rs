//! The grammar of calls.

use crate::notation::grammar::{BlockPart, CallWriter, GrammarForm};
use crate::notation::json::grammar::{OBJECTS, object};

pub(super) const GRAMMAR: GrammarForm = GrammarForm {
    terminals: &[r"LLAMA_SEP: /;[ ]?|\n/"],
    call: |writer, call| object(writer, call, "parameters"),
    body,
    ..OBJECTS
};

fn body(writer: &mut dyn CallWriter) -> String {
    let more = writer.more("LLAMA_SEP");
    match writer.part() {
        BlockPart::FromName => format!("\"{{\" named {more}"),
        _ => match writer.python_list() {
            Some(list) => format!("(call {more} | {list})"),
            None => format!("call {more}"),
        },
    }
}
