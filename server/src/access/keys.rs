//! API keys, `<id>:<secret>`: shown once, when they are created, and stored as hashes.

use std::error::Error;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tempfile::NamedTempFile;

use crate::log;

/// A key as it is stored. The secret cannot be computed from it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// The part before the colon, which is public.
    pub id: String,
    /// SHA-256 of the secret, as 64 hexadecimal digits.
    hash: String,
    /// The organization that the key belongs to.
    pub owner: String,
    /// When the key was created.
    pub created: Timestamp,
    /// When the key was revoked, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<Timestamp>,
}

impl Key {
    /// Creates a key for an organization. Returns the stored form and the key itself, which cannot be recovered later.
    ///
    /// # Errors
    /// When the system's random number generator fails.
    pub fn create(owner: &str) -> io::Result<(Self, String)> {
        let (mut id, mut secret) = ([0; 8], [0; 32]);
        getrandom::fill(&mut id)?;
        getrandom::fill(&mut secret)?;
        let (id, secret) = (hex::encode(id), hex::encode(secret));
        let hash = hex::encode(Sha256::digest(&secret));
        let shown = format!("{id}:{secret}");
        Ok((Self { id, hash, owner: owner.to_owned(), created: Timestamp::now(), revoked: None }, shown))
    }

    /// Compares in constant time.
    fn fits(&self, secret_hash: &str) -> bool {
        self.hash.as_bytes().ct_eq(secret_hash.as_bytes()).into()
    }
}

/// Why a key file cannot be used.
#[derive(Debug)]
pub struct KeysError {
    path: PathBuf,
    problem: String,
}

impl KeysError {
    fn new(path: &Path, problem: impl ToString) -> Self {
        Self { path: path.to_owned(), problem: problem.to_string() }
    }
}

impl fmt::Display for KeysError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "cannot use the keys at {}: {}", self.path.display(), self.problem)
    }
}

impl Error for KeysError {}

/// A key file, as `causerie keys` maintains it: a JSON array of [`Key`].
pub struct KeyFile {
    path: PathBuf,
}

impl KeyFile {
    /// The key file at this path, which need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Reads all keys.
    ///
    /// # Errors
    /// When the file does not exist or is malformed.
    pub fn read(&self) -> Result<Vec<Key>, KeysError> {
        let bytes = fs::read(&self.path).map_err(|err| KeysError::new(&self.path, err))?;
        let keys: Vec<Key> = serde_json::from_slice(&bytes).map_err(|err| KeysError::new(&self.path, err))?;
        match keys.iter().find(|key| key.hash.len() != 64) {
            Some(key) => Err(KeysError::new(
                &self.path,
                format!("the hash of {} must be the 64 digits of a SHA-256, found {}", key.id, key.hash.len()),
            )),
            None => Ok(keys),
        }
    }

    /// Changes the keys and replaces the file atomically. A file that does not exist has no keys.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn change<T>(&self, change: impl FnOnce(&mut Vec<Key>) -> T) -> Result<T, KeysError> {
        let failed = |err: io::Error| KeysError::new(&self.path, err);
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        // Held until the end, so that two commands at once do not undo each other's changes.
        let lock = File::create(self.path.with_extension("lock")).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut keys = if self.path.exists() { self.read()? } else { Vec::new() };
        let changed = change(&mut keys);
        self.write(&keys).map_err(failed)?;
        Ok(changed)
    }

    /// Only the file's owner can read it.
    fn write(&self, keys: &[Key]) -> io::Result<()> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut file = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
        file.write_all(&serde_json::to_vec_pretty(keys)?)?;
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        Ok(())
    }
}

/// The keys that a server accepts. A key file is read again when it has changed.
#[derive(Debug, Default)]
pub struct KeyRing {
    path: Option<PathBuf>,
    loaded: Mutex<LoadedKeys>,
}

#[derive(Debug, Default)]
struct LoadedKeys {
    keys: Vec<Key>,
    /// The version of the file that was read last.
    version: Option<FileVersion>,
}

/// Metadata that changes when a file does.
#[derive(Debug, PartialEq, Eq)]
struct FileVersion {
    modified: Option<SystemTime>,
    length: u64,
    /// Inode: a file that replaced another one has a different number.
    number: u64,
}

impl FileVersion {
    fn at(path: &Path) -> Option<Self> {
        let file = fs::metadata(path).ok()?;
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&file);
        #[cfg(not(unix))]
        let number = 0;
        Some(Self { modified: file.modified().ok(), length: file.len(), number })
    }
}

impl KeyRing {
    /// A fixed set of keys.
    pub fn fixed(keys: Vec<Key>) -> Self {
        Self { path: None, loaded: Mutex::new(LoadedKeys { keys, version: None }) }
    }

