//! What a model makes of text before it computes: its tokenizer and its chat template, without its weights.

use std::fmt;
use std::path::Path;

use jiff::Zoned;

use crate::error::{ErrorKind, Result, SdkError};
use crate::hearing;
use crate::info::ModelInfo;
use crate::message::{ChatMessage, ChatMessageContent};
use crate::projectors;
use crate::prompt::{Frame, PromptRenderer, joined};
use crate::tokenizer::{ControlTokens, ModelTokenizer, TokenText};
use crate::vision;
use crate::weights::{ModelBytes, TemplateSources, Weights};

/// The tokenizer and the chat template of a model, read from the headers of its files. The weights are not read, so a model of
/// gigabytes is ready at once.
///
/// ```
/// use causerie::{ChatMessage, ModelText};
///
/// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
/// let model = ModelText::read(model)?;
/// let prompt = model.render_prompt(&[ChatMessage::user("Hello!")], true)?;
/// println!("{} tokens: {prompt}", model.tokenize(&prompt)?.len());
/// # Ok::<(), causerie::SdkError>(())
/// ```
pub struct ModelText {
    weights: Weights,
    tokenizer: ModelTokenizer,
    control: ControlTokens,
}

impl ModelText {
    /// Reads the tokenizer of a model: a GGUF file, a Hugging Face folder, or `<namespace>/<name>` in the local cache.
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// assert!(!causerie::ModelText::read(model)?.tokenize("Hello!")?.is_empty());
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As [`ModelRunner::load`](crate::ModelRunner::load), for headers and the tokenizer.
    pub fn read(model: impl AsRef<Path>) -> Result<Self> {
        Self::from_weights(Weights::open(model)?)
    }

    /// Reads the tokenizer of a model that is held in memory.
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// let bytes = std::fs::read(model).unwrap();
    /// assert!(!causerie::ModelText::read_from_bytes(bytes)?.tokenize("Hello!")?.is_empty());
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_from_bytes(bytes: impl Into<ModelBytes>) -> Result<Self> {
        Self::from_weights(Weights::from_bytes(bytes.into())?)
    }

    fn from_weights(weights: Weights) -> Result<Self> {
        let tokenizer = ModelTokenizer::load(&weights)?;
        let control = tokenizer.control_tokens()?;
        Ok(Self { weights, tokenizer, control })
    }

    /// The prompt for these messages, as [`ModelRunner::render_prompt`](crate::ModelRunner::render_prompt) renders it. Names of
    /// functions may have dots and hyphens.
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// let prompt = causerie::ModelText::read(model)?.render_prompt(&[causerie::ChatMessage::user("Hi")], true)?;
    /// assert!(prompt.contains("Hi"));
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidMessage`] for a model without a chat template; others as for the runner's method.
    pub fn render_prompt(&self, messages: &[ChatMessage], add_generation_prompt: bool) -> Result<String> {
        let missing = || SdkError::new(ErrorKind::InvalidMessage, "the model has no chat template");
        let sources = TemplateSources::read(&self.weights)?.ok_or_else(missing)?;
        let mut renderer = PromptRenderer::from_sources(&sources, &self.tokenizer)?;
        let is_text = |part: &ChatMessageContent| matches!(part, ChatMessageContent::Text(_));
        if !messages.iter().flat_map(|message| &message.content).all(is_text) {
            let hidden_size = ModelInfo::of_weights(&self.weights)?.hidden_size;
            let parts = projectors::find(&self.weights, None, hidden_size)?;
            vision::attach_markers(&parts.vision, &self.control, &mut renderer);
            hearing::attach_hidden(&parts.hearing, &self.control, &mut renderer);
        }
        let segments = renderer.render(messages, &Frame::shown(&Zoned::now(), add_generation_prompt))?;
        Ok(joined(&segments))
    }

    /// The token ids of a text prompt, as [`ModelRunner::tokenize`](crate::ModelRunner::tokenize) encodes it.
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// let tokens = causerie::ModelText::read(model)?.tokenize("Set a timer for 12 minutes")?;
    /// println!("{} tokens", tokens.len());
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`] if the tokenizer fails on the text.
    pub fn tokenize(&self, prompt: &str) -> Result<Vec<u32>> {
        self.tokenizer.encode_with_bos(&self.control.split(prompt))
    }

    /// The text of a token, with U+FFFD for an incomplete character; for a control token, its spelling. `None` for an id
    /// without a token.
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// let model = causerie::ModelText::read(model)?;
    /// let pieces: Vec<String> = model.tokenize("a timer")?.into_iter().filter_map(|id| model.token_text(id)).collect();
    /// assert!(pieces.concat().ends_with("a timer"));
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn token_text(&self, id: u32) -> Option<String> {
        self.tokenizer.text(id).map(TokenText::shown)
    }
}

impl fmt::Debug for ModelText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelText").field("n_tokens", &self.tokenizer.n_tokens()).finish_non_exhaustive()
    }
}
