//! The engine: one thread for each loaded model, which advances all replies together, a token at a time: what the model
//! reads for them, it reads in one pass over its weights.
//!
//! A reply whose reader stalls is passed over until the reader pulls again. When none can go on, the thread sleeps;
//! it is woken by a new request, a pull, a cancel, a deadline, and the last handle's end.

mod cache;
mod draft;
mod generate;
mod guide;
mod reading;
mod reply;
mod stop;
mod stream;
mod token_log;
mod transcript;
#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::Instant;

use causerie_backend::give_memory_back;
use futures_channel::oneshot;

use crate::constrain::{Constrainer, Vocabulary};
use crate::error::{ErrorKind, Result, SdkError};
use crate::function::{FunctionNames, SdkFunction};
use crate::message::ChatMessage;
use crate::model::{Model, PerSequence, Step};
use crate::options::{GenerationOptions, Sampling};
use crate::prompt::{Frame, PromptRenderer, Segment, questions};
use crate::response::PromptReport;
use crate::tokenizer::ModelTokenizer;

use generate::{Generation, Progress};

pub(crate) use cache::{Owner, PrefixCache};
pub(crate) use guide::Guide;
pub(crate) use reading::PREFILL_CHUNK;
pub(crate) use stream::Outlet;
pub use stream::{CancelHandle, ResponseStream};

/// All that belongs to a loaded model.
pub(crate) struct LoadedModel {
    pub(crate) model: Model,
    pub(crate) tokenizer: Arc<ModelTokenizer>,
    /// `None` for a model without a chat template: it completes prompts, but holds no conversations.
    pub(crate) renderer: Option<PromptRenderer>,
    pub(crate) context_size: usize,
    /// Which names functions in prompts may have.
    pub(crate) function_names: FunctionNames,
    pub(crate) constrainer: Constrainer,
    /// Whether tokens that are the only ones possible, and guesses, are read along with the token before them.
    pub(crate) looks_ahead: bool,
}

impl LoadedModel {
    pub(crate) fn new(
        model: Model,
        tokenizer: ModelTokenizer,
        renderer: Option<PromptRenderer>,
        context_size: usize,
    ) -> Self {
        let tokenizer = Arc::new(tokenizer);
        let vocabulary: Arc<dyn Vocabulary> = Arc::<ModelTokenizer>::clone(&tokenizer);
        Self {
            model,
            tokenizer,
            renderer,
            context_size,
            function_names: FunctionNames::default(),
            constrainer: Constrainer::new(vocabulary),
            looks_ahead: true,
        }
    }

    /// The prompt for messages.
    ///
    /// # Errors
    /// As [`PromptRenderer::render`]; [`ErrorKind::InvalidMessage`] for a model without a chat template. Where a template
    /// refuses questions that follow one another, it gets them as one.
    pub(crate) fn render(&self, messages: &[ChatMessage], frame: &Frame<'_>) -> Result<Vec<Segment>> {
        let missing = || SdkError::new(ErrorKind::InvalidMessage, "the model has no chat template");
        let mut functions = messages.iter().flat_map(|message| &message.functions);
        functions.try_for_each(|function| function.check_with(self.function_names))?;
        let renderer = self.renderer.as_ref().ok_or_else(missing)?;
        renderer.render(messages, frame).or_else(|refusal| match questions::joined(messages) {
            Some(joined) => renderer.render(&joined, frame).map_err(|_| refusal),
            None => Err(refusal),
        })
    }

    /// Refuses a text that is far too long for the context before time and memory are spent on its tokens.
    ///
    /// # Errors
    /// [`ErrorKind::PromptExceedsContext`] with the tokens that it has at least.
    pub(crate) fn check_length(&self, n_bytes: usize) -> Result<()> {
        let (needed, available) = (self.tokenizer.fewest_tokens(n_bytes), self.context_size);
        if needed < available {
            return Ok(());
        }
        Err(SdkError::new(
            ErrorKind::PromptExceedsContext { needed, available },
            format!("the prompt takes {needed} tokens or more, and the context holds {available} with the reply"),
        ))
    }

