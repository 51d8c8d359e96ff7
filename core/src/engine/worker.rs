//! The loop of the engine thread: handles commands, then gives every reply one step.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::thread;
use std::time::Instant;

use futures_channel::oneshot;

use crate::engine::cache::PrefixCache;
use crate::engine::generate::{Generation, ReplyProgress};
use crate::engine::loaded::LoadedModel;
use crate::engine::pool::PreparationPool;
use crate::error::{ErrorKind, SdkError};
use crate::model::{ForwardOutcome, PREFILL_CHUNK, PerSequence, Step, give_memory_back};

/// A command for the engine thread.
pub(super) enum EngineCommand {
    Generate(Box<Generation>),
    /// Runs something quick with the model and its cache.
    Visit(Visit),
    /// Ends all replies, releases the model, and then notifies the sender.
    Unload(oneshot::Sender<()>),
}

pub(super) type Visit = Box<dyn FnOnce(&LoadedModel, &mut PrefixCache) + Send>;

/// The state of the engine thread.
pub(super) struct Worker {
    /// `None` once the model is unloaded; after that, only waiting events are still sent.
    loaded: Option<Arc<LoadedModel>>,
    pool: PreparationPool,
    cache: PrefixCache,
    generations: Vec<Generation>,
    /// Whether the last step prefilled the oldest prompt first.
    favoured_oldest: bool,
}

impl Worker {
    pub(super) fn new(loaded: Arc<LoadedModel>, cache: PrefixCache) -> Self {
        let pool = PreparationPool::new(loaded.preparation_threads);
        Self { loaded: Some(loaded), pool, cache, generations: Vec::new(), favoured_oldest: false }
    }

    /// Runs until all handles are gone and all replies have ended.
    pub(super) fn run(mut self, commands: &Receiver<EngineCommand>) {
        loop {
            let is_open = self.handle_commands(commands);
            if self.generations.is_empty() && !is_open {
                return self.unload(|| {});
            }
            if !self.advance() && !self.copy_mapped() {
                let deadlines = self.generations.iter().filter_map(Generation::deadline);
                match deadlines.min() {
                    Some(deadline) => thread::park_timeout(deadline.saturating_duration_since(Instant::now())),
                    None => thread::park(),
                }
            }
        }
    }

    /// Handles the commands that wait. Returns whether more can come.
    fn handle_commands(&mut self, commands: &Receiver<EngineCommand>) -> bool {
        loop {
            match (commands.try_recv(), &self.loaded) {
                (Ok(EngineCommand::Generate(generation)), Some(_)) => self.generations.push(*generation),
                (Ok(EngineCommand::Generate(mut generation)), None) => {
                    generation.fail(unloaded());
                    self.generations.push(*generation);
                }
                (Ok(EngineCommand::Visit(visit)), Some(loaded)) => {
                    // A panic drops the sender that the visitor waits for.
                    let _ = catch_unwind(AssertUnwindSafe(|| visit(loaded, &mut self.cache)));
                }
                (Ok(EngineCommand::Visit(_)), None) => {}
                (Ok(EngineCommand::Unload(done)), _) => {
                    self.unload(move || {
                        let _ = done.send(()); // the receiver may be gone
                    });
                }
                (Err(TryRecvError::Empty), _) => return true,
                (Err(TryRecvError::Disconnected), _) => return false,
            }
        }
    }

    /// Ends all replies and releases the model. Calls `done` when its memory is free, which is after the prompts that are being
    /// made, and after the step of decisions that are computed beside this thread.
    fn unload(&mut self, done: impl FnOnce() + Send + 'static) {
        for generation in &mut self.generations {
            // A panic ends its own reply, not the others.
            if catch_unwind(AssertUnwindSafe(|| generation.unload())).is_err() {
                fail(generation, unloaded());
            }
        }
        self.cache = PrefixCache::new(0, 0);
        let running_beside = self.loaded.take().map(|loaded| Arc::clone(&loaded.running_beside));
        self.pool.close(Box::new(move || {
            drop(running_beside.as_ref().map(|running| running.lock()));
            give_memory_back();
            done();
        }));
    }

