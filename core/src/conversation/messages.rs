//! A conversation and its messages: how it is created, read, changed and copied.

use std::fmt;
use std::sync::Arc;

use jiff::Zoned;

use crate::conversation::request_queue::RequestQueue;
use crate::engine::Owner;
use crate::error::Result;
use crate::message::ChatMessage;
use crate::runner::ModelRunner;

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
    pub(super) runner: ModelRunner,
    pub(super) requests: Arc<RequestQueue>,
    /// The time that chat templates see. It is the time when the conversation began, so that the beginning of its prompts
    /// does not change.
    pub(super) now: Zoned,
    /// Names this conversation in the prefix cache.
    pub(super) owner: Owner,
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
    pub(super) fn new(runner: ModelRunner, history: Vec<ChatMessage>, now: Zoned, owner: Owner) -> Self {
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
    /// functions, so that the loop that reads the stream can continue from the history. Waits for a reply that was cancelled, or
    /// left by its reader: it ends with the running step of the model.
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
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) during a generation.
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
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) during a generation.
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
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) during a generation.
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
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation").field("history", &self.history()).finish_non_exhaustive()
    }
}
