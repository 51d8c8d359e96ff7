//! Functions that are run along with the reply, as closures on threads of their own.

use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc;
use std::task::{Context, Poll, ready};
use std::thread;
use std::time::{Duration, Instant};

use futures_channel::oneshot;
use futures_core::Stream;
use indexmap::IndexMap;
use serde::Serialize;

use crate::conversation::Conversation;
use crate::conversation::rounds::{FunctionOutcome, FunctionRounds, RoundEvent, RoundOptions};
use crate::engine::CancelHandle;
use crate::error::Result;
use crate::function::{SdkFunction, SdkFunctionCall, Value};
use crate::message::ChatMessage;
use crate::options::GenerationOptions;
use crate::response::MessageResponse;
use crate::typed::TypedFunction;

type Handler = Arc<dyn Fn(&SdkFunctionCall) -> Result<Value, String> + Send + Sync>;

/// What runs the functions that a model calls, by their names.
///
/// Each call is run on a thread of its own, so a handler may take its time. One that fails, panics, or takes longer than
/// [`RoundOptions::time_limit`] gives the model an error to read. A thread cannot be stopped: one that is too late goes
/// on, and what it returns is dropped.
///
/// ```
/// use causerie::{FunctionHandlers, RoundOptions, SdkError, SdkFunctionCall};
/// use std::time::Duration;
///
/// let weather = |call: &SdkFunctionCall| match call.arguments["city"].as_str() {
///     Some(city) => Ok(format!("sunny in {city}")),
///     None => Err("a city is a text"),
/// };
/// let time_limit = Some(Duration::from_secs(10));
/// let handlers = FunctionHandlers::new()
///     .on("get_weather", weather)
///     .on("now", |_| Ok::<_, SdkError>("12:00"))
///     .with(RoundOptions { time_limit, ..Default::default() });
/// ```
#[derive(Clone, Default)]
pub struct FunctionHandlers {
    handlers: IndexMap<String, Handler>,
    functions: Vec<SdkFunction>,
    rounds: RoundOptions,
}

impl FunctionHandlers {
    /// No functions yet.
    ///
    /// ```
    /// assert!(causerie::FunctionHandlers::new().functions().is_empty());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs the calls of a function. Their arguments fit its parameters, where it is registered. Text that is returned
    /// reaches the model as it is, any other value as JSON.
    ///
    /// ```
    /// let handlers = causerie::FunctionHandlers::new().on("add", |call| {
    ///     let number = |name| call.arguments.get(name).and_then(causerie::Value::as_f64).ok_or("a number is missing");
    ///     Ok::<f64, &str>(number("a")? + number("b")?)
    /// });
    /// ```
    pub fn on<T: Serialize, E: fmt::Display>(
        mut self,
        name: impl Into<String>,
        handler: impl Fn(&SdkFunctionCall) -> Result<T, E> + Send + Sync + 'static,
    ) -> Self {
        let handler = move |call: &SdkFunctionCall| {
            let returned = handler(call).map_err(|err| err.to_string())?;
            let json = serde_json::to_value(returned).map_err(|err| format!("the result is no JSON: {err}"))?;
            Ok(Value::from(json))
        };
        self.handlers.insert(name.into(), Arc::new(handler));
        self
    }

    /// Runs the calls of a function whose arguments are a type; [`functions`](Self::functions) has it, to be registered.
    ///
    /// ```
    /// # use causerie::testing::{ScriptedModel, ScriptedReply};
    /// use causerie::{ChatMessage, FunctionHandlers, GenerationOptions, SdkError};
    ///
    /// /// The weather in a city.
    /// #[derive(causerie::SdkFunction)]
    /// struct GetWeather {
    ///     /// The city.
    ///     city: String,
    /// }
    /// # let call = ScriptedReply::new().control("<|tool_call_start|>").text("[get_weather(city=\"Oslo\")]");
    /// # let call = call.control("<|tool_call_end|>");
    /// # let conversation = ScriptedModel::new().reply(call).reply("Sunny.").load()?.create_conversation("");
    ///
    /// let handlers = FunctionHandlers::new()
    ///     .typed(|weather: GetWeather| Ok::<_, SdkError>(format!("sunny in {}", weather.city)));
    /// conversation.register_functions(handlers.functions())?;
    /// let message = ChatMessage::user("What is the weather in Oslo?");
    /// for event in conversation.respond_with_functions(message, &handlers, GenerationOptions::default()) {
    ///     println!("{:?}", event?);
    /// }
    /// # assert_eq!(conversation.history()[3].text(), "sunny in Oslo");
    /// # Ok::<(), SdkError>(())
    /// ```
    pub fn typed<F: TypedFunction, T: Serialize, E: fmt::Display>(
        mut self,
        handler: impl Fn(F) -> Result<T, E> + Send + Sync + 'static,
    ) -> Self {
        let function = F::function();
        let name = function.name.clone();
        self.functions.push(function);
        self.on(name, move |call| {
            let arguments = F::decode(call).map_err(|err| err.to_string())?;
            handler(arguments).map_err(|err| err.to_string())
        })
    }