    /// Gives every reply one step, in one pass over the weights. Returns false when no reply could go on.
    fn advance(&mut self) -> bool {
        let mut has_worked = false;
        let (loaded, pool, cache) = (self.loaded.clone(), &self.pool, &mut self.cache);
        self.generations.retain_mut(|generation| {
            let outcome = guarded(generation, |generation| match &loaded {
                Some(loaded) => generation.advance(loaded, pool, cache),
                None if generation.send() => ReplyProgress::Finished,
                None => ReplyProgress::Waiting,
            });
            // The end of a reply may be the end of the thread: the loop must see it before it sleeps.
            has_worked |= matches!(outcome, ReplyProgress::Worked | ReplyProgress::Finished);
            outcome != ReplyProgress::Finished
        });
        let Some(loaded) = loaded else { return has_worked };
        has_worked |= self.compute_embedding(&loaded);
        self.assign_budget(&loaded);
        let mut steps: PerSequence<Step<'_>> = self.generations.iter_mut().filter_map(Generation::step).collect();
        if steps.is_empty() {
            return has_worked;
        }
        let n_steps = steps.len();
        let outcomes = catch_unwind(AssertUnwindSafe(|| loaded.model.forward(&mut steps)));
        let outcomes = outcomes.unwrap_or_else(|_| (0..n_steps).map(|_| Err(failure())).collect());
        drop(steps);
        let [is_full, has_moved] = [ForwardOutcome::Full, ForwardOutcome::Moved]
            .map(|wanted| outcomes.iter().any(|outcome| outcome.as_ref().is_ok_and(|outcome| *outcome == wanted)));
        let stepping = self.generations.iter_mut().filter(|generation| generation.has_plan());
        for (generation, outcome) in stepping.zip(outcomes) {
            let outcome = guarded(generation, |generation| generation.take(outcome, &loaded, &mut self.cache));
            has_worked |= outcome == ReplyProgress::Worked;
        }
        if is_full && !self.cache.evict_oldest() {
            loaded.model.leave_full();
        }
        if has_moved {
            self.cache.adopt(|state| loaded.model.adopt(state));
            for generation in &mut self.generations {
                if let Err(err) = generation.adopt_states(&loaded) {
                    fail(generation, err);
                }
            }
        }
        has_worked
    }

    /// Copies some of the mapped weights while no reply runs. Returns whether more are to be copied.
    fn copy_mapped(&self) -> bool {
        let loaded = self.loaded.as_ref().filter(|_| self.generations.is_empty());
        loaded.is_some_and(|loaded| loaded.model.copy_mapped())
    }

    /// Computes one piece of the embedding that was begun first, so that other replies wait for one piece between two steps.
    fn compute_embedding(&mut self, loaded: &LoadedModel) -> bool {
        let next = self.generations.iter_mut().find(|generation| generation.can_compute_embedding());
        next.is_some_and(|next| guarded(next, |next| next.compute_embedding(loaded)) == ReplyProgress::Worked)
    }

    /// Shares the token budget of a step among the replies. All prompts together fill one chunk, so that a step stays as
    /// short as one. Replies decode beside them, at least one token each, and never delay a prompt.
    fn assign_budget(&mut self, loaded: &LoadedModel) {
        let mut n_left = if loaded.model.shares_passes() { PREFILL_CHUNK } else { usize::MAX };
        let (mut prompts, replies): (PerSequence<_>, PerSequence<_>) =
            self.generations.iter_mut().partition(|generation| generation.is_prefilling());
        // The oldest prompt comes first; but in every other step the shortest does, or a long prompt would delay all after it.
        self.favoured_oldest = !self.favoured_oldest;
        if !self.favoured_oldest {
            put_shortest_first(&mut prompts);
        }
        prompts.into_iter().chain(replies).for_each(|generation| generation.fit(&mut n_left));
    }
}

/// Moves the prompt with the least left to prefill before the older ones, unless an older one begins with the same tokens:
/// then its state can be reused once those are computed.
fn put_shortest_first(prompts: &mut [&mut Generation]) {
    let waits = |at: usize| prompts[..at].iter().any(|older| prompts[at].goes_on_as(older));
    let shortest = (0..prompts.len()).filter(|at| !waits(*at)).min_by_key(|at| prompts[*at].n_left());
    if let Some(at) = shortest {
        prompts[..=at].rotate_right(1);
    }
}

/// Runs a part of a reply's work. A panic ends its own reply, not the others. (One inside of the model ends all replies of
/// that step.)
fn guarded(generation: &mut Generation, step: impl FnOnce(&mut Generation) -> ReplyProgress) -> ReplyProgress {
    catch_unwind(AssertUnwindSafe(|| step(generation))).unwrap_or_else(|_| {
        fail(generation, failure());
        ReplyProgress::Worked
    })
}

/// Ends a reply that panicked. Its parser may panic once more; the reply has its end by then.
fn fail(generation: &mut Generation, err: SdkError) {
    let _ = catch_unwind(AssertUnwindSafe(|| generation.fail(err)));
}

fn failure() -> SdkError {
    SdkError::new(ErrorKind::Internal, "the engine failed on this reply")
}

pub(super) fn unloaded() -> SdkError {
    SdkError::new(ErrorKind::ModelUnloaded, "the model was unloaded")
}
