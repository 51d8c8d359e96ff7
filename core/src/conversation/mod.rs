//! A conversation: a history that grows by messages and replies. It holds no state of the model.

mod context;
#[cfg(test)]
mod embedded_tests;
mod functions;
mod handlers;
mod reply;
mod request_queue;
mod round;
mod rounds;
mod session;

use std::fmt;
use std::sync::Arc;
use std::thread::Thread;

use jiff::Zoned;

use crate::engine::{EventSender, Owner, ResponseStream};
use crate::error::{ErrorKind, Result, SdkError};
use crate::message::ChatMessage;
use crate::options::GenerationOptions;
use crate::response::{Completion, MessageResponse};
use crate::runner::ModelRunner;

use context::ContextWindow;
use reply::ConversationReply;
use request_queue::RequestQueue;

pub use context::ContextPlan;
pub use handlers::{FunctionHandlers, RoundOptions};

/// A conversation with a model.
///
/// The five steps of a function call:
///
/// ```
/// # use causerie::*;
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).unwrap();
/// # fn check_the_weather(call: &SdkFunctionCall) -> String { String::new() }
/// let runner = ModelRunner::load("models/demo.gguf")?;
/// // 1. Create a conversation and register functions.
/// let conversation = runner.create_conversation("");
/// let city = SdkFunctionParameter::new("city", SdkFunctionParameterType::string(), "The city.");
/// conversation.register_function(SdkFunction::new("get_weather", "Get the weather of a city.", vec![city]))?;
/// // 2. Generate, and read the responses.
/// let question = ChatMessage::user("What is the weather in Oslo?");
/// for event in conversation.generate_response(question, GenerationOptions::default()) {
///     if let MessageResponse::FunctionCalls(calls) = event? {
///         // 3. Validate each call's arguments, then run the function.
///         let result = check_the_weather(&calls[0]);
///         // 4. Build a message with the tool role. 5. Continue in a conversation made from the history.
///         let mut history = conversation.history();
///         history.push(ChatMessage::tool(result));
///         let answer = conversation.model_runner().create_conversation_from_history(history);
///         for event in answer.continue_response(GenerationOptions::default()) { /* … */ }
///     }
/// }
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone)]
pub struct Conversation {
    runner: ModelRunner,
    requests: Arc<RequestQueue>,
    /// The time that chat templates see. It is the time when the conversation began, so that the beginning of its prompts
    /// does not change.
    now: Zoned,
    /// Names this conversation in the prefix cache.
    owner: Owner,
}

impl ModelRunner {
    /// Creates a conversation that begins with a system prompt, or without one if it is empty.
    ///
    /// ```
    /// # let runner = causerie::testing::ScriptedModel::new().load()?;
    /// assert_eq!(runner.create_conversation("You are brief.").history().len(), 1);
    /// assert!(runner.create_conversation("").history().is_empty());
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn create_conversation(&self, system_prompt: &str) -> Conversation {
        let history = if system_prompt.is_empty() { Vec::new() } else { vec![ChatMessage::system(system_prompt)] };
        self.create_conversation_from_history(history)
    }

    /// Creates a conversation that continues a history. The system message carries the functions, so they come with it.
    ///
    /// ```
    /// use causerie::{ChatMessage, GenerationOptions};
    /// # let runner = causerie::testing::ScriptedModel::new().reply("Blue.").load()?;
    /// let history = vec![ChatMessage::user("My favourite colour is blue."), ChatMessage::user("Which is it?")];
    /// let conversation = runner.create_conversation_from_history(history);
    /// for event in conversation.continue_response(GenerationOptions::default()) {
    ///     event?;
    /// }
    /// assert_eq!(conversation.history()[2].text(), "Blue.");
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn create_conversation_from_history(&self, history: Vec<ChatMessage>) -> Conversation {
        Conversation::new(self.clone(), history, Zoned::now(), Owner::default())
    }
}

impl Conversation {
    fn new(runner: ModelRunner, history: Vec<ChatMessage>, now: Zoned, owner: Owner) -> Self {
        Self { runner, requests: Arc::new(RequestQueue::new(history)), now, owner }
    }

    /// The runner that created this conversation.
    ///
    /// ```
    /// # let conversation = causerie::testing::ScriptedModel::new().load()?.create_conversation("");
    /// let other = conversation.model_runner().create_conversation("Answer in French.");
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn model_runner(&self) -> &ModelRunner {
        &self.runner
    }

