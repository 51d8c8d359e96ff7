//! Sessions: conversations saved to files.
//!
//! A session file holds, in this order: `CAUSERIE`, the version (u32), the length (u64) and the text of a JSON object, the
//! length (u64) and the bytes of a cached state, which may be empty, and the SHA-256 of everything before it; integers are
//! little-endian. The JSON object holds `messages`, `now`, the time that the conversation's prompts see, `tokens`, the
//! positions of the history, and `probe` and `window`, which identify the model that computed the state. A position is a
//! token id; an object stands for all rows of an image. Version 2 has such objects, version 1 has none.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Zoned;
use jiff::fmt::temporal::Pieces;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::conversation::messages::Conversation;
use crate::engine::{LoadedModel, Owner};
use crate::error::{ErrorKind, Result, SdkError, SessionFault};
use crate::history::{messages_from_json, messages_to_json};
use crate::message::ChatMessage;
use crate::model::Inputs;
use crate::position::{Position, can_be_cut_at, uniform_end};
use crate::prompt::Frame;
use crate::runner::ModelRunner;

const MAGIC: &[u8; 8] = b"CAUSERIE";
/// The version of files with embedded content, and of files without.
const VERSION: u32 = 2;
const VERSION_WITHOUT_EMBEDDED: u32 = 1;
/// Size limit of a session file in bytes.
const MAX_BYTES: u64 = 8 << 30;
const CHECKSUM: usize = 32;
/// Tokens whose logits identify the model, and how many of the logits are kept.
const PROBE: usize = 16;
const PROBE_LOGITS: usize = 64;
/// Names that are tried for a temporary file.
const MAX_TRIES: usize = 10_000;

/// The number of the next temporary file.
static NEXT_PART: AtomicU64 = AtomicU64::new(0);

#[derive(Serialize, Deserialize)]
struct SavedSession {
    messages: String,
    now: String,
    tokens: Vec<SavedPositions>,
    /// The model's sliding window; the probe is shorter than a window, so its logits do not depend on it.
    window: Option<usize>,
    probe: Vec<f32>,
}

/// One token, or all rows of one content.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum SavedPositions {
    Token(u32),
    Embedded { digest: String, n_rows: usize },
}

impl SavedPositions {
    fn from_positions(mut positions: &[Position]) -> Vec<Self> {
        let mut saved = Vec::new();
        while let Some(first) = positions.first() {
            let n_rows = match first {
                Position::Token(token) => {
                    saved.push(Self::Token(*token));
                    1
                }
                Position::Embedded { digest, .. } => {
                    let n_rows = uniform_end(positions, 0);
                    saved.push(Self::Embedded { digest: digest.to_string(), n_rows });
                    n_rows
                }
            };
            positions = &positions[n_rows..];
        }
        saved
    }
}

impl Conversation {
    /// Saves the conversation to a file, from which [`ModelRunner::restore_session`] restores it. With `include_cache`, the
    /// model's cached state is saved as well, so that the history need not be prefilled again; it takes as many bytes per
    /// token as the model's cache in memory, often some tens of kilobytes. The file is written whole or not at all.
    ///
    /// ```
    /// # let conversation = causerie::testing::ScriptedModel::new().load()?.create_conversation("");
    /// let file = std::env::temp_dir().join(format!("causerie-{}-saved.session", std::process::id()));
    /// conversation.append_to_history(causerie::ChatMessage::user("Hi"))?;
    /// conversation.save_session(&file, true)?;
    /// # std::fs::remove_file(&file).unwrap();
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] during a generation, [`ErrorKind::Session`] when the file cannot be written,
    /// [`ErrorKind::ModelUnloaded`]; as [`prompt_token_count`](Self::prompt_token_count) for a history that the template
    /// refuses.
    pub fn save_session(&self, path: impl AsRef<Path>, include_cache: bool) -> Result<()> {
        let history = self.requests.edit(|history| history.clone())?;
        let loaded = self.runner.loaded()?;
        let positions = positions(&loaded, &history, &self.now)?;
        let mut saved = SavedSession {
            messages: messages_to_json(&history),
            now: self.now.to_string(),
            tokens: SavedPositions::from_positions(&positions),
            window: self.runner.info().sliding_window,
            probe: Vec::new(),
        };
        let mut cache = Vec::new();
        if include_cache {
            let owner = self.owner;
            let state = self.runner.engine().visit(move |_, cache| cache.find(&positions, owner))?;
            if let Some(state) = state
                && let Some(bytes) = state.save().unwrap_or_else(without_cache)
            {
                saved.probe = probe(&loaded)?;
                cache = bytes;
            }
        }
        let json = serde_json::to_vec(&saved).map_err(|err| corrupt().caused_by(err))?;
        let version = match saved.tokens.iter().all(|saved| matches!(saved, SavedPositions::Token(_))) {
            true => VERSION_WITHOUT_EMBEDDED,
            false => VERSION,
        };
        write_whole(path.as_ref(), version, &[&json, &cache]).map_err(|err| fault(path.as_ref(), err))
    }
}

