//! The stream of events that every interface pulls.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::thread::Thread;

use futures_core::Stream;

use crate::engine::cancel::CancelHandle;
use crate::engine::channel::{EventSender, ReplyReceiver};
use crate::engine::prefill_progress::PrefillProgress;
use crate::error::{Result, SdkError};
use crate::message::ChatMessage;
use crate::response::{Completion, FunctionOutcome, MessageResponse};

/// The source of a stream's events: one reply, or several replies with function calls between them.
pub(crate) trait EventSource: Send {
    /// The next event; `None` after the last one.
    fn poll(&mut self, ctx: &mut Context<'_>) -> Poll<Option<Result<MessageResponse>>>;

    /// Takes the outcomes of the calls of the last [`MessageResponse::RunFunctions`].
    fn answer(&mut self, outcomes: Vec<FunctionOutcome>);

    /// The last reply up to the error that ended it.
    fn partial(&self) -> Option<&ChatMessage>;
}

impl EventSource for ReplyReceiver {
    fn poll(&mut self, ctx: &mut Context<'_>) -> Poll<Option<Result<MessageResponse>>> {
        ReplyReceiver::poll(self, ctx)
    }

    fn answer(&mut self, _: Vec<FunctionOutcome>) {}

    fn partial(&self) -> Option<&ChatMessage> {
        ReplyReceiver::partial(self)
    }
}

/// The events of a reply, as a `futures` stream: pull them with [`next`](Self::next) and with the methods of `StreamExt`.
/// A `for` loop blocks its thread until each event; [`iter`](Self::iter) has the methods of iterators.
///
/// The stream is cold: nothing happens before the first pull. It ends with one
/// [`Complete`](MessageResponse::Complete) or one error. Generation waits while the reader does not pull, and stops
/// within one token when the stream is dropped or cancelled.
///
/// ```
/// use causerie::{ChatMessage, GenerationOptions, MessageResponse};
/// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
/// let reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
/// for event in reply {
///     match event? {
///         MessageResponse::Chunk(text) => print!("{text}"),
///         MessageResponse::Complete(completion) => println!("\n{:?}", completion.finish_reason),
///         _ => {}
///     }
/// }
/// # Ok::<(), causerie::SdkError>(())
/// ```
pub struct ResponseStream {
    source: Box<dyn EventSource>,
    cancel: CancelHandle,
}

impl ResponseStream {
    /// The stream of one reply, which `start` queues at the first pull.
    pub(crate) fn new(start: impl FnOnce(EventSender) -> Result<Thread> + Send + 'static) -> Self {
        let cancel = CancelHandle::default();
        Self::from_source(ReplyReceiver::new(cancel.clone(), start), cancel)
    }

    /// The stream of a source, which the handle cancels.
    pub(crate) fn from_source(source: impl EventSource + 'static, cancel: CancelHandle) -> Self {
        Self { source: Box::new(source), cancel }
    }

    /// A stream that ends with an error at its first pull.
    pub(crate) fn failed(err: SdkError) -> Self {
        Self::new(|_| Err(err))
    }

    /// The next event; `None` after the last one. Dropping the future loses no event.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use causerie::{ChatMessage, GenerationOptions};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
    /// let mut reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
    /// while let Some(event) = reply.next().await {
    ///     println!("{:?}", event?);
    /// }
    /// # Ok::<(), causerie::SdkError>(())
    /// # })?;
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub async fn next(&mut self) -> Option<Result<MessageResponse>> {
        poll_fn(|ctx| self.source.poll(ctx)).await
    }

    /// The remaining events as an iterator, which blocks its thread until each event.
    ///
    /// ```
    /// use causerie::{ChatMessage, GenerationOptions, MessageResponse};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
    /// let mut reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
    /// let events: Vec<MessageResponse> = reply.iter().collect::<Result<_, _>>()?;
    /// assert_eq!(events[0], MessageResponse::Chunk("Hello!".into()));
    /// assert!(matches!(events[1], MessageResponse::Complete(_)));
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn iter(&mut self) -> BlockingIterator<&mut Self> {
        BlockingIterator(self)
    }

