//! A conversation: a history that grows by messages and replies. It holds no state of the model.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;

use jiff::Zoned;

use crate::engine::{Outlet, ReplyNews, ResponseStream};
use crate::error::{ErrorKind, Result, SdkError};
use crate::function::SdkFunction;
use crate::message::{ChatMessage, ChatMessageContent, Role};
use crate::options::GenerationOptions;
use crate::prompt::joined;
use crate::runner::ModelRunner;

/// A conversation with a model.
///
/// The five steps of a function call:
///
/// ```no_run
/// # use causerie::*;
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
    shared: Arc<Shared>,
    /// The time that templates with a date see: that of the conversation's beginning, so that prompts keep their start.
    now: Zoned,
}

struct Shared {
    state: Mutex<State>,
    /// Told whenever a generation ends.
    ended: Condvar,
}

struct State {
    history: Vec<ChatMessage>,
    generating: Option<Generating>,
}

/// The generation under way.
struct Generating {
    cancelled: Arc<AtomicBool>,
    /// The reply so far, from its first calls on.
    reply: Option<ChatMessage>,
}

impl ModelRunner {
    /// A conversation that begins with a system prompt; with an empty one, without.
    pub fn create_conversation(&self, system_prompt: &str) -> Conversation {
        let history = if system_prompt.is_empty() { Vec::new() } else { vec![ChatMessage::system(system_prompt)] };
        self.create_conversation_from_history(history)
    }

    /// A conversation that goes on from a history. Functions come with it: its system message carries them.
    pub fn create_conversation_from_history(&self, history: Vec<ChatMessage>) -> Conversation {
        Conversation::new(self.clone(), history)
    }
}

impl Conversation {
    fn new(runner: ModelRunner, history: Vec<ChatMessage>) -> Self {
        let state = Mutex::new(State { history, generating: None });
        Self { runner, shared: Arc::new(Shared { state, ended: Condvar::new() }), now: Zoned::now() }
    }

    /// The runner that made this conversation.
    pub fn model_runner(&self) -> &ModelRunner {
        &self.runner
    }

    /// All messages so far, as a copy. A reply joins them before its `Complete` is delivered, and as soon as it has
    /// called functions: so the history can be carried on from within the loop that reads the stream.
    pub fn history(&self) -> Vec<ChatMessage> {
        let state = self.shared.lock();
        let reply = state.generating.as_ref().and_then(|generating| generating.reply.clone());
        state.history.iter().cloned().chain(reply).collect()
    }

    /// The functions registered.
    pub fn functions(&self) -> Vec<SdkFunction> {
        self.shared.lock().history.iter().flat_map(|message| message.functions.clone()).collect()
    }

    /// Whether a reply is being generated.
    pub fn is_generating(&self) -> bool {
        self.shared.lock().generating.is_some()
    }

    /// Offers a function to the model. One of the same name is replaced where it stands.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidFunction`] as [`SdkFunction::check`], [`ErrorKind::Busy`] during a generation.
    pub fn register_function(&self, function: SdkFunction) -> Result<()> {
        function.check()?;
        let mut state = self.shared.lock();
        if state.generating.is_some() {
            return Err(busy());
        }
        // The system message carries the functions, so that a history is complete in itself.
        if state.history.first().is_none_or(|message| message.role != Role::System) {
            state.history.insert(0, ChatMessage::with_functions(Vec::new()));
        }
        let functions = &mut state.history[0].functions;
        match functions.iter_mut().find(|registered| registered.name == function.name) {
            Some(registered) => *registered = function,
            None => functions.push(function),
        }
        Ok(())
    }

    /// Adds a message without generating, for example one of several function results.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] during a generation.
    pub fn append_to_history(&self, message: ChatMessage) -> Result<()> {
        let mut state = self.shared.lock();
        if state.generating.is_some() {
            return Err(busy());
        }
        state.history.push(message);
        Ok(())
    }

