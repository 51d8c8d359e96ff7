//! Conversations that outlive the process.
//!
//! A session file holds: `CAUSERIE`, the version (u32), the length (u64) and the text of a JSON object, the length (u64)
//! and the bytes of a cache, which may be none, and the SHA-256 of all before; numbers are little-endian. The JSON object
//! holds `messages`, `now`, the time that the conversation's prompts see, `tokens`, the token ids of the history, and
//! `probe` and `window`, by which the cache knows its model.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Zoned;
use jiff::fmt::temporal::Pieces;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::conversation::Conversation;
use crate::engine::{LoadedModel, Owner};
use crate::error::{ErrorKind, Result, SdkError, SessionFault};
use crate::history::{messages_from_json, messages_to_json};
use crate::message::ChatMessage;
use crate::model::State;
use crate::prompt::Frame;
use crate::runner::ModelRunner;

const MAGIC: &[u8; 8] = b"CAUSERIE";
const VERSION: u32 = 1;
/// Bytes of a session file at most.
const LARGEST: u64 = 8 << 30;
const CHECKSUM: usize = 32;
/// Tokens that the model reads to be known by its logits, and how many of those are kept.
const PROBE: usize = 16;
const PROBE_LOGITS: usize = 64;
/// Names that are tried for a file that is being written.
const MOST_TRIES: usize = 10_000;

/// The number of the next such file.
static NEXT_PART: AtomicU64 = AtomicU64::new(0);

#[derive(Serialize, Deserialize)]
struct Saved {
    messages: String,
    now: String,
    tokens: Vec<u32>,
    /// Tokens that the model's windows see; a probe is too short to tell.
    window: Option<usize>,
    probe: Vec<f32>,
}

impl Conversation {
    /// Saves the conversation to a file, from which [`ModelRunner::restore_session`] makes it again. With `include_cache`,
    /// what the model has read of it is saved as well, so that going on does not read it again; that takes for each token
    /// what the model's memory of it takes, often some tens of kilobytes. The file is written whole or not at all.
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
        let history = self.turns.edit(|history| history.clone())?;
        let loaded = self.runner.loaded()?;
        let mut saved = Saved {
            messages: messages_to_json(&history),
            now: self.now.to_string(),
            tokens: tokens(&loaded, &history, &self.now)?,
            window: self.runner.info().sliding_window,
            probe: Vec::new(),
        };
        let mut cache = Vec::new();
        if include_cache {
            let (tokens, owner) = (saved.tokens.clone(), self.owner);
            let state = self.runner.engine().visit(move |_, cache| cache.find(&tokens, owner))?;
            if let Some(state) = state.filter(State::can_be_saved) {
                saved.probe = probe(&loaded)?.0;
                cache = state.to_bytes().map_err(|err| {
                    SdkError::new(ErrorKind::Generation, "the model's state cannot be read").caused_by(err)
                })?;
            }
        }
        let json = serde_json::to_vec(&saved).map_err(|err| corrupt().caused_by(err))?;
        write_whole(path.as_ref(), &[&json, &cache]).map_err(|err| fault(path.as_ref(), err))
    }
}

impl ModelRunner {
    /// Makes a conversation again that [`Conversation::save_session`] has saved: its history, its functions, and the time
    /// that its prompts see. A cache in the file is used when this model computes what the one that saved it did, and
    /// left aside otherwise. Whoever writes the file can make a cache say what the history does not: it steers the
    /// conversation that is restored and its forks, and no other.
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
    /// [`ErrorKind::Session`] with the [fault](SessionFault): a file that cannot be read, is damaged, or is of a later
    /// version; a model that reads the history as another prompt. [`ErrorKind::ModelUnloaded`].
    pub fn restore_session(&self, path: impl AsRef<Path>) -> Result<Conversation> {
        let path = path.as_ref();
        let bytes = read(path).map_err(|err| fault(path, err))?;
        let (json, cache) = parts(&bytes)?;
        let saved: Saved = serde_json::from_slice(json).map_err(|err| corrupt().caused_by(err))?;
        let history = messages_from_json(&saved.messages).map_err(|err| corrupt().caused_by(err))?;
        let now = time(&saved.now).map_err(|err| corrupt().caused_by(err))?;
        let loaded = self.loaded()?;
        if tokens(&loaded, &history, &now)? != saved.tokens {
            return Err(SdkError::new(
                ErrorKind::Session(SessionFault::Model),
                "this model reads the session as another prompt than the model that it was saved with",
            ));
        }
        let mut owner = Owner::default();
        if !cache.is_empty() && saved.window == self.info().sliding_window {
            let (logits, like) = probe(&loaded)?;
            if is_near(&logits, &saved.probe)
                && let Some(state) = State::from_bytes(cache, &like)
                && let Some(read) = saved.tokens.get(..state.n_tokens()).map(<[u32]>::to_vec)
            {
                owner = Owner::new();
                self.engine().visit(move |_, cache| cache.keep(&read, state, owner))?;
            }
        }
        Ok(Conversation::new(self.clone(), history, now, owner))
    }
}

/// The time that is written. Where its zone is not known, or has other rules by now, only its offset is kept: prompts
/// show the same hour as before.
fn time(written: &str) -> Result<Zoned, jiff::Error> {
    written.parse().or_else(|err: jiff::Error| {
        let pieces = Pieces::parse(written)?;
        let (Some(time), Some(offset)) = (pieces.time(), pieces.to_numeric_offset()) else { return Err(err) };
        pieces.date().to_datetime(time).to_zoned(TimeZone::fixed(offset))
    })
}

