//! The interface of this crate.

use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use causerie::names::{ModelName, find_in_cache};
use causerie::{DownloadFault, ErrorKind, Result, SdkError};

#[cfg(feature = "client")]
use crate::client::HttpClient;
use crate::digest::FileDigest;
use crate::fault::{corrupt, file_error};
use crate::models::{self, CachedModel, CachedPart, VerifiedFile, has_digest};
use crate::options::{HubOptions, offline};
use crate::part::{BlobPart, PIECE};
use crate::plan::{DownloadPlan, PlannedFile};
use crate::progress::{PullProgress, Watch};
use crate::pull::{Pull, model_path, watched};
use crate::store::{BlobLock, RepositoryStore};
use crate::transport::Transport;

/// Downloads models by name into the local cache.
///
/// Only [`pull`](Self::pull), [`plan`](Self::plan) and [`fetch`](Self::fetch) send requests. What they have downloaded is
/// loaded by its name, without a request.
///
/// ```no_run
/// use causerie_hub::{Hub, HubOptions};
/// use std::ops::ControlFlow;
///
/// let hub = Hub::new(HubOptions::from_environment()?);
/// let path = hub.pull("LiquidAI/LFM2-350M-GGUF:Q4_K_M", |progress| {
///     println!("{} of {} bytes", progress.done, progress.total);
///     ControlFlow::Continue(())
/// })?;
/// let runner = causerie::ModelRunner::load(&path)?;
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone)]
pub struct Hub {
    options: HubOptions,
    transport: Arc<dyn Transport>,
}

impl Hub {
    /// A hub that is reached by this crate's own HTTP client.
    ///
    /// ```
    /// let hub = causerie_hub::Hub::new(causerie_hub::HubOptions::new("/no/cache"));
    /// assert!(hub.find("ns/name").is_err());
    /// ```
    #[cfg(feature = "client")]
    pub fn new(options: HubOptions) -> Self {
        let transport = Arc::new(HttpClient::new(options.idle_timeout));
        Self { options, transport }
    }

    /// A hub that is reached by a transport of the app's own.
    ///
    /// ```
    /// use causerie_hub::{Hub, HubOptions, Transport};
    ///
    /// fn hub(transport: std::sync::Arc<dyn Transport>) -> Hub {
    ///     Hub::with_transport(HubOptions::new("/cache"), transport)
    /// }
    /// ```
    pub fn with_transport(options: HubOptions, transport: Arc<dyn Transport>) -> Self {
        Self { options, transport }
    }

    /// The file or folder of a model in the cache. Sends no request.
    ///
    /// ```
    /// # let hub = causerie_hub::Hub::new(causerie_hub::HubOptions::new("/no/cache"));
    /// assert_eq!(hub.find("ns/name").unwrap_err().kind(), causerie::ErrorKind::ModelNotFound);
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::ModelNotFound`].
    pub fn find(&self, name: &str) -> Result<PathBuf> {
        find_in_cache(&parse(name)?, &self.options.cache)
    }

    /// Asks the hub which files a name means now, and what they are. Downloads no model.
    ///
    /// ```no_run
    /// # let hub = causerie_hub::Hub::new(causerie_hub::HubOptions::from_environment()?);
    /// println!("{} bytes are missing", hub.missing_bytes(&hub.plan("ns/name")?));
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::ModelNotFound`] with what there is instead, or [`ErrorKind::Download`].
    pub fn plan(&self, name: &str) -> Result<DownloadPlan> {
        let name = parse(name)?;
        self.resolve(&name, false, &Watch::default())
    }

    fn resolve(&self, name: &ModelName, is_cached: bool, watch: &Watch) -> Result<DownloadPlan> {
        if self.options.is_offline {
            return Err(offline(&name.to_string()));
        }
        self.running(watch).resolve(name, is_cached)
    }

    fn running<'a>(&'a self, watch: &'a Watch) -> Pull<'a> {
        Pull { options: &self.options, transport: self.transport.as_ref(), watch }
    }

    /// The bytes of a plan that the cache does not have.
    ///
    /// ```no_run
    /// # let hub = causerie_hub::Hub::new(causerie_hub::HubOptions::from_environment()?);
    /// let plan = hub.plan("ns/name")?;
    /// assert!(hub.missing_bytes(&plan) <= plan.size());
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn missing_bytes(&self, plan: &DownloadPlan) -> u64 {
        let store = self.store(plan);
        let missing = self.missing_files(plan);
        missing.iter().map(|file| file.size - store.part_length(file)).fold(0, u64::saturating_add)
    }

