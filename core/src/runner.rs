//! The model runner: a loaded model, which creates conversations.

use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::thread::Thread;
use std::time::Instant;

use jiff::Zoned;

use crate::engine::{Engine, EventSender, LoadedModel, PrefixCache, ReplyOwner, Request};
use crate::error::Result;
use crate::function::FunctionNames;
use crate::info::ModelInfo;
use crate::loading::{LoadPhase, PhaseProgress, load_model};
use crate::message::ChatMessage;
use crate::options::{GenerationOptions, LoadOptions, SamplingDefaults};
use crate::prompt::{Frame, Segment, joined};
use crate::tokenizer::{ControlTokens, TokenText};
use crate::weights::{ModelBytes, Weights};

/// A loaded model. Clones share it. It is unloaded when the last clone, conversation and stream are dropped.
///
/// ```
/// use causerie::{ChatMessage, GenerationOptions, MessageResponse, ModelRunner};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).unwrap();
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
    control: Arc<ControlTokens>,
    defaults: SamplingDefaults,
    info: ModelInfo,
    context_size: usize,
    function_names: FunctionNames,
}

/// The name that the embedded demo model has in its file. It is too small to leave a loop.
const DEMO_MODEL: &str = "causerie-demo";

/// Settings of the engine that only tests change.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "fuzzing"), expect(unreachable_pub, reason = "the feature exports it"))]
pub struct EngineSettings {
    /// Whether forced tokens and draft tokens are computed in one step with the token before them.
    pub looks_ahead: bool,
    /// The largest number of entries in the prefix cache.
    pub cache_entries: usize,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self { looks_ahead: true, cache_entries: 256 }
    }
}

impl ModelRunner {
    /// Loads a model: a GGUF file or a Hugging Face folder, given as a path or a `file://` URL, or `<namespace>/<name>` in the
    /// local cache.
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// let runner = causerie::ModelRunner::load(model)?;
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::ModelNotFound`](crate::ErrorKind::ModelNotFound) if there is nothing at this location,
    /// [`ErrorKind::ModelLoad`](crate::ErrorKind::ModelLoad) for files that are broken, incomplete or of an unsupported kind.
    pub fn load(model: impl AsRef<Path>) -> Result<Self> {
        Self::load_with(model, LoadOptions::default())
    }

    /// Loads a model with options.
    ///
    /// ```
    /// use causerie::{LoadOptions, ModelRunner};
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// let runner = ModelRunner::load_with(model, LoadOptions { threads: Some(2), ..Default::default() })?;
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As [`load`](Self::load), and [`ErrorKind::InvalidOption`](crate::ErrorKind::InvalidOption).
    pub fn load_with(model: impl AsRef<Path>, options: LoadOptions) -> Result<Self> {
        Self::load_watched(model, options, |_| ControlFlow::Continue(()))
    }

    /// Loads a model and reports the progress, from 0 to 1, at the beginning and after each layer. `Break` cancels the loading.
    ///
    /// ```
    /// use causerie::{ErrorKind, LoadOptions, ModelRunner};
    /// use std::ops::ControlFlow;
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// let runner = ModelRunner::load_watched(model, LoadOptions::default(), |fraction| {
    ///     println!("{:.0} %", fraction * 100.0);
    ///     ControlFlow::Continue(())
    /// })?;
    /// let cancelled = ModelRunner::load_watched(model, LoadOptions::default(), |_| ControlFlow::Break(()));
    /// assert_eq!(cancelled.unwrap_err().kind(), ErrorKind::LoadCancelled);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As [`load_with`](Self::load_with), and [`ErrorKind::LoadCancelled`](crate::ErrorKind::LoadCancelled) after `Break`.
    pub fn load_watched(
        model: impl AsRef<Path>,
        options: LoadOptions,
        mut progress: impl FnMut(f32) -> ControlFlow<()>,
    ) -> Result<Self> {
        Self::load_by_phases(model, options, |_, share| progress(share))
    }

    /// As [`load_watched`](Self::load_watched), with what loading does at the time.
    ///
    /// ```
    /// use causerie::{LoadOptions, LoadPhase, ModelRunner};
    /// use std::ops::ControlFlow;
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// let runner = ModelRunner::load_by_phases(model, LoadOptions::default(), |phase, fraction| {
    ///     if phase == LoadPhase::Packing {
    ///         println!("preparing the model for the first time: {:.0} %", fraction * 100.0);
    ///     }
    ///     ControlFlow::Continue(())
    /// })?;
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As [`load_watched`](Self::load_watched).
    pub fn load_by_phases(
        model: impl AsRef<Path>,
        options: LoadOptions,
        mut progress: impl FnMut(LoadPhase, f32) -> ControlFlow<()>,
    ) -> Result<Self> {
        Self::from_weights(Weights::open(model)?, options, EngineSettings::default(), &mut progress)
    }