    /// The functions whose arguments are types.
    ///
    /// ```
    /// /// Tell the time.
    /// #[derive(causerie::SdkFunction)]
    /// struct Now {}
    ///
    /// let handlers = causerie::FunctionHandlers::new().typed(|_: Now| Ok::<_, String>("12:00"));
    /// assert_eq!(handlers.functions()[0].name, "now");
    /// ```
    pub fn functions(&self) -> Vec<SdkFunction> {
        self.functions.clone()
    }

    /// How far the model may go on its own.
    ///
    /// ```
    /// use causerie::{FunctionHandlers, RoundOptions};
    /// let handlers = FunctionHandlers::new().with(RoundOptions { max_rounds: 2, ..Default::default() });
    /// ```
    pub fn with(self, rounds: RoundOptions) -> Self {
        Self { rounds, ..self }
    }

    fn run(&self, calls: Vec<SdkFunctionCall>) -> oneshot::Receiver<Vec<FunctionOutcome>> {
        let (sender, receiver) = oneshot::channel();
        let n_calls = calls.len();
        let (finished, outcomes) = mpsc::channel();
        let mut unstarted = Vec::new();
        for (index, call) in calls.into_iter().enumerate() {
            let (handler, finished) = (self.handlers.get(&call.name).cloned(), finished.clone());
            let run = move || drop(finished.send((index, outcome(handler, &call)))); // nobody may wait any more
            if let Err(err) = thread::Builder::new().name("causerie-function".to_owned()).spawn(run) {
                unstarted.push((index, FunctionOutcome::Failed(format!("no thread can be started: {err}"))));
            }
        }
        drop(finished);
        let limit = self.rounds.time_limit;
        let wait = move || drop(sender.send(gather(n_calls, unstarted, &outcomes, limit)));
        // Where no thread can be started, the receiver finds its sender gone.
        drop(thread::Builder::new().name("causerie-functions".to_owned()).spawn(wait));
        receiver
    }
}

/// What comes of a call, whatever the handler does.
fn outcome(handler: Option<Handler>, call: &SdkFunctionCall) -> FunctionOutcome {
    let Some(handler) = handler else { return FunctionOutcome::Failed(format!("nothing runs {}", call.name)) };
    match catch_unwind(AssertUnwindSafe(|| handler(call))) {
        Ok(Ok(value)) => FunctionOutcome::Returned(value),
        Ok(Err(reason)) => FunctionOutcome::Failed(reason),
        Err(_) => FunctionOutcome::Failed(format!("{} panicked", call.name)),
    }
}

/// The outcomes in the order of the calls, up to the limit.
fn gather(
    n_calls: usize,
    unstarted: Vec<(usize, FunctionOutcome)>,
    finished: &mpsc::Receiver<(usize, FunctionOutcome)>,
    limit: Option<Duration>,
) -> Vec<FunctionOutcome> {
    let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
    let mut outcomes = vec![FunctionOutcome::TimedOut; n_calls];
    let mut n_missing = n_calls;
    let next = || match deadline {
        Some(deadline) => finished.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok(),
        None => finished.recv().ok(),
    };
    let mut take = |(index, outcome): (usize, FunctionOutcome)| {
        outcomes[index] = outcome;
        n_missing -= 1;
        0 < n_missing
    };
    if unstarted.into_iter().all(&mut take) || n_calls == 0 {
        while next().is_some_and(&mut take) {}
    }
    outcomes
}

