//! Handlers that run the functions a model calls, and the options of running them.

use std::error::Error;
use std::fmt;
use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use futures_channel::oneshot;
use indexmap::IndexMap;
use serde::Serialize;

use crate::error::{ErrorKind, Result, SdkError};
use crate::function::{SdkFunction, SdkFunctionCall, Value};
use crate::message::ChatMessageContent;
use crate::response::{FunctionError, FunctionOutcome};
use crate::typed::TypedFunction;

__round_options!(options {
    /// Limits on the function calls of one message.
    ///
    /// ```
    /// use std::time::Duration;
    /// let options = causerie::RoundOptions { time_limit: Some(Duration::from_secs(5)), in_parallel: true, ..Default::default() };
    /// assert_eq!(options.max_rounds, 8);
    /// ```
    #[derive(Eq)]
    pub struct RoundOptions
});

/// Runs a call. The error is that of a result which cannot be written, and ends the stream.
type Closure = Arc<dyn Fn(&SdkFunctionCall) -> Result<FunctionOutcome> + Send + Sync>;

#[derive(Clone)]
enum Handler {
    /// A closure that runs on a thread of its own.
    Closure(Closure),
    /// The reader of the stream.
    Reader,
}

/// Handlers of the functions that a model calls, by name.
///
/// Each call runs on a thread of its own, so a handler may take its time. If it fails, panics, or takes longer than
/// [`RoundOptions::time_limit`], the model reads an error. The error of a handler is also [in the
/// result](crate::FunctionResult::error), and is logged with the crate `log`. A result that JSON cannot represent ends the
/// stream with [`ErrorKind::Serialization`]. A thread cannot be stopped: after the time limit it goes on, and its result is
/// dropped.
///
/// ```
/// use causerie::{FunctionHandlers, RoundOptions, SdkError, SdkFunctionCall};
/// use std::time::Duration;
///
/// let weather = |call: &SdkFunctionCall| match call.arguments["city"].as_str() {
///     Some(city) => Ok(format!("sunny in {city}")),
///     None => Err("city must be a string"),
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
    /// Handlers of no functions.
    ///
    /// ```
    /// assert!(causerie::FunctionHandlers::new().functions().is_empty());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs the calls of a registered function with a closure. The arguments fit its parameters. The
    /// model reads a returned string as it is, any other value as JSON, and the text of an error.
    ///
    /// ```
    /// let handlers = causerie::FunctionHandlers::new().on("add", |call| {
    ///     let number = |name| call.arguments.get(name).and_then(causerie::Value::as_f64).ok_or("a number is missing");
    ///     Ok::<f64, &str>(number("a")? + number("b")?)
    /// });
    /// ```
    pub fn on<T: Serialize, E: Into<Box<dyn Error + Send + Sync>>>(
        mut self,
        name: impl Into<String>,
        handler: impl Fn(&SdkFunctionCall) -> Result<T, E> + Send + Sync + 'static,
    ) -> Self {
        let handler = move |call: &SdkFunctionCall| match handler(call) {
            Ok(returned) => json_of(&call.name, returned).map(FunctionOutcome::Returned),
            Err(err) => Ok(FunctionOutcome::Failed(FunctionError::new(err))),
        };
        self.handlers.insert(name.into(), Handler::Closure(Arc::new(handler)));
        self
    }

    /// Adds the handler of a function that returns parts of a message, such as a picture, for models that read them in results.
    ///
    /// ```
    /// use causerie::{ChatMessageContent, FunctionHandlers};
    /// let handlers = FunctionHandlers::new().on_content("photo", |_| {
    ///     let photo = std::fs::read("photo.jpg")?;
    ///     Ok::<_, std::io::Error>(vec![ChatMessageContent::Image(photo)])
    /// });
    /// ```
    pub fn on_content<E: Into<Box<dyn Error + Send + Sync>>>(
        mut self,
        name: impl Into<String>,
        handler: impl Fn(&SdkFunctionCall) -> Result<Vec<ChatMessageContent>, E> + Send + Sync + 'static,
    ) -> Self {
        let handler = move |call: &SdkFunctionCall| match handler(call) {
            Ok(content) => Ok(FunctionOutcome::Content(content)),
            Err(err) => Ok(FunctionOutcome::Failed(FunctionError::new(err))),
        };
        self.handlers.insert(name.into(), Handler::Closure(Arc::new(handler)));
        self
    }

    /// Leaves the calls of these functions to the reader of the stream, for example to run them as futures. The stream
    /// yields [`RunFunctions`](crate::MessageResponse::RunFunctions) until the reader has
    /// [answered](crate::ResponseStream::answer) the calls, so each `RunFunctions` must be answered. A time limit is the
    /// reader's to apply.
    ///
    /// ```
    /// # use causerie::testing::{ScriptedModel, ScriptedReply};
    /// use causerie::{ChatMessage, FunctionHandlers, FunctionOutcome, GenerationOptions, MessageResponse, SdkFunction};
    /// # let call = ScriptedReply::new().control("<|tool_call_start|>").text("[now()]").control("<|tool_call_end|>");
    /// # let conversation = ScriptedModel::new().reply(call).reply("Noon.").load()?.create_conversation("");
    /// # pollster::block_on(async {
    /// let now = SdkFunction::new("now", "Tell the time.", vec![]);
    /// let handlers = FunctionHandlers::new().run_by_reader(["now"]).offer([now]);
    /// let message = ChatMessage::user("What time is it?");
    /// let mut reply = conversation.respond_with_functions(message, &handlers, GenerationOptions::default());
    /// while let Some(event) = reply.next().await {
    ///     match event? {
    ///         MessageResponse::RunFunctions(calls) => {
    ///             let noon = || FunctionOutcome::Returned("12:00".into());
    ///             reply.answer(calls.iter().map(|_| noon()).collect()); // or what your futures return
    ///         }
    ///         MessageResponse::Chunk(text) => print!("{text}"),
    ///         _ => {}
    ///     }
    /// }
    /// # assert_eq!(conversation.history().len(), 5);
    /// # Ok::<(), causerie::SdkError>(())
    /// # })?;
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn run_by_reader<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.handlers.extend(names.into_iter().map(|name| (name.into(), Handler::Reader)));
        self
    }

    /// Runs the calls of a function whose arguments are a type. [`functions`](Self::functions) then contains the function,
    /// to be registered.
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
    /// let message = ChatMessage::user("What is the weather in Oslo?");
    /// for event in conversation.respond_with_functions(message, &handlers, GenerationOptions::default()) {
    ///     println!("{:?}", event?);
    /// }
    /// # assert_eq!(conversation.history()[3].text(), "sunny in Oslo");
    /// # Ok::<(), SdkError>(())
    /// ```
    pub fn typed<F: TypedFunction, T: Serialize, E: Into<Box<dyn Error + Send + Sync>>>(
        mut self,
        handler: impl Fn(F) -> Result<T, E> + Send + Sync + 'static,
    ) -> Self {
        let function = F::function();
        let name = function.name.clone();
        self.functions.push(function);
        self.on(name, move |call| {
            let arguments = F::decode(call).map_err(Box::<dyn Error + Send + Sync>::from)?;
            handler(arguments).map_err(Into::into)
        })
    }

    /// Offers these functions to the model. Functions that are added with their types are offered without it.
    ///
    /// ```
    /// # use causerie::testing::ScriptedModel;
    /// use causerie::{ChatMessage, FunctionHandlers, GenerationOptions, SdkError, SdkFunction};
    /// # let conversation = ScriptedModel::new().reply("Noon.").load()?.create_conversation("");
    /// let now = SdkFunction::new("now", "Tell the time.", vec![]);
    /// let handlers = FunctionHandlers::new().on("now", |_| Ok::<_, SdkError>("12:00")).offer([now]);
    /// let message = ChatMessage::user("What time is it?");
    /// conversation.respond_with_functions(message, &handlers, GenerationOptions::default()).into_iter().last();
    /// assert_eq!(conversation.functions()[0].name, "now");
    /// # Ok::<(), SdkError>(())
    /// ```
    pub fn offer(mut self, functions: impl IntoIterator<Item = SdkFunction>) -> Self {
        self.functions.extend(functions);
        self
    }

    /// Refuses a handler whose function the model does not know, so that it would never run.
    pub(super) fn check<'a>(&self, functions: impl Iterator<Item = &'a SdkFunction>) -> Result<()> {
        let known: Vec<&str> = functions.map(|function| function.name.as_str()).collect();
        let Some(name) = self.handlers.keys().find(|name| !known.contains(&name.as_str())) else { return Ok(()) };
        let message =
            format!("handlers must be of registered functions, found {name:?}; register it or offer it with them");
        Err(SdkError::new(ErrorKind::InvalidOption("handlers"), message))
    }

    pub(super) fn offered(&self) -> &[SdkFunction] {
        &self.functions
    }

    /// The functions that replies with these handlers offer to the model.
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

    /// Sets the limits.
    ///
    /// ```
    /// use causerie::{FunctionHandlers, RoundOptions};
    /// let handlers = FunctionHandlers::new().with(RoundOptions { max_rounds: 2, ..Default::default() });
    /// ```
    pub fn with(self, rounds: RoundOptions) -> Self {
        Self { rounds, ..self }
    }

    pub(super) fn rounds(&self) -> &RoundOptions {
        &self.rounds
    }

    /// Whether the function has a handler.
    pub(super) fn has(&self, name: &str) -> bool {
        self.handlers.contains_key(name)
    }

    /// Whether the calls of the function are left to the reader of the stream.
    pub(super) fn is_run_by_reader(&self, name: &str) -> bool {
        matches!(self.handlers.get(name), Some(Handler::Reader))
    }

    /// Runs calls on threads of their own, and sends the outcomes in the order of the calls, or the error of a result that
    /// cannot be written.
    pub(super) fn run(&self, calls: Vec<SdkFunctionCall>) -> oneshot::Receiver<Result<Vec<FunctionOutcome>>> {
        let (sender, receiver) = oneshot::channel();
        let n_calls = calls.len();
        let (finished, outcomes) = mpsc::channel();
        let mut unstarted = Vec::new();
        for (index, call) in calls.into_iter().enumerate() {
            let (handler, finished) = (self.handlers.get(&call.name).cloned(), finished.clone());
            let run = move || drop(finished.send((index, outcome(handler, &call)))); // fails if nobody waits any more
            if let Err(err) = thread::Builder::new().name("causerie-function".to_owned()).spawn(run) {
                unstarted.push((index, Ok(failed(format!("cannot start a thread: {err}")))));
            }
        }
        drop(finished);
        let limit = self.rounds.time_limit;
        let wait = move || drop(sender.send(gather(n_calls, unstarted, &outcomes, limit)));
        // If no thread can be started, the sender is dropped, and the receiver reports that.
        drop(thread::Builder::new().name("causerie-functions".to_owned()).spawn(wait));
        receiver
    }
}

