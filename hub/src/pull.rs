//! Runs downloads: resolves names to plans, fetches the files of plans, reports the progress.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use causerie::companions::choose_companions;
use causerie::names::{ModelFiles, ModelName, choose_files, manifest, weights_of_index};
use causerie::{DownloadFault, ErrorKind, Result, SdkError};
use parking_lot::Mutex;

use crate::address::WebAddress;
use crate::addressed;
use crate::fault::{Trouble, cancelled, corrupt, network, no_space};
use crate::listing::{self, RepositoryFile, RepositoryInfo};
use crate::options::HubOptions;
use crate::plan::{DownloadPlan, PlannedFile};
use crate::progress::{PullProgress, PullState, Watch};
use crate::requests::{Requests, ServerAnswer, read_all};
use crate::space::free_bytes;
use crate::store::RepositoryStore;
use crate::transfer::{Failures, Transfer};
use crate::transport::Transport;

/// The time between two reports of the progress.
const REPORT_PAUSE: Duration = Duration::from_millis(100);
/// Files that are fetched at the same time.
const AT_ONCE: usize = 2;
/// Requests to the API in a row that may fail.
const API_TRIES: usize = 3;
/// Bytes that stay free on the disk.
const SPARE_SPACE: u64 = 64 << 20;
/// The largest index of weights in bytes.
const MAX_INDEX: u64 = 64 << 20;

/// One download.
pub(crate) struct Pull<'a> {
    pub(crate) options: &'a HubOptions,
    pub(crate) transport: &'a dyn Transport,
    pub(crate) watch: &'a Watch,
}

