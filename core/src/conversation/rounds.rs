//! Replies with functions: the model calls, reads the results, and continues until it answers, all in one stream.
//!
//! [`ReplyRounds`] decides what happens next. It is the one loop of all languages; functions run in Rust closures or by the
//! reader of the stream.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_channel::oneshot;

use crate::conversation::handlers::FunctionHandlers;
use crate::conversation::messages::Conversation;
use crate::conversation::round::{Round, RoundStep, tool_message};
use crate::engine::{CancelHandle, EventSource, ReplyReceiver, ResponseStream};
use crate::error::Result;
use crate::message::ChatMessage;
use crate::options::{GenerationOptions, ToolChoice};
use crate::response::{Completion, FinishReason, FunctionError, FunctionOutcome, GenerationStats, MessageResponse};

/// The events of several replies, with the results of calls between them.
struct ReplyRounds {
    conversation: Conversation,
    handlers: FunctionHandlers,
    options: GenerationOptions,
    cancel: CancelHandle,
    /// The request in the conversation's queue that all replies share, from the first poll on.
    request: Option<u64>,
    stage: Stage,
    earlier_rounds: Vec<GenerationStats>,
    /// The reply up to the error that ended it.
    partial: Option<ChatMessage>,
}

enum Stage {
    /// The reply to a message, or to the history, is to be requested.
    Asking(Option<ChatMessage>),
    /// The model writes.
    Replying(ReplyReceiver),
    /// The calls of a reply are run.
    Answering(Round),
    /// Closures run calls of a reply.
    Running(Round, oneshot::Receiver<Result<Vec<FunctionOutcome>>>),
    /// The end of a round was delivered.
    Answered(Round),
    Ended,
}

impl Conversation {
    /// Sends a message, and streams the reply with all its function calls: the handlers run the calls, the model reads the
    /// results, and so on until it answers. All messages join the history as if they were sent by hand. The
    /// [functions of the handlers](FunctionHandlers::functions) are registered when the reply begins; one of the same name is
    /// replaced.
    ///
    /// The events are the same as of a plain reply. [`FunctionResult`](MessageResponse::FunctionResult) reports the result of
    /// each call, [`RoundComplete`](MessageResponse::RoundComplete) the end of a reply with calls, and one `Complete` the
    /// end of the last reply. If a call does not fit its function, was rejected, or names a function that is not
    /// declared, the model reads an error that lets it repair the call. A call of a function that is declared
    /// but not handled ends the stream: all calls of that reply are left to the app. So does a reply after
    /// [`RoundOptions::max_rounds`](crate::RoundOptions::max_rounds). The conversation is busy until the end.
    ///
    /// The options apply to each reply; if they require a call, they do so for the first reply only.
    ///
    /// ```
    /// # use causerie::testing::{ScriptedModel, ScriptedReply};
    /// use causerie::{ChatMessage, FunctionHandlers, GenerationOptions, MessageResponse, SdkError, SdkFunction};
    /// # let call = ScriptedReply::new().control("<|tool_call_start|>").text("[now()]").control("<|tool_call_end|>");
    /// # let conversation = ScriptedModel::new().reply(call).reply("Noon.").load()?.create_conversation("");
    ///
    /// conversation.register_function(SdkFunction::new("now", "Tell the time.", vec![]))?;
    /// let handlers = FunctionHandlers::new().on("now", |_| Ok::<_, SdkError>("12:00"));
    /// let message = ChatMessage::user("What time is it?");
    /// for event in conversation.respond_with_functions(message, &handlers, GenerationOptions::default()) {
    ///     match event? {
    ///         MessageResponse::Chunk(text) => print!("{text}"),
    ///         MessageResponse::FunctionResult(result) => println!("{:?}: {}", result.name, result.text),
    ///         _ => {}
    ///     }
    /// }
    /// # assert_eq!(conversation.history().len(), 5);
    /// # Ok::<(), SdkError>(())
    /// ```
    ///
    /// # Errors
    /// In the stream, the errors of [`generate_response`](Self::generate_response), for each reply,
    /// [`ErrorKind::InvalidOption`](crate::ErrorKind::InvalidOption) for a handler of a function that is not registered, and
    /// [`ErrorKind::Serialization`](crate::ErrorKind::Serialization) if a handler returns a value that JSON cannot represent.
    pub fn respond_with_functions(
        &self,
        message: ChatMessage,
        handlers: &FunctionHandlers,
        options: GenerationOptions,
    ) -> ResponseStream {
        self.stream_rounds(Some(message), handlers, options)
    }