    /// The files of a plan that the cache does not have, for an app that fetches them itself.
    ///
    /// ```no_run
    /// # let hub = causerie_hub::Hub::new(causerie_hub::HubOptions::from_environment()?);
    /// let plan = hub.plan("ns/name")?;
    /// for file in hub.missing_files(&plan) {
    ///     println!("{}: {} bytes", hub.url(&plan, file), file.size);
    /// }
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn missing_files<'a>(&self, plan: &'a DownloadPlan) -> Vec<&'a PlannedFile> {
        let store = self.store(plan);
        plan.files.iter().filter(|file| file.content.is_none() && !store.has(plan, file)).collect()
    }

    /// The plan with the digests that its download has found, for a lock file: digests of addresses are not known before.
    ///
    /// ```no_run
    /// # let hub = causerie_hub::Hub::new(causerie_hub::HubOptions::from_environment()?);
    /// let plan = hub.plan("https://example.org/model.gguf")?;
    /// hub.fetch(&plan, |_| std::ops::ControlFlow::Continue(()))?;
    /// let lock = causerie_hub::ModelLock::new(vec![hub.recorded(&plan)]);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn recorded(&self, plan: &DownloadPlan) -> DownloadPlan {
        let mut noted = self.store(plan).noted(&plan.commit);
        let mut recorded = plan.clone();
        for file in &mut recorded.files {
            if let (FileDigest::Unknown(_), Some(known)) = (&file.digest, noted.remove(&file.path)) {
                file.digest = known.digest;
            }
        }
        recorded
    }

    /// The address of a file of a plan at this hub. See [`DownloadPlan::url`].
    ///
    /// ```no_run
    /// # let hub = causerie_hub::Hub::new(causerie_hub::HubOptions::from_environment()?);
    /// # let plan = hub.plan("ns/name")?;
    /// assert!(hub.url(&plan, &plan.files[0]).contains(&plan.commit));
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn url(&self, plan: &DownloadPlan, file: &PlannedFile) -> String {
        plan.url(&self.options.endpoint, file)
    }

    /// Downloads a model, as far as it is missing or has changed, and returns the file or folder to load. `progress` is called
    /// ten times a second, whether bytes arrive or not. `Break` cancels; what has arrived is kept, and the next call goes on
    /// from there. If the hub cannot be reached and the cache has the model, it is that one.
    ///
    /// ```no_run
    /// # use std::ops::ControlFlow;
    /// # let hub = causerie_hub::Hub::new(causerie_hub::HubOptions::from_environment()?);
    /// let path = hub.pull("ns/name:Q8_0", |_| ControlFlow::Continue(()))?;
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::ModelNotFound`] with what there is instead, or [`ErrorKind::Download`].
    pub fn pull(&self, name: &str, progress: impl FnMut(&PullProgress) -> ControlFlow<()>) -> Result<PathBuf> {
        let name = parse(name)?;
        let cached = find_in_cache(&name, &self.options.cache).ok();
        watched(self.transport.as_ref(), progress, |watch| match self.resolve(&name, cached.is_some(), watch) {
            Ok(plan) => self.running(watch).run(&plan),
            Err(err) if is_unreachable(&err) => cached.ok_or(err),
            Err(err) => Err(err),
        })
    }

    /// Downloads the files of a plan, which may come from a lock file. Returns the file or folder to load.
    ///
    /// ```no_run
    /// # use std::ops::ControlFlow;
    /// # let hub = causerie_hub::Hub::new(causerie_hub::HubOptions::from_environment()?);
    /// for plan in causerie_hub::ModelLock::read("models.lock".as_ref())?.models {
    ///     hub.fetch(&plan, |_| ControlFlow::Continue(()))?;
    /// }
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Download`], or [`ErrorKind::Serialization`] for a plan that was changed.
    pub fn fetch(
        &self,
        plan: &DownloadPlan,
        progress: impl FnMut(&PullProgress) -> ControlFlow<()>,
    ) -> Result<PathBuf> {
        plan.check()?;
        if self.options.is_offline && 0 < self.missing_bytes(plan) {
            return Err(offline(&plan.name));
        }
        watched(self.transport.as_ref(), progress, |watch| self.running(watch).run(plan))
    }

    /// Moves a file that the app has downloaded itself into the cache, if it is one of the plan; returns which.
    ///
    /// ```no_run
    /// # let hub = causerie_hub::Hub::new(causerie_hub::HubOptions::from_environment()?);
    /// let plan = hub.plan("ns/name")?;
    /// // The app fetches plan.url(…) of each file into a temporary file.
    /// hub.install(&plan, "/tmp/received".as_ref())?;
    /// let path = hub.finish(&plan)?;
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`DownloadFault::Corrupt`] if the file is none of the plan; it stays where it is.
    pub fn install<'a>(&self, plan: &'a DownloadPlan, file: &Path) -> Result<&'a PlannedFile> {
        plan.check()?;
        let (store, watch) = (self.store(plan), Watch::default());
        let size = fs::metadata(file).map_err(|err| file_error("read", file, err))?.len();
        for planned in plan.files.iter().filter(|planned| planned.size == size) {
            if has_digest(file, &planned.path, &planned.digest, &watch)? {
                let lock = store.lock(planned, &watch)?;
                move_in(&store, &lock, planned, file)?;
                return Ok(planned);
            }
        }
        Err(corrupt(format!("{} must be one of the files of {}, found other {size} bytes", file.display(), plan.name)))
    }

    /// Makes a model visible whose files are all installed. Returns the file or folder to load.
    ///
    /// ```no_run
    /// # let hub = causerie_hub::Hub::new(causerie_hub::HubOptions::from_environment()?);
    /// # let plan = hub.plan("ns/name")?;
    /// println!("{}", hub.finish(&plan)?.display());
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// A file is not installed, or the cache cannot be written.
    pub fn finish(&self, plan: &DownloadPlan) -> Result<PathBuf> {
        plan.check()?;
        let store = self.store(plan);
        store.finish(plan, self.options.uses_links)?;
        Ok(model_path(plan, &store))
    }

    /// The folder of a plan's files in the cache, which are links there.
    ///
    /// ```no_run
    /// # let hub = causerie_hub::Hub::new(causerie_hub::HubOptions::from_environment()?);
    /// # let plan = hub.plan("ns/name")?;
    /// assert!(hub.snapshot(&plan).ends_with(&plan.commit));
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn snapshot(&self, plan: &DownloadPlan) -> PathBuf {
        self.store(plan).folder().snapshot(&plan.commit)
    }

    fn store(&self, plan: &DownloadPlan) -> RepositoryStore {
        RepositoryStore::new(&self.options.cache, &plan.repository)
    }

    /// All models of the cache, those included that other tools have downloaded.
    ///
    /// ```
    /// # let hub = causerie_hub::Hub::new(causerie_hub::HubOptions::new("/no/cache"));
    /// assert_eq!(hub.models().len(), 0);
    /// ```
    pub fn models(&self) -> Vec<CachedModel> {
        models::models(&self.options.cache)
    }

    /// The files that downloads have left incomplete.
    ///
    /// ```
    /// # let hub = causerie_hub::Hub::new(causerie_hub::HubOptions::new("/no/cache"));
    /// assert_eq!(hub.parts().len(), 0);
    /// ```
    pub fn parts(&self) -> Vec<CachedPart> {
        models::parts(&self.options.cache)
    }

    /// Reads all files of a model in the cache and compares them with their digests.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # let hub = causerie_hub::Hub::new(causerie_hub::HubOptions::new("/no/cache"));
    /// assert!(hub.verify("ns/name", |_| ControlFlow::Continue(())).is_err());
    /// ```
    ///
    /// # Errors
    /// The cache does not have the model, or cannot be read.
    pub fn verify(
        &self,
        name: &str,
        progress: impl FnMut(&PullProgress) -> ControlFlow<()>,
    ) -> Result<Vec<VerifiedFile>> {
        let name = parse(name)?;
        watched(self.transport.as_ref(), progress, |watch| models::verify(&self.options.cache, &name, watch))
    }

    /// Removes a model from the cache; without tag and revision, everything of its repository. Returns the bytes that this
    /// frees.
    ///
    /// ```
    /// # let hub = causerie_hub::Hub::new(causerie_hub::HubOptions::new("/no/cache"));
    /// assert!(hub.remove("ns/name").is_err());
    /// ```
    ///
    /// # Errors
    /// The cache does not have the model, or cannot be written.
    pub fn remove(&self, name: &str) -> Result<u64> {
        models::remove(&self.options.cache, &parse(name)?)
    }

    /// Removes incomplete files that have not grown for this time. Returns them.
    ///
    /// ```
    /// # let hub = causerie_hub::Hub::new(causerie_hub::HubOptions::new("/no/cache"));
    /// let week = std::time::Duration::from_secs(7 * 24 * 3600);
    /// assert!(hub.sweep(week)?.is_empty());
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// The cache cannot be written.
    pub fn sweep(&self, age: Duration) -> Result<Vec<CachedPart>> {
        models::sweep(&self.options.cache, age)
    }
}