    /// Sends a message and streams the reply. The message joins the history when the stream is first pulled; that pull
    /// also renders and tokenises the prompt, and waits for a cancelled reply to end, all on the caller's thread.
    ///
    /// A message with the tool role gives the result of a call. A user message with empty text directly after a tool
    /// message adds no turn: the reply goes on from the result.
    ///
    /// # Errors
    /// In the stream, before any other event, with the history unchanged: [`ErrorKind::Busy`] when another reply is
    /// being generated, [`ErrorKind::InvalidOption`], [`ErrorKind::InvalidMessage`] for a message of another role, an
    /// empty one or one that the template refuses, [`ErrorKind::PromptExceedsContext`],
    /// [`ErrorKind::FunctionCallingUnsupported`], [`ErrorKind::UnsupportedContent`].
    /// Later: [`ErrorKind::Generation`], with the message kept and no reply.
    pub fn generate_response(&self, message: ChatMessage, options: GenerationOptions) -> ResponseStream {
        self.stream(Some(message), options)
    }

    /// Streams a reply to the history as it stands, for example after function results were added to it.
    ///
    /// # Errors
    /// As [`generate_response`](Self::generate_response).
    pub fn continue_response(&self, options: GenerationOptions) -> ResponseStream {
        self.stream(None, options)
    }

    fn stream(&self, message: Option<ChatMessage>, options: GenerationOptions) -> ResponseStream {
        let conversation = self.clone();
        ResponseStream::new(move |outlet| conversation.start(message, options, outlet))
    }

    fn start(&self, message: Option<ChatMessage>, options: GenerationOptions, outlet: Outlet) -> Result<Thread> {
        let mut state = self.shared.lock();
        // A cancelled reply ends within a token; the next one waits for it rather than fail.
        while let Some(generating) = &state.generating {
            if !generating.cancelled.load(Ordering::Relaxed) {
                return Err(busy());
            }
            state = self.shared.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let n_before = state.history.len();
        let message = message.map(|message| turn(message, state.history.last())).transpose()?.flatten();
        state.history.extend(message);
        let cancelled = outlet.cancel_flag();
        let submitted = self.submit(&state.history, options, outlet);
        match &submitted {
            // The engine tells of this reply through the lock that is held here, so not before this is set.
            Ok(_) => state.generating = Some(Generating { cancelled, reply: None }),
            Err(_) => state.history.truncate(n_before),
        }
        submitted
    }

    fn submit(&self, history: &[ChatMessage], options: GenerationOptions, outlet: Outlet) -> Result<Thread> {
        let prompt = self.runner.render(history, true, &self.now)?;
        // Some templates begin the model's turn inside of its reasoning.
        let in_reasoning = joined(&prompt).trim_end().ends_with("<think>");
        let shared = Arc::clone(&self.shared);
        self.runner.submit(
            self.runner.encode(&prompt)?,
            options,
            in_reasoning,
            Box::new(move |news| shared.hear(news)),
            outlet,
        )
    }
}

impl Shared {
    /// The state; a panic elsewhere cannot leave it half changed, so a poisoned lock is as good as any.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, news: ReplyNews<'_>) {
        let mut state = self.lock();
        match news {
            ReplyNews::Called(reply) => {
                if let Some(generating) = &mut state.generating {
                    generating.reply = Some(reply.clone());
                }
            }
            ReplyNews::Ended(reply) => {
                state.history.extend(reply.cloned());
                state.generating = None;
                self.ended.notify_all();
            }
        }
    }
}

/// The turn that a message adds: none for an empty user text after a tool message, which means "go on".
fn turn(message: ChatMessage, last: Option<&ChatMessage>) -> Result<Option<ChatMessage>> {
    let invalid = |rule: &str| Err(SdkError::new(ErrorKind::InvalidMessage, rule));
    let is_blank = message.content.iter().all(|part| matches!(part, ChatMessageContent::Text(text) if text.is_empty()));
    match message.role {
        Role::User if is_blank && last.is_some_and(|last| last.role == Role::Tool) => Ok(None),
        Role::User if is_blank => invalid("the message is empty"),
        Role::User | Role::Tool => Ok(Some(message)),
        Role::System | Role::Assistant => invalid("only messages of a user or a tool are replied to"),
    }
}

fn busy() -> SdkError {
    SdkError::new(ErrorKind::Busy, "the conversation is generating a reply")
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation").field("history", &self.history()).finish_non_exhaustive()
    }
}