    /// Loads a model from memory, for example one that is embedded in the program.
    ///
    /// ```
    /// use causerie::{LoadOptions, ModelRunner};
    /// static MODEL: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf"));
    /// let runner = ModelRunner::load_from_bytes(MODEL, LoadOptions::default())?;
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As [`load_with`](Self::load_with).
    pub fn load_from_bytes(bytes: impl Into<ModelBytes>, options: LoadOptions) -> Result<Self> {
        let weights = Weights::from_bytes(bytes.into())?;
        Self::from_weights(weights, options, EngineSettings::default(), &mut |_, _| ControlFlow::Continue(()))
    }

    pub(crate) fn from_weights(
        weights: Weights,
        options: LoadOptions,
        settings: EngineSettings,
        progress: PhaseProgress<'_>,
    ) -> Result<Self> {
        let begin = Instant::now();
        let (loaded, info, options) = load_model(&weights, options, progress)
            .inspect_err(|err| log::debug!("a model cannot be loaded: {err}"))?;
        log::info!(
            "loaded {} ({}) in {:.3} s, context of {} tokens",
            info.name.as_deref().unwrap_or("a model"),
            info.architecture,
            begin.elapsed().as_secs_f64(),
            loaded.context_size
        );
        Self::start(loaded, &options, settings, info)
    }

    pub(crate) fn start(
        mut loaded: LoadedModel,
        options: &LoadOptions,
        settings: EngineSettings,
        info: ModelInfo,
    ) -> Result<Self> {
        loaded.function_names = options.function_names;
        loaded.looks_ahead = settings.looks_ahead;
        loaded.stops_on_repetition = info.name.as_deref() == Some(DEMO_MODEL);
        let inner = Inner {
            function_names: options.function_names,
            control: Arc::new(loaded.tokenizer.control_tokens()?),
            context_size: loaded.context_size,
            engine: Engine::start(loaded, PrefixCache::new(options.cache_size(), settings.cache_entries))?,
            defaults: options.generation_defaults,
            info,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The description of the model, with its memory use.
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// let runner = causerie::ModelRunner::load(model)?;
    /// println!("{} parameters", runner.info().n_parameters);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn info(&self) -> &ModelInfo {
        &self.inner.info
    }

    /// Why the model is not computed on the GPU that [`LoadOptions::device`] asks for: there is none, its memory is too small, or it failed
    /// meanwhile. Replies go on on the CPU then, from where they are. `None` if it is computed as asked for, and once it is unloaded.
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// let runner = causerie::ModelRunner::load(model)?;
    /// assert_eq!(runner.device_note(), None);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn device_note(&self) -> Option<String> {
        self.inner.engine.loaded().ok()?.model.device_note()
    }