fn parse(name: &str) -> Result<ModelName> {
    let invalid = || {
        let message = format!(
            "the name of a model must be NAMESPACE/NAME[@REVISION][:TAG] or the https address of a file, found {name}"
        );
        SdkError::new(ErrorKind::ModelNotFound, message)
    };
    ModelName::parse(name).ok_or_else(invalid)
}

/// Moves a checked file. If it is a link, or on another disk, its content is copied.
fn move_in(store: &RepositoryStore, lock: &BlobLock, planned: &PlannedFile, file: &Path) -> Result<()> {
    let is_plain = fs::symlink_metadata(file).is_ok_and(|found| found.is_file());
    // Its bytes must be on the disk before its name says that they are.
    let is_synced = || OpenOptions::new().append(true).open(file).and_then(|file| file.sync_all()).is_ok();
    if is_plain && is_synced() && store.install(file, &planned.digest).is_ok() {
        return Ok(());
    }
    let watch = Watch::default();
    let mut part = BlobPart::open(store.part_under(lock, &planned.digest), planned, &watch)?;
    part.discard(&watch)?;
    let mut content = File::open(file).map_err(|err| file_error("read", file, err))?.take(planned.size);
    let mut buffer = vec![0; PIECE];
    while 0 < part.missing() {
        let n_read = content.read(&mut buffer).map_err(|err| file_error("read", file, err))?;
        if n_read == 0 {
            break;
        }
        part.append(&buffer[..n_read]).map_err(|err| store.write_error(part.path(), part.missing(), err))?;
    }
    // The file may have changed since it was checked.
    match part.right_digest().map_err(|err| store.write_error(part.path(), 0, err))? {
        Some(digest) => store.install(part.path(), &digest)?,
        None => return Err(corrupt(format!("{} changed while it was installed", file.display()))),
    }
    fs::remove_file(file).map_err(|err| file_error("remove", file, err))
}

/// Whether an error says that the hub cannot be asked now, so that a model of the cache is the best there is.
fn is_unreachable(err: &SdkError) -> bool {
    matches!(
        err.kind(),
        ErrorKind::Download(
            DownloadFault::Offline | DownloadFault::Network { is_retryable: true } | DownloadFault::RateLimited { .. }
        )
    )
}
