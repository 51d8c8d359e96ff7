//! Replies whose calls are run along the way: the model calls, reads the results, and goes on until it answers.
//!
//! [`FunctionRounds`] says which calls are to be run and is told what came of them; how they are run is up to its reader.
//! It is the one loop of all languages.

use std::collections::HashSet;
use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use crate::conversation::Conversation;
use crate::conversation::turns::unanswered;
use crate::engine::{CancelHandle, ResponseStream};
use crate::error::Result;
use crate::function::{Arguments, DiagnosticCode, SdkFunction, SdkFunctionCall, Value};
use crate::message::ChatMessage;
use crate::options::{GenerationOptions, ToolChoice};
use crate::response::{Completion, FinishReason, FunctionResult, GenerationStats, MessageResponse};
use crate::validate::validate_among;

/// How far a model may go on its own.
///
/// ```
/// use std::time::Duration;
/// let options = causerie::RoundOptions { time_limit: Some(Duration::from_secs(5)), in_parallel: true, ..Default::default() };
/// assert_eq!(options.max_rounds, 8);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundOptions {
    /// Replies whose calls are run, one after the other. The calls of the reply behind them are left to the app, which
    /// finds them in its `Complete`. Default 8.
    pub max_rounds: usize,
    /// How long a function may take; then the model is told that it took too long. Default: as long as it takes.
    pub time_limit: Option<Duration>,
    /// Whether all calls of a reply are run at once. Default: one after the other. Results come in the order of the calls.
    pub in_parallel: bool,
}

impl Default for RoundOptions {
    fn default() -> Self {
        Self { max_rounds: 8, time_limit: None, in_parallel: false }
    }
}

/// What comes of running a function.
///
/// ```
/// use causerie::FunctionOutcome;
/// let read = |file: &str| match std::fs::read_to_string(file) {
///     Ok(text) => FunctionOutcome::Returned(text.into()),
///     Err(err) => FunctionOutcome::Failed(err.to_string()),
/// };
/// assert!(matches!(read("no/such/note.txt"), FunctionOutcome::Failed(_)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum FunctionOutcome {
    /// What it returned. Text reaches the model as it is, anything else as JSON text.
    Returned(Value),
    /// Why it failed, which the model reads as `{"error": …}`.
    Failed(String),
    /// It took longer than [`RoundOptions::time_limit`].
    TimedOut,
}

/// What [`FunctionRounds`] yields.
///
/// ```
/// use causerie::{FunctionOutcome, FunctionRounds, MessageResponse, RoundEvent};
///
/// fn take(event: RoundEvent, rounds: &mut FunctionRounds) {
///     match event {
///         RoundEvent::Run(calls) => rounds.answer(vec![FunctionOutcome::Returned(true.into()); calls.len()]),
///         RoundEvent::Response(MessageResponse::Chunk(text)) => print!("{text}"),
///         RoundEvent::Response(_) => {}
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum RoundEvent {
    /// An event for who reads the reply.
    Response(MessageResponse),
    /// Calls to be run, at once if they are several; then [`answer`](FunctionRounds::answer) them. Their arguments fit the
    /// function's parameters, coerced where that was obvious.
    Run(Vec<SdkFunctionCall>),
}

