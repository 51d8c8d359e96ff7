//! Splits the reply of a model into text, reasoning and function calls while it is being written.
//!
//! [`ReplyParser`] is a push machine over pieces of text and control tokens. Outside of blocks it passes text on at
//! once and holds back only what may be the start of a [`marker`]. A [`call_block`] is collected up to its end; then
//! [`block_reader`] separates calls from text, over a [`list`] of single calls that a notation reads:
//!
//! | notation | module | a call |
//! |---|---|---|
//! | Python | [`python`] | `get_weather(city="Oslo")` |
//! | JSON | [`json`] | `{"name": "get_weather", "arguments": {"city": "Oslo"}}` |
//! | XML | [`xml`] | `<function=get_weather><parameter=city>Oslo</parameter></function>` |
//! | Gemma's | [`gemma`] | `call:get_weather{city:<escape>Oslo<escape>}` |
//! | Mistral's | [`mistral`] | `get_weather[ARGS]{"city": "Oslo"}` |
//!
//! The table of [`notation`] has the markers around blocks. Llama's and Phi's blocks contain JSON.
//!
//! Calls of offered functions are also read without markers, see [`untagged`]; other text that looks like a call is only
//! reported, see [`missed_call`]. After a block, the parser looks for
//! an [`echo`] of it. Nothing here fails: what is not a call is text, or is rejected
//! with a reason.

mod block_reader;
mod block_text;
mod brackets;
mod call_block;
mod call_ids;
mod cursor;
mod echo;
mod escape;
mod event;
mod fault;
mod gemma;
mod json;
mod limits;
mod list;
mod marker;
mod missed_call;
mod mistral;
mod notation;
mod offered;
mod python;
mod quoted;
mod render;
#[cfg(test)]
mod render_tests;
mod repairs;
mod reply_parser;
mod untagged;
#[cfg(test)]
mod work;
mod written;
mod xml;

use crate::function::{Arguments, Value};
use repairs::Repairs;

pub(crate) use call_block::OpenBlock;
pub use event::{Note, Parsed, Piece, ReplyEnd};
pub use json::read_json;
pub(crate) use limits::MAX_CALLS;
pub(crate) use missed_call::missed_call;
pub(crate) use mistral::{ARGUMENTS as MISTRAL_ARGUMENTS, CALL_ID as MISTRAL_CALL_ID};
pub(crate) use notation::Notation;
pub(crate) use python::is_name;
pub(crate) use render::render;
pub use render::{render_calls, render_json_calls};
pub use reply_parser::ReplyParser;
pub(crate) use untagged::reads_untagged;
pub(crate) use written::Written;

/// The arguments in the text of a call, with numbers as strings, exactly as the model wrote them; `None` for other text.
/// Numbers keep their type in arguments that were given as a string of JSON.
pub(crate) fn number_lexemes(raw_text: &str) -> Option<Arguments> {
    let text = raw_text.trim_start();
    if text.starts_with('{') { json::lexemes(text) } else { python::lexemes(text) }
}

/// The number that a lexeme stands for.
pub(crate) fn number_of(lexeme: &str) -> Option<Value> {
    python::number::read(lexeme, &mut Repairs::default()).ok()
}
