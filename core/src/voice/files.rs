//! Finds the files of the parts of a model that speak: in the model's own folder, or in GGUF files beside the model's.
//!
//! LFM2.5-Audio comes as a folder whose subfolder `audio_detokenizer` turns codes into sound, or as GGUF files `vocoder-…` and
//! `tokenizer-…`; the first LFM2-Audio has a file `tokenizer-….safetensors` in both forms. LFM3-Audio has all of it in its projector file.
//! The headers decide; the names only propose.

use std::fs;
use std::path::Path;

use crate::checkpoint::{Checkpoint, CodecCheckpoint, FrameCheckpoint};
use crate::error::{ErrorKind, Result, SdkError};
use crate::model::{embedding_shape, speech_bytes};
use crate::names::{AUDIO_DECODER_WORDS, AUDIO_TOKENIZER_WORDS, has_word, ranked_parts};
use crate::weights::{ManifestPart, ModelOrigin, Weights};

/// The subfolder of a model's folder that holds the detokenizer.
const DETOKENIZER: &str = "audio_detokenizer";

/// The parts of a model that speak.
pub(crate) enum VoiceFiles {
    Found(Box<(FrameCheckpoint, CodecCheckpoint)>),
    /// The model does not speak.
    None,
    /// Why a model that could speak does not.
    Missing(String),
}

impl VoiceFiles {
    /// Bytes of the parts once loaded.
    pub(crate) fn n_bytes(&self) -> u64 {
        match self {
            Self::Found(found) => speech_bytes(&found.0, &found.1),
            Self::Missing(_) | Self::None => 0,
        }
    }
}

/// The files and folders of the parts that speak, without the model's own.
#[derive(Default)]
pub(crate) struct VoiceParts {
    pub(crate) decoder: Option<Weights>,
    pub(crate) tokenizer: Option<Weights>,
}

/// Finds the parts that speak: in the given files, in files that the model's manifest names, in its projector file, in the model's own, or
/// in files beside it.
///
/// # Errors
/// [`ErrorKind::ModelLoad`] for a file that was given, and for parts of the model's own folder that cannot be used.
pub(crate) fn find(
    weights: &Weights,
    projector: Option<&Weights>,
    decoder: Option<&Path>,
    tokenizer: Option<&Path>,
) -> Result<VoiceFiles> {
    let named = weights.origin().manifest().and_then(|manifest| manifest.audio_decoder.as_ref());
    if let (Some(projector), None, None) = (projector, decoder, named)
        && let Some(frames) = FrameCheckpoint::read(projector)?
    {
        return Ok(with_codec(projector, frames, VoiceParts::default(), tokenizer)?.0);
    }
    Ok(find_with_files(weights, decoder, tokenizer)?.0)
}

/// As [`find`] without a projector file, with the files.
pub(crate) fn find_with_files(
    weights: &Weights,
    decoder: Option<&Path>,
    tokenizer: Option<&Path>,
) -> Result<(VoiceFiles, VoiceParts)> {
    let manifest = weights.origin().manifest();
    let named = manifest.and_then(|manifest| manifest.audio_decoder.as_ref());
    let mut parts = VoiceParts::default();
    let frames = match (decoder, named) {
        (Some(path), _) => {
            let (files, frames) = given_frames(path)?;
            parts.decoder = Some(files);
            Some(frames)
        }
        (None, Some(part)) => match named_frames(weights, part) {
            Ok((files, frames)) => {
                parts.decoder = Some(files);
                Some(frames)
            }
            // A published manifest may name files of a kind that this release does not know. The model still writes.
            Err(err) => return Ok((VoiceFiles::Missing(format!("speech: {err}")), parts)),
        },
        (None, None) => match FrameCheckpoint::read(weights)? {
            Some(frames) => Some(frames),
            None => frames_beside(weights).map(|(files, frames)| {
                parts.decoder = Some(files);
                frames
            }),
        },
    };
    match frames {
        Some(frames) => with_codec(weights, frames, parts, tokenizer),
        None => Ok((VoiceFiles::None, parts)),
    }
}

/// What writes frames, in a file that was given.
fn given_frames(path: &Path) -> Result<(Weights, FrameCheckpoint)> {
    let files = open(path)?;
    let frames = FrameCheckpoint::read(&files)?.ok_or_else(|| no_frames(&path.display().to_string()))?;
    Ok((files, frames))
}

/// What writes frames, in a file that a manifest names.
fn named_frames(weights: &Weights, part: &ManifestPart) -> Result<(Weights, FrameCheckpoint)> {
    let files = Weights::open_manifest_part(part, weights.origin().clone())?;
    let frames = FrameCheckpoint::read(&files)?.ok_or_else(|| no_frames(&part.path.display().to_string()))?;
    Ok((files, frames))
}

fn no_frames(place: &str) -> SdkError {
    let rule = format!("{place} must hold a depthformer: tensor depth_linear.weight is missing");
    SdkError::new(ErrorKind::ModelLoad, rule)
}

