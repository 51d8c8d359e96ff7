//! The prompt of one reply until it is ready: first it waits for the reply's turn, then for the preparation pool.

use std::sync::Arc;
use std::thread::{self, Thread};

use futures_channel::oneshot;

use crate::engine::loaded::LoadedModel;
use crate::engine::pool::PreparationPool;
use crate::engine::request::{Prepare, Prepared};
use crate::error::{ErrorKind, Result, SdkError};

pub(super) enum PendingPrompt {
    /// Other replies come first.
    Waiting(Prepare),
    /// A job of the pool makes it. Without the receiver, the result is dropped.
    Running(oneshot::Receiver<Result<Prepared>>),
}

impl PendingPrompt {
    /// Starts the job when the reply's turn has come. Returns the prompt, or the error that prevents it, when it is ready;
    /// until then the engine thread, which calls this, is woken when something has changed.
    pub(super) fn poll(&mut self, loaded: &Arc<LoadedModel>, pool: &PreparationPool) -> Option<Result<Prepared>> {
        match self {
            Self::Waiting(prepare) => {
                let job = prepare()?;
                let (sender, receiver) = oneshot::channel();
                let reply = PromptSender { sender: Some(sender), engine: thread::current() };
                let loaded = Arc::clone(loaded);
                pool.run(Box::new(move || {
                    if reply.is_wanted() {
                        reply.send(job(&loaded));
                    }
                }));
                *self = Self::Running(receiver);
                None
            }
            Self::Running(receiver) => match receiver.try_recv() {
                Ok(prepared) => prepared,
                Err(oneshot::Canceled) => {
                    Some(Err(SdkError::new(ErrorKind::Internal, "the engine failed on this reply's prompt")))
                }
            },
        }
    }
}

/// Sends a prompt to the engine thread. However the job ends, also by a panic, the thread is woken after the sender is gone.
struct PromptSender {
    sender: Option<oneshot::Sender<Result<Prepared>>>,
    engine: Thread,
}

impl PromptSender {
    /// False once the reply has ended.
    fn is_wanted(&self) -> bool {
        self.sender.as_ref().is_some_and(|sender| !sender.is_canceled())
    }

    fn send(mut self, prepared: Result<Prepared>) {
        if let Some(sender) = self.sender.take() {
            let _ = sender.send(prepared); // the reply may have ended meanwhile
        }
    }
}

impl Drop for PromptSender {
    fn drop(&mut self) {
        self.sender.take();
        self.engine.unpark();
    }
}
