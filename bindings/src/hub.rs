//! Downloads of models by name.

use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use causerie_hub as hub;
use futures_channel::{mpsc, oneshot};
use futures_util::StreamExt as _;
use futures_util::lock::Mutex;

use crate::error::{OptionText, Result, SdkError};
use crate::number::SdkLong;
use crate::transport::{HttpTransport, PlatformTransport};

/// Options of a hub. An absent option takes the value of the environment, from the variables of Hugging Face's tools.
#[derive(Clone, PartialEq, uniffi::Record)]
pub struct HubOptions {
    /// The folder that models are downloaded into. Default: the cache that Hugging Face's tools share; on iOS, a folder of the
    /// app. On Android the app must name one.
    #[uniffi(default)]
    pub cache: Option<String>,
    /// The address of the hub. Default: `HF_ENDPOINT`, or else `https://huggingface.co`.
    #[uniffi(default)]
    pub endpoint: Option<String>,
    /// The token for private and gated repositories. It is sent to the endpoint only. Default: `HF_TOKEN` or the file of other
    /// tools.
    #[uniffi(default)]
    pub token: Option<String>,
    /// Whether requests are switched off. Default: `HF_HUB_OFFLINE`.
    #[uniffi(default)]
    pub is_offline: Option<bool>,
    /// Whether a download is refused if the disk has too little space. Default: yes.
    #[uniffi(default)]
    pub checks_space: Option<bool>,
    /// Milliseconds without a byte after which a transfer is tried again. Default: 30,000.
    #[uniffi(default)]
    pub idle_timeout_milliseconds: Option<SdkLong>,
    /// The pause in milliseconds before a failed request is tried again, which doubles with each failure in a row.
    /// Default: 1,000.
    #[uniffi(default)]
    pub retry_pause_milliseconds: Option<SdkLong>,
    /// Whether the files of a model are links to where their contents are stored, so that versions of a model share files.
    /// Default: yes, unless `HF_HUB_DISABLE_SYMLINKS` is set.
    #[uniffi(default)]
    pub uses_links: Option<bool>,
}

impl HubOptions {
    fn into_hub(self) -> Result<hub::HubOptions> {
        let mut options = match self.cache {
            Some(cache) => hub::HubOptions::from_environment_with_cache(cache)?,
            None => hub::HubOptions::from_environment()?,
        };
        if let Some(endpoint) = self.endpoint {
            endpoint.trim_end_matches('/').clone_into(&mut options.endpoint);
        }
        if let Some(token) = self.token {
            options.token = Some(hub::AccessToken::new(&token, "the app")?);
        }
        let milliseconds = |value: Option<SdkLong>| value.map(|value| Duration::from_millis(value.0));
        options.is_offline = self.is_offline.unwrap_or(options.is_offline);
        options.checks_space = self.checks_space.unwrap_or(options.checks_space);
        options.uses_links = self.uses_links.unwrap_or(options.uses_links);
        options.idle_timeout = milliseconds(self.idle_timeout_milliseconds).unwrap_or(options.idle_timeout);
        options.first_pause = milliseconds(self.retry_pause_milliseconds).unwrap_or(options.first_pause);
        Ok(options)
    }
}

/// What a download is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
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

/// The progress of a download. Numbers never go backwards, except for the speed.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct PullProgress {
    /// What the download is doing.
    pub state: PullState,
    /// The file that it is about; empty while the name is resolved.
    pub file: String,
    /// Bytes already downloaded, of all files.
    pub done: SdkLong,
    /// Bytes of all files; 0 until it is known.
    pub total: SdkLong,
    /// The bytes that were there already when the download began.
    pub resumed_from: SdkLong,
    /// The speed during the last seconds.
    pub bytes_per_second: SdkLong,
}

