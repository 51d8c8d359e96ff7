//! A conversation: a history that grows by messages and replies. It holds no state of the model.

mod context;
#[cfg(test)]
mod embedded_tests;
mod handlers;
mod rounds;
mod session;
mod turns;

use std::fmt;
use std::sync::Arc;
use std::thread::Thread;

use jiff::Zoned;

use crate::engine::{EventSender, LoadedModel, Owner, Prepare, Prepared, ReplyNews, ResponseStream};
use crate::error::{ErrorKind, Result, SdkError};
use crate::function::SdkFunction;
use crate::message::{ChatMessage, ChatMessageContent, Role};
use crate::options::GenerationOptions;
use crate::runner::ModelRunner;

use context::ContextWindow;
use turns::Turns;

pub use context::ContextPlan;
pub use handlers::{FunctionHandlers, FunctionStream};
pub use rounds::{FunctionOutcome, FunctionRounds, RoundEvent, RoundOptions};

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
///         // 4. Build a message with the tool role; 5. go on in a conversation made from the history.
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
    turns: Arc<Turns>,
    /// The time that templates with a date see: that of the conversation's beginning, so that prompts keep their start.
    now: Zoned,
    /// Whose states its prompts go on from.
    owner: Owner,
}

impl ModelRunner {
    /// A conversation that begins with a system prompt; with an empty one, without.
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