    /// Checks that the model can read a prompt and write one token at least.
    ///
    /// # Errors
    /// [`ErrorKind::PromptExceedsContext`] when no token of reply would fit, [`ErrorKind::InvalidMessage`] for a prompt
    /// without tokens, or with ids that the model does not know.
    pub(crate) fn check_prompt(&self, prompt: &[u32]) -> Result<()> {
        let (needed, available) = (prompt.len(), self.context_size);
        if needed == 0 {
            return Err(SdkError::new(ErrorKind::InvalidMessage, "the prompt is empty"));
        }
        let n_known = self.model.n_vocabulary();
        if let Some(id) = prompt.iter().find(|id| n_known <= **id as usize) {
            return Err(SdkError::new(
                ErrorKind::InvalidMessage,
                format!("the prompt holds token id {id}, and the model knows {n_known}"),
            ));
        }
        if available <= needed {
            return Err(SdkError::new(
                ErrorKind::PromptExceedsContext { needed, available },
                format!("the prompt takes {needed} tokens, and the context holds {available} with the reply"),
            ));
        }
        Ok(())
    }
}

/// One reply to be generated.
pub(crate) struct Request {
    pub(crate) prepare: Prepare,
    pub(crate) options: GenerationOptions,
    pub(crate) sampling: Sampling,
    /// Hears of the reply before the stream's reader does.
    pub(crate) listener: Listener,
}

/// Makes the prompt, on the engine's thread, so that no caller waits for it; `None` while it is not the reply's turn.
/// After an error nothing has changed, and the listener hears of the end nevertheless.
pub(crate) type Prepare = Box<dyn FnMut(&LoadedModel) -> Option<Result<Prepared>> + Send>;

/// A prompt as the model reads it.
pub(crate) struct Prepared {
    /// Token ids that [`LoadedModel::check_prompt`] has passed.
    pub(crate) tokens: Vec<u32>,
    /// Whether the prompt ends inside of reasoning that it has opened.
    pub(crate) in_reasoning: bool,
    /// Whether the reply goes on with the prompt's text, so that a space at its beginning is part of it.
    pub(crate) continues_text: bool,
    /// Whose states it may go on from, and leaves its own to.
    pub(crate) owner: Owner,
    /// What the model is offered; calls are compared with it.
    pub(crate) functions: Vec<SdkFunction>,
    /// What it may write.
    pub(crate) guide: Guide,
    pub(crate) report: PromptReport,
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
    /// `None` once the model is unloaded.
    loaded: Mutex<Option<Arc<LoadedModel>>>,
    /// Taken only when the engine is dropped, so that the thread sees its end before it is woken.
    queue: Option<Sender<Command>>,
    thread: Thread,
}

/// What the engine's thread is asked to do.
enum Command {
    Generate(Box<Generation>),
    /// Something quick with the model and its cache.
    Visit(Visit),
    /// Ends all replies, lets go of the model, and tells when that is done.
    Unload(oneshot::Sender<()>),
}

type Visit = Box<dyn FnOnce(&LoadedModel, &mut PrefixCache) + Send>;

impl Engine {
    pub(crate) fn start(loaded: LoadedModel, cache: PrefixCache) -> Result<Self> {
        let loaded = Arc::new(loaded);
        let (queue, commands) = channel();
        let shared = Arc::clone(&loaded);
        let worker = Worker { loaded: Some(shared), cache, generations: Vec::new(), favoured_oldest: false };
        let work = move || {
            worker.run(&commands);
            give_memory_back();
        };
        let thread = thread::Builder::new().name("causerie-engine".to_owned()).spawn(work);
        let thread = thread
            .map_err(|err| SdkError::new(ErrorKind::Internal, "cannot start the engine's thread").caused_by(err))?;
        Ok(Self { loaded: Mutex::new(Some(loaded)), queue: Some(queue), thread: thread.thread().clone() })
    }