impl Pull<'_> {
    /// Sends requests about a page, which errors name.
    fn requests(&self, page: String) -> Result<Requests<'_>> {
        let endpoint = &self.options.endpoint;
        let invalid = || network(false, format!("the endpoint must be an http or https address, found {endpoint}"));
        Ok(Requests {
            transport: self.transport,
            endpoint: WebAddress::parse(endpoint).ok_or_else(invalid)?,
            token: self.options.token.as_ref(),
            page,
        })
    }

    /// Asks the hub which files a name means now. `tries` limits the requests for the first answer.
    pub(crate) fn resolve(&self, name: &ModelName, is_cached: bool) -> Result<DownloadPlan> {
        let tries = if is_cached { 1 } else { API_TRIES };
        if let Some(address) = &name.address {
            let requests = self.requests(address.clone())?;
            let store = RepositoryStore::new(&self.options.cache, &name.repository());
            return self.retry(tries, || addressed::plan(&requests, &store, name, address));
        }
        let requests = self.requests(format!("{}/{}", self.options.endpoint, name.repository()))?;
        let mut info = self.retry(tries, || listing::info(&requests, name))?;
        let mut files = self.retry(API_TRIES, || listing::files(&requests, &info.id, &info.commit));
        if files.as_ref().is_err_and(|err| err.kind() == ErrorKind::ModelNotFound) {
            // The branch was moved by force, and its former commit is gone.
            info = self.retry(API_TRIES, || listing::info(&requests, name))?;
            files = self.retry(API_TRIES, || listing::files(&requests, &info.id, &info.commit));
        }
        let files = files?;
        let chosen = choose_files(&name.to_string(), &listing::listed(&files), name.tag.as_deref())?;
        let planned = |path: String| match files.get(&path) {
            Some(RepositoryFile { size, digest }) => Ok(PlannedFile::new(&path, *size, digest.clone())),
            None => {
                Err(SdkError::new(ErrorKind::ModelNotFound, format!("{name} must have {path}, which its index names")))
            }
        };
        let (paths, index) = match chosen {
            ModelFiles::Gguf(files) => (files, None),
            ModelFiles::Folder { files, index } => (files, index),
        };
        let mut plan = empty_plan(name, info);
        plan.files = paths.into_iter().map(planned).collect::<Result<_>>()?;
        if index.is_none() {
            let companions = self.companions(&requests, &plan, &files)?;
            plan.files.extend(companions.into_iter().map(planned).collect::<Result<Vec<_>>>()?);
        }
        if let Some(index) = index {
            let shards = self.retry(API_TRIES, || shards(&requests, &plan, &index))?;
            plan.files.extend(shards.into_iter().map(planned).collect::<Result<Vec<_>>>()?);
        }
        Ok(plan)
    }

    /// The files that belong to a GGUF model, as far as its repository has them.
    fn companions(
        &self,
        requests: &Requests<'_>,
        plan: &DownloadPlan,
        files: &BTreeMap<String, RepositoryFile>,
    ) -> Result<Vec<String>> {
        let Some(model) = plan.files.first().filter(|file| file.path.to_ascii_lowercase().ends_with(".gguf")) else {
            return Ok(Vec::new());
        };
        let head = |path: &str, n_bytes: usize| {
            let Some(RepositoryFile { size, digest }) = files.get(path) else { return Ok(Vec::new()) };
            let url = plan.url(&self.options.endpoint, &PlannedFile::new(path, *size, digest.clone()));
            self.retry(API_TRIES, || requests.beginning(&url, (*size).min(n_bytes as u64), path))
        };
        match choose_companions(&model.path, &listing::listed(files), head) {
            // The download itself says what to do about it.
            Err(err) if matches!(err.kind(), ErrorKind::Download(DownloadFault::AccessDenied(_))) => Ok(Vec::new()),
            chosen => chosen,
        }
    }

    fn retry<T>(&self, tries: usize, mut attempt: impl FnMut() -> Result<T, Trouble>) -> Result<T> {
        let mut failures = Failures::default();
        for n_tried in 1.. {
            let result = attempt();
            // The end of an interrupted request is not a failure.
            self.watch.check()?;
            match result {
                Ok(value) => return Ok(value),
                Err(Trouble::Passing(err, wait)) if n_tried < tries => {
                    failures.count(false, err)?;
                    self.watch.pause(wait.unwrap_or_else(|| failures.pause(self.options.first_pause)))?;
                }
                Err(trouble) => return Err(trouble.into_error()),
            }
        }
        Err(cancelled())
    }

    /// Fetches what is missing and makes the model visible. Returns the file or folder to load.
    pub(crate) fn run(&self, plan: &DownloadPlan) -> Result<PathBuf> {
        let store = RepositoryStore::new(&self.options.cache, &plan.repository);
        let there: Vec<u64> = plan.files.iter().map(|file| bytes_there(&store, plan, file)).collect();
        let n_there = there.iter().sum();
        self.watch.begin(plan.size(), n_there);
        self.check_space(plan.size() - n_there)?;
        store.write_contents(plan)?;
        let plan = self.fetch_all(plan, &store, &there)?;
        store.finish(&plan, self.options.uses_links)?;
        Ok(model_path(&plan, &store))
    }

    fn check_space(&self, missing: u64) -> Result<()> {
        let needed = missing.saturating_add(SPARE_SPACE);
        match free_bytes(&self.options.cache) {
            Some(free) if self.options.checks_space && 0 < missing && free < needed => Err(no_space(needed, free)),
            _ => Ok(()),
        }
    }

    /// Fetches files on several threads. The first error ends them all. Returns the plan with the digests that were found.
    fn fetch_all(&self, plan: &DownloadPlan, store: &RepositoryStore, there: &[u64]) -> Result<DownloadPlan> {
        let requests = self.requests(format!("{}/{}", self.options.endpoint, plan.repository))?;
        let transfer =
            Transfer { requests: &requests, store, plan, watch: self.watch, first_pause: self.options.first_pause };
        let numbered = plan.files.iter().zip(there).enumerate();
        let missing: Vec<_> = numbered.filter(|(_, (file, _))| !store.has(plan, file)).collect();
        let (next, first_error) = (AtomicUsize::new(0), Mutex::new(None));
        let found = Mutex::new(plan.clone());
        let work = || {
            while let Some((at, (file, counted))) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
                match transfer.fetch(file, **counted) {
                    Ok(digest) => found.lock().files[*at].digest = digest,
                    Err(err) => {
                        first_error.lock().get_or_insert(err);
                        self.watch.stop();
                        self.transport.interrupt();
                        return;
                    }
                }
            }
        };
        thread::scope(|scope| {
            for _ in 1..AT_ONCE.min(missing.len()) {
                scope.spawn(work);
            }
            work();
        });
        match first_error.into_inner() {
            None => Ok(found.into_inner()),
            Some(err) => Err(err),
        }
    }
}

