//! What the cache has: listing, checking and removing it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{ErrorKind as IoErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use causerie::companions::companions_beside;
use causerie::names::{ModelFiles, ModelName, RepositoryFolder, list_models};
use causerie::{ErrorKind, Result, SdkError};

use crate::digest::FileDigest;
use crate::fault::file_error;
use crate::part::PIECE;
use crate::progress::{PullState, Watch};
use crate::store::{PART_SUFFIX, RepositoryStore, entries_below, try_lock};

/// A model in the cache.
///
/// ```
/// let hub = causerie_hub::Hub::new(causerie_hub::HubOptions::new("/no/cache"));
/// assert!(hub.models().is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct CachedModel {
    /// A name that loads this model.
    pub name: String,
    /// The commit that its files are of.
    pub commit: String,
    /// The size of its files in bytes, its companions included.
    pub size: u64,
    /// The file or folder to load.
    pub path: PathBuf,
    /// The files that loading takes with it: projectors, and the parts that speak.
    pub companions: Vec<PathBuf>,
}

/// A file that is not complete.
///
/// ```
/// let hub = causerie_hub::Hub::new(causerie_hub::HubOptions::new("/no/cache"));
/// assert!(hub.parts().is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct CachedPart {
    /// The repository that the file is of.
    pub repository: String,
    /// The bytes downloaded so far.
    pub size: u64,
    /// Where they are.
    pub path: PathBuf,
}

/// What a check found about a file.
///
/// ```
/// assert_ne!(causerie_hub::FileState::Right, causerie_hub::FileState::Damaged);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    /// The content has its digest.
    Right,
    /// The content has another digest. The file is of no use.
    Damaged,
    /// No digest is known: another tool has put the file there.
    Unknown,
}

/// A file that was checked.
///
/// ```no_run
/// let hub = causerie_hub::Hub::new(causerie_hub::HubOptions::from_environment()?);
/// for file in hub.verify("ns/name", |_| std::ops::ControlFlow::Continue(()))? {
///     println!("{}: {:?}", file.path, file.state);
/// }
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct VerifiedFile {
    /// The path in the repository.
    pub path: String,
    /// What the check found.
    pub state: FileState,
}

/// The repositories of a cache: `NAMESPACE/NAME`.
fn repositories(cache: &Path) -> Vec<String> {
    let entries = fs::read_dir(cache).into_iter().flatten().flatten();
    let name = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let (namespace, name) = name.strip_prefix("models--")?.split_once("--")?;
        Some(format!("{namespace}/{name}"))
    };
    let mut names: Vec<String> = entries.filter_map(name).collect();
    names.sort();
    names
}

/// All models of all commits.
pub(crate) fn models(cache: &Path) -> Vec<CachedModel> {
    let mut models = Vec::new();
    for repository in repositories(cache) {
        let folder = RepositoryFolder::new(cache, &repository);
        let main = folder.commit(None);
        for commit in folders(&folder.path().join("snapshots")) {
            let revision = if main.as_ref() == Some(&commit) { String::new() } else { format!("@{commit}") };
            let snapshot = folder.snapshot(&commit);
            let size = |path: &String| fs::metadata(snapshot.join(path)).map_or(0, |found| found.len());
            models.extend(models_of(&folder, &repository, &commit).into_iter().map(|model| CachedModel {
                name: format!("{repository}{revision}:{}", model.tag),
                size: model.files().map(size).sum(),
                path: model.first.as_ref().map_or_else(|| snapshot.clone(), |first| snapshot.join(first)),
                companions: model.companions.iter().map(|path| snapshot.join(path)).collect(),
                commit: commit.clone(),
            }));
        }
    }
    models
}

/// A complete model in a snapshot.
struct FoundModel {
    tag: String,
    /// The file to load; `None` for the folder.
    first: Option<String>,
    files: Vec<String>,
    companions: Vec<String>,
}

impl FoundModel {
    fn files(&self) -> impl Iterator<Item = &String> {
        self.files.iter().chain(&self.companions)
    }
}