    /// Like [`respond_with_functions`](Self::respond_with_functions), as a reply to the history as it stands.
    ///
    /// ```
    /// use causerie::{ChatMessage, FunctionHandlers, GenerationOptions, SdkFunction};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Noon.").load()?.create_conversation("");
    /// conversation.register_function(SdkFunction::new("now", "Tell the time.", vec![]))?;
    /// conversation.append_to_history(ChatMessage::user("What time is it?"))?;
    /// let handlers = FunctionHandlers::new().on("now", |_| Ok::<_, String>("12:00"));
    /// conversation.continue_with_functions(&handlers, GenerationOptions::default()).into_iter().last();
    /// assert_eq!(conversation.history()[2].text(), "Noon.");
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`respond_with_functions`](Self::respond_with_functions).
    pub fn continue_with_functions(&self, handlers: &FunctionHandlers, options: GenerationOptions) -> ResponseStream {
        self.stream_rounds(None, handlers, options)
    }

    fn stream_rounds(
        &self,
        message: Option<ChatMessage>,
        handlers: &FunctionHandlers,
        options: GenerationOptions,
    ) -> ResponseStream {
        let cancel = CancelHandle::default();
        let rounds = ReplyRounds {
            conversation: self.clone(),
            handlers: handlers.clone(),
            options,
            cancel: cancel.clone(),
            request: None,
            stage: Stage::Asking(message),
            earlier_rounds: Vec::new(),
            partial: None,
        };
        ResponseStream::from_source(rounds, cancel)
    }
}

impl EventSource for ReplyRounds {
    fn poll(&mut self, ctx: &mut Context<'_>) -> Poll<Option<Result<MessageResponse>>> {
        loop {
            if let Some(event) = ready!(self.step(ctx)) {
                return Poll::Ready(Some(event));
            }
            if let Stage::Ended = self.stage {
                return Poll::Ready(None);
            }
        }
    }

    fn answer(&mut self, outcomes: Vec<FunctionOutcome>) {
        let Stage::Answering(round) = &mut self.stage else { return };
        if !self.cancel.is_cancelled(None) {
            round.answer(outcomes, self.handlers.rounds().time_limit);
            self.close_open_calls_on_end();
        }
    }

    fn partial(&self) -> Option<&ChatMessage> {
        self.partial.as_ref()
    }
}

impl ReplyRounds {
    /// Goes on by one step, which may give an event.
    fn step(&mut self, ctx: &mut Context<'_>) -> Poll<Option<Result<MessageResponse>>> {
        match std::mem::replace(&mut self.stage, Stage::Ended) {
            Stage::Asking(message) => match self.ask(message) {
                Ok(reply) => self.stage = Stage::Replying(reply),
                Err(err) => return self.end(Err(err)),
            },
            Stage::Replying(reply) => return self.read(reply, ctx),
            Stage::Answering(round) | Stage::Answered(round) if self.cancel.is_cancelled(None) => {
                return self.interrupt(round);
            }
            Stage::Running(round, _) if self.cancel.is_cancelled(Some(ctx.waker())) => return self.interrupt(round),
            Stage::Running(round, mut outcomes) => match Pin::new(&mut outcomes).poll(ctx) {
                Poll::Pending => {
                    self.stage = Stage::Running(round, outcomes);
                    return Poll::Pending;
                }
                Poll::Ready(outcomes) => {
                    let failed = |_| Ok(vec![FunctionOutcome::Failed(FunctionError::new("cannot start a thread"))]);
                    self.stage = Stage::Answering(round);
                    match outcomes.unwrap_or_else(failed) {
                        Ok(outcomes) => self.answer(outcomes),
                        Err(err) => return self.end(Err(err)),
                    }
                }
            },
            Stage::Answering(round) => return Poll::Ready(self.go_on(round).map(Ok)),
            Stage::Answered(round) => self.finish(&round),
            Stage::Ended => {}
        }
        Poll::Ready(None)
    }

    /// Reads the next event of a reply.
    fn read(&mut self, mut reply: ReplyReceiver, ctx: &mut Context<'_>) -> Poll<Option<Result<MessageResponse>>> {
        let event = match reply.poll(ctx) {
            Poll::Ready(Some(event)) => event,
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending => {
                self.stage = Stage::Replying(reply);
                return Poll::Pending;
            }
        };
        match event {
            Ok(MessageResponse::Complete(completion)) => match self.plan(&completion) {
                Some(round) => {
                    self.stage = Stage::Answering(round);
                    self.close_open_calls_on_end();
                    Poll::Ready(None)
                }
                None => self.end(Ok(completion)),
            },
            Ok(event) => {
                self.stage = Stage::Replying(reply);
                Poll::Ready(Some(Ok(event)))
            }
            Err(err) => {
                self.partial = reply.partial().cloned();
                self.end(Err(err))
            }
        }
    }

