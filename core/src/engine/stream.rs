//! The two ends of a reply's channel: the engine's sender, and the stream that every interface pulls.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::Thread;

use futures_channel::mpsc::{Receiver, Sender, channel};
use futures_core::Stream;

use crate::error::{ErrorKind, Result, SdkError};
use crate::message::ChatMessage;
use crate::response::MessageResponse;

/// Events that may wait for the reader: enough to hide a slow paint, little enough to stop soon.
const CAPACITY: usize = 16;

/// The engine's end of the channel.
pub(crate) struct EventSender {
    sender: Sender<Result<MessageResponse>>,
    cancelled: Arc<AtomicBool>,
    partial: Arc<OnceLock<ChatMessage>>,
}

impl EventSender {
    /// Whether the reader has cancelled or gone.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) || self.sender.is_closed()
    }

    /// True once the reader has cancelled or dropped the stream.
    pub(crate) fn cancel_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancelled)
    }

    /// Receives the reply so far when it ends with an error.
    pub(crate) fn partial(&self) -> Arc<OnceLock<ChatMessage>> {
        Arc::clone(&self.partial)
    }

    /// Sends an event, or returns it when the reader must pull first. Drops it if the reader is gone.
    pub(crate) fn send(&mut self, event: Result<MessageResponse>) -> Option<Result<MessageResponse>> {
        match self.sender.try_send(event) {
            Err(refused) if refused.is_full() => Some(refused.into_inner()),
            Ok(()) | Err(_) => None,
        }
    }
}

/// Starts a reply when its stream is first pulled.
type Start = Box<dyn FnOnce(EventSender) -> Result<Thread> + Send>;

/// A reply as it is written: pull it with [`next`](Self::next), as a blocking iterator, or as a `futures` stream.
///
/// The stream is cold: nothing happens before the first pull. It ends with one
/// [`Complete`](MessageResponse::Complete) or one error. Generation waits while the reader does not pull, and stops
/// within one token when the stream is dropped or cancelled.
///
/// ```
/// use causerie::{ChatMessage, GenerationOptions, MessageResponse};
/// # let conversation = causerie::testing::ScriptedModel::new().reply("Hello!").load()?.create_conversation("");
/// let reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
/// let events: Vec<MessageResponse> = reply.collect::<Result<_, _>>()?;
/// assert_eq!(events[0], MessageResponse::Chunk("Hello!".into()));
/// assert!(matches!(events[1], MessageResponse::Complete(_)));
/// # Ok::<(), causerie::SdkError>(())
/// ```
pub struct ResponseStream {
    receiver: Receiver<Result<MessageResponse>>,
    cancel: CancelHandle,
    start: Option<(Start, EventSender)>,
    engine: Option<Thread>,
    partial: Arc<OnceLock<ChatMessage>>,
    has_ended: bool,
}

/// Cancels a reply from anywhere, for example from a signal handler. Clones cancel the same reply.
///
/// ```
/// use causerie::{ChatMessage, FinishReason, GenerationOptions, MessageResponse};
/// # let conversation = causerie::testing::ScriptedModel::new().reply(causerie::testing::ScriptedReply::new().text("Well,").stall()).load()?.create_conversation("");
/// let mut reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
/// Iterator::next(&mut reply).unwrap()?; // the first word
/// let handle = reply.cancel_handle();
/// std::thread::spawn(move || handle.cancel());
/// let Some(Ok(MessageResponse::Complete(completion))) = reply.last() else { panic!("it ends") };
/// assert_eq!(completion.finish_reason, FinishReason::Interrupted);
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CancelHandle {
    cancelled: Arc<AtomicBool>,
    engine: Arc<OnceLock<Thread>>,
    /// Who waits for something else than the engine: for functions that run.
    waiting: Arc<Mutex<Option<Waker>>>,
}

