//! Loading a model, and the runner that it becomes.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;

use causerie as core;
use futures_channel::oneshot;

use crate::conversation::Conversation;
use crate::decide::{DecisionCancel, DecisionOptions, DecisionQuestion, DecisionState, Decisions};
use crate::embedding::EmbeddingModel;
use crate::error::{Result, SdkError};
use crate::message::{ChatMessage, into_core};
use crate::number::{SdkCount, SdkLong, count};
use crate::options::{FunctionCallParser, GenerationOptions, LoadOptions, SpeechVoice};
use crate::stream::ResponseStream;

/// A loaded model, which creates conversations.
#[derive(Debug, uniffi::Object)]
pub struct ModelRunner {
    pub(crate) runner: core::ModelRunner,
}

/// A type of facts.
pub trait FactType {
    /// Its type in the core.
    type Core;
    /// The type of its field in the record.
    type Field;

    /// The value of the field.
    fn field(value: Self::Core) -> Self::Field;
}

macro_rules! facts {
    (
        |$info:ident, $memory:ident|
        $($(#[doc = $doc:literal])* $name:ident: $type:ty = $value:expr;)*
    ) => {
        /// Facts about a model.
        #[derive(Clone, Debug, PartialEq, uniffi::Record)]
        pub struct ModelInfo {
            $($(#[doc = $doc])* pub $name: <$type as FactType>::Field,)*
        }

        impl ModelInfo {
            fn new($info: &core::ModelInfo, context_size: usize) -> Self {
                let $memory = $info.memory_estimate(context_size);
                Self { $($name: <$type as FactType>::field($value),)* }
            }
        }
    };
}

core::__model_facts!(facts);

macro_rules! fact_types {
    ($($type:ty: $core:ty => $field:ty, $convert:expr;)*) => {$(
        impl FactType for $type {
            type Core = $core;
            type Field = $field;

            fn field(value: $core) -> $field {
                $convert(value)
            }
        }
    )*};
}

fact_types! {
    bool: bool => bool, From::from;
    String: String => String, From::from;
    Option<String>: Option<String> => Option<String>, From::from;
    Vec<String>: Vec<String> => Vec<String>, From::from;
    u64: u64 => SdkLong, SdkLong;
    usize: usize => SdkCount, count;
    FunctionCallParser: core::FunctionCallParser => FunctionCallParser, From::from;
}

/// Reads facts about a model from the headers of its files: a GGUF file, a Hugging Face folder, or `<namespace>/<name>` in
/// the local cache. Nothing is loaded. The memory estimate uses the context size that loading would: the model's own, at
/// most 8,192 tokens, or at most `context_size`.
#[uniffi::export(default(context_size = None))]
pub fn read_model_info(path: String, context_size: Option<SdkCount>) -> Result<ModelInfo> {
    let info = core::ModelInfo::read(&path)?;
    let most = context_size.map_or(core::LoadOptions::DEFAULT_CONTEXT_SIZE, SdkCount::size);
    Ok(ModelInfo::new(&info, info.context_size.min(most)))
}

/// Watches a model while it is loaded. It is called on the thread that loads.
#[uniffi::export(rust, foreign)]
pub trait LoadProgress: Send + Sync + std::fmt::Debug {
    /// Reports the progress of loading, from 0 to 1, and what loading does. Returning false cancels it, and so does an error.
    fn proceed(&self, fraction: f32, phase: LoadPhase) -> Result<bool>;
}

/// What loading a model does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum LoadPhase {
    /// Packed weights are written into the folder of the app.
    Packing,
    /// The weights are read into memory.
    Reading,
    /// Packed weights are mapped.
    Mapping,
    /// The model is loaded.
    Ready,
}

impl From<core::LoadPhase> for LoadPhase {
    fn from(phase: core::LoadPhase) -> Self {
        match phase {
            core::LoadPhase::Packing => Self::Packing,
            core::LoadPhase::Mapping => Self::Mapping,
            core::LoadPhase::Ready => Self::Ready,
            _ => Self::Reading, // the core may divide reading into more phases
        }
    }
}

/// Loads a model: a GGUF file, a Hugging Face folder, or `<namespace>/<name>` in the local cache. Loading runs on a thread of
/// its own, and stops soon after the caller has stopped waiting.
#[uniffi::export(default(progress = None))]
pub async fn load_model(
    path: String,
    options: LoadOptions,
    progress: Option<Arc<dyn LoadProgress>>,
) -> Result<Arc<ModelRunner>> {
    let (sender, receiver) = oneshot::channel();
    let load = move || {
        let loaded = load_watched(&path, options, progress, || sender.is_canceled());
        drop(sender.send(loaded)); // fails if the caller has stopped waiting
    };
    thread::Builder::new()
        .name("causerie-load".to_owned())
        .spawn(load)
        .map_err(|err| SdkError::Internal { reason: format!("cannot start a thread: {err}") })?;
    let loaded = receiver.await.map_err(|_| SdkError::Internal { reason: "loading failed".to_owned() })?;
    Ok(Arc::new(ModelRunner { runner: loaded? }))
}

fn load_watched(
    path: &str,
    options: LoadOptions,
    progress: Option<Arc<dyn LoadProgress>>,
    is_abandoned: impl Fn() -> bool,
) -> Result<core::ModelRunner> {
    let mut thrown = None;
    let loaded = core::ModelRunner::load_by_phases(path, options.into(), |phase, fraction| {
        // Checked first: a caller that has gone must not be called.
        if is_abandoned() {
            return ControlFlow::Break(());
        }
        match progress.as_ref().map_or(Ok(true), |progress| progress.proceed(fraction, phase.into())) {
            Ok(true) => ControlFlow::Continue(()),
            Ok(false) => ControlFlow::Break(()),
            Err(err) => {
                thrown = Some(err);
                ControlFlow::Break(())
            }
        }
    });
    match thrown {
        Some(err) => Err(err),
        None => Ok(loaded?),
    }
}

/// Loads a model that follows a script, given as JSON text, for tests of apps. See the core's `testing::ScriptedModel`.
#[uniffi::export]
pub fn load_scripted_model(script: String) -> Result<Arc<ModelRunner>> {
    let runner = core::testing::ScriptedModel::from_json(&script)?.load()?;
    Ok(Arc::new(ModelRunner { runner }))
}

#[uniffi::export]
impl ModelRunner {
    /// Creates a conversation that begins with a system prompt, or without one if it is empty.
    pub fn create_conversation(&self, system_prompt: String) -> Arc<Conversation> {
        Conversation::new(self.runner.create_conversation(&system_prompt))
    }

    /// Creates a conversation that continues a history. The system message carries the functions, so they come with it.
    pub fn create_conversation_from_history(&self, history: Vec<ChatMessage>) -> Arc<Conversation> {
        Conversation::new(self.runner.create_conversation_from_history(into_core(history)))
    }

    /// Restores a conversation from a file.
    pub fn restore_session(&self, path: String) -> Result<Arc<Conversation>> {
        Ok(Conversation::new(self.runner.restore_session(path)?))
    }

    /// Completes a prompt as it stands.
    pub fn complete(&self, prompt: String, options: GenerationOptions) -> Arc<ResponseStream> {
        ResponseStream::new(self.runner.complete(prompt, options.into()))
    }

    /// Completes a prompt that shows images: they replace, in order, the markers that the chat template prints for images.
    pub fn complete_with_images(
        &self,
        prompt: String,
        images: Vec<Vec<u8>>,
        options: GenerationOptions,
    ) -> Arc<ResponseStream> {
        ResponseStream::new(self.runner.complete_with_images(prompt, images, options.into()))
    }

    /// Completes a prompt given as token ids.
    pub fn complete_tokens(&self, prompt: Vec<u32>, options: GenerationOptions) -> Arc<ResponseStream> {
        ResponseStream::new(self.runner.complete(core::Prompt::Tokens(prompt), options.into()))
    }

    /// Reads a text aloud. The sound is in the reply's `AudioSample` events; text that the model writes beside it is not part of what
    /// is read. `UnsupportedContent` if the model does not speak.
    pub fn speak(&self, text: String, voice: SpeechVoice, options: GenerationOptions) -> Result<Arc<ResponseStream>> {
        Ok(ResponseStream::new(self.runner.speak(&text, voice.into(), options.into())?))
    }

    /// Sets the model that chooses among the functions of this runner's conversations, for replies with `max_offered_functions`: by the
    /// vectors of messages, and of the names and descriptions of functions. `UnsupportedContent` for a model that gives no vectors of
    /// texts.
    pub fn set_function_ranker(&self, model: Arc<EmbeddingModel>) -> Result<()> {
        Ok(self.runner.set_function_ranker(&model.model)?)
    }

    /// Answers questions about a state, with probabilities and without generating text. The state is prefilled once, and stays in the
    /// prefix cache. A caller that stops waiting cancels the questions.
    pub async fn decide(
        &self,
        state: DecisionState,
        questions: Vec<DecisionQuestion>,
        options: DecisionOptions,
    ) -> Result<Decisions> {
        let questions = questions.into_iter().map(Into::into).collect();
        let state = core::DecisionState::try_from(state)?;
        Ok(self.runner.decide_async(state, questions, options.into()).await?.into())
    }

    /// As `decide`, for a language whose tasks do not end a call when they are cancelled. A cancel is an error.
    pub async fn decide_until(
        &self,
        state: DecisionState,
        questions: Vec<DecisionQuestion>,
        options: DecisionOptions,
        cancel: Arc<DecisionCancel>,
    ) -> Result<Decisions> {
        cancel.limit(self.decide(state, questions, options)).await
    }

    /// Renders the prompt for these messages.
    pub fn render_prompt(&self, messages: Vec<ChatMessage>, add_generation_prompt: bool) -> Result<String> {
        Ok(self.runner.render_prompt(&into_core(messages), add_generation_prompt)?)
    }

    /// The token ids of the prompt for these messages.
    pub fn prompt_tokens(&self, messages: Vec<ChatMessage>, add_generation_prompt: bool) -> Result<Vec<u32>> {
        Ok(self.runner.prompt_tokens(&into_core(messages), add_generation_prompt)?)
    }

    /// The token ids of a prompt given as text.
    pub fn tokenize(&self, prompt: String) -> Result<Vec<u32>> {
        Ok(self.runner.tokenize(&prompt)?)
    }

    /// Context size in tokens, for a prompt and its reply together.
    pub fn context_size(&self) -> SdkCount {
        count(self.runner.context_size())
    }

    /// Whether the model's chat template supports functions.
    pub fn supports_function_calling(&self) -> bool {
        self.runner.supports_function_calling()
    }

    /// Facts about the model.
    pub fn info(&self) -> ModelInfo {
        ModelInfo::new(self.runner.info(), self.runner.context_size())
    }

    /// Why the model is not computed on the GPU that its options ask for: there is none, its memory is too small, or it failed
    /// meanwhile. None if it is computed as asked for.
    pub fn device_note(&self) -> Option<String> {
        self.runner.device_note()
    }

    /// Cancels all replies of this model and frees its memory. Conversations stay readable. Calling it again does nothing.
    pub async fn unload(&self) -> Result<()> {
        self.runner.unload().await;
        Ok(())
    }
}