    /// The largest number of tokens of a prompt and its reply together: the model's own context size, limited by
    /// [`LoadOptions::context_size`].
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// assert!(causerie::ModelRunner::load(model)?.context_size() <= 8192);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn context_size(&self) -> usize {
        self.inner.context_size
    }

    /// Whether the model's chat template supports functions.
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// assert!(causerie::ModelRunner::load(model)?.supports_function_calling());
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn supports_function_calling(&self) -> bool {
        self.inner.info.supports_function_calling
    }

    /// Which names functions may have.
    pub(crate) fn function_names(&self) -> FunctionNames {
        self.inner.function_names
    }

    /// Cancels all replies of this model and frees its memory. The returned future completes when the memory is free.
    /// Afterwards, conversations can still be read, but generating fails with
    /// [`ErrorKind::ModelUnloaded`](crate::ErrorKind::ModelUnloaded). Further calls have no effect.
    ///
    /// Without this call, a model is unloaded when the last runner, conversation and stream are dropped.
    ///
    /// ```
    /// use causerie::{ChatMessage, ErrorKind, GenerationOptions};
    /// # let runner = causerie::testing::ScriptedModel::new().reply("Hello!").load()?;
    /// let conversation = runner.create_conversation("");
    /// pollster::block_on(runner.unload()); // or `.await`
    /// let mut reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
    /// assert_eq!(reply.iter().next().unwrap().unwrap_err().kind(), ErrorKind::ModelUnloaded);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn unload(&self) -> impl Future<Output = ()> + Send + use<> {
        let unloaded = self.inner.engine.unload();
        async move {
            let _ = unloaded.await; // an error means that the engine's thread has already ended
        }
    }

    /// The prompt for these messages, as text. Reasoning is not requested, as in a conversation without
    /// [`enable_thinking`](GenerationOptions::enable_thinking). An image is the marker that the template prints for it; its data
    /// may be missing.
    ///
    /// ```
    /// # let runner = causerie::testing::ScriptedModel::new().load()?;
    /// let prompt = runner.render_prompt(&[causerie::ChatMessage::user("Hi")], true)?;
    /// assert!(prompt.ends_with("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"));
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Conversation::generate_response`](crate::Conversation::generate_response), before its first token.
    pub fn render_prompt(&self, messages: &[ChatMessage], add_generation_prompt: bool) -> Result<String> {
        Ok(joined(&rendered(&*self.loaded()?, messages, add_generation_prompt)?))
    }

    /// The token ids of a text prompt, as [`complete`](Self::complete) encodes it.
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// let tokens = causerie::ModelRunner::load(model)?.tokenize("Set a timer for 12 minutes")?;
    /// println!("{} tokens", tokens.len());
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::ErrorKind::ModelLoad) if the model's tokenizer fails on the text,
    /// [`ErrorKind::ModelUnloaded`](crate::ErrorKind::ModelUnloaded).
    pub fn tokenize(&self, prompt: &str) -> Result<Vec<u32>> {
        self.loaded()?.tokenizer.encode_with_bos(&self.inner.control.split(prompt))
    }

    /// The text of a token, with U+FFFD for an incomplete character; for a control token, its spelling. `None` for an id
    /// without a token, or if the model is unloaded.
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// let runner = causerie::ModelRunner::load(model)?;
    /// let pieces: Vec<String> = runner.tokenize("a timer")?.into_iter().filter_map(|id| runner.token_text(id)).collect();
    /// assert!(pieces.concat().ends_with("a timer"));
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn token_text(&self, id: u32) -> Option<String> {
        self.loaded().ok()?.tokenizer.text(id).map(TokenText::shown)
    }

    /// The token ids of the prompt for these messages.
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// let runner = causerie::ModelRunner::load(model)?;
    /// let messages = [causerie::ChatMessage::user("Hi")];
    /// assert_eq!(runner.prompt_tokens(&messages, true)?, runner.tokenize(&runner.render_prompt(&messages, true)?)?);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As [`render_prompt`](Self::render_prompt).
    pub fn prompt_tokens(&self, messages: &[ChatMessage], add_generation_prompt: bool) -> Result<Vec<u32>> {
        let loaded = self.loaded()?;
        loaded.tokenizer.encode_with_bos(&rendered(&loaded, messages, add_generation_prompt)?)
    }

    /// The model's own sampling values, which apply where a reply's options have none.
    ///
    /// ```
    /// # fn main() -> causerie::Result<()> {
    /// let runner = causerie::testing::ScriptedModel::new().load()?;
    /// assert_eq!(runner.sampling_defaults().temperature, None);
    /// # Ok(()) }
    /// ```
    pub fn sampling_defaults(&self) -> SamplingDefaults {
        self.inner.defaults
    }

    /// # Errors
    /// [`ErrorKind::ModelUnloaded`](crate::ErrorKind::ModelUnloaded).
    pub(crate) fn loaded(&self) -> Result<Arc<LoadedModel>> {
        self.inner.engine.loaded()
    }

    /// The control tokens of the vocabulary, by their spellings.
    pub(crate) fn control(&self) -> &Arc<ControlTokens> {
        &self.inner.control
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// Whether two runners share one loaded model.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// The options with the model's notation of calls, unless they name one.
    pub(crate) fn resolved(&self, options: GenerationOptions) -> GenerationOptions {
        let notation = self.inner.info.function_call_parser;
        let function_call_parser = options.function_call_parser.map(|parser| parser.or_of_model(notation));
        GenerationOptions { function_call_parser, ..options }
    }

    /// Queues a reply.
    pub(crate) fn submit(
        &self,
        owner: Box<dyn ReplyOwner>,
        options: GenerationOptions,
        sender: EventSender,
    ) -> Result<Thread> {
        options.check()?;
        let sampling = options.sampling(&self.inner.defaults);
        let engine = &self.inner.engine;
        engine.submit(Request { owner, options, sampling }, sender)?;
        Ok(engine.thread())
    }
}

/// The prompt for messages alone.
fn rendered(loaded: &LoadedModel, messages: &[ChatMessage], add_generation_prompt: bool) -> Result<Vec<Segment>> {
    loaded.render(messages, &Frame::shown(&Zoned::now(), add_generation_prompt))
}

impl fmt::Debug for ModelRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelRunner").field("context_size", &self.context_size()).finish_non_exhaustive()
    }
}