    /// The model.
    ///
    /// # Errors
    /// [`ErrorKind::ModelUnloaded`].
    pub(crate) fn loaded(&self) -> Result<Arc<LoadedModel>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).clone().ok_or_else(unloaded)
    }

    /// Queues a request; its events arrive at the other end of the channel that `outlet` belongs to.
    ///
    /// # Errors
    /// [`ErrorKind::ModelUnloaded`].
    pub(crate) fn submit(&self, request: Request, outlet: Outlet) -> Result<()> {
        let generation = Generation::new(&*self.loaded()?, request, outlet);
        if let Err(Command::Generate(generation)) = self.send(Command::Generate(Box::new(generation))) {
            // The caller hears of it here, and the listener must not: it may wait for a lock of the caller.
            generation.abandon();
            return Err(unloaded());
        }
        Ok(())
    }

    /// Does something quick on the engine's thread, between two steps, and waits for what comes of it.
    ///
    /// # Errors
    /// [`ErrorKind::ModelUnloaded`].
    pub(crate) fn visit<T: Send + 'static>(
        &self,
        visit: impl FnOnce(&LoadedModel, &mut PrefixCache) -> T + Send + 'static,
    ) -> Result<T> {
        let (sender, receiver) = oneshot::channel();
        // A receiver that is gone wants nothing.
        let visit: Visit = Box::new(move |loaded, cache| drop(sender.send(visit(loaded, cache))));
        self.send(Command::Visit(visit)).map_err(|_| unloaded())?;
        pollster::block_on(receiver).map_err(|_| unloaded())
    }

    /// Ends all replies as cancelled ones, and lets go of the model. What is returned is told when the memory is free.
    pub(crate) fn unload(&self) -> oneshot::Receiver<()> {
        drop(self.loaded.lock().unwrap_or_else(PoisonError::into_inner).take());
        let (sender, receiver) = oneshot::channel();
        // When the thread is gone, so is the model, and the sender with this command.
        drop(self.send(Command::Unload(sender)));
        receiver
    }

    fn send(&self, command: Command) -> Result<(), Command> {
        match &self.queue {
            Some(queue) => queue.send(command).map_err(|refused| refused.0)?,
            None => return Err(command),
        }
        self.thread.unpark();
        Ok(())
    }

    pub(crate) fn thread(&self) -> Thread {
        self.thread.clone()
    }
}

fn unloaded() -> SdkError {
    SdkError::new(ErrorKind::ModelUnloaded, "the model was unloaded")
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.queue.take();
        self.thread.unpark();
    }
}

/// What the engine's thread holds.
struct Worker {
    /// `None` once the model is unloaded; then only events that wait are still sent.
    loaded: Option<Arc<LoadedModel>>,
    cache: PrefixCache,
    generations: Vec<Generation>,
    /// Whether the last step read the oldest prompt first.
    favoured_oldest: bool,
}

impl Worker {
    fn run(mut self, commands: &Receiver<Command>) {
        loop {
            let is_open = self.obey(commands);
            if self.generations.is_empty() && !is_open {
                return;
            }
            if !self.advance() {
                let deadlines = self.generations.iter().filter_map(Generation::deadline);
                match deadlines.min() {
                    Some(deadline) => thread::park_timeout(deadline.saturating_duration_since(Instant::now())),
                    None => thread::park(),
                }
            }
        }
    }

    /// Takes in what has been asked for; says whether more can come.
    fn obey(&mut self, commands: &Receiver<Command>) -> bool {
        loop {
            match (commands.try_recv(), &self.loaded) {
                (Ok(Command::Generate(generation)), Some(_)) => self.generations.push(*generation),
                (Ok(Command::Generate(mut generation)), None) => {
                    generation.fail(unloaded());
                    self.generations.push(*generation);
                }
                (Ok(Command::Visit(visit)), Some(loaded)) => {
                    // A panic drops what the visitor waits for.
                    let _ = catch_unwind(AssertUnwindSafe(|| visit(loaded, &mut self.cache)));
                }
                (Ok(Command::Visit(_)), None) => {}
                (Ok(Command::Unload(done)), _) => {
                    for generation in &mut self.generations {
                        // A panic ends its own reply, not the others.
                        if catch_unwind(AssertUnwindSafe(|| generation.unload())).is_err() {
                            fail(generation, unloaded());
                        }
                    }
                    self.cache = PrefixCache::new(0, 0);
                    self.loaded = None;
                    give_memory_back();
                    let _ = done.send(()); // who asked may be gone
                }
                (Err(TryRecvError::Empty), _) => return true,
                (Err(TryRecvError::Disconnected), _) => return false,
            }
        }
    }

