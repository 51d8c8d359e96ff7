//! The engine: one thread per loaded model, which generates all replies together, token by token.
//!
//! The threads of a [`pool`] make prompts and grammars, so that the engine thread only steps. [`worker`] is its loop: it
//! computes the next tokens of all replies in one pass over the weights. A reply is a [`generate::Generation`]. A reply whose
//! reader does not pull is skipped until the reader pulls again. When no reply can go on, the thread sleeps; a new request, a
//! pull, a cancel, a deadline, or the end of the last handle wakes it.

mod cache;
mod cancel;
mod channel;
mod constraint;
mod embeddings;
mod end_report;
mod finish;
mod frame_sampler;
mod generate;
mod loaded;
mod logprobs;
mod marked_modality;
mod modality;
mod pending_prompt;
mod pool;
mod prefill_progress;
mod reading;
mod reply_builder;
mod repetition;
mod request;
mod speculative;
mod speech;
mod spoken_step;
mod step_plan;
mod stop;
mod stream;
mod timing;
mod token_reading;
mod token_step;
mod transcript;
mod vocabulary;
mod worker;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, Thread};

use futures_channel::oneshot;

use crate::error::{ErrorKind, Result, SdkError};

use generate::Generation;
use parking_lot::Mutex;
use worker::{EngineCommand, Visit, Worker, unloaded};

pub(crate) use cache::{Owner, PrefixCache};
pub use cancel::CancelHandle;
pub(crate) use channel::{EventSender, ReplyReceiver};
pub(crate) use constraint::ReplyConstraint;
pub(crate) use loaded::{LoadedModel, OptionDecider};
pub use prefill_progress::PrefillProgress;
pub(crate) use request::{Prepared, PromptJob, ReplyOwner, Request};
pub(crate) use stream::EventSource;
pub use stream::{BlockingIterator, ResponseStream, TextStream};
pub(crate) use token_reading::TokenReading;

/// A handle to the engine thread, which ends after the last handle and the last reply.
pub(crate) struct Engine {
    /// `None` once the model is unloaded.
    loaded: Mutex<Option<Arc<LoadedModel>>>,
    /// `None` only while the engine is dropped, so that the channel is closed before the thread is woken.
    commands: Option<Sender<EngineCommand>>,
    thread: Thread,
}

thread_local! {
    static IS_ENGINE: Cell<bool> = const { Cell::new(false) };
}

/// Whether replies are computed on this thread, so that it must not wait for one. It wakes the readers of replies, and some of them go on
/// where they are woken.
pub(crate) fn is_engine_thread() -> bool {
    IS_ENGINE.get()
}

impl Engine {
    pub(crate) fn start(loaded: LoadedModel, cache: PrefixCache) -> Result<Self> {
        let loaded = Arc::new(loaded);
        let (sender, commands) = channel();
        let worker = Worker::new(Arc::clone(&loaded), cache);
        let work = move || {
            IS_ENGINE.set(true);
            worker.run(&commands);
        };
        let thread = thread::Builder::new().name("causerie-engine".to_owned()).spawn(work);
        let thread = thread
            .map_err(|err| SdkError::new(ErrorKind::Internal, "cannot start the engine thread").caused_by(err))?;
        Ok(Self { loaded: Mutex::new(Some(loaded)), commands: Some(sender), thread: thread.thread().clone() })
    }

    /// The model.
    ///
    /// # Errors
    /// [`ErrorKind::ModelUnloaded`].
    pub(crate) fn loaded(&self) -> Result<Arc<LoadedModel>> {
        self.loaded.lock().clone().ok_or_else(unloaded)
    }

    /// Queues a request; its events go to `sender`.
    ///
    /// # Errors
    /// [`ErrorKind::ModelUnloaded`].
    pub(crate) fn submit(&self, request: Request, sender: EventSender) -> Result<()> {
        let generation = Generation::new(&*self.loaded()?, request, sender);
        if let Err(EngineCommand::Generate(generation)) = self.send(EngineCommand::Generate(Box::new(generation))) {
            // The caller gets the error here. The owner must not be called: it may wait for a lock of the caller.
            generation.abandon();
            return Err(unloaded());
        }
        Ok(())
    }

    /// Runs something quick on the engine thread, between two steps, and waits for its result.
    ///
    /// # Errors
    /// [`ErrorKind::ModelUnloaded`].
    pub(crate) fn visit<T: Send + 'static>(
        &self,
        visit: impl FnOnce(&LoadedModel, &mut PrefixCache) -> T + Send + 'static,
    ) -> Result<T> {
        let (sender, receiver) = oneshot::channel();
        // A dropped receiver wants no result.
        let visit: Visit = Box::new(move |loaded, cache| drop(sender.send(visit(loaded, cache))));
        self.send(EngineCommand::Visit(visit)).map_err(|_| unloaded())?;
        pollster::block_on(receiver).map_err(|_| unloaded())
    }

    /// Ends all replies as cancelled and releases the model. The receiver is notified once the memory is free.
    pub(crate) fn unload(&self) -> oneshot::Receiver<()> {
        drop(self.loaded.lock().take());
        let (sender, receiver) = oneshot::channel();
        // If the thread has ended, so has the model, and the sender is dropped with this command.
        drop(self.send(EngineCommand::Unload(sender)));
        receiver
    }

    fn send(&self, command: EngineCommand) -> Result<(), EngineCommand> {
        match &self.commands {
            Some(commands) => commands.send(command).map_err(|refused| refused.0)?,
            None => return Err(command),
        }
        self.thread.unpark();
        Ok(())
    }

    pub(crate) fn thread(&self) -> Thread {
        self.thread.clone()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.commands.take();
        self.thread.unpark();
    }
}