/// A GPU that is lost takes the state with it, and not the history.
fn without_cache(err: SdkError) -> Option<Vec<u8>> {
    log::warn!("the session is saved without its cached state: {err}");
    None
}

impl ModelRunner {
    /// Restores a conversation that [`Conversation::save_session`] has saved: its history, its functions, and the time that
    /// its prompts see. A cached state in the file is used if this model computes the same as the model that saved it, and
    /// ignored otherwise. Whoever writes the file can store a state that does not match the history: it influences the
    /// restored conversation and its forks, and no other.
    ///
    /// ```
    /// # let conversation = causerie::testing::ScriptedModel::new().load()?.create_conversation("");
    /// let file = std::env::temp_dir().join(format!("causerie-{}-restored.session", std::process::id()));
    /// conversation.append_to_history(causerie::ChatMessage::user("Hi"))?;
    /// conversation.save_session(&file, false)?;
    /// let restored = conversation.model_runner().restore_session(&file)?;
    /// assert_eq!(restored.history(), conversation.history());
    /// # std::fs::remove_file(&file).unwrap();
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Session`] with the [fault](SessionFault): a file that cannot be read, is damaged, or has a later
    /// version; a model that makes another prompt of the history. [`ErrorKind::ModelUnloaded`].
    pub fn restore_session(&self, path: impl AsRef<Path>) -> Result<Conversation> {
        let path = path.as_ref();
        let bytes = read(path).map_err(|err| fault(path, err))?;
        let (json, cache) = parts(&bytes)?;
        let saved: SavedSession = serde_json::from_slice(json).map_err(|err| corrupt().caused_by(err))?;
        let history = messages_from_json(&saved.messages).map_err(|err| corrupt().caused_by(err))?;
        let now = time(&saved.now).map_err(|err| corrupt().caused_by(err))?;
        let loaded = self.loaded()?;
        let positions = positions(&loaded, &history, &now)?;
        if SavedPositions::from_positions(&positions) != saved.tokens {
            return Err(SdkError::new(
                ErrorKind::Session(SessionFault::Model),
                "this model makes another prompt of the session than the model that it was saved with",
            ));
        }
        let mut owner = Owner::default();
        if !cache.is_empty()
            && saved.window == self.info().sliding_window
            && is_near(&probe(&loaded)?, &saved.probe)
            && let Some(state) = loaded.model.load_state(cache)
            && let Some(computed) = positions.get(..state.n_positions()).map(<[Position]>::to_vec)
            && can_be_cut_at(&positions, computed.len())
        {
            owner = Owner::new();
            self.engine().visit(move |_, cache| cache.keep(&computed, state, owner))?;
        }
        Ok(Conversation::new(self.clone(), history, now, owner))
    }
}

/// Parses a saved time. If its zone is unknown, or its rules have changed, only its offset is kept, so that prompts show the
/// same hour as before.
fn time(written: &str) -> Result<Zoned, jiff::Error> {
    written.parse().or_else(|err: jiff::Error| {
        let pieces = Pieces::parse(written)?;
        let (Some(time), Some(offset)) = (pieces.time(), pieces.to_numeric_offset()) else { return Err(err) };
        pieces.date().to_datetime(time).to_zoned(TimeZone::fixed(offset))
    })
}

/// The positions of a history, without a generation prompt.
fn positions(loaded: &LoadedModel, history: &[ChatMessage], now: &Zoned) -> Result<Vec<Position>> {
    let frame = Frame {
        add_generation_prompt: false,
        continue_final_message: false,
        enable_thinking: Some(false),
        variables: None,
        now,
        embeds_images: true,
    };
    loaded.tokenizer.positions(&loaded.render(history, &frame)?)
}

/// Some logits that identify the model.
fn probe(loaded: &LoadedModel) -> Result<Vec<f32>> {
    let ids: Vec<u32> = (0..PROBE as u32).map(|id| id % loaded.model.n_vocabulary() as u32).collect();
    let mut logits = Vec::new();
    loaded.model.forward_alone(Inputs::Tokens(&ids), &mut logits)?;
    let step = logits.len().div_ceil(PROBE_LOGITS).max(1);
    Ok(logits.into_iter().step_by(step).collect())
}

/// Whether logits are equal except for rounding, which differs between machines.
fn is_near(logits: &[f32], saved: &[f32]) -> bool {
    let largest = logits.iter().fold(1.0, |largest: f32, logit| largest.max(logit.abs()));
    let near = |(logit, saved): (&f32, &f32)| (logit - saved).abs() <= 1e-4 * largest;
    !logits.is_empty() && logits.len() == saved.len() && logits.iter().zip(saved).all(near)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() || MAX_BYTES < metadata.len() {
        return Err(io::Error::other("it must be a regular file of at most 8 GiB"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes a temporary file in the same folder, then renames it, so that a failure leaves the old file as it was.
fn write_whole(path: &Path, version: u32, parts: &[&[u8]]) -> io::Result<()> {
    let (part, file) = create_beside(path)?;
    let written = write(&file, version, parts).and_then(|()| fs::rename(&part, path));
    match written {
        Ok(()) => remove_abandoned(path),
        Err(_) => drop(fs::remove_file(&part)), // the first error is the one to report
    }
    written
}

/// Removes the temporary files of processes that were killed while they saved this session: nothing locks them any more.
/// Where files cannot be locked, they stay.
fn remove_abandoned(path: &Path) {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else { return };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_part = |file: &str| {
        let numbers = file.strip_prefix(name).and_then(|rest| rest.strip_prefix('.')?.strip_suffix(".part"));
        let numbers = numbers.and_then(|numbers| numbers.split_once('-'));
        numbers.is_some_and(|(process, number)| is_number(process) && is_number(number))
    };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(is_part)
            && let Ok(file) = File::options().write(true).open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(entry.path()); // the next save tries again
        }
    }
}

/// Creates a temporary file in the folder of `path`, and locks it until it is closed. Names that exist are skipped: a process
/// in another container may have the same id, and one that was killed may have left its file.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().ok_or_else(|| io::Error::other("no file name"))?;
    let mut n_tries = 0;
    loop {
        let mut name = name.to_owned();
        name.push(format!(".{}-{}.part", std::process::id(), NEXT_PART.fetch_add(1, Ordering::Relaxed)));
        let part = path.with_file_name(name);
        n_tries += 1;
        match File::create_new(&part) {
            Err(err) if err.kind() == io::ErrorKind::AlreadyExists && n_tries < MAX_TRIES => {}
            // Another process may have taken the file for an abandoned one before it was locked.
            Ok(file) if is_taken(&file, &part) && n_tries < MAX_TRIES => {}
            created => return Ok((part, created?)),
        }
    }
}

/// Locks a new file; returns whether another process did so before.
fn is_taken(file: &File, path: &Path) -> bool {
    matches!(file.try_lock(), Err(TryLockError::WouldBlock)) || !path.exists()
}

fn write(mut file: &File, version: u32, parts: &[&[u8]]) -> io::Result<()> {
    let mut checksum = Sha256::new();
    let mut put = |bytes: &[u8]| {
        checksum.update(bytes);
        file.write_all(bytes)
    };
    put(MAGIC)?;
    put(&version.to_le_bytes())?;
    for part in parts {
        put(&(part.len() as u64).to_le_bytes())?;
        put(part)?;
    }
    file.write_all(&checksum.finalize())?;
    file.sync_all()
}

/// The JSON and the cache.
fn parts(bytes: &[u8]) -> Result<(&[u8], &[u8])> {
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(corrupt)?;
    let (version, _) = rest.split_first_chunk().ok_or_else(corrupt)?;
    let version = u32::from_le_bytes(*version);
    if !(VERSION_WITHOUT_EMBEDDED..=VERSION).contains(&version) {
        return Err(SdkError::new(
            ErrorKind::Session(SessionFault::Version),
            format!("the session's version must be at most {VERSION}, found {version}"),
        ));
    }
    let (body, checksum) = bytes.split_last_chunk::<CHECKSUM>().ok_or_else(corrupt)?;
    if Sha256::digest(body)[..] != checksum[..] {
        return Err(corrupt());
    }
    let mut rest = body.get(MAGIC.len() + size_of::<u32>()..).ok_or_else(corrupt)?;
    let (json, cache) = (part(&mut rest)?, part(&mut rest)?);
    if rest.is_empty() { Ok((json, cache)) } else { Err(corrupt()) }
}

fn part<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8]> {
    let (length, following) = rest.split_first_chunk().ok_or_else(corrupt)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| corrupt())?;
    let (part, following) = following.split_at_checked(length).ok_or_else(corrupt)?;
    *rest = following;
    Ok(part)
}

fn corrupt() -> SdkError {
    SdkError::new(ErrorKind::Session(SessionFault::Corrupt), "the session is damaged")
}

fn fault(path: &Path, err: io::Error) -> SdkError {
    let message = format!("cannot read or write the session {}", path.display());
    SdkError::new(ErrorKind::Session(SessionFault::File), message).caused_by(err)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A temporary folder, removed when it is dropped.
    struct TestFolder(PathBuf);

    impl TestFolder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("causerie-session-{}-{name}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }
    }

    impl Drop for TestFolder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_time_of_an_unknown_zone_keeps_its_offset() {
        for (written, expect) in [
            ("2026-11-20T12:00:00+01:00[Nowhere/Land]", "2026-11-20T12:00:00+01:00[+01:00]"),
            ("2026-11-20T12:00:00+05:00[Europe/Berlin]", "2026-11-20T12:00:00+05:00[+05:00]"),
            ("2026-11-20T12:00:00+00:00[UTC]", "2026-11-20T12:00:00+00:00[UTC]"),
        ] {
            let now = time(written).unwrap();
            assert_eq!(now.to_string(), expect);
            assert_eq!(time(expect).unwrap(), now);
        }
        for broken in ["", "2026-11-20", "2026-11-20T12:00:00[Nowhere/Land]", "2026-99-20T12:00:00+01:00[UTC]"] {
            assert!(time(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn a_session_from_another_zone_is_restored() {
        let folder = TestFolder::new("zone");
        let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/models/lfm2-f32.gguf");
        let (file, runner) = (folder.0.join("a.session"), ModelRunner::load(model.to_str().unwrap()).unwrap());
        let conversation = runner.create_conversation("Be brief.");
        conversation.save_session(&file, false).unwrap();
        let bytes = fs::read(&file).unwrap();
        let (json, cache) = parts(&bytes).unwrap();
        let mut saved: SavedSession = serde_json::from_slice(json).unwrap();
        saved.now = "2026-11-20T12:00:00+01:00[Nowhere/Land]".to_owned();
        write_whole(&file, VERSION, &[&serde_json::to_vec(&saved).unwrap(), cache]).unwrap();
        assert_eq!(runner.restore_session(&file).unwrap().history(), conversation.history());
    }

    #[test]
    fn temporary_files_of_others_are_left_alone() {
        let folder = TestFolder::new("parts");
        let file = folder.0.join("a.session");
        let first = NEXT_PART.load(Ordering::Relaxed);
        let others = (first..first + 64).map(|n| folder.0.join(format!("a.session.{}-{n}.part", std::process::id())));
        let others: Vec<(PathBuf, File)> =
            others.map(|other| (other.clone(), File::create_new(other).unwrap())).collect();
        others.iter().for_each(|(_, file)| file.try_lock().unwrap());
        write_whole(&file, VERSION, &[b"{}", b""]).unwrap();
        assert!(file.is_file() && others.iter().all(|(other, _)| other.is_file()));
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 65);
    }

    #[test]
    fn the_next_save_removes_the_temporary_files_of_killed_ones() {
        let folder = TestFolder::new("killed");
        let file = folder.0.join("a.session");
        let others =
            ["a.session.part", "a.session.1.part", "a.session.x-1.part", "b.session.1-2.part", "a.session.b.1-2.part"];
        for name in others.iter().chain(&["a.session.1-2.part", "a.session.4194304-17.part"]) {
            fs::write(folder.0.join(name), "half").unwrap();
        }
        write_whole(&file, VERSION, &[b"{}", b""]).unwrap();
        let names = fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let (mut names, mut expect): (Vec<String>, Vec<&str>) = (names.collect(), others.to_vec());
        expect.push("a.session");
        names.sort();
        expect.sort_unstable();
        assert_eq!(names, expect);
    }

    #[test]
    fn a_failed_rename_leaves_no_temporary_file() {
        let folder = TestFolder::new("fault");
        fs::create_dir(folder.0.join("a.session")).unwrap();
        assert!(write_whole(&folder.0.join("a.session"), VERSION, &[b"{}", b""]).is_err());
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
    }
}
