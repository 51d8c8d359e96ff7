//! A conversation: a history that grows by messages and replies.

use std::sync::Arc;

use causerie as core;

use crate::error::Result;
use crate::function::SdkFunction;
use crate::message::ChatMessage;
use crate::number::{SdkCount, count, counts};
use crate::options::GenerationOptions;
use crate::rounds::{FunctionRounds, RoundOptions};
use crate::runner::ModelRunner;
use crate::stream::ResponseStream;

/// A conversation with a model.
#[derive(Debug, uniffi::Object)]
pub struct Conversation {
    conversation: core::Conversation,
}

impl Conversation {
    pub(crate) fn new(conversation: core::Conversation) -> Arc<Self> {
        Arc::new(Self { conversation })
    }
}

/// What a prompt leaves out of a history; messages are named by their place in it.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ContextPlan {
    /// Tokens of the whole history.
    pub tokens_before: SdkCount,
    /// Tokens of what the model would read.
    pub tokens_after: SdkCount,
    /// Messages left out.
    pub dropped_messages: Vec<SdkCount>,
    /// Results of functions cut short.
    pub shrunk_messages: Vec<SdkCount>,
}

#[uniffi::export]
impl Conversation {
    /// The runner that made this conversation.
    pub fn model_runner(&self) -> Arc<ModelRunner> {
        Arc::new(ModelRunner { runner: self.conversation.model_runner().clone() })
    }

    /// All messages so far, as a copy. A reply joins them before its `Complete` is delivered, and as soon as it has called
    /// functions.
    pub fn history(&self) -> Vec<ChatMessage> {
        self.conversation.history().into_iter().map(Into::into).collect()
    }

    /// The functions registered.
    pub fn functions(&self) -> Vec<SdkFunction> {
        self.conversation.functions().into_iter().map(Into::into).collect()
    }

    /// Whether a reply is being generated, or waits for its turn.
    pub fn is_generating(&self) -> bool {
        self.conversation.is_generating()
    }

    /// Offers a function to the model. One of the same name is replaced where it stands.
    pub fn register_function(&self, function: SdkFunction) -> Result<()> {
        Ok(self.conversation.register_function(function.into())?)
    }

    /// Offers several functions to the model, all or none.
    pub fn register_functions(&self, functions: Vec<SdkFunction>) -> Result<()> {
        Ok(self.conversation.register_functions(functions.into_iter().map(Into::into).collect())?)
    }

    /// Offers a function no longer; false when there is none of this name.
    pub fn unregister_function(&self, name: String) -> Result<bool> {
        Ok(self.conversation.unregister_function(&name)?)
    }

    /// Adds a message without generating, for example one of several function results.
    pub fn append_to_history(&self, message: ChatMessage) -> Result<()> {
        Ok(self.conversation.append_to_history(message.into())?)
    }

    /// Takes the last message back; none when there is none.
    pub fn remove_last_message(&self) -> Result<Option<ChatMessage>> {
        Ok(self.conversation.remove_last_message()?.map(Into::into))
    }

    /// Keeps the first messages of the history.
    pub fn truncate(&self, message_count: SdkCount) -> Result<()> {
        Ok(self.conversation.truncate(message_count.size())?)
    }

    /// An independent conversation with the same history.
    pub fn fork(&self) -> Arc<Self> {
        Self::new(self.conversation.fork())
    }

    /// Tokens that the model would read for the history as it stands, functions included.
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

    /// Saves the conversation to a file, with or without what the model has read of it.
    pub fn save_session(&self, path: String, include_cache: bool) -> Result<()> {
        Ok(self.conversation.save_session(path, include_cache)?)
    }

    /// The stream of the reply to a message; each language wraps it in one of its own.
    pub fn start_response(&self, message: ChatMessage, options: GenerationOptions) -> Arc<ResponseStream> {
        ResponseStream::new(self.conversation.generate_response(message.into(), options.into()))
    }

    /// The stream of a reply to the history as it stands.
    pub fn start_continuation(&self, options: GenerationOptions) -> Arc<ResponseStream> {
        ResponseStream::new(self.conversation.continue_response(options.into()))
    }

    /// The reply to a message, or to the history as it stands, with the calls of these functions to be run along the way.
    pub fn start_rounds(
        &self,
        message: Option<ChatMessage>,
        handled: Vec<String>,
        rounds: RoundOptions,
        options: GenerationOptions,
    ) -> Arc<FunctionRounds> {
        let message = message.map(Into::into);
        FunctionRounds::new(self.conversation.function_rounds(message, handled, rounds.into(), options.into()))
    }
}
