//! Cancelling a reply from any thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Waker;
use std::thread::Thread;

use parking_lot::Mutex;

use crate::engine::prefill_progress::PrefillProgress;

/// Cancels a reply from any thread, for example from a signal handler. Clones cancel the same reply.
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
#[derive(Clone, Debug, Default)]
pub struct CancelHandle {
    cancelled: Arc<AtomicBool>,
    /// The engine's thread, once the reply has begun.
    engine: Arc<OnceLock<Thread>>,
    /// The reader while it waits for functions instead of the engine.
    waiting: Arc<Mutex<Option<Waker>>>,
    /// How far the prompt is, which readers learn in the same way.
    progress: PrefillProgress,
}

impl CancelHandle {
    /// Stops the reply before its next step: one token, or 128 tokens of the prompt. A step that is already running, for
    /// this reply or for others of the same model, is finished first. The stream then ends with a `Complete` whose finish
    /// reason is `Interrupted`. Calling it again, or after the end, does nothing.
    ///
    /// ```
    /// use causerie::{ChatMessage, FinishReason, GenerationOptions, MessageResponse};
    /// # let conversation = causerie::testing::ScriptedModel::new().reply(causerie::testing::ScriptedReply::new().text("Well,").stall()).load()?.create_conversation("");
    /// let mut reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
    /// reply.iter().next().unwrap()?; // the first word
    /// reply.cancel_handle().cancel();
    /// let Some(Ok(MessageResponse::Complete(completion))) = reply.into_iter().last() else { panic!("it ends") };
    /// assert_eq!(completion.finish_reason, FinishReason::Interrupted);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
        if let Some(engine) = self.engine.get() {
            engine.unpark();
        }
        if let Some(waker) = self.waiting.lock().take() {
            waker.wake();
        }
    }

    /// Whether the reply was cancelled. If a waker is given, a later cancel wakes it.
    pub(crate) fn is_cancelled(&self, waker: Option<&Waker>) -> bool {
        if let Some(waker) = waker {
            *self.waiting.lock() = Some(waker.clone());
        }
        self.cancelled.load(Ordering::SeqCst)
    }

    /// How far the prompt of the reply is.
    pub(super) fn progress(&self) -> PrefillProgress {
        self.progress.clone()
    }

    /// Sets the thread that a cancel wakes. All replies of one handle run on the same engine.
    pub(super) fn set_engine(&self, engine: &Thread) {
        let _ = self.engine.set(engine.clone()); // it is the same thread for each reply
        // A cancel that came before could not wake the engine.
        if self.cancelled.load(Ordering::SeqCst) {
            engine.unpark();
        }
    }
}
