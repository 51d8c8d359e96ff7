//! Threads that share pieces of work.
//!
//! A job is cut into pieces that any thread may take, so that a slow core, or one that another program uses, holds up
//! nobody for longer than a piece. Between jobs the helpers spin for a moment, since the next job of a token comes within
//! microseconds, and then sleep. The caller never waits for a helper that has not begun: one that wakes late finds the
//! job closed.

use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle, Thread};

/// Turns of a helper's loop before it sleeps: some hundred microseconds.
const SPINS: u32 = 4000;
/// Turns of the caller's loop before it lets other programs run.
const PATIENCE: u32 = 20_000;

/// In `gate`: helpers inside the job in the low half, then whether it is open, then which job it is.
const OPEN: u64 = 1 << 31;
const INSIDE: u64 = OPEN - 1;
const NEXT: u64 = 1 << 32;

/// Threads for computing; the one that calls is one of them.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    helpers: Vec<JoinHandle<()>>,
    /// One job at a time.
    turn: Mutex<()>,
}

struct Shared {
    gate: AtomicU64,
    /// Valid while the gate is open or somebody is inside.
    job: UnsafeCell<Job>,
    next_piece: AtomicUsize,
    n_asleep: AtomicUsize,
    has_ended: AtomicBool,
    /// What a piece panicked with.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

#[derive(Clone, Copy)]
struct Job {
    work: *const (dyn Fn(usize) + Sync),
    n_pieces: usize,
}

// SAFETY: `job` is written by the caller alone, while the gate is closed and nobody is inside; all else is atomic.
unsafe impl Sync for Shared {}
// SAFETY: the pointer in `job` is only followed while the caller waits in `run`, where what it points to is borrowed.
unsafe impl Send for Shared {}

impl Pool {
    /// `n_threads` counts the caller, and is at least one.
    pub(crate) fn new(n_threads: usize) -> Self {
        const NOTHING: &(dyn Fn(usize) + Sync) = &|_| {};
        let shared = Arc::new(Shared {
            gate: AtomicU64::new(0),
            job: UnsafeCell::new(Job { work: NOTHING, n_pieces: 0 }),
            next_piece: AtomicUsize::new(0),
            n_asleep: AtomicUsize::new(0),
            has_ended: AtomicBool::new(false),
            panic: Mutex::new(None),
        });
        // A system that gives no more threads gives fewer helpers: the work is done all the same.
        let helper = |_| {
            let shared = Arc::clone(&shared);
            thread::Builder::new().name("causerie-compute".to_owned()).spawn(move || shared.help()).ok()
        };
        Self { helpers: (1..n_threads).map_while(helper).collect(), shared, turn: Mutex::new(()) }
    }

    pub(crate) fn n_threads(&self) -> usize {
        1 + self.helpers.len()
    }

    /// Does every piece of `0..n_pieces` once. A panic of a piece is passed on when all threads have left.
    pub(crate) fn run(&self, n_pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        if n_pieces <= 1 || self.helpers.is_empty() {
            return (0..n_pieces).for_each(work);
        }
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let shared = &*self.shared;
        // SAFETY: only the lifetime changes. Nobody follows the pointer after `run`: the gate is closed and empty then.
        let work = unsafe {
            std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), *const (dyn Fn(usize) + Sync + 'static)>(work)
        };
        // SAFETY: the gate is closed and nobody is inside, so nobody else looks at the job.
        unsafe { *shared.job.get() = Job { work, n_pieces } };
        shared.next_piece.store(0, Ordering::Relaxed);
        shared.gate.store((shared.gate.load(Ordering::Relaxed) & !INSIDE).wrapping_add(NEXT) | OPEN, Ordering::SeqCst);
        if 0 < shared.n_asleep.load(Ordering::SeqCst) {
            self.helpers.iter().map(JoinHandle::thread).for_each(Thread::unpark);
        }
        shared.take_pieces();
        shared.gate.fetch_and(!OPEN, Ordering::AcqRel);
        let mut n_turns = 0;
        while shared.gate.load(Ordering::Acquire) & INSIDE != 0 {
            n_turns += 1;
            if n_turns < PATIENCE { std::hint::spin_loop() } else { thread::yield_now() }
        }
        if let Some(panic) = shared.panic.lock().unwrap_or_else(PoisonError::into_inner).take() {
            resume_unwind(panic);
        }
    }
}

impl Pool {
    /// Does the same with each item.
    pub(crate) fn for_each<T: Send>(&self, items: Vec<T>, work: impl Fn(T) + Sync) {
        let items: Vec<Mutex<Option<T>>> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
        self.run(items.len(), &|at| {
            let item = items[at].lock().unwrap_or_else(PoisonError::into_inner).take();
            item.into_iter().for_each(&work); // each is taken once
        });
    }
}

impl Shared {
    fn help(&self) {
        let (mut last_gate, mut n_turns) = (0, 0);
        while !self.has_ended.load(Ordering::Acquire) {
            let gate = self.gate.load(Ordering::Acquire);
            let is_new = gate & OPEN != 0 && gate & !INSIDE != last_gate;
            if is_new && self.gate.compare_exchange(gate, gate + 1, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                self.take_pieces();
                self.gate.fetch_sub(1, Ordering::AcqRel);
                (last_gate, n_turns) = (gate & !INSIDE, 0);
            } else if n_turns < SPINS {
                n_turns += 1;
                std::hint::spin_loop();
            } else {
                self.sleep(last_gate);
                n_turns = 0;
            }
        }
    }

    /// Sleeps unless a job has come in the meantime.
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
        // SAFETY: the gate was open when this thread went in, so the job is written, and stays until it leaves.
        let job = unsafe { *self.job.get() };
        // SAFETY: `run` waits, with the closure borrowed, until this thread has left.
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
            self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.has_ended.store(true, Ordering::SeqCst);
        for helper in self.helpers.drain(..) {
            helper.thread().unpark();
            let _ = helper.join(); // its panics were passed on
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