    /// Gives every reply one step; false when none could take it. All that the model reads for them it reads together.
    fn advance(&mut self) -> bool {
        let mut has_worked = false;
        let (loaded, cache) = (self.loaded.as_deref(), &mut self.cache);
        self.generations.retain_mut(|generation| {
            let progress = guarded(generation, |generation| match loaded {
                Some(loaded) => generation.advance(loaded, cache),
                None if generation.send() => Progress::Finished,
                None => Progress::Waiting,
            });
            // The end of a reply may be the end of all: it must be seen before the thread sleeps.
            has_worked |= matches!(progress, Progress::Worked | Progress::Finished);
            progress != Progress::Finished
        });
        let Some(loaded) = loaded else { return has_worked };
        // Prompts fill one stretch together, so that a step stays as short as one. Replies go on beside them, at least token
        // by token, and never hold up a prompt.
        let mut n_left = if loaded.model.shares_passes() { PREFILL_CHUNK } else { usize::MAX };
        let (mut prompts, replies): (PerSequence<_>, PerSequence<_>) =
            self.generations.iter_mut().partition(|generation| generation.reads_prompt());
        // First come, first read; but in every other step the shortest is, or a long prompt would hold up all behind it.
        self.favoured_oldest = !self.favoured_oldest;
        if !self.favoured_oldest {
            put_shortest_first(&mut prompts);
        }
        prompts.into_iter().chain(replies).for_each(|generation| generation.fit(&mut n_left));
        let mut steps: PerSequence<Step<'_>> = self.generations.iter_mut().filter_map(Generation::reading).collect();
        if steps.is_empty() {
            return has_worked;
        }
        let n_steps = steps.len();
        let outcomes = catch_unwind(AssertUnwindSafe(|| loaded.model.forward(&mut steps)));
        let outcomes = outcomes.unwrap_or_else(|_| (0..n_steps).map(|_| Err(failure())).collect());
        drop(steps);
        let readers = self.generations.iter_mut().filter(|generation| generation.is_reading());
        for (generation, outcome) in readers.zip(outcomes) {
            let progress = guarded(generation, |generation| generation.take(outcome, loaded, cache));
            has_worked |= progress == Progress::Worked;
        }
        has_worked
    }
}

/// Moves the prompt that has least left to read before the older ones, unless it goes on as one of them, whose state it may
/// have once that is read.
fn put_shortest_first(prompts: &mut [&mut Generation]) {
    let waits = |at: usize| prompts[..at].iter().any(|older| prompts[at].goes_on_as(older));
    let shortest = (0..prompts.len()).filter(|at| !waits(*at)).min_by_key(|at| prompts[*at].n_unread());
    if let Some(at) = shortest {
        prompts[..=at].rotate_right(1);
    }
}

/// A panic ends its own reply, not the others; one while the model reads ends all that it reads for.
fn guarded(generation: &mut Generation, step: impl FnOnce(&mut Generation) -> Progress) -> Progress {
    catch_unwind(AssertUnwindSafe(|| step(generation))).unwrap_or_else(|_| {
        fail(generation, failure());
        Progress::Worked
    })
}

/// Ends a reply that panicked. What parses it may panic once more; the reply has its end by then.
fn fail(generation: &mut Generation, err: SdkError) {
    let _ = catch_unwind(AssertUnwindSafe(|| generation.fail(err)));
}

fn failure() -> SdkError {
    SdkError::new(ErrorKind::Internal, "the engine failed on this reply")
}