    /// A conversation that goes on from a history. Functions come with it: its system message carries them.
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
        Self { runner, turns: Arc::new(Turns::new(history)), now, owner }
    }

    /// The runner that made this conversation.
    ///
    /// ```
    /// # let conversation = causerie::testing::ScriptedModel::new().load()?.create_conversation("");
    /// let other = conversation.model_runner().create_conversation("Answer in French.");
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn model_runner(&self) -> &ModelRunner {
        &self.runner
    }

    /// All messages so far, as a copy. A reply joins them before its `Complete` is delivered, and as soon as it has
    /// called functions: so the history can be carried on from within the loop that reads the stream.
    ///
    /// ```
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
    /// use causerie::{ChatMessage, GenerationOptions};
    /// conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default()).last();
    /// let texts: Vec<String> = conversation.history().iter().map(ChatMessage::text).collect();
    /// assert_eq!(texts, ["Hi", "Hello!"]);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn history(&self) -> Vec<ChatMessage> {
        self.turns.history()
    }

    /// The functions registered.
    ///
    /// ```
    /// # let conversation = causerie::testing::ScriptedModel::new().load()?.create_conversation("");
    /// conversation.register_function(causerie::SdkFunction::new("now", "Tell the time.", vec![]))?;
    /// assert_eq!(conversation.functions()[0].name, "now");
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn functions(&self) -> Vec<SdkFunction> {
        self.turns.history().into_iter().flat_map(|message| message.functions).collect()
    }

    /// Whether a reply is being generated, or waits for its turn.
    ///
    /// ```
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
    /// use causerie::{ChatMessage, GenerationOptions};
    /// let reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
    /// assert!(!conversation.is_generating()); // nobody has pulled it yet
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn is_generating(&self) -> bool {
        self.turns.is_generating()
    }

    /// Offers a function to the model. One of the same name is replaced where it stands.
    ///
    /// ```
    /// use causerie::{ErrorKind, SdkFunction};
    /// # let conversation = causerie::testing::ScriptedModel::new().load()?.create_conversation("");
    /// conversation.register_function(SdkFunction::new("now", "Tell the time.", vec![]))?;
    /// let err = conversation.register_function(SdkFunction::new("tell time", "", vec![])).unwrap_err();
    /// assert_eq!(err.kind(), ErrorKind::InvalidFunction);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidFunction`] as [`SdkFunction::check_with`] the names that the model was
    /// [loaded](crate::LoadOptions::function_names) with, [`ErrorKind::Busy`] during a generation.
    pub fn register_function(&self, function: SdkFunction) -> Result<()> {
        self.register_functions(vec![function])
    }

    /// Offers several functions to the model, all or none.
    ///
    /// ```
    /// # let conversation = causerie::testing::ScriptedModel::new().load()?.create_conversation("");
    /// let tools = r#"[{"name": "now", "description": "Tell the time."}, {"name": "today"}]"#;
    /// conversation.register_functions(causerie::functions_from_json(tools)?)?;
    /// assert_eq!(conversation.functions().len(), 2);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As [`register_function`](Self::register_function).
    pub fn register_functions(&self, functions: Vec<SdkFunction>) -> Result<()> {
        functions.iter().try_for_each(|function| function.check_with(self.runner.function_names()))?;
        self.turns.edit(|history| functions.into_iter().for_each(|function| register(history, function)))
    }

    /// Offers a function no longer; false when there is none of this name.
    ///
    /// ```
    /// # let conversation = causerie::testing::ScriptedModel::new().load()?.create_conversation("");
    /// conversation.register_function(causerie::SdkFunction::new("now", "Tell the time.", vec![]))?;
    /// assert!(conversation.unregister_function("now")?);
    /// assert!(!conversation.unregister_function("now")?);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] during a generation.
    pub fn unregister_function(&self, name: &str) -> Result<bool> {
        self.turns.edit(|history| {
            let is_it = |function: &SdkFunction| function.name == name;
            let Some(at) = history.iter().position(|message| message.functions.iter().any(is_it)) else { return false };
            history[at].functions.retain(|function| !is_it(function));
            // A system message that carried nothing but functions goes with the last of them.
            if history[at].functions.is_empty() && is_blank(&history[at]) {
                history.remove(at);
            }
            true
        })
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
        self.turns.edit(|history| history.push(message))
    }

    /// Takes the last message back; `None` when there is none.
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
        self.turns.edit(Vec::pop)
    }

    /// Keeps the first messages of the history, for example to ask again from there. The system message is the first.
    ///
    /// ```
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Red.").reply("Blue.").load()?.create_conversation("");
    /// use causerie::{ChatMessage, GenerationOptions};
    /// let ask = || conversation.generate_response(ChatMessage::user("A colour?"), GenerationOptions::default());
    /// ask().last();
    /// conversation.truncate(0)?;
    /// ask().last();
    /// assert_eq!(conversation.history()[1].text(), "Blue.");
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] during a generation.
    pub fn truncate(&self, n_messages: usize) -> Result<()> {
        self.turns.edit(|history| history.truncate(n_messages))
    }

    /// An independent conversation with the same history, to go another way from here. What both have in common was read
    /// once and is not read again.
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

    /// Tokens that the model would read for the history as it stands, functions included, up to the place where its
    /// reply begins.
    ///
    /// ```
    /// # let conversation = causerie::testing::ScriptedModel::new().load()?.create_conversation("");
    /// conversation.append_to_history(causerie::ChatMessage::user("Hello!"))?;
    /// let left = conversation.model_runner().context_size() - conversation.prompt_token_count()?;
    /// println!("{left} tokens for the reply, and for what comes after it");
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As the first event of [`continue_response`](Self::continue_response), but for the context: a history that does not
    /// fit is counted as well.
    pub fn prompt_token_count(&self) -> Result<usize> {
        let options = GenerationOptions::default();
        self.window(&options).count(&*self.runner.loaded()?, &self.history())
    }

    /// What [`continue_response`](Self::continue_response) would leave out of the prompt with these options.
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
    /// As its first event; [`ErrorKind::PromptExceedsContext`] when nothing more can be left out.
    pub fn plan_context(&self, options: &GenerationOptions) -> Result<ContextPlan> {
        options.check()?;
        let (_, plan) = self.window(options).fit(&*self.runner.loaded()?, &self.history())?;
        Ok(plan)
    }

    /// Sends a message and streams the reply. The message joins the history when the stream is first pulled and its turn
    /// has come and its prompt is ready; prompts are rendered and tokenised on threads of the model.
    ///
    /// A message with the tool role gives the result of a call. A user message with empty text directly after a tool
    /// message adds no turn: the reply goes on from the result.
    ///
    /// A reply that was cancelled may take a moment to end; the next one then waits for it rather than fail.
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
    /// In the stream, before any other event, with the history unchanged: [`ErrorKind::Busy`] when another reply is
    /// being generated and [`GenerationOptions::on_busy`] does not say otherwise, [`ErrorKind::InvalidOption`],
    /// [`ErrorKind::InvalidMessage`] for a message of another role, an empty one or one that the template refuses,
    /// [`ErrorKind::PromptExceedsContext`], [`ErrorKind::FunctionCallingUnsupported`],
    /// [`ErrorKind::UnsupportedContent`], [`ErrorKind::ModelUnloaded`].
    /// Later: [`ErrorKind::Generation`], with the message kept and no reply.
    pub fn generate_response(&self, message: ChatMessage, options: GenerationOptions) -> ResponseStream {
        self.stream(Some(message), options)
    }

    /// Streams a reply to the history as it stands, for example after function results were added to it.
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
    /// As [`generate_response`](Self::generate_response).
    pub fn continue_response(&self, options: GenerationOptions) -> ResponseStream {
        self.stream(None, options)
    }

    fn stream(&self, message: Option<ChatMessage>, options: GenerationOptions) -> ResponseStream {
        let conversation = self.clone();
        ResponseStream::new(move |sender| {
            options.check()?; // before it takes a place in the line
            let id = conversation.turns.ask(&options, sender.cancel_flag(), false)?;
            conversation.submit(id, message, options, sender)
        })
    }

    /// Queues a reply that has its place in the line.
    fn submit(
        &self,
        id: u64,
        message: Option<ChatMessage>,
        options: GenerationOptions,
        sender: EventSender,
    ) -> Result<Thread> {
        let prepare = self.prepare(id, message, &options);
        let heard = Arc::clone(&self.turns);
        let listener = Box::new(move |news: ReplyNews<'_>| heard.hear(id, news));
        // A listener that is dropped unheard was never queued.
        self.runner.submit(prepare, options, listener, sender).inspect_err(|_| {
            self.turns.withdraw(id);
            self.wake_next();
        })
    }

    /// The next in the line may be waiting.
    fn wake_next(&self) {
        self.runner.engine().thread().unpark();
    }

    /// Makes the prompt when the turn has come; the message joins the history once the prompt is ready.
    fn prepare(&self, id: u64, message: Option<ChatMessage>, options: &GenerationOptions) -> Prepare {
        let (turns, window) = (Arc::clone(&self.turns), Arc::new(self.window(options)));
        Box::new(move || {
            let mut history = turns.begin(id)?;
            let (turns, window, message) = (Arc::clone(&turns), Arc::clone(&window), message.clone());
            Some(Box::new(move |loaded: &LoadedModel| {
                let n_before = history.len();
                let message = message.map(|message| turn(message, history.last())).transpose()?;
                history.extend(message.flatten());
                let prepared = window.prepare(loaded, &history)?;
                let commit = Box::new(move || turns.commit(id, history.drain(n_before..)));
                Ok(Prepared { commit, ..prepared })
            }))
        })
    }

    fn window(&self, options: &GenerationOptions) -> ContextWindow {
        ContextWindow::new(options, self.now.clone(), self.owner)
    }
}