impl From<&hub::PullProgress> for PullProgress {
    fn from(progress: &hub::PullProgress) -> Self {
        let state = match progress.state {
            hub::PullState::Waiting => PullState::Waiting,
            hub::PullState::Downloading => PullState::Downloading,
            hub::PullState::Verifying => PullState::Verifying,
            hub::PullState::Ready => PullState::Ready,
            _ => PullState::Resolving,
        };
        Self {
            state,
            file: progress.file.clone(),
            done: SdkLong(progress.done),
            total: SdkLong(progress.total),
            resumed_from: SdkLong(progress.resumed_from),
            bytes_per_second: SdkLong(progress.bytes_per_second),
        }
    }
}

/// An event of a download.
#[derive(Clone, Debug, PartialEq, uniffi::Enum)]
pub enum PullEvent {
    /// Progress, at most ten times a second.
    Progress {
        /// The progress.
        progress: PullProgress,
    },
    /// The last event: the model is downloaded.
    Ready {
        /// The file or folder to load.
        path: String,
    },
}

/// The files of one model at one commit, with their digests. As JSON it survives a restart of the app.
#[derive(Debug, uniffi::Object)]
pub struct DownloadPlan {
    plan: hub::DownloadPlan,
}

#[uniffi::export]
impl DownloadPlan {
    /// Reads a plan from JSON.
    #[uniffi::constructor]
    pub fn from_json(json: String) -> Result<Arc<Self>> {
        Ok(Arc::new(Self { plan: hub::DownloadPlan::from_json(&json)? }))
    }

    /// The plan as JSON.
    pub fn to_json(&self) -> String {
        self.plan.to_json()
    }

    /// The name of the model.
    pub fn name(&self) -> String {
        self.plan.name.clone()
    }

    /// The commit, by which all files are fetched.
    pub fn commit(&self) -> String {
        self.plan.commit.clone()
    }

    /// The licence that the repository states.
    pub fn license(&self) -> Option<String> {
        self.plan.license.clone()
    }

    /// Whether an account must accept the repository's conditions first.
    pub fn is_gated(&self) -> bool {
        self.plan.is_gated
    }

    /// The size of all files in bytes.
    pub fn size(&self) -> SdkLong {
        SdkLong(self.plan.size())
    }
}

/// Reads the plans of a lock file, as `causerie pull --lock` writes it.
#[uniffi::export]
pub fn plans_from_lock(json: String) -> Result<Vec<Arc<DownloadPlan>>> {
    let models = hub::ModelLock::from_json(&json)?.models;
    Ok(models.into_iter().map(|plan| Arc::new(DownloadPlan { plan })).collect())
}

/// A file of a plan that the app fetches.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct PlannedFile {
    /// The address of the file, whose answer redirects to the place where the file is stored.
    pub url: String,
    /// The path in the repository.
    pub path: String,
    /// The size in bytes.
    pub size: SdkLong,
    /// The digest of the content: 64 hexadecimal digits of SHA-256, or the 40 of git's id.
    pub digest: String,
}

/// A model in the cache.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct CachedModel {
    /// A name that loads this model.
    pub name: String,
    /// The commit that its files are of.
    pub commit: String,
    /// The size of its files in bytes.
    pub size: SdkLong,
    /// The file or folder to load.
    pub path: String,
}

/// Downloads models by name. See the crate `causerie-hub`.
#[derive(uniffi::Object)]
pub struct Hub {
    options: hub::HubOptions,
    transport: Option<Arc<dyn HttpTransport>>,
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").field("options", &self.options).finish()
    }
}

#[uniffi::export]
impl Hub {
    /// A hub that is reached by a transport of the platform, or without one by the library's own client. Libraries for phones
    /// have no client.
    #[uniffi::constructor]
    pub fn new(options: HubOptions, transport: Option<Arc<dyn HttpTransport>>) -> Result<Arc<Self>> {
        if transport.is_none() && !cfg!(feature = "client") {
            let reason = "transport must be given: this library has no HTTP client of its own".to_owned();
            return Err(SdkError::InvalidOption {
                reason: OptionText(reason),
                option: OptionText("transport".to_owned()),
            });
        }
        Ok(Arc::new(Self { options: options.into_hub()?, transport }))
    }