/// A reply with rounds of calls, for who runs functions in a way of their own, for example as futures. Where functions are
/// plain closures, [`Conversation::respond_with_functions`] does the rest.
///
/// ```
/// # use causerie::testing::{ScriptedModel, ScriptedReply};
/// use causerie::{ChatMessage, FunctionOutcome, GenerationOptions, MessageResponse, RoundEvent, RoundOptions};
/// # let call = ScriptedReply::new().control("<|tool_call_start|>").text("[now()]").control("<|tool_call_end|>");
/// # let conversation = ScriptedModel::new().reply(call).reply("Noon.").load()?.create_conversation("");
///
/// let message = Some(ChatMessage::user("What time is it?"));
/// let mut rounds =
///     conversation.function_rounds(message, ["now"], RoundOptions::default(), GenerationOptions::default());
/// # pollster::block_on(async {
/// while let Some(event) = rounds.next().await {
///     match event? {
///         RoundEvent::Run(calls) => {
///             let noon = || FunctionOutcome::Returned("12:00".into());
///             rounds.answer(calls.iter().map(|_| noon()).collect()); // or what your futures give
///         }
///         RoundEvent::Response(MessageResponse::Chunk(text)) => print!("{text}"),
///         RoundEvent::Response(_) => {}
///     }
/// }
/// # assert_eq!(conversation.history().len(), 4);
/// # Ok::<(), causerie::SdkError>(())
/// # })?;
/// # Ok::<(), causerie::SdkError>(())
/// ```
pub struct FunctionRounds {
    conversation: Conversation,
    handled: HashSet<String>,
    rounds: RoundOptions,
    options: GenerationOptions,
    cancel: CancelHandle,
    /// The place in the conversation's line, once the first event was asked for.
    turn: Option<u64>,
    stage: Stage,
    earlier_rounds: Vec<GenerationStats>,
}

enum Stage {
    /// The reply to a message, or to the history, is to be asked for.
    Asking(Option<ChatMessage>),
    Replying(ResponseStream),
    Answering(Round),
    Ended,
}

/// The calls of a reply, and what came of them.
struct Round {
    completion: Box<Completion>,
    calls: Vec<PlannedCall>,
    /// How many of them have their result in the history.
    n_answered: usize,
}

/// A call that was made or rejected; it is to be run while it has no result.
struct PlannedCall {
    call: SdkFunctionCall,
    is_rejected: bool,
    result: Option<FunctionResult>,
}

impl Conversation {
    /// The reply to a message, or to the history as it stands, with the calls of these functions to be run by the reader.
    ///
    /// ```
    /// use causerie::{ChatMessage, GenerationOptions, RoundOptions};
    /// # let conversation = causerie::testing::ScriptedModel::new().load()?.create_conversation("");
    /// let message = Some(ChatMessage::user("What time is it?"));
    /// let rounds = conversation.function_rounds(message, ["now"], RoundOptions::default(), GenerationOptions::default());
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn function_rounds<S: Into<String>>(
        &self,
        message: Option<ChatMessage>,
        handled: impl IntoIterator<Item = S>,
        rounds: RoundOptions,
        options: GenerationOptions,
    ) -> FunctionRounds {
        FunctionRounds {
            conversation: self.clone(),
            handled: handled.into_iter().map(Into::into).collect(),
            rounds,
            options,
            cancel: CancelHandle::default(),
            turn: None,
            stage: Stage::Asking(message),
            earlier_rounds: Vec::new(),
        }
    }
}

