//! The push machine that turns the pieces of a reply into text, reasoning and calls.
//!
//! [`state`] is what it remembers. [`pieces`] takes a piece, and hands what begins a marker to [`markers`]; [`blocks`] ends blocks
//! and delivers them, and [`xml`] has what is particular to XML. All are methods of one [`ReplyParser`]: text may be parsed again.

mod blocks;
mod markers;
mod pieces;
mod state;
mod xml;

pub use state::ReplyParser;
