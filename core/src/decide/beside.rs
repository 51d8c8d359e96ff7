//! Work on a thread of its own, whose result a future waits for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;

use crate::engine::LoadedModel;
use crate::error::{ErrorKind, Result, SdkError};
use crate::runner::ModelRunner;

/// How long work waits for other work of its model before it looks again whether it is still wanted.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Gives the model to work that may go on. Work asks for it before each step and drops it after the step, so that unloading ends the
/// work and frees the memory.
///
/// # Errors
/// [`ErrorKind::ModelUnloaded`], and [`ErrorKind::Generation`] once the future that waits for the work is dropped.
pub(super) type WantedModel<'a> = &'a dyn Fn() -> Result<Arc<LoadedModel>>;

/// Runs work on a thread that begins when the future is polled, one after the other for each model. Dropping the future ends the work
/// before its next step.
pub(super) async fn beside<T: Send + 'static>(
    runner: ModelRunner,
    work: impl FnOnce(WantedModel<'_>) -> Result<T> + Send + 'static,
) -> Result<T> {
    let waited = WaitedWork(Arc::new(SharedWork::default()));
    let shared = Arc::clone(&waited.0);
    let run = move || {
        let model = || match shared.is_dropped.load(Ordering::Relaxed) {
            true => Err(SdkError::new(ErrorKind::Generation, "the decision was cancelled")),
            false => runner.loaded(),
        };
        let work = || in_turn(&model, work);
        let panicked = |_| Err(SdkError::new(ErrorKind::Internal, "deciding panicked"));
        let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(panicked);
        *shared.result.lock() = Some(result);
        if let Some(waker) = shared.waker.lock().take() {
            waker.wake();
        }
    };
    let started = thread::Builder::new().name("causerie-decide".to_owned()).spawn(run);
    started.map_err(|err| SdkError::new(ErrorKind::Generation, "no thread could be started").caused_by(err))?;
    waited.await
}

/// Runs work when no other work of its model is running.
fn in_turn<T>(model: WantedModel<'_>, work: impl FnOnce(WantedModel<'_>) -> Result<T>) -> Result<T> {
    let running = Arc::clone(&model()?.running_beside);
    loop {
        if let Some(_running) = running.try_lock_for(LOOK_AGAIN) {
            return work(model);
        }
        model()?;
    }
}

struct SharedWork<T> {
    result: Mutex<Option<Result<T>>>,
    waker: Mutex<Option<Waker>>,
    is_dropped: AtomicBool,
}

impl<T> Default for SharedWork<T> {
    fn default() -> Self {
        Self { result: Mutex::default(), waker: Mutex::default(), is_dropped: AtomicBool::default() }
    }
}

struct WaitedWork<T>(Arc<SharedWork<T>>);

impl<T> Future for WaitedWork<T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<Result<T>> {
        // The waker is left before the result is looked for, so that none is missed.
        *self.0.waker.lock() = Some(ctx.waker().clone());
        match self.0.result.lock().take() {
            Some(result) => Poll::Ready(result),
            None => Poll::Pending,
        }
    }
}

impl<T> Drop for WaitedWork<T> {
    fn drop(&mut self) {
        self.0.is_dropped.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::testing::ScriptedModel;

    fn poll_once<T>(future: Pin<&mut impl Future<Output = T>>) -> Poll<T> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn work_whose_future_is_dropped_ends_before_its_next_step() {
        let runner = ScriptedModel::new().load().unwrap();
        let (began, begun) = channel();
        let (ended, end) = channel();
        let mut future = Box::pin(beside(runner, move |model| {
            began.send(()).unwrap();
            let err = (0..).find_map(|_| model().err());
            ended.send(err.map(|err| err.kind())).unwrap();
            Ok(())
        }));
        assert!(poll_once(future.as_mut()).is_pending());
        begun.recv().unwrap();
        drop(future);
        assert_eq!(end.recv().unwrap(), Some(ErrorKind::Generation));
    }

    #[test]
    fn unloading_ends_work_that_runs_and_waits_for_its_model() {
        let runner = ScriptedModel::new().load().unwrap();
        let (began, begun) = channel();
        let mut future = Box::pin(beside(runner.clone(), move |model| {
            began.send(Arc::downgrade(&model()?)).unwrap();
            (0..).try_for_each(|_| model().map(drop))
        }));
        assert!(poll_once(future.as_mut()).is_pending());
        let model = begun.recv().unwrap();
        pollster::block_on(runner.unload());
        assert!(model.upgrade().is_none());
        assert_eq!(pollster::block_on(future).unwrap_err().kind(), ErrorKind::ModelUnloaded);
    }

    #[test]
    fn work_that_waits_for_other_work_can_be_cancelled_and_unloaded() {
        let runner = ScriptedModel::new().load().unwrap();
        let other = Arc::clone(&runner.loaded().unwrap().running_beside);
        let _running = other.lock();
        let (sender, begun) = channel();
        let mut cancelled = Box::pin(beside(runner.clone(), move |_| {
            sender.send(()).unwrap();
            Ok(())
        }));
        assert!(poll_once(cancelled.as_mut()).is_pending());
        drop(cancelled);
        assert!(begun.recv().is_err()); // it was dropped, and never run
        let mut waiting = Box::pin(beside(runner.clone(), |_| Ok(())));
        assert!(poll_once(waiting.as_mut()).is_pending());
        drop(runner.unload());
        assert_eq!(pollster::block_on(waiting).unwrap_err().kind(), ErrorKind::ModelUnloaded);
    }
}
