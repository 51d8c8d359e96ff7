//! Writes into the cache. A file gets its final name only after its size and digest are checked, and by rename alone.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind as IoErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use causerie::names::RepositoryFolder;
use causerie::{Result, SdkError};
#[cfg(unix)]
use rustix::fs::FlockOperation;
#[cfg(unix)]
use rustix::io::Errno;
use serde_json::json;

use crate::digest::FileDigest;
use crate::fault::{file_error, no_space, storage};
use crate::plan::{DownloadPlan, PlannedFile};
use crate::progress::{PullState, Watch};
use crate::space::free_bytes;

/// How often a lock that another process holds is tried.
const LOCK_PAUSE: Duration = Duration::from_millis(100);
/// The end of the names of partial files. No other tool touches them.
pub(crate) const PART_SUFFIX: &str = ".causerie.incomplete";
/// Marks the folder as one that backups may leave out.
const CACHE_TAG: &str =
    "Signature: 8a477f597d28d172789f06886806bc55\n# This folder holds downloads that can be fetched again.\n";

/// The folder of one repository, as it is written.
pub(crate) struct RepositoryStore {
    cache: PathBuf,
    folder: RepositoryFolder,
}

impl RepositoryStore {
    pub(crate) fn new(cache: &Path, repository: &str) -> Self {
        Self { cache: cache.to_owned(), folder: RepositoryFolder::new(cache, repository) }
    }

    pub(crate) fn cache(&self) -> &Path {
        &self.cache
    }

    pub(crate) fn folder(&self) -> &RepositoryFolder {
        &self.folder
    }

    pub(crate) fn blob(&self, digest: &FileDigest) -> PathBuf {
        self.folder.path().join("blobs").join(digest.hex())
    }

    /// The place where a download writes: without a lock, one that no other download has.
    pub(crate) fn part_under(&self, lock: &BlobLock, digest: &FileDigest) -> PathBuf {
        if lock.file.is_some() {
            return self.part(digest);
        }
        let unique = format!("{digest}.{}-{:08x}{PART_SUFFIX}", std::process::id(), fastrand::u32(..));
        self.folder.path().join("blobs").join(unique)
    }

    /// The place of the bytes of a file that is not complete.
    pub(crate) fn part(&self, digest: &FileDigest) -> PathBuf {
        self.folder.path().join("blobs").join(format!("{digest}{PART_SUFFIX}"))
    }

    fn snapshot_file(&self, plan: &DownloadPlan, file: &PlannedFile) -> PathBuf {
        self.folder.snapshot(&plan.commit).join(&file.path)
    }

