//! The threads on which prompts and grammars are prepared, beside the engine thread.
//!
//! A pool belongs to one loaded model. Its threads start when they are first needed and end when they were idle for a
//! while, which also frees the stack that a deep job has used. Jobs start in the order in which they came.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, Thread};
use std::time::Duration;

use futures_channel::oneshot;
use parking_lot::{Condvar, Mutex};

use crate::error::{ErrorKind, SdkError};
use crate::{deep_stack, memory};

/// Threads of a model's pool: one long job must not delay all short ones, and more would only take processor time from
/// the engine's own threads.
pub(crate) const PREPARATION_THREADS: usize = 2;

/// How long a thread waits for another job before it ends.
const IDLE: Duration = Duration::from_secs(10);

pub(super) type PreparationJob = Box<dyn FnOnce() + Send>;

/// A pool of threads. Clones share it.
#[derive(Clone)]
pub(super) struct PreparationPool {
    shared: Arc<Shared>,
    max_threads: usize,
}

#[derive(Default)]
struct Shared {
    jobs: Mutex<Jobs>,
    changed: Condvar,
}

#[derive(Default)]
struct Jobs {
    queued: VecDeque<PreparationJob>,
    n_threads: usize,
    n_idle: usize,
    n_running: usize,
    is_closed: bool,
    /// Whether no thread could be started for the last job.
    lacks_thread: bool,
    /// Run once the pool is closed and the last job has ended.
    then: Vec<PreparationJob>,
}

impl PreparationPool {
    pub(super) fn new(max_threads: usize) -> Self {
        Self { shared: Arc::default(), max_threads }
    }

    /// Queues a job for the calling thread, which is woken when the job has ended. If it ends without a result, by a panic or
    /// because the pool is closed, the receiver is cancelled. A job whose receiver is gone is not begun.
    pub(super) fn ask<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> oneshot::Receiver<T> {
        let (sender, receiver) = oneshot::channel();
        let result = ResultSender { sender: Some(sender), waiting: thread::current() };
        self.run(Box::new(move || {
            if result.is_wanted() {
                result.send(job());
            }
        }));
        receiver
    }

    /// Queues a job. It is dropped without being run if the pool is closed, or if it has no thread and none can be started.
    /// A panic ends the job alone.
    fn run(&self, job: PreparationJob) {
        let mut jobs = self.shared.jobs.lock();
        if jobs.is_closed {
            return;
        }
        jobs.queued.push_back(job);
        if jobs.n_idle < jobs.queued.len() && jobs.n_threads < self.max_threads {
            let shared = Arc::clone(&self.shared);
            if deep_stack::spawn("causerie-prepare", move || shared.work()).is_ok() {
                jobs.n_threads += 1;
            } else if jobs.n_threads == 0 {
                jobs.queued.clear();
            }
            jobs.lacks_thread = jobs.n_threads == 0;
        }
        drop(jobs);
        self.shared.changed.notify_one();
    }

    /// Why a job of this pool ended without a result.
    pub(super) fn failure(&self) -> SdkError {
        match self.shared.jobs.lock().lacks_thread {
            true => memory::no_deep_thread("the prompt"),
            false => SdkError::new(ErrorKind::Internal, "the engine failed on this reply's prompt"),
        }
    }

    /// Drops the jobs that have not begun, and refuses later ones. Runs `then` after those that have begun: on this thread if
    /// none is running, and otherwise on the thread of the last one.
    pub(super) fn close(&self, then: PreparationJob) {
        let mut jobs = self.shared.jobs.lock();
        jobs.is_closed = true;
        let dropped = std::mem::take(&mut jobs.queued);
        jobs.then.push(then);
        let now = if jobs.n_running == 0 { std::mem::take(&mut jobs.then) } else { Vec::new() };
        drop(jobs);
        self.shared.changed.notify_all();
        drop(dropped); // before `then`, which expects all jobs to be gone
        now.into_iter().for_each(|then| then());
    }
}