impl CancelHandle {
    /// Stops the reply before its next step: one token, or 128 of the prompt. A step under way, of this reply or of
    /// others of the same model, is finished first. The stream then ends with a `Complete` whose finish reason is
    /// `Interrupted`. Calling it again, or after the end, does nothing.
    ///
    /// ```
    /// use causerie::{ChatMessage, FinishReason, GenerationOptions, MessageResponse};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply(causerie::testing::ScriptedReply::new().text("Well,").stall()).load()?.create_conversation("");
    /// let mut reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
    /// Iterator::next(&mut reply).unwrap()?; // the first word
    /// reply.cancel_handle().cancel();
    /// let Some(Ok(MessageResponse::Complete(completion))) = reply.last() else { panic!("it ends") };
    /// assert_eq!(completion.finish_reason, FinishReason::Interrupted);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
        if let Some(engine) = self.engine.get() {
            engine.unpark();
        }
        if let Some(waker) = self.waiting().take() {
            waker.wake();
        }
    }

    /// True once it was cancelled. A waker that is given is woken then.
    pub(crate) fn is_cancelled(&self, waker: Option<&Waker>) -> bool {
        if let Some(waker) = waker {
            *self.waiting() = Some(waker.clone());
        }
        self.cancelled.load(Ordering::SeqCst)
    }

    /// True once it was cancelled, for who only looks.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancelled)
    }

    fn waiting(&self) -> MutexGuard<'_, Option<Waker>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ResponseStream {
    /// A stream that calls `start` at its first pull.
    pub(crate) fn new(start: impl FnOnce(EventSender) -> Result<Thread> + Send + 'static) -> Self {
        Self::cancelled_by(CancelHandle::default(), start)
    }

    /// The same, with a handle that may cancel other replies of the same model as well.
    pub(crate) fn cancelled_by(
        cancel: CancelHandle,
        start: impl FnOnce(EventSender) -> Result<Thread> + Send + 'static,
    ) -> Self {
        let (sender, receiver) = channel(CAPACITY);
        let partial = Arc::default();
        let events = EventSender { sender, cancelled: cancel.flag(), partial: Arc::clone(&partial) };
        Self { receiver, cancel, start: Some((Box::new(start), events)), engine: None, partial, has_ended: false }
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
        poll_fn(|ctx| self.poll(ctx)).await
    }

    /// After an error in the midst of a reply, the reply up to there. It is not in the history.
    ///
    /// ```
    /// use causerie::{ChatMessage, ErrorKind, GenerationOptions};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply(causerie::testing::ScriptedReply::new().text("Well,").fail("no memory")).load()?.create_conversation("");
    /// let mut reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
    /// let err = Iterator::find_map(&mut reply, Result::err).unwrap();
    /// assert_eq!(err.kind(), ErrorKind::Generation);
    /// assert_eq!(reply.partial().unwrap().text(), "Well,");
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn partial(&self) -> Option<&ChatMessage> {
        self.partial.get()
    }

    /// Stops the reply within one token; see [`CancelHandle::cancel`].
    ///
    /// ```
    /// use causerie::{ChatMessage, FinishReason, GenerationOptions, MessageResponse};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply(causerie::testing::ScriptedReply::new().text("Well,").stall()).load()?.create_conversation("");
    /// let mut reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
    /// Iterator::next(&mut reply).unwrap()?; // the first word
    /// reply.cancel();
    /// let Some(Ok(MessageResponse::Complete(completion))) = reply.last() else { panic!("it ends") };
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
    /// Iterator::next(&mut reply).unwrap()?; // the first word
    /// let handle = reply.cancel_handle();
    /// std::thread::spawn(move || handle.cancel());
    /// let Some(Ok(MessageResponse::Complete(completion))) = reply.last() else { panic!("it ends") };
    /// assert_eq!(completion.finish_reason, FinishReason::Interrupted);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn cancel_handle(&self) -> CancelHandle {
        self.cancel.clone()
    }

    pub(crate) fn poll(&mut self, ctx: &mut Context<'_>) -> Poll<Option<Result<MessageResponse>>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        if let Some((start, sender)) = self.start.take() {
            match start(sender) {
                Ok(engine) => {
                    let _ = self.cancel.engine.set(engine.clone()); // all that it cancels have the same engine
                    // A cancel from elsewhere may have come before it could wake anyone.
                    if self.cancel.cancelled.load(Ordering::SeqCst) {
                        engine.unpark();
                    }
                    self.engine = Some(engine);
                }
                Err(err) => return self.end_with(Err(err)),
            }
        }
        match Pin::new(&mut self.receiver).poll_next(ctx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Some(event)) => {
                // The pull may have made room for what the engine holds back.
                if let Some(engine) = &self.engine {
                    engine.unpark();
                }
                match event {
                    Ok(MessageResponse::Complete(_)) | Err(_) => self.end_with(event),
                    Ok(_) => Poll::Ready(Some(event)),
                }
            }
            Poll::Ready(None) => {
                self.end_with(Err(SdkError::new(ErrorKind::Internal, "the engine ended without an answer")))
            }
        }
    }

    fn end_with(&mut self, event: Result<MessageResponse>) -> Poll<Option<Result<MessageResponse>>> {
        self.has_ended = true;
        Poll::Ready(Some(event))
    }
}

impl Stream for ResponseStream {
    type Item = Result<MessageResponse>;

    fn poll_next(self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll(ctx)
    }
}

/// Blocks the calling thread until the next event.
impl Iterator for ResponseStream {
    type Item = Result<MessageResponse>;

    fn next(&mut self) -> Option<Self::Item> {
        pollster::block_on(poll_fn(|ctx| self.poll(ctx)))
    }
}

impl Drop for ResponseStream {
    fn drop(&mut self) {
        // Closed before the engine is woken, so that it sees the reader gone.
        self.receiver.close();
        if !self.has_ended {
            self.cancel.cancel();
        }
    }
}

impl fmt::Debug for ResponseStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseStream").field("has_ended", &self.has_ended).finish_non_exhaustive()
    }
}
