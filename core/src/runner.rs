//! The model runner: a loaded model, from which conversations are made.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::thread::Thread;

use jiff::Zoned;

use crate::engine::{Engine, Listener, LoadedModel, Outlet, Request, ResponseStream};
use crate::error::{ErrorKind, Result, SdkError};
use crate::message::ChatMessage;
use crate::model::Model;
use crate::options::{GenerationOptions, SamplingDefaults};
use crate::prompt::{ControlTokens, PromptRenderer, Segment, joined};
use crate::tokenizer::{TokenText, Tokenizer};
use crate::weights::Weights;

/// Tokens of context that are used of models which could hold more.
const DEFAULT_CONTEXT: usize = 8192;

/// A loaded model. Clones share it; it is unloaded when the last clone, conversation and stream are gone.
///
/// ```no_run
/// use causerie::{ChatMessage, GenerationOptions, MessageResponse, ModelRunner};
///
/// let runner = ModelRunner::load("models/demo.gguf")?;
/// let conversation = runner.create_conversation("You are brief.");
/// for event in conversation.generate_response(ChatMessage::user("Hello!"), GenerationOptions::default()) {
///     if let MessageResponse::Chunk(text) = event? {
///         print!("{text}");
///     }
/// }
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone)]
pub struct ModelRunner {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Engine,
    control: ControlTokens,
    defaults: SamplingDefaults,
}

impl ModelRunner {
    /// Loads a model: a GGUF file, a Hugging Face folder, or `<namespace>/<name>` in the local cache.
    ///
    /// # Errors
    /// [`ErrorKind::ModelNotFound`] when there is nothing at the place, [`ErrorKind::ModelLoad`] for files that are
    /// broken, incomplete or of a kind that is not supported.
    pub fn load(model: &str) -> Result<Self> {
        Self::from_weights(&Weights::open(model)?)
    }

    /// Loads a GGUF file that is held in memory, for example one embedded in the program.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`], as [`load`](Self::load).
    pub fn load_from_bytes(bytes: impl Into<Cow<'static, [u8]>>) -> Result<Self> {
        Self::from_weights(&Weights::from_bytes(bytes.into())?)
    }

    fn from_weights(weights: &Weights) -> Result<Self> {
        let (tokenizer, template) = Tokenizer::load(weights)?;
        let model = Model::load(weights)?;
        if model.n_vocabulary() < tokenizer.n_tokens() {
            let (tokens, rows) = (tokenizer.n_tokens(), model.n_vocabulary());
            return Err(SdkError::new(
                ErrorKind::ModelLoad,
                format!("the vocabulary has {tokens} tokens, and the model knows {rows}"),
            ));
        }
        let renderer = |source: String| {
            PromptRenderer::new(&source, tokenizer.control_tokens()?, tokenizer.bos_token(), tokenizer.eos_token())
        };
        let renderer = template.map(renderer).transpose()?;
        let control = tokenizer.control_tokens()?;
        let context_size = model.context_size().min(DEFAULT_CONTEXT);
        let defaults = weights.sampling_defaults()?;
        let engine = Engine::start(LoadedModel { model, tokenizer, renderer, context_size })?;
        Ok(Self { inner: Arc::new(Inner { engine, control, defaults }) })
    }

    /// Completes a prompt as it stands. Control tokens spelled in text count as such, and the token that begins a text
    /// is put before it when missing.
    pub fn complete(&self, prompt: impl Into<Prompt>, options: GenerationOptions) -> ResponseStream {
        let (runner, prompt) = (self.clone(), prompt.into());
        ResponseStream::new(move |outlet| {
            let tokens = match prompt {
                Prompt::Text(text) => runner.tokenize(&text)?,
                Prompt::Tokens(tokens) => tokens,
            };
            runner.submit(tokens, options, false, Box::new(|_| {}), outlet)
        })
    }

    /// Tokens that a prompt and its reply can have together: the model's own context, at most 8,192.
    pub fn context_size(&self) -> usize {
        self.inner.engine.loaded().context_size
    }

    /// Whether the model's chat template can offer functions.
    pub fn supports_function_calling(&self) -> bool {
        self.inner.engine.loaded().renderer.as_ref().is_some_and(PromptRenderer::offers_functions)
    }

    /// The prompt that the model would read for these messages, as one text.
    ///
    /// # Errors
    /// As [`Conversation::generate_response`](crate::Conversation::generate_response), before its first token.
    pub fn render_prompt(&self, messages: &[ChatMessage], add_generation_prompt: bool) -> Result<String> {
        Ok(joined(&self.render(messages, add_generation_prompt, &Zoned::now())?))
    }

    /// The token ids of a prompt given as text, as [`complete`](Self::complete) reads it.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`] when the model's tokenizer fails on the text.
    pub fn tokenize(&self, prompt: &str) -> Result<Vec<u32>> {
        self.inner.engine.loaded().tokenizer.encode_with_bos(&self.inner.control.split(prompt))
    }

    /// What a token adds to text: a control token its spelling, part of a character U+FFFD. `None` for an id without a
    /// token.
    pub fn token_text(&self, id: u32) -> Option<String> {
        self.inner.engine.loaded().tokenizer.text(id).map(|text| match text {
            TokenText::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            TokenText::Control(spelling) => spelling.to_string(),
        })
    }

    /// The token ids that the model would read for these messages.
    ///
    /// # Errors
    /// As [`render_prompt`](Self::render_prompt).
    pub fn prompt_tokens(&self, messages: &[ChatMessage], add_generation_prompt: bool) -> Result<Vec<u32>> {
        self.encode(&self.render(messages, add_generation_prompt, &Zoned::now())?)
    }

    /// The token ids of a rendered prompt.
    pub(crate) fn encode(&self, segments: &[Segment]) -> Result<Vec<u32>> {
        self.inner.engine.loaded().tokenizer.encode_with_bos(segments)
    }

    /// The prompt for messages, at the time that the template sees.
    pub(crate) fn render(
        &self,
        messages: &[ChatMessage],
        add_generation_prompt: bool,
        now: &Zoned,
    ) -> Result<Vec<Segment>> {
        let renderer = self.inner.engine.loaded().renderer.as_ref();
        let missing = || SdkError::new(ErrorKind::InvalidMessage, "the model has no chat template");
        renderer.ok_or_else(missing)?.render(messages, add_generation_prompt, now)
    }

    /// Whether two runners share one loaded model.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Queues a reply to a prompt.
    pub(crate) fn submit(
        &self,
        prompt: Vec<u32>,
        options: GenerationOptions,
        in_reasoning: bool,
        listener: Listener,
        outlet: Outlet,
    ) -> Result<Thread> {
        options.check()?;
        let engine = &self.inner.engine;
        let n_known = engine.loaded().model.n_vocabulary();
        if let Some(id) = prompt.iter().find(|id| n_known <= **id as usize) {
            return Err(SdkError::new(
                ErrorKind::InvalidMessage,
                format!("the prompt holds token id {id}, and the model knows {n_known}"),
            ));
        }
        let sampling = options.sampling(&self.inner.defaults);
        engine.submit(Request { prompt, options, sampling, in_reasoning, listener }, outlet)?;
        Ok(engine.thread())
    }
}

/// A prompt, as text or as token ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// Text, control tokens spelled out.
    Text(String),
    /// Token ids.
    Tokens(Vec<u32>),
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Prompt {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl fmt::Debug for ModelRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelRunner").field("context_size", &self.context_size()).finish_non_exhaustive()
    }
}