/// The system message carries the functions, so that a history is complete in itself.
fn register(history: &mut Vec<ChatMessage>, function: SdkFunction) {
    if history.first().is_none_or(|message| message.role != Role::System) {
        history.insert(0, ChatMessage::with_functions(Vec::new()));
    }
    let functions = &mut history[0].functions;
    match functions.iter_mut().find(|registered| registered.name == function.name) {
        Some(registered) => *registered = function,
        None => functions.push(function),
    }
}

fn is_blank(message: &ChatMessage) -> bool {
    message.content.iter().all(|part| matches!(part, ChatMessageContent::Text(text) if text.is_empty()))
}

/// The turn that a message adds: none for an empty user text after a tool message, which means "go on".
fn turn(message: ChatMessage, last: Option<&ChatMessage>) -> Result<Option<ChatMessage>> {
    let invalid = |rule: &str| Err(SdkError::new(ErrorKind::InvalidMessage, rule));
    match message.role {
        Role::User if is_blank(&message) && last.is_some_and(|last| last.role == Role::Tool) => Ok(None),
        Role::User if is_blank(&message) => invalid("the message is empty"),
        Role::User | Role::Tool => Ok(Some(message)),
        Role::System | Role::Assistant => invalid("only messages of a user or a tool are replied to"),
    }
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation").field("history", &self.history()).finish_non_exhaustive()
    }
}