/// Whether files beside a model's file have names of what writes frames.
pub(crate) fn has_candidates(model: &Path) -> bool {
    !candidates(model, folder_of(model), &AUDIO_DECODER_WORDS).is_empty()
}

/// What writes frames, in a file beside the model's whose rows are as long as the model's.
fn frames_beside(weights: &Weights) -> Option<(Weights, FrameCheckpoint)> {
    let path = weights.path().filter(|path| path.is_file())?;
    let candidates = candidates(path, folder_of(path), &AUDIO_DECODER_WORDS);
    if candidates.is_empty() {
        return None;
    }
    let (_, hidden) = embedding_shape(&Checkpoint::read(weights).ok()?.tensors).ok()?;
    candidates.iter().find_map(|name| {
        let files = open(&folder_of(path).join(name)).ok()?;
        let frames = FrameCheckpoint::read(&files).ok()??;
        (frames.sizes().hidden == hidden).then_some((files, frames))
    })
}

/// Finds what turns frames into sound: the given file, the file of the manifest, the files that the frames come from, or others in
/// their folder.
fn with_codec(
    weights: &Weights,
    frames: FrameCheckpoint,
    mut parts: VoiceParts,
    given: Option<&Path>,
) -> Result<(VoiceFiles, VoiceParts)> {
    let known = parts.decoder.as_ref().unwrap_or(weights);
    let read = |files: &Weights| CodecCheckpoint::read(&[files, known]);
    let no_codec = |place: &str| {
        SdkError::new(
            ErrorKind::ModelLoad,
            format!("{place} must hold the detokenizer of the model's sound, found none"),
        )
    };
    let manifest = weights.origin().manifest().filter(|_| given.is_none());
    let mut unusable = String::new();
    let found = if let Some(path) = given {
        let files = open(path)?;
        let codec = read(&files)?.ok_or_else(|| no_codec(&path.display().to_string()))?;
        Some((Some(files), codec))
    } else if let Some(part) = manifest.and_then(|manifest| manifest.audio_tokenizer.as_ref()) {
        let named = || {
            let files = Weights::open_manifest_part(part, weights.origin().clone())?;
            let codec = read(&files)?.ok_or_else(|| no_codec(&part.path.display().to_string()))?;
            Ok::<_, SdkError>((Some(files), codec))
        };
        match named() {
            Ok(found) => Some(found),
            Err(err) => return Ok((VoiceFiles::Missing(format!("speech: {err}")), parts)),
        }
    } else if let Some(codec) = CodecCheckpoint::read(&[known])? {
        Some((None, codec))
    } else {
        codec_beside(weights, known, &mut unusable)?.map(|(files, codec)| (Some(files), codec))
    };
    let Some((files, codec)) = found else {
        let missing = format!(
            "speech requires the model's detokenizer: found neither a folder {DETOKENIZER} nor a GGUF or safetensors file named *{}* with \
             one beside the model's{unusable}",
            AUDIO_TOKENIZER_WORDS[0]
        );
        return Ok((VoiceFiles::Missing(missing), parts));
    };
    parts.tokenizer = files;
    Ok((VoiceFiles::Found(Box::new((frames, codec))), parts))
}

/// What turns frames into sound, in the folder of the files that write them. Adds why files of such a name cannot be used.
fn codec_beside(
    weights: &Weights,
    known: &Weights,
    unusable: &mut String,
) -> Result<Option<(Weights, CodecCheckpoint)>> {
    let Some(path) = known.path() else { return Ok(None) };
    let folder = if path.is_dir() { path } else { folder_of(path) };
    let own = folder.join(DETOKENIZER);
    if own.is_dir() {
        let files = open(&own)?;
        if let Some(codec) = CodecCheckpoint::read(&[&files, known])? {
            return Ok(Some((files, codec)));
        }
    }
    let model = weights.path().unwrap_or(path);
    for name in candidates(model, folder, &AUDIO_TOKENIZER_WORDS) {
        let read = |files: Weights| Ok((CodecCheckpoint::read(&[&files, known])?, files));
        match open(&folder.join(&name)).and_then(read) {
            Ok((Some(codec), files)) => return Ok(Some((files, codec))),
            Ok((None, _)) => {}
            Err(err) => unusable.push_str(&format!("; {name} cannot be used: {err}")),
        }
    }
    Ok(None)
}

fn open(path: &Path) -> Result<Weights> {
    Weights::open_part(path, ModelOrigin::Disk)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The files of a folder with tensors whose names contain one of these words, those that seem to be the model's first.
fn candidates(model: &Path, folder: &Path, words: &[&str]) -> Vec<String> {
    let name = |entry: fs::DirEntry| entry.file_name().into_string().ok();
    let names = fs::read_dir(folder).into_iter().flatten().flatten().filter_map(name);
    let model = model.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_safetensors = |name: &str| name.ends_with(".safetensors") && words.iter().any(|word| name.contains(word));
    ranked_parts(model, names.filter(|name| has_word(name, words) || is_safetensors(name)).collect())
}
