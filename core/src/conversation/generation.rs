//! Replies of a conversation: their requests, their streams, and the prompts that they would have.

use std::sync::Arc;
use std::thread::Thread;
use std::time::Duration;

use crate::conversation::context::{ContextPlan, ContextWindow};
use crate::conversation::handlers::FunctionHandlers;
use crate::conversation::messages::Conversation;
use crate::conversation::reply::ConversationReply;
use crate::engine::{EventSender, ResponseStream};
use crate::error::{ErrorKind, Result, SdkError};
use crate::message::ChatMessage;
use crate::options::GenerationOptions;
use crate::response::{Completion, MessageResponse};

impl Conversation {
    /// Number of prompt tokens for the history as it stands, including functions and the marker that begins the reply.
    ///
    /// ```
    /// # let conversation = causerie::testing::ScriptedModel::new().load()?.create_conversation("");
    /// conversation.append_to_history(causerie::ChatMessage::user("Hello!"))?;
    /// let left = conversation.model_runner().context_size() - conversation.prompt_token_count()?;
    /// println!("{left} tokens for the reply and for later messages");
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// The errors that [`continue_response`](Self::continue_response) reports as its first event, except that a history that
    /// does not fit the context is counted as well.
    pub fn prompt_token_count(&self) -> Result<usize> {
        let options = GenerationOptions::default();
        self.window(&options).count(&*self.runner.loaded()?, &self.history())
    }

    /// The messages that [`continue_response`](Self::continue_response) would leave out of the prompt with these options.
    ///
    /// ```
    /// use causerie::testing::ScriptedModel;
    /// use causerie::{ChatMessage, ContextPolicy, GenerationOptions};
    ///
    /// let conversation = ScriptedModel::new().context_size(400).load()?.create_conversation("");
    /// for number in 0..10 {
    ///     conversation.append_to_history(ChatMessage::user(format!("This is question number {number}.")))?;
    ///     conversation.append_to_history(ChatMessage::assistant("And this is its answer."))?;
    /// }
    /// conversation.append_to_history(ChatMessage::user("And now?"))?;
    /// let context_policy = ContextPolicy::Slide { shrink_tool_results: false };
    /// let options = GenerationOptions { context_policy, max_tokens: Some(50), ..Default::default() };
    /// let plan = conversation.plan_context(&options)?;
    /// assert!(plan.tokens_after + 50 <= 400 && plan.dropped_messages.starts_with(&[0, 1]));
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// The errors that it reports as its first event; [`ErrorKind::PromptExceedsContext`] if no more can be left out.
    pub fn plan_context(&self, options: &GenerationOptions) -> Result<ContextPlan> {
        options.check()?;
        self.window(options).plan(&*self.runner.loaded()?, self.history())
    }

    /// Sends a message and streams the reply. The message joins the history once the stream was pulled, earlier requests have
    /// ended, and the prompt is ready. The caller's thread does not prepare the prompt.
    ///
    /// A message with the tool role is the result of a call. A user message with empty text directly after a tool message
    /// adds nothing to the history: the reply continues from the result.
    ///
    /// A cancelled reply may take a moment to end. The next request waits for it instead of failing.
    ///
    /// ```
    /// use causerie::{ChatMessage, GenerationOptions, MessageResponse};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
    /// for event in conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default()) {
    ///     match event? {
    ///         MessageResponse::Chunk(text) => print!("{text}"),
    ///         MessageResponse::FunctionCalls(calls) => println!("{calls:?}"),
    ///         MessageResponse::Complete(completion) => println!("\n{:?}", completion.finish_reason),
    ///         _ => {}
    ///     }
    /// }
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// In the stream, before any other event, with the history unchanged: [`ErrorKind::Busy`] if another reply is
    /// being generated and [`GenerationOptions::on_busy`] is `Error`, [`ErrorKind::InvalidOption`],
    /// [`ErrorKind::InvalidMessage`] for a message of another role, an empty one or one that the chat template refuses,
    /// [`ErrorKind::PromptExceedsContext`], [`ErrorKind::FunctionCallingUnsupported`],
    /// [`ErrorKind::UnsupportedContent`], [`ErrorKind::ModelUnloaded`].
    /// Later: [`ErrorKind::Generation`], with the message kept and no reply.
    pub fn generate_response(&self, message: ChatMessage, options: GenerationOptions) -> ResponseStream {
        self.stream(Some(message), options)
    }