    /// Answers the calls of the last [`MessageResponse::RunFunctions`], in their order. Calls without an outcome are asked
    /// for again. After a cancel outcomes are ignored, so that the end does not depend on who was faster.
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
    ///     if let MessageResponse::RunFunctions(calls) = event? {
    ///         reply.answer(vec![FunctionOutcome::Returned("12:00".into()); calls.len()]);
    ///     }
    /// }
    /// # Ok::<(), causerie::SdkError>(())
    /// # })?;
    /// assert_eq!(conversation.history()[4].text(), "Noon.");
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn answer(&mut self, outcomes: Vec<FunctionOutcome>) {
        self.source.answer(outcomes);
    }

    /// After an error within a reply, the reply up to the error. It is not in the history.
    ///
    /// ```
    /// use causerie::{ChatMessage, ErrorKind, GenerationOptions};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply(causerie::testing::ScriptedReply::new().text("Well,").fail("no memory")).load()?.create_conversation("");
    /// let mut reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
    /// let err = reply.iter().find_map(Result::err).unwrap();
    /// assert_eq!(err.kind(), ErrorKind::Generation);
    /// assert_eq!(reply.partial().unwrap().text(), "Well,");
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn partial(&self) -> Option<&ChatMessage> {
        self.source.partial()
    }

    /// Stops the reply within one token, and at once while functions run; see [`CancelHandle::cancel`].
    ///
    /// ```
    /// use causerie::{ChatMessage, FinishReason, GenerationOptions, MessageResponse};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply(causerie::testing::ScriptedReply::new().text("Well,").stall()).load()?.create_conversation("");
    /// let mut reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
    /// reply.iter().next().unwrap()?; // the first word
    /// reply.cancel();
    /// let Some(Ok(MessageResponse::Complete(completion))) = reply.into_iter().last() else { panic!("it ends") };
    /// assert_eq!(completion.finish_reason, FinishReason::Interrupted);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// A handle that cancels this reply while another thread pulls the stream.
    ///
    /// ```
    /// use causerie::{ChatMessage, FinishReason, GenerationOptions, MessageResponse};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply(causerie::testing::ScriptedReply::new().text("Well,").stall()).load()?.create_conversation("");
    /// let mut reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
    /// reply.iter().next().unwrap()?; // the first word
    /// let handle = reply.cancel_handle();
    /// std::thread::spawn(move || handle.cancel());
    /// let Some(Ok(MessageResponse::Complete(completion))) = reply.into_iter().last() else { panic!("it ends") };
    /// assert_eq!(completion.finish_reason, FinishReason::Interrupted);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn cancel_handle(&self) -> CancelHandle {
        self.cancel.clone()
    }

    /// How much of the prompt was prefilled, for progress that another thread shows.
    ///
    /// ```
    /// use causerie::{ChatMessage, GenerationOptions};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
    /// let mut reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
    /// let progress = reply.prefill_progress();
    /// reply.iter().next().unwrap()?; // the first word
    /// assert_eq!(progress.done_tokens(), progress.total_tokens());
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn prefill_progress(&self) -> PrefillProgress {
        self.cancel.progress()
    }

    /// The stream of the text alone.
    ///
    /// ```
    /// use causerie::{ChatMessage, GenerationOptions};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
    /// let reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
    /// for piece in reply.text() {
    ///     print!("{}", piece?);
    /// }
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn text(self) -> TextStream {
        TextStream { stream: self, completion: None }
    }
}

impl Stream for ResponseStream {
    type Item = Result<MessageResponse>;

    fn poll_next(self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().source.poll(ctx)
    }
}

impl IntoIterator for ResponseStream {
    type Item = Result<MessageResponse>;
    type IntoIter = BlockingIterator<Self>;

    fn into_iter(self) -> Self::IntoIter {
        BlockingIterator(self)
    }
}

