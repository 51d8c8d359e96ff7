//! Splits the reply of a model into text, reasoning and function calls while it is being written.
//!
//! [`ReplyParser`] is a push machine over pieces of text and control tokens. Outside of blocks it passes text on at
//! once and holds back only what may be the start of a [`marker`](crate::notation::marker). A [`call_block`] is collected up to
//! its end; then [`block_reader`] separates calls from text, over a list of single calls that a
//! [notation](crate::notation) reads.
//!
//! Calls of offered functions are also read without markers, see [`untagged`]; other text that looks like a call is only
//! reported, see [`missed_call`]. After a block, the parser looks for
//! an [`echo`] of it. Nothing here fails: what is not a call is text, or is rejected
//! with a reason.

mod block_reader;
mod call_block;
mod call_ids;
mod echo;
mod event;
mod missed_call;
mod render;
#[cfg(test)]
mod render_tests;
mod reply_parser;
mod untagged;
#[cfg(test)]
mod work_tests;

pub(crate) use call_block::OpenBlock;
pub use event::{Note, Parsed, Piece, ReplyEnd};
pub(crate) use missed_call::missed_call;
pub(crate) use render::render;
pub use render::{render_calls, render_json_calls};
pub use reply_parser::ReplyParser;
pub(crate) use untagged::reads_untagged;