/// The models of a snapshot.
fn models_of(folder: &RepositoryFolder, repository: &str, commit: &str) -> Vec<FoundModel> {
    let found = |(tag, files)| match files {
        ModelFiles::Gguf(files) => {
            let companions = companions_of(&folder.snapshot(commit), &files);
            Some(FoundModel { tag, first: files.first().cloned(), files, companions })
        }
        // Its index names more files, which must be there.
        ModelFiles::Folder { .. } => match folder.model(&ModelName::parse(&format!("{repository}:{tag}"))?, commit) {
            Ok(ModelFiles::Folder { files, .. }) => {
                Some(FoundModel { tag, first: None, files, companions: Vec::new() })
            }
            _ => None,
        },
    };
    list_models(&folder.files(commit)).into_iter().filter_map(found).collect()
}

/// The files that loading takes with a model in a snapshot, without those that are among its own.
fn companions_of(snapshot: &Path, files: &[String]) -> Vec<String> {
    let Some(first) = files.first() else { return Vec::new() };
    let below = |path: PathBuf| {
        let parts = path.strip_prefix(snapshot).ok()?.iter().map(|part| part.to_str());
        Some(parts.collect::<Option<Vec<_>>>()?.join("/"))
    };
    let companions = companions_beside(&snapshot.join(first)).into_iter().filter_map(below);
    companions.filter(|path| !files.contains(path)).collect()
}

fn folders(parent: &Path) -> Vec<String> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten().filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// All files that are not complete.
pub(crate) fn parts(cache: &Path) -> Vec<CachedPart> {
    let mut parts = Vec::new();
    for repository in repositories(cache) {
        let blobs = RepositoryFolder::new(cache, &repository).path().join("blobs");
        for entry in fs::read_dir(blobs).into_iter().flatten().flatten() {
            let is_part = entry.file_name().to_str().is_some_and(|name| name.ends_with(PART_SUFFIX));
            let metadata = entry.metadata().ok().filter(|metadata| is_part && metadata.is_file());
            let part = metadata.map(|found| CachedPart {
                repository: repository.clone(),
                size: found.len(),
                path: entry.path(),
            });
            parts.extend(part);
        }
    }
    parts.sort_by(|a, b| a.path.cmp(&b.path));
    parts
}

/// Removes parts that have not grown for a while and that nobody is downloading. Returns those that were removed.
pub(crate) fn sweep(cache: &Path, age: Duration) -> Result<Vec<CachedPart>> {
    let mut removed = Vec::new();
    for part in parts(cache) {
        let changed = fs::metadata(&part.path).and_then(|found| found.modified());
        let is_old = changed.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|passed| age <= passed));
        if is_old && !is_locked(cache, &part) {
            fs::remove_file(&part.path).map_err(|err| file_error("remove", &part.path, err))?;
            removed.push(part);
        }
    }
    Ok(removed)
}

fn is_locked(cache: &Path, part: &CachedPart) -> bool {
    let folder = RepositoryFolder::new(cache, &part.repository);
    let digest = part.path.file_name().and_then(|name| name.to_str()?.strip_suffix(PART_SUFFIX)).unwrap_or_default();
    let name = folder.path().file_name().unwrap_or_default();
    let lock = File::open(cache.join(".locks").join(name).join(format!("{digest}.lock")));
    lock.is_ok_and(|lock| matches!(try_lock(&lock), Ok(false)))
}

/// Reads all files of a model and compares their digests.
pub(crate) fn verify(cache: &Path, name: &ModelName, watch: &Watch) -> Result<Vec<VerifiedFile>> {
    let store = RepositoryStore::new(cache, &name.repository());
    let (commit, files) = model_files(&store, name)?;
    let notes = store.noted(&commit);
    let snapshot = store.folder().snapshot(&commit);
    let size = |path: &String| fs::metadata(snapshot.join(path)).map_or(0, |found| found.len());
    watch.begin(files.iter().map(size).sum(), 0);
    let state = |path: &String| {
        // The name of a blob is its digest; links say which it is.
        let linked = fs::read_link(snapshot.join(path)).ok();
        let digest = linked.and_then(|target| FileDigest::parse(target.file_name()?.to_str()?));
        match digest.or_else(|| Some(notes.get(path)?.digest.clone())) {
            Some(digest) if has_digest(&snapshot.join(path), path, &digest, watch)? => Ok(FileState::Right),
            Some(_) => Ok(FileState::Damaged),
            None => Ok(FileState::Unknown),
        }
    };
    files.iter().map(|path| Ok(VerifiedFile { path: path.clone(), state: state(path)? })).collect()
}

