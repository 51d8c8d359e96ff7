//! Threads that share work.
//!
//! A job is split into pieces that any thread may take, so that a slow core, or one that another program uses, delays the others
//! by one piece at most. Between jobs the helpers spin briefly, because the next job of a token comes within microseconds, and
//! then sleep. The caller never waits for a helper that has not begun: one that wakes late finds the job closed.

use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle, Thread};

use parking_lot::Mutex;

/// Iterations of a helper's loop before it sleeps, which take some hundred microseconds.
const SPINS: u32 = 4000;
/// Iterations of the caller's loop before it yields to other programs.
const SPINS_OF_CALLER: u32 = 20_000;

/// Fields of `gate`: in the low bits the number of helpers inside the job, then whether it is open, then the job's number.
const OPEN: u64 = 1 << 31;
const INSIDE: u64 = OPEN - 1;
const NEXT: u64 = 1 << 32;

/// Threads that compute, including the caller.
pub(crate) struct Pool {
    shared: Arc<PoolState>,
    helpers: Vec<JoinHandle<()>>,
    /// Held during a job: one runs at a time.
    job_lock: Mutex<()>,
}

/// State that the caller and the helpers share.
struct PoolState {
    gate: AtomicU64,
    /// Valid while the gate is open or a helper is inside.
    job: UnsafeCell<Job>,
    next_piece: AtomicUsize,
    n_asleep: AtomicUsize,
    has_ended: AtomicBool,
    /// The first panic of a piece.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

#[derive(Clone, Copy)]
struct Job {
    work: *const (dyn Fn(usize) + Sync),
    n_pieces: usize,
}

// SAFETY: only the caller writes `job`, while the gate is closed and no helper is inside; everything else is atomic or locked.
unsafe impl Sync for PoolState {}
// SAFETY: the pointer in `job` is only used while the caller waits in `run`, which borrows what it points to.
unsafe impl Send for PoolState {}

impl Pool {
    /// `n_threads` includes the caller.
    pub(crate) fn new(n_threads: usize) -> Self {
        const NOTHING: &(dyn Fn(usize) + Sync) = &|_| {};
        let shared = Arc::new(PoolState {
            gate: AtomicU64::new(0),
            job: UnsafeCell::new(Job { work: NOTHING, n_pieces: 0 }),
            next_piece: AtomicUsize::new(0),
            n_asleep: AtomicUsize::new(0),
            has_ended: AtomicBool::new(false),
            panic: Mutex::new(None),
        });
        // If the system refuses a thread, the pool works with fewer helpers.
        let helper = |_| {
            let shared = Arc::clone(&shared);
            thread::Builder::new().name("causerie-compute".to_owned()).spawn(move || shared.help()).ok()
        };
        Self { helpers: (1..n_threads).map_while(helper).collect(), shared, job_lock: Mutex::new(()) }
    }

    pub(crate) fn n_threads(&self) -> usize {
        1 + self.helpers.len()
    }