/// A plan without files.
fn empty_plan(name: &ModelName, info: RepositoryInfo) -> DownloadPlan {
    DownloadPlan {
        name: name.to_string(),
        repository: info.id,
        commit: info.commit,
        license: info.license,
        is_gated: info.is_gated,
        files: Vec::new(),
    }
}

/// The files of weights that the index of a plan names.
fn shards(requests: &Requests<'_>, plan: &DownloadPlan, index: &str) -> Result<Vec<String>, Trouble> {
    let invalid = || corrupt(format!("{index} of {} must be an index of weights with its digest", plan.repository));
    let file = plan.files.iter().find(|file| file.path == index).ok_or_else(invalid)?;
    let ServerAnswer { response, from, .. } = requests.get(&plan.url(&requests.endpoint.url(), file), 0, index)?;
    let content = read_all(response, MAX_INDEX, &from, index)?;
    let mut hasher = file.digest.hasher(file.size);
    hasher.update(&content);
    if hasher.finish() != file.digest {
        return Err(Trouble::Passing(invalid(), None));
    }
    let shards = weights_of_index(&content).ok_or_else(invalid)?;
    Ok(shards.into_iter().collect())
}

fn bytes_there(store: &RepositoryStore, plan: &DownloadPlan, file: &PlannedFile) -> u64 {
    if store.has(plan, file) { file.size } else { store.part_length(file) }
}

/// Whether loading takes a file by itself, and not the folder around it.
fn is_loaded(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    path.ends_with(".gguf") || path.ends_with(".bundle") || path == manifest::FILE_NAME
}

/// What loading takes: the first GGUF file, a bundle, a manifest, or else the folder.
pub(crate) fn model_path(plan: &DownloadPlan, store: &RepositoryStore) -> PathBuf {
    let snapshot = store.folder().snapshot(&plan.commit);
    match plan.files.first() {
        Some(file) if is_loaded(&file.path) => snapshot.join(&file.path),
        _ => snapshot,
    }
}

/// Runs work on another thread, and reports its progress on this one, ten times a second and once at the end. `Break` ends the
/// work, also one that waits for a server.
pub(crate) fn watched<T: Send>(
    transport: &dyn Transport,
    mut progress: impl FnMut(&PullProgress) -> ControlFlow<()>,
    work: impl FnOnce(&Watch) -> Result<T> + Send,
) -> Result<T> {
    let watch = Watch::default();
    let (finished, is_finished) = channel();
    thread::scope(|scope| {
        let (watch, mut meter) = (&watch, SpeedMeter::new());
        let worker = scope.spawn(move || {
            let result = work(watch);
            drop(finished); // wakes the other side, also after a panic
            result
        });
        let mut is_ended = false;
        while is_finished.recv_timeout(REPORT_PAUSE) == Err::<(), _>(RecvTimeoutError::Timeout) {
            // Also when nothing has changed: the caller may wish to end a download that has stalled.
            is_ended = is_ended || progress(&meter.measured(watch)).is_break();
            if is_ended {
                watch.stop();
                // Again and again: a request may just have begun.
                transport.interrupt();
            }
        }
        let result = worker.join().unwrap_or_else(|panic| resume_unwind(panic));
        if result.is_ok() {
            watch.enter(PullState::Ready, "");
            let _ = progress(&meter.measured(watch));
        }
        result
    })
}

/// Moving average of the speed.
struct SpeedMeter {
    at: Instant,
    received: u64,
    bytes_per_second: f64,
}

impl SpeedMeter {
    fn new() -> Self {
        Self { at: Instant::now(), received: 0, bytes_per_second: 0.0 }
    }

    fn measured(&mut self, watch: &Watch) -> PullProgress {
        let (mut progress, received) = watch.progress();
        let passed = self.at.elapsed().as_secs_f64();
        if 0.0 < passed {
            let speed = (received - self.received) as f64 / passed;
            let weight = (passed / 2.0).min(1.0); // a new speed counts fully after two seconds
            self.bytes_per_second +=
                (speed - self.bytes_per_second) * weight.max(f64::from(u8::from(self.received == 0)));
        }
        (self.at, self.received) = (Instant::now(), received);
        progress.bytes_per_second = self.bytes_per_second as u64; // never negative
        progress
    }
}