    /// The file or folder of a downloaded model. Sends no request.
    pub fn find(&self, name: String) -> Result<String> {
        Ok(text(&self.hub().find(&name)?))
    }

    /// Asks the hub which files a name means now, and what they are. Downloads no model.
    pub async fn plan(&self, name: String) -> Result<Arc<DownloadPlan>> {
        let hub = self.hub();
        let plan = on_thread(move || Ok(hub.plan(&name)?)).await?;
        Ok(Arc::new(DownloadPlan { plan }))
    }

    /// The bytes of a plan that are not there.
    pub fn missing_bytes(&self, plan: Arc<DownloadPlan>) -> SdkLong {
        SdkLong(self.hub().missing_bytes(&plan.plan))
    }

    /// The files of a plan that are not there, for an app that fetches them itself.
    pub fn missing_files(&self, plan: Arc<DownloadPlan>) -> Vec<PlannedFile> {
        let hub = self.hub();
        let planned = |file: &hub::PlannedFile| PlannedFile {
            url: hub.url(&plan.plan, file),
            path: file.path.clone(),
            size: SdkLong(file.size),
            digest: file.digest.to_string(),
        };
        hub.missing_files(&plan.plan).into_iter().map(planned).collect()
    }

    /// Checks a file that the app has fetched, and moves it to its place. Returns its path in the repository.
    pub async fn install(&self, plan: Arc<DownloadPlan>, file: String) -> Result<String> {
        let hub = self.hub();
        on_thread(move || Ok(hub.install(&plan.plan, Path::new(&file))?.path.clone())).await
    }

    /// Makes a model visible whose files are all installed. Returns the file or folder to load.
    pub fn finish(&self, plan: Arc<DownloadPlan>) -> Result<String> {
        Ok(text(&self.hub().finish(&plan.plan)?))
    }

    /// Downloads a model, as far as it is missing or has changed. Nothing happens before the first event is pulled.
    pub fn start_pull(&self, name: String) -> Arc<DownloadStream> {
        DownloadStream::new(self.hub(), PullSource::Name(name))
    }

    /// Downloads the files of a plan. Nothing happens before the first event is pulled.
    pub fn start_fetch(&self, plan: Arc<DownloadPlan>) -> Arc<DownloadStream> {
        DownloadStream::new(self.hub(), PullSource::Plan(plan))
    }

    /// All downloaded models.
    pub fn models(&self) -> Vec<CachedModel> {
        let cached = |model: hub::CachedModel| CachedModel {
            path: text(&model.path),
            name: model.name,
            commit: model.commit,
            size: SdkLong(model.size),
        };
        self.hub().models().into_iter().map(cached).collect()
    }

    /// Removes a model; without tag and revision, everything of its repository. Returns the bytes that this frees.
    pub fn remove(&self, name: String) -> Result<SdkLong> {
        Ok(SdkLong(self.hub().remove(&name)?))
    }

    /// The folder that models are downloaded into.
    pub fn cache(&self) -> String {
        text(&self.options.cache)
    }
}

impl Hub {
    /// A hub with a transport of its own, whose interrupts concern only what it does.
    fn hub(&self) -> hub::Hub {
        let options = self.options.clone();
        match &self.transport {
            Some(transport) => {
                let transport = PlatformTransport::new(transport.clone(), options.idle_timeout);
                hub::Hub::with_transport(options, Arc::new(transport))
            }
            None => own_client(options),
        }
    }
}

#[cfg(feature = "client")]
fn own_client(options: hub::HubOptions) -> hub::Hub {
    hub::Hub::new(options)
}

/// Never reached by a request: creating a hub without a transport is refused.
#[cfg(not(feature = "client"))]
fn own_client(options: hub::HubOptions) -> hub::Hub {
    struct Unreachable;

    impl hub::Transport for Unreachable {
        fn get(&self, _: &hub::HttpRequest) -> std::io::Result<hub::HttpResponse> {
            Err(std::io::ErrorKind::Unsupported.into())
        }
    }
    hub::Hub::with_transport(options, Arc::new(Unreachable))
}