    /// A copy of all messages so far. A reply joins them before its `Complete` is delivered, and as soon as it has called
    /// functions, so that the loop that reads the stream can continue from the history.
    ///
    /// ```
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
    /// use causerie::{ChatMessage, GenerationOptions};
    /// conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default()).into_iter().last();
    /// let texts: Vec<String> = conversation.history().iter().map(ChatMessage::text).collect();
    /// assert_eq!(texts, ["Hi", "Hello!"]);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn history(&self) -> Vec<ChatMessage> {
        self.requests.history()
    }

    /// Whether a reply is being generated, or waits in the request queue.
    ///
    /// ```
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
    /// use causerie::{ChatMessage, GenerationOptions};
    /// let reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
    /// assert!(!conversation.is_generating()); // nobody has pulled it yet
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn is_generating(&self) -> bool {
        self.requests.is_generating()
    }

    /// Adds a message without generating, for example one of several function results.
    ///
    /// ```
    /// # let conversation = causerie::testing::ScriptedModel::new().load()?.create_conversation("");
    /// use causerie::ChatMessage;
    /// for result in [r#"{"oslo": "sunny"}"#, r#"{"rome": "rain"}"#] {
    ///     conversation.append_to_history(ChatMessage::tool(result))?;
    /// }
    /// let reply = conversation.continue_response(Default::default());
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] during a generation.
    pub fn append_to_history(&self, message: ChatMessage) -> Result<()> {
        self.requests.edit(|history| history.push(message))
    }

    /// Removes and returns the last message; `None` if there is none.
    ///
    /// ```
    /// # let conversation = causerie::testing::ScriptedModel::new().load()?.create_conversation("");
    /// conversation.append_to_history(causerie::ChatMessage::user("Hi"))?;
    /// assert_eq!(conversation.remove_last_message()?.unwrap().text(), "Hi");
    /// assert!(conversation.remove_last_message()?.is_none());
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] during a generation.
    pub fn remove_last_message(&self) -> Result<Option<ChatMessage>> {
        self.requests.edit(Vec::pop)
    }

    /// Keeps only the first messages of the history, for example to ask again from there. The system message counts.
    ///
    /// ```
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Red.").reply("Blue.").load()?.create_conversation("");
    /// use causerie::{ChatMessage, GenerationOptions};
    /// let ask = || conversation.generate_response(ChatMessage::user("A colour?"), GenerationOptions::default());
    /// ask().into_iter().last();
    /// conversation.truncate(0)?;
    /// ask().into_iter().last();
    /// assert_eq!(conversation.history()[1].text(), "Blue.");
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] during a generation.
    pub fn truncate(&self, n_messages: usize) -> Result<()> {
        self.requests.edit(|history| history.truncate(n_messages))
    }

    /// Creates an independent conversation with the same history. Their common prefix is prefilled only once.
    ///
    /// ```
    /// # let conversation = causerie::testing::ScriptedModel::new().load()?.create_conversation("");
    /// use causerie::ChatMessage;
    /// conversation.append_to_history(ChatMessage::user("Hi"))?;
    /// let other = conversation.fork();
    /// other.append_to_history(ChatMessage::user("Or rather: good evening"))?;
    /// assert_eq!((conversation.history().len(), other.history().len()), (1, 2));
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn fork(&self) -> Self {
        Self::new(self.runner.clone(), self.history(), self.now.clone(), self.owner)
    }

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
        let (_, plan) = self.window(options).fit(&*self.runner.loaded()?, &self.history())?;
        Ok(plan)
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

    fn stream(&self, message: Option<ChatMessage>, options: GenerationOptions) -> ResponseStream {
        let conversation = self.clone();
        ResponseStream::new(move |sender| {
            options.check()?; // before the request joins the queue
            let id = conversation.requests.enqueue(&options, sender.cancel_flag(), false)?;
            conversation.submit(id, message, &FunctionHandlers::new(), options, sender)
        })
    }

    /// Sends a queued request to the engine.
    fn submit(
        &self,
        id: u64,
        message: Option<ChatMessage>,
        handlers: &FunctionHandlers,
        options: GenerationOptions,
        sender: EventSender,
    ) -> Result<Thread> {
        let options = self.runner.resolved(options);
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
    fn wake_next(&self) {
        self.runner.engine().thread().unpark();
    }

    fn window(&self, options: &GenerationOptions) -> ContextWindow {
        ContextWindow::new(options, self.now.clone(), self.owner)
    }
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation").field("history", &self.history()).finish_non_exhaustive()
    }
}