    /// Sends a message, waits for the end of the reply, and returns it. Blocks the thread.
    ///
    /// ```
    /// use causerie::{ChatMessage, GenerationOptions};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
    /// let completion = conversation.respond(ChatMessage::user("Hi"), GenerationOptions::default())?;
    /// assert_eq!(completion.full_message.text(), "Hello!");
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`generate_response`](Self::generate_response).
    pub fn respond(&self, message: ChatMessage, options: GenerationOptions) -> Result<Completion> {
        for event in self.generate_response(message, options) {
            if let MessageResponse::Complete(completion) = event? {
                return Ok(*completion);
            }
        }
        Err(SdkError::new(ErrorKind::Internal, "the reply has no end"))
    }

    /// Streams a reply to the history as it stands, for example after function results were appended.
    ///
    /// ```
    /// use causerie::{ChatMessage, GenerationOptions};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Sunny in both.").load()?.create_conversation("");
    /// conversation.append_to_history(ChatMessage::tool("sunny"))?;
    /// conversation.append_to_history(ChatMessage::tool("sunny as well"))?;
    /// for event in conversation.continue_response(GenerationOptions::default()) {
    ///     println!("{:?}", event?);
    /// }
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`generate_response`](Self::generate_response).
    pub fn continue_response(&self, options: GenerationOptions) -> ResponseStream {
        self.stream(None, options)
    }

    /// Interrupts the reply that the listener hears, at the end of what was played: `played_until` counts from the beginning of the
    /// sound of the replies to the last message of the user.
    ///
    /// A reply under way is cancelled, and its `Complete` and the history have what was heard: all up to the last frame of which
    /// something was played, also the text before it. If the reply has ended, which is usual because sound is generated faster than it
    /// is played, its message in the history is cut in the same way. Such a message is
    /// [incomplete](ChatMessage::incomplete) and stays in the history whatever [`GenerationOptions::on_cancel`] says. If nothing was
    /// heard, no message remains. Calls stay, because they were made, and a reply without sound keeps its text.
    ///
    /// The next reply goes on from the prefix cache.
    ///
    /// ```
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
    /// use std::time::Duration;
    /// # use causerie::{ChatMessage, GenerationOptions};
    /// # conversation.respond(ChatMessage::user("Hi"), GenerationOptions::default())?;
    /// // The user speaks, and the player has played a second and a half of the reply.
    /// conversation.interrupt(Duration::from_millis(1_500));
    /// # assert_eq!(conversation.history()[1].text(), "Hello!");
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn interrupt(&self, played_until: Duration) {
        self.requests.interrupt(played_until);
        self.wake_next();
    }

    fn stream(&self, message: Option<ChatMessage>, options: GenerationOptions) -> ResponseStream {
        let conversation = self.clone();
        ResponseStream::new(move |sender| {
            options.check()?; // before the request joins the queue
            let id = conversation.requests.enqueue(&options, sender.cancel_handle(), false)?;
            conversation.submit(id, message, &FunctionHandlers::new(), options, sender)
        })
    }

    /// Sends a queued request to the engine.
    pub(super) fn submit(
        &self,
        id: u64,
        message: Option<ChatMessage>,
        handlers: &FunctionHandlers,
        options: GenerationOptions,
        sender: EventSender,
    ) -> Result<Thread> {
        let mut options = self.runner.resolved(options);
        if options.allowed_tools.is_none() {
            options.allowed_tools.clone_from(&options.offered_functions);
        }
        let owner = ConversationReply {
            requests: Arc::clone(&self.requests),
            id,
            message,
            handlers: handlers.clone(),
            window: Arc::new(self.window(&options)),
        };
        // The engine does not call the owner of a request that it refuses.
        self.runner.submit(Box::new(owner), options, sender).inspect_err(|_| {
            self.requests.withdraw(id);
            self.wake_next();
        })
    }

    /// Wakes the engine, because the next request may be waiting.
    pub(super) fn wake_next(&self) {
        self.runner.engine().thread().unpark();
    }

    pub(super) fn window(&self, options: &GenerationOptions) -> ContextWindow {
        ContextWindow::new(options, self.now.clone(), self.owner, self.runner.function_ranker())
    }
}