enum PullSource {
    Name(String),
    Plan(Arc<DownloadPlan>),
}

/// The events of a download. Nothing follows the last one, or an error. Dropping the stream ends the download.
#[derive(uniffi::Object)]
pub struct DownloadStream {
    hub: hub::Hub,
    source: PullSource,
    events: Mutex<Option<mpsc::Receiver<Result<PullEvent>>>>,
    is_cancelled: Arc<AtomicBool>,
}

impl fmt::Debug for DownloadStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DownloadStream").field("is_cancelled", &self.is_cancelled).finish()
    }
}

#[uniffi::export]
impl DownloadStream {
    /// The next event; none after the last one.
    pub async fn next(&self) -> Result<Option<PullEvent>> {
        let mut events = self.events.lock().await;
        if events.is_none() {
            *events = Some(self.start()?);
        }
        match events.as_mut() {
            Some(events) => events.next().await.transpose(),
            None => Ok(None),
        }
    }

    /// The next event, for callers that wait on a thread of their own.
    pub fn next_blocking(&self) -> Result<Option<PullEvent>> {
        pollster::block_on(self.next())
    }

    /// Ends the download soon, with the error `Download` whose fault is `cancelled`. What has arrived is kept. Calling it again,
    /// or after the end, does nothing.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }
}

impl DownloadStream {
    fn new(hub: hub::Hub, source: PullSource) -> Arc<Self> {
        Arc::new(Self { hub, source, events: Mutex::default(), is_cancelled: Arc::default() })
    }

    fn start(&self) -> Result<mpsc::Receiver<Result<PullEvent>>> {
        // The reader may be slow: progress that it does not take in time is left out, but for the last one. That and the end
        // have slots of their own.
        let (mut progress_sender, events) = mpsc::channel(0);
        let (mut last_sender, mut end_sender) = (progress_sender.clone(), progress_sender.clone());
        let left_out = Arc::new(parking_lot::Mutex::new(None));
        let last = left_out.clone();
        let (hub, is_cancelled) = (self.hub.clone(), self.is_cancelled.clone());
        let report = move |progress: &hub::PullProgress| {
            let sent = progress_sender.try_send(Ok(PullEvent::Progress { progress: progress.into() }));
            *left_out.lock() = sent.err().map(mpsc::TrySendError::into_inner);
            match is_cancelled.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        let work: Box<dyn FnOnce() -> causerie::Result<std::path::PathBuf> + Send> = match &self.source {
            PullSource::Name(name) => {
                let name = name.clone();
                Box::new(move || hub.pull(&name, report))
            }
            PullSource::Plan(plan) => {
                let plan = plan.clone();
                Box::new(move || hub.fetch(&plan.plan, report))
            }
        };
        spawn(move || {
            let end = work().map(|path| PullEvent::Ready { path: text(&path) }).map_err(SdkError::from);
            // Sending fails if nobody waits any more.
            if let Some(progress) = last.lock().take() {
                drop(last_sender.try_send(progress));
            }
            drop(end_sender.try_send(end));
        })?;
        Ok(events)
    }
}

impl Drop for DownloadStream {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// Runs work that blocks, and returns its result to a caller that does not.
async fn on_thread<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let (sender, receiver) = oneshot::channel();
    spawn(move || drop(sender.send(work())))?; // fails if the caller has stopped waiting
    receiver.await.map_err(|_| SdkError::Internal { reason: "the thread of a download ended early".to_owned() })?
}

fn spawn(work: impl FnOnce() + Send + 'static) -> Result<()> {
    let thread = thread::Builder::new().name("causerie-hub".to_owned()).spawn(work);
    thread.map(drop).map_err(|err| SdkError::Internal { reason: format!("cannot start a thread: {err}") })
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
