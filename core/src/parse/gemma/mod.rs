//! Calls as FunctionGemma and Gemma 4 write them: `call:get_weather{city:"Oslo",days:3}`, with control tokens as quotes.

mod reader;
mod render;
mod tokens;

pub(super) use reader::{name_of, read};
pub(super) use render::render;
pub(super) use tokens::STRING_TOKENS;
