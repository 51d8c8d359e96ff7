//! The progress of a download, and its end from outside.
use std::time::Duration;

use causerie::Result;
use parking_lot::{Condvar, Mutex};
use serde::Serialize;

use crate::fault::cancelled;

/// What a download is doing.
///
/// ```
/// assert_ne!(causerie_hub::PullState::Waiting, causerie_hub::PullState::Ready);
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PullState {
    /// The hub is asked which files the name means.
    Resolving,
    /// Another process downloads the same file, or the server has to be asked again later.
    Waiting,
    /// Bytes arrive.
    Downloading,
    /// The content of a file is checked.
    Verifying,
    /// The model can be loaded.
    Ready,
}

/// The progress of a download. Numbers never go backwards.
///
/// ```
/// let progress = causerie_hub::PullProgress::default();
/// assert_eq!((progress.done, progress.total), (0, 0));
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PullProgress {
    /// What the download is doing.
    pub state: PullState,
    /// The file that it is about; empty while the name is resolved.
    pub file: String,
    /// Bytes already downloaded, of all files.
    pub done: u64,
    /// Bytes of all files; 0 until it is known.
    pub total: u64,
    /// The bytes that were there already when the download began.
    pub resumed_from: u64,
    /// The speed during the last seconds.
    pub bytes_per_second: u64,
}

impl Default for PullProgress {
    fn default() -> Self {
        let (done, total, resumed_from, bytes_per_second) = (0, 0, 0, 0);
        Self { state: PullState::Resolving, file: String::new(), done, total, resumed_from, bytes_per_second }
    }
}

/// The progress that the threads of one download share, and the wish to end it.
#[derive(Default)]
pub(crate) struct Watch {
    inner: Mutex<Watched>,
    changed: Condvar,
}

#[derive(Default)]
struct Watched {
    progress: PullProgress,
    /// Bytes that arrived, those included that were discarded again.
    received: u64,
    /// Bytes already downloaded; less than in `progress` after a file was begun anew.
    done: u64,
    is_stopped: bool,
}

impl Watch {
    /// Ends the download at the next occasion, and all pauses at once.
    pub(crate) fn stop(&self) {
        self.inner.lock().is_stopped = true;
        self.changed.notify_all();
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.inner.lock().is_stopped { Err(cancelled()) } else { Ok(()) }
    }

    /// Waits; an error if the download is stopped.
    pub(crate) fn pause(&self, time: Duration) -> Result<()> {
        let mut watched = self.inner.lock();
        self.changed.wait_while_for(&mut watched, |watched| !watched.is_stopped, time);
        if watched.is_stopped { Err(cancelled()) } else { Ok(()) }
    }

    /// Begins with files of this total size, of which some bytes are already downloaded.
    pub(crate) fn begin(&self, total: u64, there: u64) {
        let mut watched = self.inner.lock();
        (watched.progress.total, watched.progress.resumed_from, watched.done) = (total, there, there);
        watched.progress.done = there;
    }

    pub(crate) fn enter(&self, state: PullState, file: &str) {
        let mut watched = self.inner.lock();
        watched.progress.state = state;
        file.clone_into(&mut watched.progress.file);
    }

    pub(crate) fn receive(&self, n_bytes: usize) {
        let mut watched = self.inner.lock();
        watched.received += n_bytes as u64;
        watched.done += n_bytes as u64;
        watched.progress.done = watched.progress.done.max(watched.done);
        watched.progress.state = PullState::Downloading;
    }

    /// Corrects the downloaded bytes, after a file was found to have more or fewer than was known.
    pub(crate) fn correct(&self, before: u64, after: u64) {
        let mut watched = self.inner.lock();
        watched.done = (watched.done + after).saturating_sub(before);
        watched.progress.done = watched.progress.done.max(watched.done);
    }

    /// The progress now, and the bytes that have arrived so far.
    pub(crate) fn progress(&self) -> (PullProgress, u64) {
        let watched = self.inner.lock();
        (watched.progress.clone(), watched.received)
    }
}