/// A reply whose calls are run along the way: pull it with [`next`](Self::next), as a blocking iterator, or as a `futures`
/// stream. It is cold, and ends once, as a [`ResponseStream`](crate::ResponseStream) does.
///
/// ```
/// use causerie::{ChatMessage, FunctionHandlers, GenerationOptions};
/// # let conversation = causerie::testing::ScriptedModel::new().reply("Noon.").load()?.create_conversation("");
/// let handlers = FunctionHandlers::new().on("now", |_| Ok::<_, String>("12:00"));
/// let message = ChatMessage::user("What time is it?");
/// let events = conversation.respond_with_functions(message, &handlers, GenerationOptions::default());
/// for event in events {
///     println!("{:?}", event?);
/// }
/// # Ok::<(), causerie::SdkError>(())
/// ```
pub struct FunctionStream {
    rounds: FunctionRounds,
    handlers: FunctionHandlers,
    running: Option<oneshot::Receiver<Vec<FunctionOutcome>>>,
}

impl Conversation {
    /// Sends a message, and streams the reply with all that the model does for it: its calls are run by the handlers,
    /// the results go back to it, and so on until it answers. All messages join the history as if they were sent by hand.
    ///
    /// Every event is that of a plain reply; [`MessageResponse::FunctionResult`] tells what came of each call, and the one
    /// `Complete` comes last. A call that does not fit its function, that was rejected, or that names a function which is
    /// neither declared nor handled is answered with an error, so that the model can mend it. A call of a function that is
    /// declared but not handled ends the reply: all calls of that round are the app's. So does a round beyond
    /// [`RoundOptions::max_rounds`]. The conversation is busy up to the end.
    ///
    /// The options hold for each reply on the way; where they require a call, they do for the first one.
    ///
    /// ```
    /// # use causerie::testing::{ScriptedModel, ScriptedReply};
    /// use causerie::{ChatMessage, FunctionHandlers, GenerationOptions, MessageResponse, SdkError};
    /// # let call = ScriptedReply::new().control("<|tool_call_start|>").text("[now()]").control("<|tool_call_end|>");
    /// # let conversation = ScriptedModel::new().reply(call).reply("Noon.").load()?.create_conversation("");
    ///
    /// let handlers = FunctionHandlers::new().on("now", |_| Ok::<_, SdkError>("12:00"));
    /// let message = ChatMessage::user("What time is it?");
    /// for event in conversation.respond_with_functions(message, &handlers, GenerationOptions::default()) {
    ///     if let MessageResponse::Chunk(text) = event? {
    ///         print!("{text}");
    ///     }
    /// }
    /// # assert_eq!(conversation.history().len(), 4);
    /// # Ok::<(), SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As [`generate_response`](Self::generate_response)'s stream, for each reply.
    pub fn respond_with_functions(
        &self,
        message: ChatMessage,
        handlers: &FunctionHandlers,
        options: GenerationOptions,
    ) -> FunctionStream {
        self.run_functions(Some(message), handlers, options)
    }

    /// The same for a reply to the history as it stands.
    ///
    /// ```
    /// use causerie::{ChatMessage, FunctionHandlers, GenerationOptions};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Noon.").load()?.create_conversation("");
    /// conversation.append_to_history(ChatMessage::user("What time is it?"))?;
    /// let handlers = FunctionHandlers::new().on("now", |_| Ok::<_, String>("12:00"));
    /// conversation.continue_with_functions(&handlers, GenerationOptions::default()).last();
    /// assert_eq!(conversation.history()[1].text(), "Noon.");
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As [`respond_with_functions`](Self::respond_with_functions).
    pub fn continue_with_functions(&self, handlers: &FunctionHandlers, options: GenerationOptions) -> FunctionStream {
        self.run_functions(None, handlers, options)
    }

    fn run_functions(
        &self,
        message: Option<ChatMessage>,
        handlers: &FunctionHandlers,
        options: GenerationOptions,
    ) -> FunctionStream {
        let names = handlers.handlers.keys().cloned();
        let rounds = self.function_rounds(message, names, handlers.rounds.clone(), options);
        FunctionStream { rounds, handlers: handlers.clone(), running: None }
    }
}

