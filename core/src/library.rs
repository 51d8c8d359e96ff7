//! A functional interface: load, apply a chat template, generate, stream.
//!
//! The functions take a prompt as text or tokens, and return text, including the markers of calls. For parsed calls, use a
//! [`Conversation`](crate::Conversation).

use std::io::Write;
use std::path::Path;

use crate::engine::{ResponseStream, TextStream};
use crate::error::{ErrorKind, Result, SdkError};
use crate::message::ChatMessage;
use crate::options::GenerationOptions;
use crate::plain_prompt::Prompt;
use crate::runner::ModelRunner;

/// The tokenizer of a loaded model; of a vision model, its processor.
///
/// ```
/// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
/// let (model, tokenizer) = causerie::load(model)?;
/// let prompt = tokenizer.apply_chat_template(&[causerie::ChatMessage::user("Hello!")], false, true)?;
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tokenizer {
    runner: ModelRunner,
}

/// Loads a model and its tokenizer: a GGUF file, a Hugging Face folder, or `<namespace>/<name>` in the local cache.
///
/// ```
/// use causerie::{ChatMessage, GenerationOptions, generate, load};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).unwrap();
///
/// let (model, tokenizer) = load("models/demo.gguf")?;
/// let messages = [ChatMessage::user("Hello!")];
/// let prompt = tokenizer.apply_chat_template(&messages, false, true)?;
/// let options = GenerationOptions { temperature: Some(0.0), max_tokens: Some(64), ..Default::default() };
/// let text = generate(&model, &tokenizer, prompt, options, false)?;
/// # Ok::<(), causerie::SdkError>(())
/// ```
///
/// # Errors
/// As [`ModelRunner::load`].
pub fn load(model: impl AsRef<Path>) -> Result<(ModelRunner, Tokenizer)> {
    let runner = ModelRunner::load(model)?;
    Ok((runner.clone(), Tokenizer { runner }))
}

impl Tokenizer {
    /// Renders the prompt for messages, as text or, with `tokenize`, as token ids. With `add_generation_prompt`, the prompt
    /// ends with the beginning of the model's turn. An image is the marker that the template prints for it; its data may be
    /// missing, and is passed to [`generate_with_images`].
    ///
    /// In text, a control token and a message that only spells one cannot be distinguished afterwards. Token ids keep them
    /// apart. Use token ids, or a conversation, for text from untrusted sources.
    ///
    /// ```
    /// use causerie::{ChatMessage, Prompt};
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// let (model, tokenizer) = causerie::load(model)?;
    /// let messages = [ChatMessage::user("Hello!")];
    /// let Prompt::Text(text) = tokenizer.apply_chat_template(&messages, false, true)? else { panic!("it is text") };
    /// assert!(text.contains("Hello!") && text.contains("assistant"));
    /// assert!(matches!(tokenizer.apply_chat_template(&messages, true, true)?, Prompt::Tokens(_)));
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As the first event of [`generate_response`](crate::Conversation::generate_response).
    pub fn apply_chat_template(
        &self,
        messages: &[ChatMessage],
        tokenize: bool,
        add_generation_prompt: bool,
    ) -> Result<Prompt> {
        if tokenize {
            self.runner.prompt_tokens(messages, add_generation_prompt).map(Prompt::Tokens)
        } else {
            self.runner.render_prompt(messages, add_generation_prompt).map(Prompt::Text)
        }
    }
}

/// Generates text for a prompt. With `verbose`, prints the text as it arrives, and the statistics after it.
///
/// ```
/// use causerie::{ChatMessage, GenerationOptions, generate};
/// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
/// let (model, tokenizer) = causerie::load(model)?;
/// let prompt = tokenizer.apply_chat_template(&[ChatMessage::user("Hello!")], true, true)?;
/// let options = GenerationOptions { temperature: Some(0.0), max_tokens: Some(8), ..Default::default() };
/// let text = generate(&model, &tokenizer, prompt, options, false)?;
/// assert!(!text.is_empty());
/// # Ok::<(), causerie::SdkError>(())
/// ```
///
/// # Errors
/// As [`ModelRunner::complete`]'s stream.
pub fn generate(
    model: &ModelRunner,
    tokenizer: &Tokenizer,
    prompt: impl Into<Prompt>,
    options: GenerationOptions,
    verbose: bool,
) -> Result<String> {
    generated(stream_generate(model, tokenizer, prompt, options), verbose)
}

