//! One reply of a conversation, as the engine's [`ReplyOwner`]: it waits for its turn, makes the prompt from the history, and adds
//! to the history.

use std::sync::Arc;

use crate::conversation::context::ContextWindow;
use crate::conversation::functions::{is_blank, register};
use crate::conversation::handlers::FunctionHandlers;
use crate::conversation::request_queue::RequestQueue;
use crate::engine::{LoadedModel, Prepared, PromptJob, ReplyOwner};
use crate::error::{ErrorKind, Result, SdkError};
use crate::message::{ChatMessage, Role};

/// The owner of a reply.
pub(super) struct ConversationReply {
    pub(super) requests: Arc<RequestQueue>,
    /// In the queue.
    pub(super) id: u64,
    pub(super) message: Option<ChatMessage>,
    /// Their functions are registered when the reply begins.
    pub(super) handlers: FunctionHandlers,
    pub(super) window: Arc<ContextWindow>,
}

impl ReplyOwner for ConversationReply {
    /// The message joins the history when the prompt is ready.
    fn turn(&mut self) -> Option<PromptJob> {
        let functions = self.handlers.offered().iter();
        let offer = |history: &mut Vec<_>| functions.for_each(|function| register(history, function.clone()));
        let mut history = self.requests.begin(self.id, offer)?;
        let fits = self.handlers.check(history.iter().flat_map(|message| &message.functions));
        let (window, message) = (Arc::clone(&self.window), self.message.clone());
        Some(Box::new(move |loaded: &LoadedModel| {
            fits?;
            let n_before = history.len();
            let message = message.map(|message| checked(message, history.last())).transpose()?;
            history.extend(message.flatten());
            let prepared = window.prepare(loaded, &mut history)?;
            Ok(Prepared { messages: history.split_off(n_before), ..prepared })
        }))
    }

    fn begin(&mut self, messages: Vec<ChatMessage>) {
        self.requests.commit(self.id, messages);
    }

    fn called(&mut self, reply: &ChatMessage) {
        self.requests.note_reply(reply.clone());
    }

    fn ended(&mut self, reply: Option<&mut ChatMessage>) {
        self.requests.end_reply(self.id, reply);
    }
}

/// The message that joins the history: none for an empty user message after a tool message, which means "continue".
fn checked(message: ChatMessage, last: Option<&ChatMessage>) -> Result<Option<ChatMessage>> {
    let invalid = |rule: &str| Err(SdkError::new(ErrorKind::InvalidMessage, rule));
    match message.role {
        Role::User if is_blank(&message) && last.is_some_and(|last| last.role == Role::Tool) => Ok(None),
        Role::User if is_blank(&message) => invalid("the message must not be empty"),
        Role::User | Role::Tool => Ok(Some(message)),
        Role::System => invalid("the message must have the role user or tool, found system"),
        Role::Assistant => invalid("the message must have the role user or tool, found assistant"),
    }
}
