//! The two ends of a reply's channel: the engine's sender and the reader's receiver.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::thread::Thread;

use futures_channel::mpsc::{Receiver, Sender, channel};
use futures_core::Stream;

use crate::engine::cancel::CancelHandle;
use crate::engine::prefill_progress::PrefillProgress;
use crate::error::{ErrorKind, Result, SdkError};
use crate::message::ChatMessage;
use crate::response::MessageResponse;

/// Events that may wait for the reader: enough to hide a slow paint, little enough to stop soon.
const CAPACITY: usize = 16;

/// The engine's end of the channel.
pub(crate) struct EventSender {
    sender: Sender<Result<MessageResponse>>,
    cancel: CancelHandle,
    partial: Arc<OnceLock<ChatMessage>>,
    progress: PrefillProgress,
}

impl EventSender {
    /// The progress of the prompt, for the reader.
    pub(crate) fn progress(&self) -> &PrefillProgress {
        &self.progress
    }

    /// Whether the reader has cancelled the reply or dropped the stream.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled(None) || self.sender.is_closed()
    }

    /// The handle with which the reader cancels the reply. A dropped stream cancels it, too.
    pub(crate) fn cancel_handle(&self) -> CancelHandle {
        self.cancel.clone()
    }

    /// The place for the reply so far, set when the reply ends with an error.
    pub(crate) fn partial(&self) -> Arc<OnceLock<ChatMessage>> {
        Arc::clone(&self.partial)
    }

    /// Sends an event, or returns it when the channel is full. If the reader has gone, the event is dropped.
    pub(crate) fn send(&mut self, event: Result<MessageResponse>) -> Option<Result<MessageResponse>> {
        match self.sender.try_send(event) {
            Err(refused) if refused.is_full() => Some(refused.into_inner()),
            Ok(()) | Err(_) => None,
        }
    }
}

/// Queues a reply and returns the engine's thread.
type StartReply = Box<dyn FnOnce(EventSender) -> Result<Thread> + Send>;

/// The reader's end of the channel. The reply starts at the first poll, and dropping the receiver cancels it.
pub(crate) struct ReplyReceiver {
    receiver: Receiver<Result<MessageResponse>>,
    cancel: CancelHandle,
    start: Option<(StartReply, EventSender)>,
    engine: Option<Thread>,
    partial: Arc<OnceLock<ChatMessage>>,
    has_ended: bool,
}

impl ReplyReceiver {
    /// A reply that the handle cancels. `start` is called at the first poll.
    pub(crate) fn new(
        cancel: CancelHandle,
        start: impl FnOnce(EventSender) -> Result<Thread> + Send + 'static,
    ) -> Self {
        let (sender, receiver) = channel(CAPACITY);
        let partial = Arc::default();
        let progress = cancel.progress();
        let sender = EventSender { sender, cancel: cancel.clone(), partial: Arc::clone(&partial), progress };
        Self { receiver, cancel, start: Some((Box::new(start), sender)), engine: None, partial, has_ended: false }
    }

    /// The reply so far, after an error.
    pub(crate) fn partial(&self) -> Option<&ChatMessage> {
        self.partial.get()
    }

    /// The next event; `None` after the last one.
    pub(crate) fn poll(&mut self, ctx: &mut Context<'_>) -> Poll<Option<Result<MessageResponse>>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        if let Some((start, sender)) = self.start.take() {
            match start(sender) {
                Ok(engine) => {
                    self.cancel.set_engine(&engine);
                    self.engine = Some(engine);
                }
                Err(err) => return self.end_with(Err(err)),
            }
        }
        match Pin::new(&mut self.receiver).poll_next(ctx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Some(event)) => {
                // The engine may hold back an event that now fits into the channel.
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

impl Drop for ReplyReceiver {
    fn drop(&mut self) {
        // Closed before the engine is woken, so that it finds the reader gone.
        self.receiver.close();
        if !self.has_ended {
            self.cancel.cancel();
        }
    }
}