    /// Takes the next step of a round.
    fn go_on(&mut self, mut round: Round) -> Option<MessageResponse> {
        match round.next(&self.handlers) {
            RoundStep::Result(result) => {
                self.conversation.requests.add(self.request.unwrap_or_default(), tool_message(&result));
                self.stage = Stage::Answering(round);
                self.close_open_calls_on_end();
                Some(MessageResponse::FunctionResult(result))
            }
            RoundStep::Run(calls) => {
                self.stage = Stage::Running(round, self.handlers.run(calls));
                None
            }
            RoundStep::RunByReader(calls) => {
                self.stage = Stage::Answering(round);
                Some(MessageResponse::RunFunctions(calls))
            }
            RoundStep::Done => {
                let completion = round.completion.clone();
                self.stage = Stage::Answered(round);
                Some(MessageResponse::RoundComplete(completion))
            }
        }
    }

    /// Goes on to the next reply.
    fn finish(&mut self, round: &Round) {
        self.earlier_rounds.push(round.completion.stats);
        if let ToolChoice::Required | ToolChoice::Function(_) = self.options.tool_choice {
            // A call was made. If each reply had to make one, the model could never answer.
            self.options.tool_choice = ToolChoice::Auto;
        }
        self.options.continue_final_message = false; // the first reply has done it
        self.stage = Stage::Asking(None);
    }

    /// The next reply. All replies share one request in the queue.
    fn ask(&mut self, message: Option<ChatMessage>) -> Result<ReplyReceiver> {
        let requests = &self.conversation.requests;
        let id = match self.request {
            Some(id) => id,
            None => {
                // Before the request joins the queue.
                self.options.check()?;
                let names = self.conversation.runner.function_names();
                self.handlers.offered().iter().try_for_each(|function| function.check_with(names))?;
                requests.enqueue(&self.options, self.cancel.clone(), true)?
            }
        };
        self.request = Some(id);
        let (conversation, options) = (self.conversation.clone(), self.options.clone());
        let handlers = self.handlers.clone();
        Ok(ReplyReceiver::new(self.cancel.clone(), move |sender| {
            conversation.requests.resume(id);
            conversation.submit(id, message, &handlers, options, sender)
        }))
    }

    /// The round that a reply begins; `None` if the reply is the last one.
    fn plan(&self, completion: &Completion) -> Option<Round> {
        if self.handlers.rounds().max_rounds <= self.earlier_rounds.len() {
            return None;
        }
        Round::new(completion, &self.handlers, &self.conversation.functions())
    }

    /// Tells the queue how to answer the open calls should the request end now.
    fn close_open_calls_on_end(&self) {
        if let Stage::Answering(round) = &self.stage {
            self.conversation.requests.close_with(self.request.unwrap_or_default(), round.closing());
        }
    }

    /// Ends the stream within a round.
    fn interrupt(&mut self, round: Round) -> Poll<Option<Result<MessageResponse>>> {
        let completion = Completion { finish_reason: FinishReason::Interrupted, ..*round.completion.clone() };
        self.stage = Stage::Answering(round);
        self.end(Ok(Box::new(completion)))
    }

    /// Ends the stream with its last event.
    fn end(&mut self, event: Result<Box<Completion>>) -> Poll<Option<Result<MessageResponse>>> {
        self.leave();
        Poll::Ready(Some(event.map(|mut completion| {
            completion.earlier_rounds = std::mem::take(&mut self.earlier_rounds);
            MessageResponse::Complete(completion)
        })))
    }

    /// Releases the request, which has ended or is given up.
    fn leave(&mut self) {
        let stage = std::mem::replace(&mut self.stage, Stage::Ended);
        let Some(id) = self.request.take() else { return };
        let requests = &self.conversation.requests;
        if let Stage::Answering(_) | Stage::Running(..) | Stage::Answered(_) = stage {
            requests.close(id);
        }
        requests.release(id);
        drop(stage); // a reply that is being written ends only after its request was released
        self.conversation.wake_next();
    }
}

impl Drop for ReplyRounds {
    fn drop(&mut self) {
        if let (Stage::Replying(_), Some(id)) = (&self.stage, self.request) {
            self.conversation.requests.give_up(id);
        }
        self.leave();
    }
}