    /// Runs every piece of `0..n_pieces` once. If a piece panics, so does this, after all threads have left the job.
    pub(crate) fn run(&self, n_pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        if n_pieces <= 1 || self.helpers.is_empty() {
            return (0..n_pieces).for_each(work);
        }
        let _job = self.job_lock.lock();
        let shared = &*self.shared;
        // SAFETY: only the lifetime changes. The pointer is not used after `run`, when the gate is closed and empty.
        let work = unsafe {
            std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), *const (dyn Fn(usize) + Sync + 'static)>(work)
        };
        // SAFETY: the gate is closed and no helper is inside, so nothing else accesses the job.
        unsafe { *shared.job.get() = Job { work, n_pieces } };
        shared.next_piece.store(0, Ordering::Relaxed);
        shared.gate.store((shared.gate.load(Ordering::Relaxed) & !INSIDE).wrapping_add(NEXT) | OPEN, Ordering::SeqCst);
        if 0 < shared.n_asleep.load(Ordering::SeqCst) {
            self.helpers.iter().map(JoinHandle::thread).for_each(Thread::unpark);
        }
        shared.take_pieces();
        shared.gate.fetch_and(!OPEN, Ordering::AcqRel);
        let mut n_spins = 0;
        while shared.gate.load(Ordering::Acquire) & INSIDE != 0 {
            n_spins += 1;
            if n_spins < SPINS_OF_CALLER { std::hint::spin_loop() } else { thread::yield_now() }
        }
        if let Some(panic) = shared.panic.lock().take() {
            resume_unwind(panic);
        }
    }
}

impl Pool {
    /// Runs `work` with each item once.
    pub(crate) fn for_each<T: Send>(&self, items: Vec<T>, work: impl Fn(T) + Sync) {
        let items: Vec<Mutex<Option<T>>> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
        self.run(items.len(), &|at| {
            let item = items[at].lock().take();
            item.into_iter().for_each(&work); // each is taken once
        });
    }
}

impl PoolState {
    fn help(&self) {
        let (mut last_gate, mut n_spins) = (0, 0);
        while !self.has_ended.load(Ordering::Acquire) {
            let gate = self.gate.load(Ordering::Acquire);
            let is_new = gate & OPEN != 0 && gate & !INSIDE != last_gate;
            if is_new && self.gate.compare_exchange(gate, gate + 1, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                self.take_pieces();
                self.gate.fetch_sub(1, Ordering::AcqRel);
                (last_gate, n_spins) = (gate & !INSIDE, 0);
            } else if n_spins < SPINS {
                n_spins += 1;
                std::hint::spin_loop();
            } else {
                self.sleep(last_gate);
                n_spins = 0;
            }
        }
    }

    /// Sleeps unless a new job has started in the meantime.
    fn sleep(&self, last_gate: u64) {
        self.n_asleep.fetch_add(1, Ordering::SeqCst);
        let gate = self.gate.load(Ordering::SeqCst);
        let is_new = gate & OPEN != 0 && gate & !INSIDE != last_gate;
        if !is_new && !self.has_ended.load(Ordering::SeqCst) {
            thread::park();
        }
        self.n_asleep.fetch_sub(1, Ordering::SeqCst);
    }

    fn take_pieces(&self) {
        // SAFETY: the gate was open when this thread entered, so the job is written, and it stays until this thread leaves.
        let job = unsafe { *self.job.get() };
        // SAFETY: `run` borrows the closure and waits until this thread has left.
        let work = unsafe { &*job.work };
        let taken = catch_unwind(AssertUnwindSafe(|| {
            loop {
                let piece = self.next_piece.fetch_add(1, Ordering::Relaxed);
                if job.n_pieces <= piece {
                    break;
                }
                work(piece);
            }
        }));
        if let Err(panic) = taken {
            self.next_piece.store(job.n_pieces, Ordering::Relaxed);
            self.panic.lock().get_or_insert(panic);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.has_ended.store(true, Ordering::SeqCst);
        for helper in self.helpers.drain(..) {
            helper.thread().unpark();
            let _ = helper.join(); // the caller has received its panics
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_done_once() {
        for n_threads in [1, 2, 4] {
            let pool = Pool::new(n_threads);
            for n_pieces in [0, 1, 2, 3, 100] {
                let done: Vec<AtomicUsize> = (0..n_pieces).map(|_| AtomicUsize::new(0)).collect();
                pool.run(n_pieces, &|piece| {
                    done[piece].fetch_add(1, Ordering::Relaxed);
                });
                assert!(done.iter().all(|count| count.load(Ordering::Relaxed) == 1));
            }
        }
    }

    #[test]
    fn jobs_do_not_mix() {
        let pool = Pool::new(3);
        let mut values = vec![0u64; 64];
        for round in 1..=2000 {
            let shared: Vec<AtomicU64> = values.iter().map(|value| AtomicU64::new(*value)).collect();
            pool.run(shared.len(), &|piece| {
                shared[piece].fetch_add(round, Ordering::Relaxed);
            });
            values = shared.into_iter().map(AtomicU64::into_inner).collect();
        }
        assert!(values.iter().all(|value| *value == 2000 * 2001 / 2));
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_goes_on() {
        let pool = Pool::new(2);
        let run = || pool.run(8, &|piece| assert_ne!(piece, 5));
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
        let done = AtomicUsize::new(0);
        pool.run(8, &|_| {
            done.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(done.into_inner(), 8);
    }
}
