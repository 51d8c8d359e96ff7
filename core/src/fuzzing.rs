//! Entry points for this project's own tests: for hostile bytes from a model's files, for which the public API has no short
//! path, and for settings of the engine that are not options.
//!
//! Each function that takes bytes must return; whether it returns an error does not matter. Nothing here is part of the API,
//! and everything may change with every release.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::iter;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use jiff::Zoned;

use crate::bundle;
use crate::checkpoint::VisionArchitecture;
use crate::constrain::CallGrammar;
use crate::error::{ErrorKind, Result, SdkError};
use crate::function::{Arguments, SdkFunction, SdkFunctionCall, SdkFunctionParameter, SdkFunctionParameterType};
use crate::info::ModelInfo;
use crate::media::sound::{MelFilters, MelRules, Sound, SoundOptions};
use crate::media::{Transparency, decode};
use crate::message::ChatMessage;
use crate::model::Compute;
use crate::notation::{FunctionCallParser, read_json};
use crate::options::LoadOptions;
use crate::parse::{Parsed, Piece, ReplyEnd, ReplyParser};
use crate::prompt::{Frame, PromptRenderer, Segment};
pub use crate::runner::EngineSettings;
use crate::runner::ModelRunner;
use crate::schema::functions_from_json;
use crate::tokenizer::{ControlTokens, ModelTokenizer, TokenText};
use crate::validate::{fits_schema, validate_among};
use crate::weights::Weights;

/// Control tokens as real models have them.
static CONTROL: LazyLock<ControlTokens> = LazyLock::new(|| {
    let tokens = ["<|im_start|>", "<|im_end|>", "<|tool_call_start|>", "<|tool_call_end|>"];
    ControlTokens::new(&tokens).expect("few short tokens")
});

/// The notations of calls, in the order by which inputs of the fuzz targets choose one.
pub const PARSERS: &[FunctionCallParser] = FunctionCallParser::ALL;

/// Loads a model with these settings of the engine.
///
/// # Errors
/// As [`ModelRunner::load_with`].
pub fn load_with(model: impl AsRef<Path>, options: LoadOptions, settings: EngineSettings) -> Result<ModelRunner> {
    ModelRunner::from_weights(Weights::open(model)?, options, settings, &mut |_, _| ControlFlow::Continue(()))
}

/// Loads a GGUF file from memory with these settings of the engine.
///
/// # Errors
/// As [`ModelRunner::load_from_bytes`].
pub fn load_from_bytes(bytes: Vec<u8>, options: LoadOptions, settings: EngineSettings) -> Result<ModelRunner> {
    let weights = Weights::from_bytes(bytes.into())?;
    ModelRunner::from_weights(weights, options, settings, &mut |_, _| ControlFlow::Continue(()))
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
    let renderer = PromptRenderer::new(text(bytes)?, CONTROL.clone(), "<s>", "<|im_end|>", true)?;
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

/// The number of forms of a reply.
pub const N_FORMS: u8 = 6;

/// Parses a reply whole and cut. `form`, of which there are [`N_FORMS`], chooses whether the reply has the text inside a block of
/// calls and again after it, or is the text alone; whether functions are offered; and whether the reply is complete. Between
/// U+0001 and U+0002, the text spells a control token. `cut` chooses the cuts; 0 cuts between all characters. Panics if the
/// result depends on them.
pub fn reply(parser: FunctionCallParser, form: u8, cut: u8, text: &str) {
    let parts = parts(text);
    let (start, close) = parser.markers();
    let block = || {
        let markers = [start, close].into_iter();
        markers.flat_map(|marker| iter::once(Piece::Control(marker)).chain(parts.iter().copied())).collect()
    };
    let (reply, functions): (Vec<Piece<'_>>, &[SdkFunction]) = match form % 3 {
        0 => (block(), &[]),
        1 => (block(), &OFFERED),
        _ => (parts, &OFFERED),
    };
    let end = if form.is_multiple_of(2) { ReplyEnd::Ended } else { ReplyEnd::Interrupted };
    let whole = parsed(parser, functions, reply.iter().copied(), end);
    let pieces = reply.iter().flat_map(|part| cut_at(*part, cut));
    assert_eq!(whole, parsed(parser, functions, pieces, end), "{parser:?}, form {form}, cut {cut}: {text:?}");
}

/// Functions for replies.
static OFFERED: LazyLock<Vec<SdkFunction>> = LazyLock::new(|| {
    let functions = r#"[{"name": "f", "parameters": {"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}},
        {"name": "g", "parameters": {"properties": {"a": {"type": "array"}, "c": {"type": "object"}}}}]"#;
    functions_from_json(functions).expect("valid functions")
});