/// Whether a file has a digest.
pub(crate) fn has_digest(place: &Path, path: &str, digest: &FileDigest, watch: &Watch) -> Result<bool> {
    let failed = |err| file_error("read", place, err);
    let mut file = File::open(place).map_err(failed)?;
    let mut hasher = digest.hasher(file.metadata().map_err(failed)?.len());
    let mut buffer = vec![0; PIECE];
    loop {
        watch.check()?;
        let n_read = file.read(&mut buffer).map_err(failed)?;
        if n_read == 0 {
            return Ok(hasher.finish() == *digest);
        }
        hasher.update(&buffer[..n_read]);
        watch.correct(0, n_read as u64);
        watch.enter(PullState::Verifying, path);
    }
}

/// The commit and the files of a model in the cache, its companions included.
fn model_files(store: &RepositoryStore, name: &ModelName) -> Result<(String, Vec<String>)> {
    let commit = store.folder().commit(name.revision.as_deref()).ok_or_else(|| not_cached(store, name))?;
    match store.folder().model(name, &commit).map_err(|err| not_cached(store, name).caused_by(err))? {
        ModelFiles::Gguf(mut files) => {
            files.extend(companions_of(&store.folder().snapshot(&commit), &files));
            Ok((commit, files))
        }
        ModelFiles::Folder { files, .. } => Ok((commit, files)),
    }
}

fn not_cached(store: &RepositoryStore, name: &ModelName) -> SdkError {
    let message = format!("{name} must be a model of the cache at {}", store.cache().display());
    SdkError::new(ErrorKind::ModelNotFound, message)
}

/// Removes a model; without a tag, all of its repository. A file stays as long as another model of its snapshot needs it, and a
/// blob as long as a snapshot names it. Returns the bytes that are free now.
pub(crate) fn remove(cache: &Path, name: &ModelName) -> Result<u64> {
    let store = RepositoryStore::new(cache, &name.repository());
    let root = store.folder().path();
    let before = size_on_disk(root);
    if name.tag.is_none() && name.revision.is_none() {
        if !root.is_dir() {
            return Err(not_cached(&store, name));
        }
        // Links are removed, not followed.
        fs::remove_dir_all(root).map_err(|err| file_error("remove", root, err))?;
        return Ok(before);
    }
    let (commit, files) = model_files(&store, name)?;
    let snapshot = store.folder().snapshot(&commit);
    let mut models = models_of(store.folder(), &name.repository(), &commit);
    models.retain(|model| model.files.first() != files.first());
    let is_shared = |path: &String| models.iter().any(|model| model.files().any(|file| file == path));
    let mut blobs = BTreeSet::new();
    for path in files.into_iter().filter(|path| !is_shared(path)) {
        let link = snapshot.join(&path);
        blobs.extend(fs::read_link(&link).ok().and_then(|target| FileDigest::parse(target.file_name()?.to_str()?)));
        fs::remove_file(&link).map_err(|err| file_error("remove", &link, err))?;
    }
    remove_empty(root, &commit);
    let used = used_blobs(&root.join("snapshots"));
    for digest in blobs.into_iter().filter(|digest| !used.contains(digest)) {
        let blob = store.blob(&digest);
        match fs::remove_file(&blob) {
            // Some tools link to files elsewhere.
            Err(err) if err.kind() != IoErrorKind::NotFound => return Err(file_error("remove", &blob, err)),
            _ => {}
        }
    }
    Ok(before.saturating_sub(size_on_disk(root)))
}

/// Removes a snapshot without files, and the references to it: other tools call such a repository corrupt.
fn remove_empty(root: &Path, commit: &str) {
    let snapshot = root.join("snapshots").join(commit);
    if !entries_below(&snapshot).is_empty() || fs::remove_dir_all(&snapshot).is_err() {
        return;
    }
    for path in entries_below(&root.join("refs")) {
        if fs::read_to_string(&path).is_ok_and(|text| text.trim() == commit) {
            let _ = fs::remove_file(path);
        }
    }
    let _ = fs::remove_file(root.join(".causerie").join(format!("{commit}.json")));
}

fn used_blobs(snapshots: &Path) -> BTreeSet<FileDigest> {
    let digest = |path: PathBuf| FileDigest::parse(fs::read_link(path).ok()?.file_name()?.to_str()?);
    entries_below(snapshots).into_iter().filter_map(digest).collect()
}

fn size_on_disk(folder: &Path) -> u64 {
    let size =
        |path: &PathBuf| fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file).map_or(0, |found| found.len());
    entries_below(folder).iter().map(size).sum()
}
