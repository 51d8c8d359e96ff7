//! Runs code that recurses as deep as its input nests: chat templates, JSON schemas, grammars.
//!
//! [`run`] needs a thread with a large stack. The threads of the engine's preparation pool have one already; elsewhere it
//! starts one for the call. Only the pages of a stack that are used take memory.

use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, JoinHandle};

/// Stack size in bytes: enough for what the limits on templates, schemas and sets of functions let nest.
pub(crate) const STACK: usize = 256 << 20;

thread_local! {
    static IS_DEEP: Cell<bool> = const { Cell::new(false) };
}

/// Why [`run`] returns no result.
#[derive(Debug)]
pub(crate) enum DeepStackError {
    /// No thread could be started.
    Spawn(io::Error),
    /// The code panicked.
    Panic,
}

/// Runs `work` on a large stack, and catches its panics.
pub(crate) fn run<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, DeepStackError> {
    if IS_DEEP.get() {
        return catch_unwind(AssertUnwindSafe(work)).map_err(|_| DeepStackError::Panic);
    }
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("causerie-deep".to_owned()).stack_size(STACK);
        let thread = thread.spawn_scoped(scope, work).map_err(DeepStackError::Spawn)?;
        thread.join().map_err(|_| DeepStackError::Panic)
    })
}

/// Starts a thread on which [`run`] needs no other.
pub(crate) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    let work = move || {
        IS_DEEP.set(true);
        work();
    };
    thread::Builder::new().name(name.to_owned()).stack_size(STACK).spawn(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses about a kilobyte of stack per level.
    fn nest(depth: usize) -> usize {
        let frame = std::hint::black_box([depth; 128]);
        if depth == 0 { frame[0] } else { nest(depth - 1) + frame[1].min(1) }
    }

    #[test]
    fn deep_recursion_runs_on_any_thread_and_on_a_deep_one_in_place() {
        let depth = 16 << 10; // far beyond a test thread's 2 MiB
        assert_eq!(run(|| nest(depth)).unwrap(), depth);
        let on_deep = spawn("deep", move || {
            let here = thread::current().id();
            assert_eq!(run(|| (nest(depth), thread::current().id())).unwrap(), (depth, here));
        });
        on_deep.unwrap().join().unwrap();
    }

    #[test]
    fn a_panic_is_an_error() {
        assert!(matches!(run(|| panic!("on purpose")), Err::<(), _>(DeepStackError::Panic)));
    }
}