impl FunctionRounds {
    /// The next event; `None` after the last one. Until calls are answered, it tells of them again. Dropping the future
    /// loses no event.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use causerie::{ChatMessage, GenerationOptions, RoundEvent, RoundOptions};
    /// # use causerie::testing::{ScriptedModel, ScriptedReply};
    /// # let call = ScriptedReply::new().control("<|tool_call_start|>").text("[now()]").control("<|tool_call_end|>");
    /// # let conversation = ScriptedModel::new().reply(call).reply("Noon.").load()?.create_conversation("");
    /// let message = Some(ChatMessage::user("What time is it?"));
    /// let mut rounds =
    ///     conversation.function_rounds(message, ["now"], RoundOptions::default(), GenerationOptions::default());
    /// while let Some(event) = rounds.next().await {
    ///     if let RoundEvent::Run(calls) = event? {
    ///         assert_eq!(calls[0].name, "now");
    ///         break;
    ///     }
    /// }
    /// # Ok::<(), causerie::SdkError>(())
    /// # })?;
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Conversation::generate_response`]'s stream, in each round.
    pub async fn next(&mut self) -> Option<Result<RoundEvent>> {
        poll_fn(|ctx| self.poll(ctx)).await
    }

    /// Takes what came of the calls that are to be run, in their order. Calls without an outcome are asked for again. After a
    /// cancel nothing is taken, so that the end is the same however fast it was.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use causerie::{ChatMessage, FunctionOutcome, GenerationOptions, RoundEvent, RoundOptions};
    /// # use causerie::testing::{ScriptedModel, ScriptedReply};
    /// # let call = ScriptedReply::new().control("<|tool_call_start|>").text("[now()]").control("<|tool_call_end|>");
    /// # let conversation = ScriptedModel::new().reply(call).reply("Noon.").load()?.create_conversation("");
    /// let message = Some(ChatMessage::user("What time is it?"));
    /// let mut rounds =
    ///     conversation.function_rounds(message, ["now"], RoundOptions::default(), GenerationOptions::default());
    /// while let Some(event) = rounds.next().await {
    ///     if let RoundEvent::Run(calls) = event? {
    ///         rounds.answer(vec![FunctionOutcome::Returned("12:00".into()); calls.len()]);
    ///     }
    /// }
    /// assert_eq!(conversation.history()[3].text(), "Noon.");
    /// # Ok::<(), causerie::SdkError>(())
    /// # })?;
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn answer(&mut self, outcomes: Vec<FunctionOutcome>) {
        let Stage::Answering(round) = &mut self.stage else { return };
        if self.cancel.is_cancelled(None) {
            return;
        }
        let asked = round.calls.iter_mut().filter(|planned| planned.result.is_none());
        for (planned, outcome) in asked.zip(outcomes) {
            planned.result = Some(planned.result_of(outcome, self.rounds.time_limit));
        }
        self.conversation.turns.close_with(self.turn.unwrap_or_default(), round.closing());
    }

    /// Stops the reply within one token, and between replies before the next one; see [`CancelHandle::cancel`]. Calls that
    /// have no result yet are answered with an error in the history.
    ///
    /// ```
    /// use causerie::{ChatMessage, GenerationOptions, RoundOptions};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Noon.").load()?.create_conversation("");
    /// let message = Some(ChatMessage::user("What time is it?"));
    /// let rounds = conversation.function_rounds(message, ["now"], RoundOptions::default(), GenerationOptions::default());
    /// rounds.cancel(); // before its first event: the reply ends as it begins
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// A handle that cancels from another thread.
    ///
    /// ```
    /// use causerie::{ChatMessage, GenerationOptions, RoundOptions};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Noon.").load()?.create_conversation("");
    /// let message = Some(ChatMessage::user("What time is it?"));
    /// let rounds = conversation.function_rounds(message, ["now"], RoundOptions::default(), GenerationOptions::default());
    /// let handle = rounds.cancel_handle();
    /// std::thread::spawn(move || handle.cancel());
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn cancel_handle(&self) -> CancelHandle {
        self.cancel.clone()
    }