    /// The keys of a file, kept up to date. While the file cannot be read, the keys read before stay in force.
    ///
    /// # Errors
    /// When the first read fails.
    pub fn watch(path: impl Into<PathBuf>) -> Result<Self, KeysError> {
        let path = path.into();
        let version = FileVersion::at(&path);
        let keys = KeyFile::new(&path).read()?;
        Ok(Self { path: Some(path), loaded: Mutex::new(LoadedKeys { keys, version }) })
    }

    /// The organization that a key belongs to; `None` if the key is unknown or revoked.
    pub(super) fn owner(&self, key: &str) -> Option<String> {
        let (id, secret) = key.split_once(':')?;
        let hash = hex::encode(Sha256::digest(secret));
        let loaded = self.current();
        let found = loaded.keys.iter().find(|key| key.id == id)?;
        (found.fits(&hash) && found.revoked.is_none()).then(|| found.owner.clone())
    }

    fn current(&self) -> parking_lot::MutexGuard<'_, LoadedKeys> {
        let mut loaded = self.loaded.lock();
        if let Some(path) = &self.path {
            let version = FileVersion::at(path);
            if version != loaded.version {
                loaded.version = version;
                match KeyFile::new(path).read() {
                    Ok(keys) => loaded.keys = keys,
                    Err(err) => log::line(format_args!("{err}; the keys read before stay in force")),
                }
            }
        }
        loaded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(test: &str) -> KeyFile {
        let folder = std::env::temp_dir().join(format!("causerie-keys-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        KeyFile::new(folder.join("keys.json"))
    }

    #[test]
    fn a_key_is_accepted_by_its_id_and_its_whole_secret() {
        let ((first, shown), (second, other)) = (Key::create("acme").unwrap(), Key::create("acme").unwrap());
        assert_ne!(shown, other);
        let (id, secret) = shown.split_once(':').unwrap();
        assert_eq!(secret.len(), 64, "256 bits");
        let json = serde_json::to_string(&first).unwrap();
        assert!(json.contains(id) && !json.contains(secret));
        let swapped = format!("{}:{secret}", second.id);
        let ring = KeyRing::fixed(vec![first, second]);
        assert_eq!(ring.owner(&shown).as_deref(), Some("acme"));
        for wrong in ["", ":", id, secret, &format!("{id}:"), &shown[..shown.len() - 1], &format!("{shown}0"), &swapped]
        {
            assert_eq!(ring.owner(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_changed_key_file_is_read_again() {
        let file = file("reload");
        let (key, shown) = Key::create("acme").unwrap();
        assert!(KeyRing::watch(&file.path).is_err(), "the file does not exist yet");
        file.change(|keys| keys.push(key)).unwrap();
        let ring = KeyRing::watch(&file.path).unwrap();
        assert!(ring.owner(&shown).is_some());
        fs::write(&file.path, "[{").unwrap();
        assert!(ring.owner(&shown).is_some(), "a file that cannot be read changes nothing");
        fs::remove_file(&file.path).unwrap();
        assert!(ring.owner(&shown).is_some());
        let (other, shown_later) = Key::create("acme").unwrap();
        file.change(|keys| keys.push(other)).unwrap();
        assert!(ring.owner(&shown).is_none() && ring.owner(&shown_later).is_some());
        file.change(|keys| keys[0].revoked = Some(Timestamp::now())).unwrap();
        assert!(ring.owner(&shown_later).is_none());
    }

    #[test]
    fn a_malformed_key_file_is_refused() {
        let file = file("wrong");
        fs::create_dir_all(file.path.parent().unwrap()).unwrap();
        let time = r#""created": "2026-01-01T00:00:00Z""#;
        for (text, expect) in [
            ("", "EOF"),
            ("{}", "expected a sequence"),
            (
                &format!(r#"[{{"id": "a", "hash": "b", "owner": "c", {time}}}]"#),
                "the hash of a must be the 64 digits of a SHA-256, found 1",
            ),
            (&format!(r#"[{{"id": "a", "hash": "b", "owner": "c", "revokd": 1, {time}}}]"#), "revokd"),
        ] {
            fs::write(&file.path, text).unwrap();
            let message = file.read().unwrap_err().to_string();
            assert!(message.starts_with("cannot use the keys at ") && message.contains(expect), "{message}");
            assert!(file.change(|_| ()).is_err(), "the file is not overwritten");
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_key_file_is_readable_by_its_owner_only() {
        let file = file("mode");
        file.change(|_| ()).unwrap();
        let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(&file.path).unwrap());
        assert_eq!(mode & 0o777, 0o600);
    }
}