impl FunctionStream {
    /// The next event; `None` after the last one. Dropping the future loses no event.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use causerie::{ChatMessage, FunctionHandlers, GenerationOptions};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Noon.").load()?.create_conversation("");
    /// let handlers = FunctionHandlers::new().on("now", |_| Ok::<_, String>("12:00"));
    /// let message = ChatMessage::user("What time is it?");
    /// let mut events = conversation.respond_with_functions(message, &handlers, GenerationOptions::default());
    /// while let Some(event) = events.next().await {
    ///     println!("{:?}", event?);
    /// }
    /// # Ok::<(), causerie::SdkError>(())
    /// # })?;
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub async fn next(&mut self) -> Option<Result<MessageResponse>> {
        poll_fn(|ctx| self.poll(ctx)).await
    }

    /// Stops at once where functions run, and within one token where the model writes; see [`FunctionRounds::cancel`].
    ///
    /// ```
    /// use causerie::{ChatMessage, FinishReason, FunctionHandlers, GenerationOptions, MessageResponse};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply(causerie::testing::ScriptedReply::new().text("Well,").stall()).load()?.create_conversation("");
    /// let handlers = FunctionHandlers::new();
    /// let mut events =
    ///     conversation.respond_with_functions(ChatMessage::user("Hi"), &handlers, GenerationOptions::default());
    /// Iterator::next(&mut events).unwrap()?; // the first word
    /// events.cancel();
    /// let Some(Ok(MessageResponse::Complete(completion))) = events.last() else { panic!("it ends") };
    /// assert_eq!(completion.finish_reason, FinishReason::Interrupted);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn cancel(&self) {
        self.rounds.cancel();
    }

    /// A handle that cancels from another thread.
    ///
    /// ```
    /// use causerie::{ChatMessage, FinishReason, FunctionHandlers, GenerationOptions, MessageResponse};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply(causerie::testing::ScriptedReply::new().text("Well,").stall()).load()?.create_conversation("");
    /// let handlers = FunctionHandlers::new();
    /// let mut events =
    ///     conversation.respond_with_functions(ChatMessage::user("Hi"), &handlers, GenerationOptions::default());
    /// Iterator::next(&mut events).unwrap()?; // the first word
    /// let handle = events.cancel_handle();
    /// std::thread::spawn(move || handle.cancel());
    /// let Some(Ok(MessageResponse::Complete(completion))) = events.last() else { panic!("it ends") };
    /// assert_eq!(completion.finish_reason, FinishReason::Interrupted);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn cancel_handle(&self) -> CancelHandle {
        self.rounds.cancel_handle()
    }

    fn poll(&mut self, ctx: &mut Context<'_>) -> Poll<Option<Result<MessageResponse>>> {
        loop {
            if let Some(running) = &mut self.running {
                if !self.rounds.cancel_handle().is_cancelled(Some(ctx.waker())) {
                    let failed = |_| vec![FunctionOutcome::Failed("no thread can be started".to_owned())];
                    self.rounds.answer(ready!(Pin::new(running).poll(ctx)).unwrap_or_else(failed));
                }
                self.running = None;
            }
            match ready!(self.rounds.poll(ctx)) {
                Some(Ok(RoundEvent::Run(calls))) => self.running = Some(self.handlers.run(calls)),
                Some(Ok(RoundEvent::Response(event))) => return Poll::Ready(Some(Ok(event))),
                Some(Err(err)) => return Poll::Ready(Some(Err(err))),
                None => return Poll::Ready(None),
            }
        }
    }
}

impl Stream for FunctionStream {
    type Item = Result<MessageResponse>;

    fn poll_next(self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll(ctx)
    }
}

/// Blocks the calling thread until the next event.
impl Iterator for FunctionStream {
    type Item = Result<MessageResponse>;

    fn next(&mut self) -> Option<Self::Item> {
        pollster::block_on(poll_fn(|ctx| self.poll(ctx)))
    }
}

impl fmt::Debug for FunctionHandlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionHandlers")
            .field("handlers", &self.handlers.keys())
            .field("rounds", &self.rounds)
            .finish()
    }
}

impl fmt::Debug for FunctionStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionStream").field("rounds", &self.rounds).finish_non_exhaustive()
    }
}
