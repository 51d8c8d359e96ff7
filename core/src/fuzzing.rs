//! Entry points for this project's own tests: for hostile bytes from a model's files, for which the public API has no short
//! path, and for settings of the engine that are not options.
//!
//! Each function that takes bytes must return; whether it returns an error does not matter. Nothing here is part of the API,
//! and everything may change with every release.

use std::ops::ControlFlow;

use jiff::Zoned;

use crate::error::{ErrorKind, Result, SdkError};
use crate::function::{Arguments, SdkFunction, SdkFunctionCall, SdkFunctionParameter, SdkFunctionParameterType};
use crate::message::ChatMessage;
use crate::options::{FunctionCallParser, LoadOptions};
use crate::parse::{Parsed, Piece, ReplyEnd, ReplyParser};
use crate::prompt::{Frame, PromptRenderer, Segment};
pub use crate::runner::EngineSettings;
use crate::runner::ModelRunner;
use crate::tokenizer::{ControlTokens, ModelTokenizer, TokenText};
use crate::weights::Weights;

/// Control tokens as real models have them.
const CONTROL: [&str; 4] = ["<|im_start|>", "<|im_end|>", "<|tool_call_start|>", "<|tool_call_end|>"];

/// Loads a model with these settings of the engine.
///
/// # Errors
/// As [`ModelRunner::load_with`].
pub fn load_with(model: &str, options: LoadOptions, settings: EngineSettings) -> Result<ModelRunner> {
    ModelRunner::from_weights(Weights::open(model)?, options, settings, &mut |_| ControlFlow::Continue(()))
}

/// Loads a GGUF file from memory with these settings of the engine.
///
/// # Errors
/// As [`ModelRunner::load_from_bytes`].
pub fn load_from_bytes(bytes: Vec<u8>, options: LoadOptions, settings: EngineSettings) -> Result<ModelRunner> {
    let weights = Weights::from_bytes(bytes.into())?;
    ModelRunner::from_weights(weights, options, settings, &mut |_| ControlFlow::Continue(()))
}

/// Reads a tokenizer.json; encodes texts with it and decodes the ids.
///
/// # Errors
/// The same errors as for loading a folder with such a file.
pub fn tokenizer_json(bytes: &[u8]) -> Result<()> {
    let tokenizer = ModelTokenizer::from_json(text(bytes)?)?;
    let control = tokenizer.control_tokens()?;
    for text in ["", "Hello, world!", " 123  <|im_end|>\n\t天气 👍", "e\u{301}\0\u{10ffff}"] {
        for segments in [vec![Segment::Text(text.to_owned())], control.split(text)] {
            let mut pieces = tokenizer.pieces();
            for id in tokenizer.encode_with_bos(&segments)? {
                match tokenizer.text(id) {
                    Some(TokenText::Bytes(bytes)) => drop(pieces.push(bytes)),
                    _ => drop(pieces.finish()),
                }
            }
        }
    }
    Ok(())
}

/// Compiles a chat template, probes its capabilities, and renders a conversation with all kinds of messages.
///
/// # Errors
/// The same errors as for loading a model with such a template, or for a conversation with it.
pub fn chat_template(bytes: &[u8]) -> Result<()> {
    let renderer = PromptRenderer::new(text(bytes)?, ControlTokens::new(&CONTROL)?, "<s>", "<|im_end|>", true)?;
    let mut system = ChatMessage::system("Be brief. <|im_end|>");
    if renderer.offers_functions() {
        let parameter = SdkFunctionParameter::new("city", SdkFunctionParameterType::string(), "The \"city\".");
        system.functions.push(SdkFunction::new("get_weather", "Get the weather.", vec![parameter]));
    }
    let mut reply = ChatMessage::assistant("I'll look.");
    let arguments = Arguments::from([("city".to_owned(), "L'Aquila \\ \n".into())]);
    reply.function_calls = Some(vec![SdkFunctionCall { name: "get_weather".into(), arguments, ..Default::default() }]);
    reply.reasoning_content = Some("Which city?".to_owned());
    let messages = [system, ChatMessage::user("How is it there?"), reply, ChatMessage::tool("{\"sky\": \"grey\"}")];
    let frame = Frame {
        add_generation_prompt: true,
        continue_final_message: false,
        enable_thinking: Some(true),
        variables: None,
        now: &Zoned::default(),
        embeds_images: false,
    };
    renderer.render(&messages, &frame).map(drop)
}

/// Parses a reply that has the text inside a block of calls and again after it. Panics if the result depends on how the
/// text is cut.
pub fn reply(parser: FunctionCallParser, text: &str) {
    let characters: Vec<&str> = text.char_indices().map(|(at, c)| &text[at..at + c.len_utf8()]).collect();
    for end in [ReplyEnd::Ended, ReplyEnd::Interrupted] {
        assert_eq!(parsed(parser, &[text], end), parsed(parser, &characters, end), "{text:?}");
    }
}

/// The output of a parser, with adjacent texts joined.
fn parsed(parser: FunctionCallParser, pieces: &[&str], end: ReplyEnd) -> Vec<Parsed> {
    let mut found: Vec<Parsed> = Vec::new();
    let mut emit = |parsed| match (found.last_mut(), parsed) {
        (Some(Parsed::Text(text)), Parsed::Text(more)) => text.push_str(&more),
        (Some(Parsed::Reasoning(text)), Parsed::Reasoning(more)) => text.push_str(&more),
        (_, parsed) => found.push(parsed),
    };
    let (start, close) = parser.markers();
    let mut reply = ReplyParser::new(Some(parser));
    for marker in [start, close] {
        reply.push(Piece::Control(marker), &mut emit);
        pieces.iter().for_each(|piece| reply.push(Piece::Text(piece), &mut emit));
    }
    reply.finish(end, &mut emit);
    found
}

fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes)
        .map_err(|err| SdkError::new(ErrorKind::ModelLoad, "the file must be valid UTF-8").caused_by(err))
}
