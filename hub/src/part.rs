//! A file whose download is not complete, with the digest of its bytes so far.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use causerie::Result;

use crate::digest::{ContentHasher, FileDigest};
use crate::fault::file_error;
use crate::plan::PlannedFile;
use crate::progress::{PullState, Watch};

/// Bytes that are read or hashed in one go.
pub(crate) const PIECE: usize = 256 << 10;

/// A partial file, open for appending.
pub(crate) struct BlobPart<'a> {
    planned: &'a PlannedFile,
    path: PathBuf,
    file: File,
    hasher: ContentHasher,
    length: u64,
}

impl<'a> BlobPart<'a> {
    /// Opens the bytes that an earlier download left, and hashes them again: a crash may have damaged their end.
    pub(crate) fn open(path: PathBuf, planned: &'a PlannedFile, watch: &Watch) -> Result<Self> {
        let file = open_plain(&path).map_err(|err| file_error("open", &path, err))?;
        let hasher = planned.digest.hasher(planned.size);
        let mut part = Self { planned, path, file, hasher, length: 0 };
        part.hash_kept(watch)?;
        Ok(part)
    }

    fn hash_kept(&mut self, watch: &Watch) -> Result<()> {
        let failed = |path: &Path, err| file_error("read", path, err);
        let kept = self.file.metadata().map_err(|err| failed(&self.path, err))?.len();
        if self.planned.size < kept {
            return self.discard(watch);
        }
        if 0 < kept {
            watch.enter(PullState::Verifying, &self.planned.path);
        }
        let mut buffer = vec![0; PIECE];
        while self.length < kept {
            watch.check()?;
            let n_read = self.file.read(&mut buffer).map_err(|err| failed(&self.path, err))?;
            if n_read == 0 {
                break;
            }
            self.hasher.update(&buffer[..n_read]);
            self.length += n_read as u64;
        }
        Ok(())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    pub(crate) fn missing(&self) -> u64 {
        self.planned.size - self.length // it never grows beyond the size
    }

    /// Appends bytes, no more than are missing.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(err) = self.file.write_all(bytes) {
            // An unknown number of bytes was written; those that were hashed count.
            let _ = self.file.set_len(self.length).and_then(|()| self.file.seek(SeekFrom::End(0)));
            return Err(err);
        }
        self.hasher.update(bytes);
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Begins anew, with no bytes.
    pub(crate) fn discard(&mut self, watch: &Watch) -> Result<()> {
        let emptied = self.file.set_len(0).and_then(|()| self.file.seek(SeekFrom::Start(0)));
        emptied.map_err(|err| file_error("write", &self.path, err))?;
        watch.correct(self.length, 0);
        self.hasher = self.planned.digest.hasher(self.planned.size);
        self.length = 0;
        Ok(())
    }

    /// The digest of the complete file, if it is the right one. Then the file is safely on the disk.
    pub(crate) fn right_digest(&mut self) -> io::Result<Option<FileDigest>> {
        let unused = self.planned.digest.hasher(self.planned.size);
        let found = std::mem::replace(&mut self.hasher, unused).finish();
        if self.length != self.planned.size || !self.planned.digest.is_of(&found) {
            return Ok(None);
        }
        self.file.sync_all().map(|()| Some(found))
    }
}

/// Opens or creates an ordinary file. A link in its place is removed, never followed.
fn open_plain(path: &Path) -> io::Result<File> {
    let is_other = fs::symlink_metadata(path).is_ok_and(|found| !found.is_file());
    if is_other {
        fs::remove_file(path)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    }
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digest is from `git hash-object`, of "hello\n".
    fn planned() -> PlannedFile {
        let digest = FileDigest::parse("ce013625030ba8dba906f756967f9e9ca394464a").unwrap();
        PlannedFile::new("a", 6, digest)
    }

    #[test]
    fn kept_bytes_count_after_reopening() {
        let folder = tempfile::tempdir().unwrap();
        let (planned, watch) = (planned(), Watch::default());
        let open = || BlobPart::open(folder.path().join("p"), &planned, &watch).unwrap();
        open().append(b"hel").unwrap();
        let mut part = open();
        assert_eq!((part.length(), part.missing()), (3, 3));
        part.append(b"lo\n").unwrap();
        assert_eq!(part.right_digest().unwrap(), Some(planned.digest.clone()));
        assert_eq!(open().right_digest().unwrap(), Some(planned.digest.clone()));
    }

    #[test]
    fn damaged_bytes_are_not_right_and_too_many_are_discarded() {
        let folder = tempfile::tempdir().unwrap();
        let (planned, watch, path) = (planned(), Watch::default(), folder.path().join("p"));
        fs::write(&path, "hellO\n").unwrap();
        assert_eq!(BlobPart::open(path.clone(), &planned, &watch).unwrap().right_digest().unwrap(), None);
        fs::write(&path, "hello\n and more").unwrap();
        assert_eq!(BlobPart::open(path.clone(), &planned, &watch).unwrap().length(), 0);
        assert_eq!(fs::metadata(path).unwrap().len(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_never_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let (planned, watch, path) = (planned(), Watch::default(), folder.path().join("p"));
        let victim = folder.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        BlobPart::open(path, &planned, &watch).unwrap().append(b"hel").unwrap();
        assert_eq!(fs::read_to_string(victim).unwrap(), "mine");
    }
}
