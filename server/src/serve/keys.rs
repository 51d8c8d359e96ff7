//! Keys of the hosted form, `<id>:<secret>`: shown once, when they are made, and kept as hashes.

use std::error::Error;
use std::fmt::{self, Write as _};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// What is kept of a key. The secret cannot be found from it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// What stands before the colon; no secret.
    pub id: String,
    /// SHA-256 of the secret, as 64 hexadecimal digits.
    hash: String,
    /// The organization that the key belongs to.
    pub owner: String,
    /// When it was made.
    pub created: Timestamp,
    /// Since when it is good for nothing, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<Timestamp>,
}

impl Key {
    /// A new key of an organization: what is kept of it, and the key itself, which nothing gives back later.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn create(owner: &str) -> io::Result<(Self, String)> {
        let (mut id, mut secret) = ([0; 8], [0; 32]);
        getrandom::fill(&mut id)?;
        getrandom::fill(&mut secret)?;
        let (id, secret) = (hexadecimal(&id), hexadecimal(&secret));
        let hash = hexadecimal(&Sha256::digest(&secret));
        let shown = format!("{id}:{secret}");
        Ok((Self { id, hash, owner: owner.to_owned(), created: Timestamp::now(), revoked: None }, shown))
    }

    /// Takes as long for a wrong secret as for the right one.
    fn fits(&self, secret_hash: &str) -> bool {
        self.hash.as_bytes().ct_eq(secret_hash.as_bytes()).into()
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // never fails
        text
    })
}

/// Why a file of keys cannot be used.
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

/// A file of keys, as `causerie keys` changes it: a JSON array of [`Key`].
pub struct KeyFile {
    path: PathBuf,
}

impl KeyFile {
    /// The file at this place, which need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// All keys of the file.
    ///
    /// # Errors
    /// When there is no file, or it holds something else.
    pub fn read(&self) -> Result<Vec<Key>, KeysError> {
        let bytes = fs::read(&self.path).map_err(|err| KeysError::new(&self.path, err))?;
        let keys: Vec<Key> = serde_json::from_slice(&bytes).map_err(|err| KeysError::new(&self.path, err))?;
        match keys.iter().find(|key| key.hash.len() != 64) {
            Some(key) => Err(KeysError::new(&self.path, format!("the hash of {} is no SHA-256", key.id))),
            None => Ok(keys),
        }
    }

    /// Changes the keys, whole or not at all. A file that does not exist has none.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn change<T>(&self, change: impl FnOnce(&mut Vec<Key>) -> T) -> Result<T, KeysError> {
        let failed = |err: io::Error| KeysError::new(&self.path, err);
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        // Held until the end: of two commands at once, none undoes what the other did.
        let lock = File::create(self.path.with_extension("lock")).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut keys = if self.path.exists() { self.read()? } else { Vec::new() };
        let changed = change(&mut keys);
        self.write(&keys).map_err(failed)?;
        Ok(changed)
    }

    fn write(&self, keys: &[Key]) -> io::Result<()> {
        let unfinished = self.path.with_extension("tmp");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&unfinished)?;
        file.write_all(&serde_json::to_vec_pretty(keys)?)?;
        file.sync_all()?;
        fs::rename(unfinished, &self.path)
    }
}

/// The keys that a server knows. Those of a file are read anew when the file has changed.
#[derive(Debug, Default)]
pub struct KeyRing {
    path: Option<PathBuf>,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    keys: Vec<Key>,
    /// The file as it was when it was last looked at.
    seen: Option<Seen>,
}

/// What is different when a file is.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    modified: Option<SystemTime>,
    length: u64,
    /// A file that took the other's place has another number.
    number: u64,
}

impl Seen {
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
    /// These keys, for good.
    pub fn fixed(keys: Vec<Key>) -> Self {
        Self { path: None, held: Mutex::new(Held { keys, seen: None }) }
    }

    /// The keys of a file, as they are at any time. While the file cannot be read, those that it had are in force.
    ///
    /// # Errors
    /// When it cannot be read at first.
    pub fn watch(path: impl Into<PathBuf>) -> Result<Self, KeysError> {
        let path = path.into();
        let seen = Seen::at(&path);
        let keys = KeyFile::new(&path).read()?;
        Ok(Self { path: Some(path), held: Mutex::new(Held { keys, seen }) })
    }

    /// Whose key this is, if it is one that has not been revoked.
    pub(super) fn owner(&self, key: &str) -> Option<String> {
        let (id, secret) = key.split_once(':')?;
        let hash = hexadecimal(&Sha256::digest(secret));
        let held = self.held();
        let found = held.keys.iter().find(|key| key.id == id)?;
        (found.fits(&hash) && found.revoked.is_none()).then(|| found.owner.clone())
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Held> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = &self.path {
            let seen = Seen::at(path);
            if seen != held.seen {
                held.seen = seen;
                match KeyFile::new(path).read() {
                    Ok(keys) => held.keys = keys,
                    Err(err) => eprintln!("causerie: {err}; the keys read before stay in force"),
                }
            }
        }
        held
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
    fn a_key_is_known_by_its_id_and_its_whole_secret() {
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
    fn keys_of_a_file_are_those_it_has_now() {
        let file = file("reload");
        let (key, shown) = Key::create("acme").unwrap();
        assert!(KeyRing::watch(&file.path).is_err(), "there is none yet");
        file.change(|keys| keys.push(key)).unwrap();
        let ring = KeyRing::watch(&file.path).unwrap();
        assert!(ring.owner(&shown).is_some());
        fs::write(&file.path, "[{").unwrap();
        assert!(ring.owner(&shown).is_some(), "what cannot be read changes nothing");
        fs::remove_file(&file.path).unwrap();
        assert!(ring.owner(&shown).is_some());
        let (other, shown_later) = Key::create("acme").unwrap();
        file.change(|keys| keys.push(other)).unwrap();
        assert!(ring.owner(&shown).is_none() && ring.owner(&shown_later).is_some());
        file.change(|keys| keys[0].revoked = Some(Timestamp::now())).unwrap();
        assert!(ring.owner(&shown_later).is_none());
    }

    #[test]
    fn what_is_no_file_of_keys_is_told() {
        let file = file("wrong");
        fs::create_dir_all(file.path.parent().unwrap()).unwrap();
        let time = r#""created": "2026-01-01T00:00:00Z""#;
        for (text, expect) in [
            ("", "EOF"),
            ("{}", "expected a sequence"),
            (&format!(r#"[{{"id": "a", "hash": "b", "owner": "c", {time}}}]"#), "the hash of a is no SHA-256"),
            (&format!(r#"[{{"id": "a", "hash": "b", "owner": "c", "revokd": 1, {time}}}]"#), "revokd"),
        ] {
            fs::write(&file.path, text).unwrap();
            let told = file.read().unwrap_err().to_string();
            assert!(told.starts_with("cannot use the keys at ") && told.contains(expect), "{told}");
            assert!(file.change(|_| ()).is_err(), "and it is not written over");
        }
    }

    #[test]
    #[cfg(unix)]
    fn only_its_owner_reads_a_file_of_keys() {
        let file = file("mode");
        file.change(|_| ()).unwrap();
        let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(&file.path).unwrap());
        assert_eq!(mode & 0o777, 0o600);
    }
}
