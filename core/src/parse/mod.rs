use crate::function::{RejectedCall, SdkFunctionCall};
use crate::options::FunctionCallParser;
pub const START_MARKER: &str = "<|tool_call_start|>";
pub const END_MARKER: &str = "<|tool_call_end|>";
pub fn render_calls(_: &[SdkFunctionCall]) -> String {
    String::new()
}
pub enum Piece<'a> {
    Text(&'a str),
    Control(&'a str),
}
pub enum Note {}
pub enum Parsed {
    Text(String),
    Reasoning(String),
    Calls(Vec<SdkFunctionCall>),
    Rejected(Vec<RejectedCall>),
    Note(Note),
}
pub enum ReplyEnd {
    Ended,
    Interrupted,
}
pub struct ReplyParser;
impl ReplyParser {
    pub fn new(_: Option<FunctionCallParser>) -> Self {
        Self
    }
    pub fn push(&mut self, piece: Piece<'_>, emit: &mut impl FnMut(Parsed)) {
        match piece {
            Piece::Text(t) | Piece::Control(t) => emit(Parsed::Text(t.into())),
        }
    }
    pub fn finish(&mut self, _: ReplyEnd, _: &mut impl FnMut(Parsed)) {}
}