/// The parts of a text: control tokens between U+0001 and U+0002, and the texts around them.
fn parts(text: &str) -> Vec<Piece<'_>> {
    let mut parts = Vec::new();
    for (index, part) in text.split('\u{1}').enumerate() {
        match part.split_once('\u{2}') {
            Some((control, text)) if 0 < index => parts.extend([Piece::Control(control), Piece::Text(text)]),
            _ => parts.push(Piece::Text(part)),
        }
    }
    parts
}

/// Cuts a text into pieces. The length of a piece in characters depends on its position, unless `cut` is 0.
fn cut_at(part: Piece<'_>, cut: u8) -> Vec<Piece<'_>> {
    let Piece::Text(mut rest) = part else { return vec![part] };
    let length = |at: usize| 1 + at.wrapping_mul(cut.into()) % 29;
    let (mut pieces, mut at) = (Vec::new(), 0);
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.char_indices().nth(length(at)).map_or(rest.len(), |(end, _)| end));
        pieces.push(Piece::Text(piece));
        (rest, at) = (after, at + piece.len());
    }
    pieces
}

/// The output of a parser, with adjacent texts joined.
fn parsed<'a>(
    parser: FunctionCallParser,
    functions: &[SdkFunction],
    pieces: impl IntoIterator<Item = Piece<'a>>,
    end: ReplyEnd,
) -> Vec<Parsed> {
    let mut found: Vec<Parsed> = Vec::new();
    let mut emit = |parsed| match (found.last_mut(), parsed) {
        (Some(Parsed::Text(text)), Parsed::Text(more)) => text.push_str(&more),
        (Some(Parsed::Reasoning(text)), Parsed::Reasoning(more)) => text.push_str(&more),
        (_, parsed) => found.push(parsed),
    };
    let mut reply = ReplyParser::new(Some(parser)).offering(functions);
    pieces.into_iter().for_each(|piece| reply.push(piece, &mut emit));
    reply.finish(end, &mut emit);
    found
}

/// Makes the grammar of calls of functions that are declared in JSON, and writes a block by it: each byte of `choices` chooses
/// among the characters that may come next. Panics if the block is complete, and the parser repairs or refuses it, or a call
/// does not fit its function.
///
/// # Errors
/// The same errors as for offering such functions.
pub fn call_grammar(parser: FunctionCallParser, functions: &[u8], choices: &[u8]) -> Result<()> {
    let functions = functions_from_json(text(functions)?)?;
    let grammar = CallGrammar::new(parser, &functions, choices.first().is_some_and(|byte| byte % 2 == 0))?;
    let Some(block) = grammar.write(choices) else { return Ok(()) };
    assert!(grammar.check(&block).is_ok(), "the grammar must accept what it wrote: {block:?}");
    let (start, close) = parser.markers();
    let piece = if parser.notation().is_in_text { Piece::Text } else { Piece::Control };
    let controls = [start, close].into_iter().filter(|marker| !marker.is_empty()).map(piece);
    let pieces = controls.clone().take(1).chain([Piece::Text(&block)]).chain(controls.skip(1));
    let found = parsed(parser, &functions, pieces, ReplyEnd::Ended);
    let is_call = |found: &Parsed| match found {
        Parsed::Calls(calls) => calls.iter().all(|call| is_clean(call, &functions)),
        Parsed::Text(text) => text.trim().is_empty(),
        _ => false,
    };
    assert!(found.iter().all(is_call), "{parser:?} reads {block:?} as {found:?}");
    Ok(())
}

fn is_clean(call: &SdkFunctionCall, functions: &[SdkFunction]) -> bool {
    call.repairs.is_empty() && validate_among(call, functions).diagnostics.is_empty()
}