/// The tokens of a history, without the beginning of the model's turn.
fn tokens(loaded: &LoadedModel, history: &[ChatMessage], now: &Zoned) -> Result<Vec<u32>> {
    let frame = Frame { add_generation_prompt: false, enable_thinking: Some(false), variables: None, now };
    loaded.tokenizer.encode_with_bos(&loaded.render(history, &frame)?)
}

/// What the model computes for some tokens, by which it is known, and its state after them.
fn probe(loaded: &LoadedModel) -> Result<(Vec<f32>, State)> {
    let mut state = loaded.model.start()?;
    let ids: Vec<u32> = (0..PROBE as u32).map(|id| id % loaded.model.n_vocabulary() as u32).collect();
    let mut logits = Vec::new();
    loaded.model.forward_one(&ids, &mut state, &mut logits)?;
    let step = logits.len().div_ceil(PROBE_LOGITS).max(1);
    Ok((logits.into_iter().step_by(step).collect(), state))
}

/// Whether logits are equal but for the order of sums, which differs between machines.
fn is_near(logits: &[f32], saved: &[f32]) -> bool {
    let largest = logits.iter().fold(1.0, |largest: f32, logit| largest.max(logit.abs()));
    let near = |(logit, saved): (&f32, &f32)| (logit - saved).abs() <= 1e-4 * largest;
    !logits.is_empty() && logits.len() == saved.len() && logits.iter().zip(saved).all(near)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() || LARGEST < metadata.len() {
        return Err(io::Error::other("it is no file, or too large"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes beside the file first, so that a fault in between leaves what was there.
fn write_whole(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let (part, file) = create_beside(path)?;
    let written = write(file, parts).and_then(|()| fs::rename(&part, path));
    if written.is_err() {
        let _ = fs::remove_file(&part); // the first fault is the one to tell
    }
    written
}

/// A new file beside another. Another process may have the same number, in another container, and what one has left
/// behind may lie there: such names are passed over.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().ok_or_else(|| io::Error::other("no file name"))?;
    let mut n_tries = 0;
    loop {
        let mut name = name.to_owned();
        name.push(format!(".{}-{}.part", std::process::id(), NEXT_PART.fetch_add(1, Ordering::Relaxed)));
        let part = path.with_file_name(name);
        n_tries += 1;
        match File::create_new(&part) {
            Err(err) if err.kind() == io::ErrorKind::AlreadyExists && n_tries < MOST_TRIES => {}
            created => return Ok((part, created?)),
        }
    }
}

fn write(mut file: File, parts: &[&[u8]]) -> io::Result<()> {
    let mut checksum = Sha256::new();
    let mut put = |bytes: &[u8]| {
        checksum.update(bytes);
        file.write_all(bytes)
    };
    put(MAGIC)?;
    put(&VERSION.to_le_bytes())?;
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
    if version != VERSION {
        return Err(SdkError::new(
            ErrorKind::Session(SessionFault::Version),
            format!("the session is of version {version}, and this build knows version {VERSION}"),
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
    let (length, behind) = rest.split_first_chunk().ok_or_else(corrupt)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| corrupt())?;
    let (part, behind) = behind.split_at_checked(length).ok_or_else(corrupt)?;
    *rest = behind;
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

    /// A folder of this test's own, gone with it.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("causerie-session-{}-{name}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }
    }

    impl Drop for Place {
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
        let place = Place::new("zone");
        let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/models/lfm2-f32.gguf");
        let (file, runner) = (place.0.join("a.session"), ModelRunner::load(model.to_str().unwrap()).unwrap());
        let conversation = runner.create_conversation("Be brief.");
        conversation.save_session(&file, false).unwrap();
        let bytes = fs::read(&file).unwrap();
        let (json, cache) = parts(&bytes).unwrap();
        let mut saved: Saved = serde_json::from_slice(json).unwrap();
        saved.now = "2026-11-20T12:00:00+01:00[Nowhere/Land]".to_owned();
        write_whole(&file, &[&serde_json::to_vec(&saved).unwrap(), cache]).unwrap();
        assert_eq!(runner.restore_session(&file).unwrap().history(), conversation.history());
    }

    #[test]
    fn files_that_others_are_writing_are_left_alone() {
        let place = Place::new("parts");
        let file = place.0.join("a.session");
        let first = NEXT_PART.load(Ordering::Relaxed);
        let others = (first..first + 64).map(|n| place.0.join(format!("a.session.{}-{n}.part", std::process::id())));
        let others: Vec<PathBuf> = others.collect();
        others.iter().for_each(|other| fs::write(other, "half").unwrap());
        write_whole(&file, &[b"{}", b""]).unwrap();
        assert!(file.is_file() && others.iter().all(|other| fs::read(other).unwrap() == b"half"));
        assert_eq!(fs::read_dir(&place.0).unwrap().count(), 65);
    }

    #[test]
    fn what_cannot_take_its_place_leaves_nothing_behind() {
        let place = Place::new("fault");
        fs::create_dir(place.0.join("a.session")).unwrap();
        assert!(write_whole(&place.0.join("a.session"), &[b"{}", b""]).is_err());
        assert_eq!(fs::read_dir(&place.0).unwrap().count(), 1);
    }
}
