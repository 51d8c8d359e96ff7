//! A conversation: a history that grows by messages and replies.
use std::sync::Arc;
use std::time::Duration;

use causerie as core;
use parking_lot::Mutex;

use crate::error::Result;
use crate::function::SdkFunction;
use crate::message::ChatMessage;
use crate::number::{SdkCount, count, counts};
use crate::options::GenerationOptions;
use crate::rounds::RoundOptions;
use crate::runner::ModelRunner;
use crate::stream::ResponseStream;

/// A conversation with a model.
#[derive(Debug, uniffi::Object)]
pub struct Conversation {
    conversation: core::Conversation,
    /// Progress of the latest reply.
    progress: Mutex<core::PrefillProgress>,
}

impl Conversation {
    pub(crate) fn new(conversation: core::Conversation) -> Arc<Self> {
        Arc::new(Self { conversation, progress: Mutex::default() })
    }

    fn started(&self, stream: core::ResponseStream) -> Arc<ResponseStream> {
        *self.progress.lock() = stream.prefill_progress();
        ResponseStream::new(stream)
    }
}

/// How much of a reply's prompt is prefilled. What comes from the prefix cache counts as prefilled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Record)]
pub struct PrefillProgress {
    /// Tokens of the prompt that are prefilled.
    pub done_tokens: SdkCount,
    /// Tokens of the prompt; 0 until the prompt is prepared.
    pub total_tokens: SdkCount,
    /// Images of the prompt that are computed. Each tile of a large picture counts as an image, and its smaller copy as well.
    pub done_images: SdkCount,
    /// Images of the prompt, counted in the same way.
    pub total_images: SdkCount,
}

/// What a prompt leaves out of a history. Messages are given by their index.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ContextPlan {
    /// Tokens of the whole history.
    pub tokens_before: SdkCount,
    /// Tokens of the prompt.
    pub tokens_after: SdkCount,
    /// Messages left out.
    pub dropped_messages: Vec<SdkCount>,
    /// Function results that are cut short.
    pub shrunk_messages: Vec<SdkCount>,
}

#[uniffi::export]
impl Conversation {
    /// The runner that created this conversation.
    pub fn model_runner(&self) -> Arc<ModelRunner> {
        Arc::new(ModelRunner { runner: self.conversation.model_runner().clone() })
    }

    /// A copy of all messages so far. A reply joins them before its `Complete` is delivered, and as soon as it has called
    /// functions.
    pub fn history(&self) -> Vec<ChatMessage> {
        self.conversation.history().into_iter().map(Into::into).collect()
    }

    /// The registered functions.
    pub fn functions(&self) -> Vec<SdkFunction> {
        self.conversation.functions().into_iter().map(Into::into).collect()
    }

    /// Whether a reply is being generated, or waits for its turn.
    pub fn is_generating(&self) -> bool {
        self.conversation.is_generating()
    }

    /// How much of the latest reply's prompt is prefilled, to show while its first event is awaited. All zeros before the first
    /// reply. With function calls, the prompt is that of the current round.
    pub fn prefill_progress(&self) -> PrefillProgress {
        let progress = self.progress.lock();
        PrefillProgress {
            done_tokens: count(progress.done_tokens()),
            total_tokens: count(progress.total_tokens()),
            done_images: count(progress.done_images()),
            total_images: count(progress.total_images()),
        }
    }

    /// Offers a function to the model. It replaces a function of the same name in place. If the function is refused, the next
    /// reply reports the error, once.
    pub fn offer_function(&self, function: SdkFunction) {
        self.conversation.offer_function(function.into());
    }

    /// Offers functions to the model, all or none. Each replaces a function of the same name in place.
    pub fn register_functions(&self, functions: Vec<SdkFunction>) -> Result<()> {
        Ok(self.conversation.register_functions(functions.into_iter().map(Into::into).collect())?)
    }

    /// Stops offering a function. Returns false if none has this name.
    pub fn unregister_function(&self, name: String) -> Result<bool> {
        Ok(self.conversation.unregister_function(&name)?)
    }

    /// Adds a message without generating, for example one of several function results.
    pub fn append_to_history(&self, message: ChatMessage) -> Result<()> {
        Ok(self.conversation.append_to_history(message.into())?)
    }

    /// Removes and returns the last message; none if there is none.
    pub fn remove_last_message(&self) -> Result<Option<ChatMessage>> {
        Ok(self.conversation.remove_last_message()?.map(Into::into))
    }

    /// Keeps only the first messages of the history.
    pub fn truncate(&self, message_count: SdkCount) -> Result<()> {
        Ok(self.conversation.truncate(message_count.size())?)
    }

    /// Interrupts the reply that the listener hears, at the end of what was played: seconds from the beginning of the sound of the
    /// replies to the last message of the user. A reply under way is cancelled, and the message of the reply is cut to what was
    /// heard: all up to the last frame of which something was played, also the text before it. If nothing was heard, no message
    /// remains. Calls stay, and a reply without sound keeps its text. The next reply goes on from the prefix cache.
    pub fn interrupt(&self, played_until: f64) {
        // Also for NaN and times below 0, nothing was played.
        self.conversation.interrupt(Duration::try_from_secs_f64(played_until.max(0.0)).unwrap_or(Duration::MAX));
    }

    /// Creates an independent conversation with the same history.
    pub fn fork(&self) -> Arc<Self> {
        Self::new(self.conversation.fork())
    }

    /// Number of prompt tokens for the history as it stands, including functions.
    pub fn prompt_token_count(&self) -> Result<SdkCount> {
        Ok(count(self.conversation.prompt_token_count()?))
    }

    /// What a reply to the history as it stands would leave out of the prompt with these options.
    pub fn plan_context(&self, options: GenerationOptions) -> Result<ContextPlan> {
        let plan = self.conversation.plan_context(&options.into())?;
        Ok(ContextPlan {
            tokens_before: count(plan.tokens_before),
            tokens_after: count(plan.tokens_after),
            dropped_messages: counts(plan.dropped_messages),
            shrunk_messages: counts(plan.shrunk_messages),
        })
    }

    /// Saves the conversation to a file, with or without the model's cache of it.
    pub fn save_session(&self, path: String, include_cache: bool) -> Result<()> {
        Ok(self.conversation.save_session(path, include_cache)?)
    }

    /// Starts the stream of the reply to a message. Each language wraps it in a stream of its own.
    pub fn start_response(&self, message: ChatMessage, options: GenerationOptions) -> Arc<ResponseStream> {
        self.started(self.conversation.generate_response(message.into(), options.into()))
    }

    /// Starts the stream of a reply to the history as it stands.
    pub fn start_continuation(&self, options: GenerationOptions) -> Arc<ResponseStream> {
        self.started(self.conversation.continue_response(options.into()))
    }

    /// Starts the stream of the reply to a message, or to the history as it stands, with function calls. The reader of the
    /// stream runs the calls of these functions, which arrive as `RunFunctions`, and answers each of them. Those that are
    /// offered are registered when the reply begins.
    pub fn start_response_with_functions(
        &self,
        message: Option<ChatMessage>,
        functions: Vec<String>,
        offered: Vec<SdkFunction>,
        rounds: RoundOptions,
        options: GenerationOptions,
    ) -> Arc<ResponseStream> {
        let handlers = core::FunctionHandlers::new().run_by_reader(functions).with(rounds.into());
        let handlers = handlers.offer(offered.into_iter().map(Into::into));
        let options = options.into();
        self.started(match message {
            Some(message) => self.conversation.respond_with_functions(message.into(), &handlers, options),
            None => self.conversation.continue_with_functions(&handlers, options),
        })
    }
}