    /// Whether a file is there with its full size: as a blob, or in the snapshot itself where the system has no links.
    pub(crate) fn has(&self, plan: &DownloadPlan, file: &PlannedFile) -> bool {
        let has_size = |path: &Path| fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() == file.size);
        let there = self.snapshot_file(plan, file);
        let is_plain = fs::symlink_metadata(&there).is_ok_and(|found| found.is_file());
        has_size(&self.blob(&file.digest)) || is_plain && has_size(&there)
    }

    /// The bytes of a file that an earlier download left.
    pub(crate) fn part_length(&self, file: &PlannedFile) -> u64 {
        let part = fs::symlink_metadata(self.part(&file.digest));
        part.ok().filter(fs::Metadata::is_file).map_or(0, |part| part.len().min(file.size))
    }

    /// Waits until no other download, of this process or of another one, writes the file. The lock is that of Hugging Face's
    /// tools. Where the system has no locks, the rename alone keeps files whole.
    pub(crate) fn lock(&self, file: &PlannedFile, watch: &Watch) -> Result<BlobLock> {
        self.create_folders()?;
        let name = self.folder.path().file_name().unwrap_or_default();
        let path = self.cache.join(".locks").join(name).join(format!("{}.lock", file.digest));
        create_parent(&path)?;
        let lock =
            OpenOptions::new().create(true).append(true).open(&path).map_err(|err| file_error("open", &path, err))?;
        loop {
            match try_lock(&lock) {
                Ok(true) => return Ok(BlobLock { file: Some(lock) }),
                Ok(false) => {
                    watch.enter(PullState::Waiting, &file.path);
                    watch.pause(LOCK_PAUSE)?;
                }
                Err(err) if err.kind() == IoErrorKind::Unsupported => return Ok(BlobLock { file: None }),
                Err(err) => return Err(file_error("lock", &path, err)),
            }
        }
    }

    fn create_folders(&self) -> Result<()> {
        let is_new = !self.cache.exists();
        let blobs = self.folder.path().join("blobs");
        fs::create_dir_all(&blobs).map_err(|err| file_error("create", &blobs, err))?;
        if is_new {
            // Nothing depends on it.
            let _ = fs::write(self.cache.join("CACHEDIR.TAG"), CACHE_TAG);
        }
        Ok(())
    }

    /// Gives a checked partial file its final name.
    pub(crate) fn install(&self, part: &Path, digest: &FileDigest) -> Result<()> {
        let blob = self.blob(digest);
        fs::rename(part, &blob).map_err(|err| file_error("write", &blob, err))?;
        sync_parent(&blob);
        Ok(())
    }

    /// Makes the model visible: its files, as links if those are used, then the revision, then the note of what was checked. Writes
    /// nothing that exists already, so that a complete cache may be read-only.
    pub(crate) fn finish(&self, plan: &DownloadPlan, uses_links: bool) -> Result<()> {
        self.write_contents(plan)?;
        if let Some(file) = plan.files.iter().find(|file| !self.has(plan, file)) {
            return Err(storage(format!("{} of {} must be installed first", file.path, plan.repository), None));
        }
        for file in &plan.files {
            self.show(plan, file, uses_links)?;
        }
        self.write_reference(plan)?;
        self.write_note(plan)
    }

    /// Writes the files whose contents are part of the plan.
    pub(crate) fn write_contents(&self, plan: &DownloadPlan) -> Result<()> {
        for file in plan.files.iter().filter(|file| !self.has(plan, file)) {
            if let Some(content) = &file.content {
                self.create_folders()?;
                self.write(&self.blob(&file.digest), content)?;
            }
        }
        Ok(())
    }

    /// Puts a file into the snapshot of its commit.
    fn show(&self, plan: &DownloadPlan, file: &PlannedFile, uses_links: bool) -> Result<()> {
        let there = self.snapshot_file(plan, file);
        let target = format!("{}blobs/{}", "../".repeat(2 + file.path.matches('/').count()), file.digest);
        let is_linked = fs::read_link(&there).is_ok_and(|found| found == Path::new(&target));
        let is_whole = fs::symlink_metadata(&there).is_ok_and(|found| found.is_file() && found.len() == file.size);
        if is_whole || is_linked && uses_links {
            return Ok(());
        }
        match self.link_or_move(plan, file, uses_links.then_some(&target)) {
            // A link serves if the cache cannot be changed.
            Err(_) if is_linked => Ok(()),
            done => done,
        }
    }

    /// Makes a link to a target. Without one, and on disks that have no links, the file itself goes into the snapshot.
    fn link_or_move(&self, plan: &DownloadPlan, file: &PlannedFile, target: Option<&String>) -> Result<()> {
        let (there, blob) = (self.snapshot_file(plan, file), self.blob(&file.digest));
        create_parent(&there)?;
        let failed = |err| self.write_error(&there, file.size, err);
        let temporary = self.temporary(&there)?;
        if target.is_some_and(|target| symlink(target, &temporary).is_ok()) {
            return fs::rename(&temporary, &there).map_err(failed);
        }
        if !self.is_needed_elsewhere(plan, file) {
            return fs::rename(&blob, &there).map_err(failed);
        }
        let copied =
            fs::copy(&blob, &temporary).and_then(|_| OpenOptions::new().append(true).open(&temporary)?.sync_all());
        copied.and_then(|()| fs::rename(&temporary, &there)).map_err(|err| {
            let _ = fs::remove_file(&temporary);
            failed(err)
        })
    }

    /// Whether a blob must stay where it is: for another file of the plan, for a link of another version, or because it is itself a
    /// link to a store that repositories share.
    fn is_needed_elsewhere(&self, plan: &DownloadPlan, file: &PlannedFile) -> bool {
        let there = self.snapshot_file(plan, file);
        let is_twin = |other: &PlannedFile| {
            let place = self.snapshot_file(plan, other);
            other.digest == file.digest
                && place != there
                && !fs::symlink_metadata(place).is_ok_and(|found| found.is_file())
        };
        let leads_there = |link: &PathBuf| {
            let target = fs::read_link(link).ok();
            *link != there && target.is_some_and(|target| target.file_name() == Some(file.digest.hex().as_ref()))
        };
        fs::symlink_metadata(self.blob(&file.digest)).is_ok_and(|found| found.is_symlink())
            || plan.files.iter().any(is_twin)
            || entries_below(&self.folder.path().join("snapshots")).iter().any(leads_there)
    }

    /// A new name in a folder of our own, on the same disk.
    fn temporary(&self, path: &Path) -> Result<PathBuf> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let unique = format!("{}-{:08x}-{name}", std::process::id(), fastrand::u32(..));
        let temporary = self.folder.path().join(".causerie").join(unique);
        create_parent(&temporary)?;
        Ok(temporary)
    }

    fn write_reference(&self, plan: &DownloadPlan) -> Result<()> {
        let name = plan.model_name()?;
        if name.revision().eq_ignore_ascii_case(&plan.commit) {
            return Ok(());
        }
        // Without a newline: other tools do not trim it.
        self.write(&self.folder.path().join("refs").join(name.revision()), &plan.commit)
    }

    fn write_note(&self, plan: &DownloadPlan) -> Result<()> {
        let path = self.note(&plan.commit);
        let mut files = self.noted(&plan.commit);
        files.extend(plan.files.iter().map(|file| (file.path.clone(), file.clone())));
        let entry = |file: &PlannedFile| match &file.digest {
            FileDigest::Sha256(hex) => json!({"size": file.size, "sha256": hex}),
            FileDigest::GitBlob(hex) => json!({"size": file.size, "git_blob": hex}),
            FileDigest::Unknown(_) => json!({"size": file.size}),
        };
        let files: serde_json::Map<_, _> = files.iter().map(|(path, file)| (path.clone(), entry(file))).collect();
        self.write(&path, &json!({"format_version": 1, "files": files}).to_string())
    }

    fn note(&self, commit: &str) -> PathBuf {
        self.folder.path().join(".causerie").join(format!("{commit}.json"))
    }

    /// The files of a commit that downloads of this project have checked, by path.
    pub(crate) fn noted(&self, commit: &str) -> BTreeMap<String, PlannedFile> {
        let note = fs::read(self.note(commit)).unwrap_or_default();
        let note: serde_json::Value = serde_json::from_slice(&note).unwrap_or_default();
        let entries = note.get("files").and_then(serde_json::Value::as_object).into_iter().flatten();
        let file = |(path, entry): (&String, &serde_json::Value)| {
            let digest = entry.get("sha256").or_else(|| entry.get("git_blob"))?.as_str()?;
            let size = entry.get("size")?.as_u64()?;
            Some((path.clone(), PlannedFile::new(path, size, FileDigest::parse(digest)?)))
        };
        entries.filter_map(file).collect()
    }

    /// Writes a small file by rename, unless it has this content.
    fn write(&self, path: &Path, content: &str) -> Result<()> {
        if fs::read(path).is_ok_and(|found| found == content.as_bytes()) {
            return Ok(());
        }
        create_parent(path)?;
        let temporary = self.temporary(path)?;
        let written = File::create(&temporary).and_then(|mut file| {
            file.write_all(content.as_bytes())?;
            file.sync_all()
        });
        let renamed = written.and_then(|()| fs::rename(&temporary, path));
        renamed.map_err(|err| {
            let _ = fs::remove_file(&temporary);
            self.write_error(path, content.len() as u64, err)
        })
    }

    /// The error of a failed write, which is `NoSpace` if the disk is full.
    pub(crate) fn write_error(&self, path: &Path, needed: u64, err: io::Error) -> SdkError {
        match err.kind() {
            IoErrorKind::StorageFull | IoErrorKind::QuotaExceeded => {
                no_space(needed, free_bytes(&self.cache).unwrap_or_default())
            }
            _ => file_error("write", path, err),
        }
    }
}

