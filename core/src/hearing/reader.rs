//! Reads sound files for the prompts of one model.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::checkpoint::{HearingArchitecture, HearingFamily};
use crate::error::{ErrorKind, Result, SdkError};
use crate::media::sound::{MelFilters, Sound};
use crate::message::Role;
use crate::model::SoundEncoder;
use crate::position::{ContentDigest, Embedded, EmbeddedKind, EmbeddingJob, EmbeddingSource};
use crate::projectors::HearingFiles;
use crate::prompt::{NO_AUDIO, PromptRenderer, Segment, SoundReader};
use crate::rows::RowCache;
use crate::tokenizer::ControlTokens;

/// Recordings whose files are known to be whole.
const MAX_KNOWN: usize = 1024;

/// The reader of a loaded model.
struct RecordingReader {
    encoder: SoundEncoder,
    filters: Arc<MelFilters>,
    /// Names the encoder in the digests of recordings.
    fingerprint: Vec<u8>,
    rows: RowCache,
    /// The rows of recordings that are known.
    known: Mutex<HashMap<ContentDigest, u32>>,
    latest: LatestSamples,
}

/// The samples of the recording that was decoded last, until they are computed: most prompts have one new recording, which is
/// then decoded once.
type LatestSamples = Arc<Mutex<Option<(ContentDigest, Vec<f32>)>>>;

/// A recording of a prompt.
struct HeardRecording {
    file: Vec<u8>,
    digest: ContentDigest,
    n_rows: u32,
    encoder: SoundEncoder,
    filters: Arc<MelFilters>,
    rows: RowCache,
    latest: LatestSamples,
}

/// Lets the prompts of a model contain sound, or sets why they cannot; returns whether they can. `cache_bytes` limits the rows
/// that are kept for recordings that are heard again.
pub(crate) fn attach(
    files: &HearingFiles<'_>,
    encoder: Option<SoundEncoder>,
    control: &ControlTokens,
    renderer: &mut PromptRenderer,
    cache_bytes: usize,
) -> bool {
    match (refusal(files, control), encoder) {
        (None, Some(encoder)) => {
            let reader = RecordingReader {
                fingerprint: encoder.fingerprint(),
                filters: Arc::new(MelFilters::new(encoder.architecture().family.rules)),
                encoder,
                rows: RowCache::new(cache_bytes),
                known: Mutex::default(),
                latest: LatestSamples::default(),
            };
            renderer.set_sound_reader(Arc::new(reader));
            true
        }
        (reason, _) => {
            if let Some(reason) = reason {
                refuse(&reason, renderer);
            }
            false
        }
    }
}

/// Lets messages contain sound that is not shown, if this is an audio model.
pub(crate) fn attach_hidden(files: &HearingFiles<'_>, control: &ControlTokens, renderer: &mut PromptRenderer) {
    match refusal(files, control) {
        Some(reason) => refuse(&reason, renderer),
        None => renderer.hide_sound(),
    }
}

fn refuse(reason: &str, renderer: &mut PromptRenderer) {
    // The general reason also says what else the model does not take.
    if reason != NO_AUDIO {
        renderer.refuse_sound(reason);
    }
}

/// Why a model does not hear.
fn refusal(files: &HearingFiles<'_>, control: &ControlTokens) -> Option<String> {
    match files {
        HearingFiles::Missing(reason) => Some(reason.clone()),
        HearingFiles::Found(_, HearingArchitecture { family, .. }) => {
            let around = family.around.iter().flat_map(|(start, end)| [start, end]);
            let missing = around.copied().find(|spelling| !control.contains(spelling));
            missing.map(|spelling| format!("the vocabulary has no control token {spelling}"))
        }
    }
}

/// The samples of a file at the rate of the model.
fn samples(file: &[u8], family: &HearingFamily) -> Result<Vec<f32>> {
    Ok(Sound::read(file)?.at_rate(family.rules.sample_rate).into_owned())
}

/// The rows of a recording.
///
/// # Errors
/// [`ErrorKind::UnsupportedContent`] for a recording that is shorter than a frame, or longer than the model hears.
fn n_rows(n_samples: usize, family: &HearingFamily) -> Result<u32> {
    let unsupported = |message: String| SdkError::new(ErrorKind::UnsupportedContent, message);
    let refused = |limit: &str, n: usize| {
        let rate = family.rules.sample_rate;
        unsupported(format!("a recording must have at {limit} {n} samples at {rate} Hz, found {n_samples}"))
    };
    if n_samples < family.min_samples {
        return Err(refused("least", family.min_samples));
    }
    if let Some(most) = family.max_samples.filter(|most| *most < n_samples) {
        return Err(refused("most", most));
    }
    let n_rows = family.n_frames(n_samples).div_ceil(family.frames);
    u32::try_from(n_rows).map_err(|_| unsupported("the recording is too long".to_owned()))
}

impl RecordingReader {
    /// The rows of a file. One that is seen for the first time is decoded, so that a damaged one changes no history.
    fn measured(&self, file: &[u8], digest: ContentDigest) -> Result<u32> {
        let known = || self.known.lock();
        if let Some(n_rows) = known().get(&digest) {
            return Ok(*n_rows);
        }
        let family = self.encoder.architecture().family;
        let samples = samples(file, family)?;
        let n_rows = n_rows(samples.len(), family)?;
        *self.latest.lock() = Some((digest, samples));
        let mut known = known();
        if MAX_KNOWN <= known.len() {
            known.clear();
        }
        known.insert(digest, n_rows);
        Ok(n_rows)
    }
}

impl SoundReader for RecordingReader {
    fn read(&self, file: &[u8], _: Role) -> Result<Vec<Segment>> {
        let digest = ContentDigest::from_parts(&[&self.fingerprint, file]);
        let recording = HeardRecording {
            n_rows: self.measured(file, digest)?,
            file: file.to_vec(),
            digest,
            encoder: self.encoder.clone(),
            filters: Arc::clone(&self.filters),
            rows: self.rows.clone(),
            latest: Arc::clone(&self.latest),
        };
        let recording = Segment::Embedded(Embedded(Arc::new(recording)));
        Ok(match self.encoder.architecture().family.around {
            None => vec![recording],
            Some((start, end)) => {
                let control = |spelling: &str| Segment::Control(spelling.to_owned());
                vec![control(start), recording, control(end)]
            }
        })
    }

    fn marker(&self) -> Option<&str> {
        self.encoder.architecture().family.marker
    }
}

impl EmbeddingSource for HeardRecording {
    fn digest(&self) -> ContentDigest {
        self.digest
    }

    fn n_rows(&self) -> u32 {
        self.n_rows
    }

    fn kind(&self) -> EmbeddedKind {
        EmbeddedKind::Sound
    }

    fn begin(&self) -> Result<Box<dyn EmbeddingJob>> {
        if let Some(job) = self.rows.cached_job(self.digest) {
            return Ok(job);
        }
        let family = self.encoder.architecture().family;
        // The samples that were decoded when the file was checked, unless another recording came after it.
        let latest = self.latest.lock().take_if(|(digest, _)| *digest == self.digest);
        let samples = match latest {
            Some((_, samples)) => samples,
            None => samples(&self.file, family)?,
        };
        let mut features = self.filters.features(&samples).values;
        features.truncate(family.n_frames(samples.len()) * family.rules.bins);
        Ok(self.rows.job(self.digest, self.encoder.begin(features)))
    }
}