impl IntoIterator for &mut ResponseStream {
    type Item = Result<MessageResponse>;
    type IntoIter = BlockingIterator<Self>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The iterator over a stream. It blocks its thread until each item.
///
/// The streams are no iterators themselves: with `StreamExt` in scope, each call of a method that both have would be
/// ambiguous.
///
/// ```
/// use causerie::{BlockingIterator, ChatMessage, GenerationOptions, ResponseStream};
/// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
/// let reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
/// let events: BlockingIterator<ResponseStream> = reply.into_iter();
/// assert_eq!(events.count(), 2);
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Debug)]
pub struct BlockingIterator<S>(S);

impl<S: Stream + Unpin> Iterator for BlockingIterator<S> {
    type Item = S::Item;

    fn next(&mut self) -> Option<S::Item> {
        pollster::block_on(poll_fn(|ctx| Pin::new(&mut self.0).poll_next(ctx)))
    }
}

/// The pieces of a reply's text, as a `futures` stream. A `for` loop blocks its thread until each piece.
///
/// ```
/// use causerie::{GenerationOptions, stream_generate};
/// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
/// let (model, tokenizer) = causerie::load(model)?;
/// let options = GenerationOptions { max_tokens: Some(8), ..Default::default() };
/// let mut pieces = stream_generate(&model, &tokenizer, "Once upon a time", options);
/// for piece in &mut pieces {
///     print!("{}", piece?);
/// }
/// println!("{:?}", pieces.completion().map(|completion| completion.finish_reason));
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Debug)]
pub struct TextStream {
    stream: ResponseStream,
    completion: Option<Completion>,
}

impl TextStream {
    /// The next piece; `None` after the last one. Dropping the future loses no piece.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use causerie::{ChatMessage, GenerationOptions};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
    /// let mut pieces = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default()).text();
    /// while let Some(piece) = pieces.next().await {
    ///     print!("{}", piece?);
    /// }
    /// # Ok::<(), causerie::SdkError>(())
    /// # })?;
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub async fn next(&mut self) -> Option<Result<String>> {
        poll_fn(|ctx| Pin::new(&mut *self).poll_next(ctx)).await
    }

    /// The remaining pieces as an iterator, which blocks its thread until each piece.
    ///
    /// ```
    /// use causerie::{ChatMessage, GenerationOptions};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
    /// let mut pieces = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default()).text();
    /// let text: String = pieces.iter().collect::<Result<_, _>>()?;
    /// assert_eq!(text, "Hello!");
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn iter(&mut self) -> BlockingIterator<&mut Self> {
        BlockingIterator(self)
    }

    /// The completion of the reply; `None` before its end.
    ///
    /// ```
    /// use causerie::{GenerationOptions, stream_generate};
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// let (model, tokenizer) = causerie::load(model)?;
    /// let options = GenerationOptions { max_tokens: Some(8), ..Default::default() };
    /// let mut pieces = stream_generate(&model, &tokenizer, "Once upon a time", options);
    /// for piece in &mut pieces {
    ///     print!("{}", piece?);
    /// }
    /// assert!(pieces.completion().unwrap().stats.completion_tokens <= 8);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn completion(&self) -> Option<&Completion> {
        self.completion.as_ref()
    }
}

impl Stream for TextStream {
    type Item = Result<String>;

    fn poll_next(mut self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let Some(event) = ready!(Pin::new(&mut self.stream).poll_next(ctx)) else { return Poll::Ready(None) };
            match event {
                Ok(MessageResponse::Chunk(text)) => return Poll::Ready(Some(Ok(text))),
                Ok(MessageResponse::Complete(completion)) => self.completion = Some(*completion),
                Ok(_) => {}
                Err(err) => return Poll::Ready(Some(Err(err))),
            }
        }
    }
}

impl IntoIterator for TextStream {
    type Item = Result<String>;
    type IntoIter = BlockingIterator<Self>;

    fn into_iter(self) -> Self::IntoIter {
        BlockingIterator(self)
    }
}

impl IntoIterator for &mut TextStream {
    type Item = Result<String>;
    type IntoIter = BlockingIterator<Self>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for ResponseStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseStream").field("cancel", &self.cancel).finish_non_exhaustive()
    }
}