/// All files and links below a folder. Links are not followed.
pub(crate) fn entries_below(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder { open.push(entry.path()) } else { found.push(entry.path()) }
        }
    }
    found
}

/// Held while a file is written. It is given back when dropped, and by the system if the process dies.
pub(crate) struct BlobLock {
    /// `None` where the disk has no locks.
    file: Option<File>,
}

/// Takes the exclusive lock of a file, unless somebody else has it: then `false`. This is what `File::try_lock` does, but that is
/// not supported on Android before Rust 1.98.
#[cfg(unix)]
pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        // Some network disks have no locks at all.
        Err(Errno::NOLCK) => Err(IoErrorKind::Unsupported.into()),
        Err(err) => Err(err.into()),
    }
}

#[cfg(not(unix))]
pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(fs::TryLockError::WouldBlock) => Ok(false),
        Err(fs::TryLockError::Error(err)) => Err(err),
    }
}

fn create_parent(path: &Path) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|err| file_error("create", folder, err))
}

/// Makes a rename survive a power cut, where the system can open folders.
fn sync_parent(path: &Path) {
    if let Some(folder) = path.parent().and_then(|folder| File::open(folder).ok()) {
        let _ = folder.sync_all();
    }
}

#[cfg(unix)]
fn symlink(target: &str, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(windows)]
fn symlink(target: &str, link: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_file(target.replace('/', "\\"), link)
}

#[cfg(not(any(unix, windows)))]
fn symlink(_: &str, _: &Path) -> io::Result<()> {
    Err(IoErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn downloads_without_a_lock_write_to_places_of_their_own() {
        let store = RepositoryStore::new("/cache".as_ref(), "ns/name");
        let digest = FileDigest::from_content(b"x");
        let places = || [BlobLock { file: None }, BlobLock { file: None }].map(|lock| store.part_under(&lock, &digest));
        let [one, other] = places();
        assert_ne!(one, other);
        assert!(one.to_str().is_some_and(|path| path.ends_with(PART_SUFFIX)), "it is listed and swept like others");
    }
}