/// As [`generate`], for a prompt that shows images: the markers that the chat template prints for them, such as `<image>`, are
/// replaced by the files, in their order.
///
/// ```no_run
/// use causerie::{GenerationOptions, Prompt, generate_with_images, load, messages_from_json};
///
/// let (model, processor) = load("LiquidAI/LFM2-VL-450M")?;
/// let content = r#"[{"type": "image"}, {"type": "text", "text": "What is this?"}]"#;
/// let messages = messages_from_json(&format!(r#"[{{"role": "user", "content": {content}}}]"#))?;
/// let prompt = processor.apply_chat_template(&messages, false, true)?;
/// let images = vec![std::fs::read("picture.png").unwrap()];
/// let text = generate_with_images(&model, &processor, images, prompt, GenerationOptions::default(), false)?;
/// # Ok::<(), causerie::SdkError>(())
/// ```
///
/// # Errors
/// As [`ModelRunner::complete_with_images`]'s stream: [`ErrorKind::UnsupportedContent`] if the model takes no images, and for a
/// file that cannot be decoded; [`ErrorKind::InvalidMessage`] if the prompt is not text with a marker for each image.
pub fn generate_with_images(
    model: &ModelRunner,
    processor: &Tokenizer,
    images: Vec<Vec<u8>>,
    prompt: impl Into<Prompt>,
    options: GenerationOptions,
    verbose: bool,
) -> Result<String> {
    generated(stream(model, processor, prompt.into(), images, options), verbose)
}

/// Reads a stream to its end.
fn generated(mut stream: TextStream, verbose: bool) -> Result<String> {
    let mut text = String::new();
    for piece in &mut stream {
        let piece = piece?;
        if verbose {
            show(&piece);
        }
        text.push_str(&piece);
    }
    if let Some(completion) = stream.completion().filter(|_| verbose) {
        let stats = &completion.stats;
        let prefill = stats.prompt_tokens as f64 / stats.prefill_time.as_secs_f64().max(f64::EPSILON);
        show(&format!(
            "\n==========\nPrompt: {} tokens, {prefill:.1} tokens-per-sec\nGeneration: {} tokens, {:.1} tokens-per-sec\n",
            stats.prompt_tokens,
            stats.completion_tokens,
            stats.tokens_per_second()
        ));
    }
    Ok(text)
}

/// Prints immediately. Errors are ignored, because a closed terminal should not stop the generation.
fn show(text: &str) {
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Generates text for a prompt, piece by piece.
///
/// ```
/// use causerie::{GenerationOptions, stream_generate};
/// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
/// let (model, tokenizer) = causerie::load(model)?;
/// let options = GenerationOptions { max_tokens: Some(8), ..Default::default() };
/// let mut pieces = stream_generate(&model, &tokenizer, "Once upon a time", options);
/// for piece in &mut pieces {
///     print!("{}", piece?);
/// }
/// # Ok::<(), causerie::SdkError>(())
/// ```
pub fn stream_generate(
    model: &ModelRunner,
    tokenizer: &Tokenizer,
    prompt: impl Into<Prompt>,
    options: GenerationOptions,
) -> TextStream {
    stream(model, tokenizer, prompt.into(), Vec::new(), options)
}

fn stream(
    model: &ModelRunner,
    tokenizer: &Tokenizer,
    prompt: Prompt,
    images: Vec<Vec<u8>>,
    options: GenerationOptions,
) -> TextStream {
    let options = GenerationOptions { function_call_parser: None, ..options };
    // The specification passes both, but a model has only one tokenizer.
    let stream = if model.is_same(&tokenizer.runner) {
        model.complete_with_images(prompt, images, options)
    } else {
        ResponseStream::failed(SdkError::new(
            ErrorKind::InvalidMessage,
            "the tokenizer must belong to the model, found the tokenizer of another model",
        ))
    };
    stream.text()
}