    pub(super) fn poll(&mut self, ctx: &mut Context<'_>) -> Poll<Option<Result<RoundEvent>>> {
        loop {
            match &mut self.stage {
                Stage::Asking(message) => {
                    let message = message.take();
                    match self.ask(message) {
                        Ok(stream) => self.stage = Stage::Replying(stream),
                        Err(err) => return self.end(Err(err)),
                    }
                }
                Stage::Replying(stream) => match ready!(stream.poll(ctx)) {
                    Some(Ok(MessageResponse::Complete(completion))) => match self.plan(&completion) {
                        Some(calls) => {
                            let round = Round { completion, calls, n_answered: 0 };
                            self.conversation.turns.close_with(self.turn.unwrap_or_default(), round.closing());
                            self.stage = Stage::Answering(round);
                        }
                        None => return self.end(Ok(completion)),
                    },
                    Some(Ok(event)) => return Poll::Ready(Some(Ok(RoundEvent::Response(event)))),
                    Some(Err(err)) => return self.end(Err(err)),
                    None => self.stage = Stage::Ended,
                },
                Stage::Answering(round) if self.cancel.is_cancelled(None) => {
                    let mut completion = round.completion.clone();
                    completion.finish_reason = FinishReason::Interrupted;
                    return self.end(Ok(completion));
                }
                Stage::Answering(round) => match round.calls.get(round.n_answered) {
                    None => {
                        self.earlier_rounds.push(round.completion.stats);
                        if let ToolChoice::Required | ToolChoice::Function(_) = self.options.tool_choice {
                            // It was called; demanded again, the model could never answer.
                            self.options.tool_choice = ToolChoice::Auto;
                        }
                        self.stage = Stage::Asking(None);
                    }
                    Some(PlannedCall { result: Some(result), .. }) => {
                        round.n_answered += 1;
                        let (event, message) = (result.clone(), tool_message(result));
                        let (id, turns) = (self.turn.unwrap_or_default(), &self.conversation.turns);
                        turns.add(id, message);
                        turns.close_with(id, round.closing());
                        let event = MessageResponse::FunctionResult(event);
                        return Poll::Ready(Some(Ok(RoundEvent::Response(event))));
                    }
                    Some(_) => {
                        let asked = round.calls.iter().filter(|planned| planned.result.is_none());
                        let n_asked = if self.rounds.in_parallel { usize::MAX } else { 1 };
                        let calls = asked.take(n_asked).map(|planned| planned.call.clone()).collect();
                        return Poll::Ready(Some(Ok(RoundEvent::Run(calls))));
                    }
                },
                Stage::Ended => return Poll::Ready(None),
            }
        }
    }

    /// The stream of the next reply, in the one turn that all of them share.
    fn ask(&mut self, message: Option<ChatMessage>) -> Result<ResponseStream> {
        let turns = &self.conversation.turns;
        let id = match self.turn {
            Some(id) => id,
            None => {
                self.options.check()?; // before it takes a place in the line
                turns.ask(&self.options, self.cancel.flag(), true)?
            }
        };
        self.turn = Some(id);
        let (conversation, options) = (self.conversation.clone(), self.options.clone());
        Ok(ResponseStream::cancelled_by(self.cancel.clone(), move |sender| {
            conversation.turns.resume(id);
            conversation.submit(id, message, options, sender)
        }))
    }

    /// What is to be done about the calls of a reply; `None` when it is the last one.
    fn plan(&self, completion: &Completion) -> Option<Vec<PlannedCall>> {
        let reply = &completion.full_message;
        let is_calling = match completion.finish_reason {
            FinishReason::ToolCalls => true,
            FinishReason::Stop => !reply.rejected_calls.is_empty(),
            _ => false,
        };
        if !is_calling || self.rounds.max_rounds <= self.earlier_rounds.len() {
            return None;
        }
        let functions = self.conversation.functions();
        let made = reply.function_calls.iter().flatten();
        let made: Option<Vec<_>> = made.map(|call| self.planned(call, &functions)).collect();
        let rejected = reply.rejected_calls.iter().map(|rejected| {
            let call = SdkFunctionCall { name: rejected.name.clone().unwrap_or_default(), ..Default::default() };
            PlannedCall::refused(call, true, error_text(&rejected.message))
        });
        Some(made?.into_iter().chain(rejected).collect())
    }