fn failed(reason: String) -> FunctionOutcome {
    FunctionOutcome::Failed(FunctionError::new(reason))
}

fn json_of(function: &str, returned: impl Serialize) -> Result<Value> {
    let json = serde_json::to_value(returned).map_err(|err| {
        let message = format!("the result of {function} must be a value that JSON can represent");
        SdkError::new(ErrorKind::Serialization, message).caused_by(err)
    })?;
    Ok(Value::from(json))
}

/// The outcome of a call. A panic of the handler is an outcome, too.
fn outcome(handler: Option<Handler>, call: &SdkFunctionCall) -> Result<FunctionOutcome> {
    let Some(Handler::Closure(handler)) = handler else {
        return Ok(failed(format!("{} has no handler", call.name)));
    };
    let error = match catch_unwind(AssertUnwindSafe(|| handler(call))) {
        Ok(outcome) => match outcome? {
            FunctionOutcome::Failed(error) => error,
            outcome => return Ok(outcome),
        },
        Err(_) => FunctionError::new(format!("{} panicked", call.name)), // the panic hook has shown its message
    };
    let causes = iter::successors(error.source(), |cause: &&(dyn Error + 'static)| (*cause).source());
    let causes: String = causes.map(|cause| format!(": {cause}")).collect();
    log::error!("function {} failed: {error}{causes}", call.name);
    Ok(FunctionOutcome::Failed(error))
}

/// Waits for the outcomes up to the time limit, and returns them in the order of the calls.
fn gather(
    n_calls: usize,
    unstarted: Vec<(usize, Result<FunctionOutcome>)>,
    finished: &mpsc::Receiver<(usize, Result<FunctionOutcome>)>,
    limit: Option<Duration>,
) -> Result<Vec<FunctionOutcome>> {
    let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
    let mut outcomes = vec![Ok(FunctionOutcome::TimedOut); n_calls];
    let mut n_missing = n_calls;
    let next = || match deadline {
        Some(deadline) => finished.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok(),
        None => finished.recv().ok(),
    };
    let mut take = |(index, outcome): (usize, Result<FunctionOutcome>)| {
        outcomes[index] = outcome;
        n_missing -= 1;
        0 < n_missing
    };
    if unstarted.into_iter().all(&mut take) || n_calls == 0 {
        while next().is_some_and(&mut take) {}
    }
    outcomes.into_iter().collect()
}

impl fmt::Debug for FunctionHandlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.handlers.keys().collect();
        f.debug_struct("FunctionHandlers").field("names", &names).field("rounds", &self.rounds).finish_non_exhaustive()
    }
}