/// Sends the result of a job. However the job ends, the waiting thread is woken after the sender is gone.
struct ResultSender<T> {
    sender: Option<oneshot::Sender<T>>,
    waiting: Thread,
}

impl<T> ResultSender<T> {
    fn is_wanted(&self) -> bool {
        self.sender.as_ref().is_some_and(|sender| !sender.is_canceled())
    }

    fn send(mut self, result: T) {
        if let Some(sender) = self.sender.take() {
            let _ = sender.send(result); // the receiver may be gone meanwhile
        }
    }
}

impl<T> Drop for ResultSender<T> {
    fn drop(&mut self) {
        self.sender.take();
        self.waiting.unpark();
    }
}

impl Shared {
    /// The loop of one thread.
    fn work(&self) {
        let mut jobs = self.jobs.lock();
        loop {
            if let Some(job) = jobs.queued.pop_front() {
                jobs.n_running += 1;
                drop(jobs);
                let _ = catch_unwind(AssertUnwindSafe(job)); // whoever waits for the job finds its sender dropped
                jobs = self.jobs.lock();
                jobs.n_running -= 1;
                if jobs.n_running == 0 {
                    let then = std::mem::take(&mut jobs.then);
                    drop(jobs);
                    then.into_iter().for_each(|then| then());
                    jobs = self.jobs.lock();
                }
            } else if jobs.is_closed {
                break;
            } else {
                jobs.n_idle += 1;
                let wait = self.changed.wait_for(&mut jobs, IDLE);
                jobs.n_idle -= 1;
                if wait.timed_out() && jobs.queued.is_empty() {
                    break;
                }
            }
        }
        jobs.n_threads -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    fn send(sender: &Sender<&'static str>, name: &'static str) -> PreparationJob {
        let sender = sender.clone();
        Box::new(move || sender.send(name).unwrap())
    }

    #[test]
    fn a_blocked_job_does_not_delay_others_while_a_thread_is_free() {
        let pool = PreparationPool::new(2);
        let (sender, receiver) = channel();
        let (release, blocked) = channel::<()>();
        let first = send(&sender, "first");
        pool.run(Box::new(move || {
            blocked.recv().unwrap();
            first();
        }));
        pool.run(send(&sender, "second"));
        pool.run(send(&sender, "third"));
        assert_eq!([receiver.recv().unwrap(), receiver.recv().unwrap()], ["second", "third"]);
        release.send(()).unwrap();
        assert_eq!(receiver.recv().unwrap(), "first");
    }

    #[test]
    fn a_panic_ends_its_own_job_alone() {
        let pool = PreparationPool::new(1);
        let (sender, receiver) = channel();
        pool.run(Box::new(|| panic!("on purpose")));
        pool.run(send(&sender, "next"));
        assert_eq!(receiver.recv().unwrap(), "next");
    }

    #[test]
    fn a_closed_pool_drops_queued_jobs_and_waits_for_running_ones() {
        let pool = PreparationPool::new(1);
        let (sender, receiver) = channel();
        let (begin, begun) = channel();
        let (release, blocked) = channel::<()>();
        let running = send(&sender, "running");
        pool.run(Box::new(move || {
            begin.send(()).unwrap();
            blocked.recv().unwrap();
            running();
        }));
        begun.recv().unwrap();
        pool.run(send(&sender, "queued"));
        pool.close(send(&sender, "then"));
        pool.run(send(&sender, "late"));
        assert!(receiver.try_recv().is_err());
        release.send(()).unwrap();
        drop(sender);
        assert_eq!(receiver.iter().collect::<Vec<_>>(), ["running", "then"]);
    }

    #[test]
    fn a_pool_without_jobs_closes_at_once() {
        let (sender, receiver) = channel();
        PreparationPool::new(1).close(send(&sender, "then"));
        assert_eq!(receiver.try_recv(), Ok("then"));
    }
}
