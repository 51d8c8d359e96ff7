//! The engine: one thread for each loaded model, which advances all replies in turn, a token at a time.
//!
//! A reply whose reader stalls is passed over until the reader pulls again. When none can go on, the thread sleeps;
//! it is woken by a new request, a pull, a cancel, and the last handle's end.

mod cache;
mod generate;
mod reply;
mod stop;
mod stream;
#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{self, Thread};

use crate::error::{ErrorKind, Result, SdkError};
use crate::message::ChatMessage;
use crate::model::Model;
use crate::options::{GenerationOptions, Sampling};
use crate::prompt::PromptRenderer;
use crate::tokenizer::Tokenizer;

use cache::PrefixCache;
use generate::Generation;

pub(crate) use stream::Outlet;
pub use stream::{CancelHandle, ResponseStream};

/// All that belongs to a loaded model.
pub(crate) struct LoadedModel {
    pub(crate) model: Model,
    pub(crate) tokenizer: Tokenizer,
    /// `None` for a model without a chat template: it completes prompts, but holds no conversations.
    pub(crate) renderer: Option<PromptRenderer>,
    pub(crate) context_size: usize,
}

/// One reply to be generated.
pub(crate) struct Request {
    /// Token ids; at least one.
    pub(crate) prompt: Vec<u32>,
    pub(crate) options: GenerationOptions,
    pub(crate) sampling: Sampling,
    /// Whether the prompt ends inside of reasoning that it has opened.
    pub(crate) in_reasoning: bool,
    /// Hears of the reply before the stream's reader does.
    pub(crate) listener: Listener,
}

pub(crate) type Listener = Box<dyn FnMut(ReplyNews<'_>) + Send>;

/// What a listener hears.
pub(crate) enum ReplyNews<'a> {
    /// Functions were called; this is the reply so far.
    Called(&'a ChatMessage),
    /// The whole reply, or `None` after an error. Heard once, last.
    Ended(Option<&'a ChatMessage>),
}

/// A handle to the engine's thread, which ends after the last handle and the last reply.
pub(crate) struct Engine {
    loaded: Arc<LoadedModel>,
    /// Taken only when the engine is dropped, so that the thread sees its end before it is woken.
    queue: Option<Sender<Generation>>,
    thread: Thread,
}

impl Engine {
    pub(crate) fn start(loaded: LoadedModel) -> Result<Self> {
        let loaded = Arc::new(loaded);
        let (queue, requests) = channel();
        let shared = Arc::clone(&loaded);
        let thread = thread::Builder::new().name("causerie-engine".to_owned()).spawn(move || run(&shared, &requests));
        let thread = thread
            .map_err(|err| SdkError::new(ErrorKind::Internal, "cannot start the engine's thread").caused_by(err))?;
        Ok(Self { loaded, queue: Some(queue), thread: thread.thread().clone() })
    }

    pub(crate) fn loaded(&self) -> &LoadedModel {
        &self.loaded
    }

    /// Queues a request; its events arrive at the other end of the channel that `outlet` belongs to.
    ///
    /// # Errors
    /// [`ErrorKind::PromptExceedsContext`] when no token of reply would fit, [`ErrorKind::InvalidMessage`] for a prompt
    /// without tokens.
    pub(crate) fn submit(&self, request: Request, outlet: Outlet) -> Result<()> {
        let (needed, available) = (request.prompt.len(), self.loaded.context_size);
        if needed == 0 {
            return Err(SdkError::new(ErrorKind::InvalidMessage, "the prompt is empty"));
        }
        if available <= needed {
            return Err(SdkError::new(
                ErrorKind::PromptExceedsContext { needed, available },
                format!("the prompt takes {needed} tokens, and the context holds {available} with the reply"),
            ));
        }
        let generation = Generation::new(&self.loaded, request, outlet);
        let Some(queue) = &self.queue else { return Err(gone()) };
        if let Err(refused) = queue.send(generation) {
            // The caller hears of it here, and the listener must not: it may wait for a lock of the caller.
            refused.0.abandon();
            return Err(gone());
        }
        self.thread.unpark();
        Ok(())
    }

    pub(crate) fn thread(&self) -> Thread {
        self.thread.clone()
    }
}

fn gone() -> SdkError {
    SdkError::new(ErrorKind::Internal, "the engine's thread is gone")
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.queue.take();
        self.thread.unpark();
    }
}

fn run(loaded: &LoadedModel, requests: &Receiver<Generation>) {
    let mut generations: Vec<Generation> = Vec::new();
    let mut cache = PrefixCache::default();
    loop {
        let is_open = collect(requests, &mut generations);
        if generations.is_empty() && !is_open {
            return;
        }
        let mut has_worked = false;
        generations.retain_mut(|generation| {
            // A panic ends its own reply, not the others.
            let advanced = catch_unwind(AssertUnwindSafe(|| generation.advance(loaded, &mut cache)));
            let progress = advanced.unwrap_or_else(|_| {
                generation.fail(SdkError::new(ErrorKind::Internal, "the engine failed on this reply"));
                generate::Progress::Worked
            });
            // The end of a reply may be the end of all: it must be seen before the thread sleeps.
            has_worked |= progress != generate::Progress::Waiting;
            progress != generate::Progress::Finished
        });
        if !has_worked {
            thread::park();
        }
    }
}

/// Takes in what has been requested; says whether more can come.
fn collect(requests: &Receiver<Generation>, generations: &mut Vec<Generation>) -> bool {
    loop {
        match requests.try_recv() {
            Ok(generation) => generations.push(generation),
            Err(TryRecvError::Empty) => return true,
            Err(TryRecvError::Disconnected) => return false,
        }
    }
}