/// Makes the grammar of replies that fit a schema, and writes a reply by it, as [`call_grammar`] does. Panics if the reply is
/// complete and does not fit.
///
/// # Errors
/// The same errors as for a request with such a schema.
pub fn reply_schema(schema: &[u8], choices: &[u8]) -> Result<()> {
    let schema = text(schema)?;
    let grammar = CallGrammar::of_schema(schema)?;
    let Some(reply) = grammar.write(choices) else { return Ok(()) };
    assert!(grammar.check(&reply).is_ok(), "the grammar must accept what it wrote: {reply:?}");
    let fits = match [schema, &*reply].map(read_json) {
        [Some(schema), Some(value)] => fits_schema(&value, &schema),
        [schema, _] => schema.is_none() || has_long_exponent(&reply),
    };
    assert!(fits, "{reply:?}");
    Ok(())
}

/// Whether a text may hold a number like 1e999, which JSON allows and no float can hold.
fn has_long_exponent(text: &str) -> bool {
    let digits =
        |exponent: &str| exponent.trim_start_matches(['+', '-']).bytes().take_while(u8::is_ascii_digit).count();
    text.split(['e', 'E']).skip(1).any(|exponent| 2 < digits(exponent))
}

/// Writes a bundle, and reads its directory, its manifest, its model's header and all of its files. Panics if the files are
/// together longer than the bundle, which they are only if they overlap. The input is the bundle without its padding, in pieces:
/// the place of a piece (three bytes, little-endian), its length (two bytes) and its bytes. Zeros are between them.
///
/// # Errors
/// The same errors as for loading such a bundle, or of the disk.
pub fn bundle(place: &Path, mut pieces: &[u8]) -> Result<()> {
    let failed = |err| SdkError::new(ErrorKind::ModelLoad, "cannot write the bundle").caused_by(err);
    let mut file = File::create(place).map_err(failed)?;
    while let Some(([a, b, c, lengths @ ..], rest)) = pieces.split_first_chunk::<5>() {
        let start = u64::from(u32::from_le_bytes([*a, *b, *c, 0]));
        let (piece, others) = rest.split_at(usize::from(u16::from_le_bytes(*lengths)).min(rest.len()));
        file.seek(SeekFrom::Start(start)).and_then(|_| file.write_all(piece)).map_err(failed)?;
        pieces = others;
    }
    let length = file.metadata().map_err(failed)?.len();
    drop(ModelInfo::read(place));
    bundle::verify(place, |_| ControlFlow::Continue(()))?;
    let total = bundle::list(place)?.iter().fold(0, |sum: u64, file| sum.saturating_add(file.size));
    assert!(total <= length, "files of {total} bytes in a bundle of {length}");
    Ok(())
}

/// Reads a file of sound, at most a minute, at a rate of models, and computes what models hear of its start.
///
/// # Errors
/// The same errors as for a message with such a sound.
pub fn sound(bytes: &[u8]) -> Result<()> {
    let options = SoundOptions { sample_rate: Some(16_000), max_duration: Duration::from_secs(60) };
    let sound = Sound::read_with(bytes, options)?;
    let start = &sound.samples()[..sound.samples().len().min(1_000)];
    for rules in [MelRules::LFM2, MelRules::LFM3, MelRules::GEMMA4, MelRules::whisper(80)] {
        let features = MelFilters::new(rules).features(start);
        assert!(features.values.iter().all(|value| value.is_finite()), "features of finite samples are finite");
    }
    Ok(())
}

/// Decodes a picture.
///
/// # Errors
/// The same errors as for a message with such a picture.
pub fn picture(bytes: &[u8]) -> Result<()> {
    decode(bytes, Transparency::OnWhite).map(drop)
}

/// Reads a projector file, and loads its vision tower.
///
/// # Errors
/// The same errors as for loading a model with such a file.
pub fn projector(bytes: &[u8]) -> Result<()> {
    let weights = Weights::from_bytes(bytes.to_vec().into())?;
    if let Some(architecture) = VisionArchitecture::read(&weights)? {
        Compute::new(&LoadOptions { threads: Some(1), ..Default::default() })?.load_vision(&weights, &architecture)?;
    }
    Ok(())
}

fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes)
        .map_err(|err| SdkError::new(ErrorKind::ModelLoad, "the file must be valid UTF-8").caused_by(err))
}