    /// What is to be done about a call; `None` when it is the app's: a function is declared, and nobody handles it.
    fn planned(&self, call: &SdkFunctionCall, functions: &[SdkFunction]) -> Option<PlannedCall> {
        let is_refused =
            |code: DiagnosticCode| matches!(code, DiagnosticCode::ToolNotAllowed | DiagnosticCode::ParallelLimit);
        let refused = |text| Some(PlannedCall::refused(call.clone(), false, text));
        if let Some(refusal) = call.diagnostics.iter().find(|diagnostic| is_refused(diagnostic.code)) {
            return refused(error_text(&refusal.message));
        }
        let validation = validate_among(call, functions);
        if !self.handled.contains(&call.name) {
            let is_declared = functions.iter().any(|function| function.name == call.name);
            let reason = validation.diagnostics.first().map_or("", |diagnostic| &diagnostic.message);
            return if is_declared { None } else { refused(error_text(reason)) };
        }
        if !validation.is_ok() {
            return refused(validation.errors_as_tool_text());
        }
        let call = SdkFunctionCall { arguments: validation.arguments, ..call.clone() };
        Some(PlannedCall { call, is_rejected: false, result: None })
    }

    fn end(&mut self, event: Result<Box<Completion>>) -> Poll<Option<Result<RoundEvent>>> {
        self.leave();
        Poll::Ready(Some(event.map(|mut completion| {
            completion.earlier_rounds = std::mem::take(&mut self.earlier_rounds);
            RoundEvent::Response(MessageResponse::Complete(completion))
        })))
    }

    /// Lets go of the turn, which has ended or is given up.
    fn leave(&mut self) {
        let stage = std::mem::replace(&mut self.stage, Stage::Ended);
        let Some(id) = self.turn.take() else { return };
        let turns = &self.conversation.turns;
        if let Stage::Answering(_) = stage {
            turns.close(id);
        }
        turns.let_go(id);
        drop(stage); // a reply that is being written ends after its turn was let go
        self.conversation.wake_next();
    }
}

impl Round {
    /// The results that the history has not, and of calls that have none, that they were given up.
    fn closing(&self) -> Vec<ChatMessage> {
        let open = self.calls[self.n_answered..].iter();
        open.map(|planned| planned.result.as_ref().map_or_else(|| unanswered(&planned.call.call_id), tool_message))
            .collect()
    }
}

impl PlannedCall {
    fn refused(call: SdkFunctionCall, is_rejected: bool, text: String) -> Self {
        let mut planned = Self { call, is_rejected, result: None };
        planned.result = Some(planned.result(text, true));
        planned
    }

    fn result_of(&self, outcome: FunctionOutcome, time_limit: Option<Duration>) -> FunctionResult {
        match outcome {
            FunctionOutcome::Returned(Value::String(text)) => self.result(text, false),
            FunctionOutcome::Returned(value) => self.result(value.to_string(), false),
            FunctionOutcome::Failed(reason) => self.result(error_text(&reason), true),
            FunctionOutcome::TimedOut => {
                let seconds = time_limit.unwrap_or_default().as_secs_f64();
                let reason = format!("{} gave no result within {seconds} seconds", self.call.name);
                self.result(error_text(&reason), true)
            }
        }
    }

    fn result(&self, text: String, is_error: bool) -> FunctionResult {
        let call_id = Some(self.call.call_id.clone()).filter(|_| !self.is_rejected);
        let name = Some(self.call.name.clone()).filter(|name| !self.is_rejected || !name.is_empty());
        FunctionResult { call_id, name, text, is_error }
    }
}

fn error_text(reason: &str) -> String {
    Value::Object(Arguments::from([("error".to_owned(), reason.into())])).to_string()
}

fn tool_message(result: &FunctionResult) -> ChatMessage {
    ChatMessage { tool_call_id: result.call_id.clone(), ..ChatMessage::tool(result.text.as_str()) }
}

impl Drop for FunctionRounds {
    fn drop(&mut self) {
        if let (Stage::Replying(_), Some(id)) = (&self.stage, self.turn) {
            self.conversation.turns.give_up(id);
        }
        self.leave();
    }
}

impl fmt::Debug for FunctionRounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_rounds = self.earlier_rounds.len();
        f.debug_struct("FunctionRounds")
            .field("handled", &self.handled)
            .field("n_rounds", &n_rounds)
            .finish_non_exhaustive()
    }
}
