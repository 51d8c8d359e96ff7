//! Finds the files of the parts of a model that speak: in the model's own folder, or in GGUF files beside the model's.
//!
//! LFM2.5-Audio comes as a folder whose subfolder `audio_detokenizer` turns codes into sound, or as GGUF files `vocoder-…` and
//! `tokenizer-…`; the first LFM2-Audio has a file `tokenizer-….safetensors` in both forms. LFM3-Audio has all of it in its projector file.
//! The headers decide; the names only propose.

use std::fs;
use std::path::{Path, PathBuf};

use crate::checkpoint::{CodecCheckpoint, FrameCheckpoint};
use crate::error::{ErrorKind, Result, SdkError};
use crate::weights::{ModelOrigin, Weights};

/// The subfolder of a model's folder that holds the detokenizer.
const DETOKENIZER: &str = "audio_detokenizer";
/// Words in the names of files that write frames, and of files that turn them into sound.
const FRAME_WORDS: [&str; 2] = ["vocoder", "audiodecoder"];
const CODEC_WORD: &str = "tokenizer";
/// The ends of names of files with tensors.
const FRAME_ENDS: [&str; 1] = [".gguf"];
const CODEC_ENDS: [&str; 2] = [".gguf", ".safetensors"];

/// The parts of a model that speak.
pub(crate) enum VoiceFiles {
    Found(Box<(FrameCheckpoint, CodecCheckpoint)>),
    /// The model does not speak.
    None,
    /// Why a model that could speak does not.
    Missing(String),
}

/// Finds the parts that speak: the given files, the model's own, its projector file, or those beside it.
///
/// # Errors
/// [`ErrorKind::ModelLoad`] for a file that was given, and for parts of the model's own folder that cannot be used.
pub(crate) fn find(
    weights: &Weights,
    projector: Option<&Weights>,
    decoder: Option<&str>,
    tokenizer: Option<&str>,
) -> Result<VoiceFiles> {
    let own = FrameCheckpoint::read(weights)?;
    let beside = weights.path();
    if let Some(path) = decoder {
        let files = open(Path::new(path))?;
        let frames = FrameCheckpoint::read(&files)?.ok_or_else(|| {
            SdkError::new(
                ErrorKind::ModelLoad,
                format!("{path} must hold a depthformer: tensor depth_linear.weight is missing"),
            )
        })?;
        return codec(frames, &[&files], tokenizer, Path::new(path).parent());
    }
    if own.is_none()
        && let Some(projector) = projector
        && let Some(frames) = FrameCheckpoint::read(projector)?
    {
        return codec(frames, &[projector], tokenizer, projector.path().and_then(Path::parent));
    }
    match (own, beside) {
        (Some(frames), path) => codec(frames, &[weights], tokenizer, path),
        (None, Some(path)) if path.is_file() => {
            let folder = path.parent().unwrap_or(Path::new("."));
            for path in candidates(folder, &FRAME_WORDS, &FRAME_ENDS) {
                let Ok(files) = open(&path) else { continue };
                if let Ok(Some(frames)) = FrameCheckpoint::read(&files) {
                    return codec(frames, &[&files], tokenizer, Some(folder));
                }
            }
            Ok(VoiceFiles::None)
        }
        _ => Ok(VoiceFiles::None),
    }
}

/// Finds what turns frames into sound: the given file, the files that the frames come from, or others in their folder.
fn codec(
    frames: FrameCheckpoint,
    known: &[&Weights],
    tokenizer: Option<&str>,
    folder: Option<&Path>,
) -> Result<VoiceFiles> {
    let found = |codec: CodecCheckpoint| Ok(VoiceFiles::Found(Box::new((frames, codec))));
    if let Some(path) = tokenizer {
        let files = open(Path::new(path))?;
        return match CodecCheckpoint::read(&[&[&files], known].concat())? {
            Some(codec) => found(codec),
            None => Err(SdkError::new(
                ErrorKind::ModelLoad,
                format!("{path} must hold the detokenizer of the model's sound, found none"),
            )),
        };
    }
    if let Some(codec) = CodecCheckpoint::read(known)? {
        return found(codec);
    }
    let folder = folder.unwrap_or(Path::new("."));
    let own = folder.join(DETOKENIZER);
    if own.is_dir()
        && let Some(codec) = CodecCheckpoint::read(&[&[&open(&own)?], known].concat())?
    {
        return found(codec);
    }
    let mut unusable = String::new();
    for path in candidates(folder, &[CODEC_WORD], &CODEC_ENDS) {
        let codec = open(&path).and_then(|files| CodecCheckpoint::read(&[&[&files], known].concat()));
        match codec {
            Ok(Some(codec)) => return found(codec),
            Ok(None) => {}
            Err(err) => unusable.push_str(&format!("; {} cannot be used: {err}", path.display())),
        }
    }
    Ok(VoiceFiles::Missing(format!(
        "speech requires the model's detokenizer: found neither a folder {DETOKENIZER} nor a GGUF or safetensors file named \
         *{CODEC_WORD}* with one beside the model's{unusable}"
    )))
}

fn open(path: &Path) -> Result<Weights> {
    Weights::open_part(path, ModelOrigin::Disk)
}

/// The files of a folder whose names contain one of these words, and end in one of these ways, in order.
fn candidates(folder: &Path, words: &[&str], ends: &[&str]) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_candidate = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_lowercase();
        ends.iter().any(|end| name.ends_with(end)) && words.iter().any(|word| name.contains(word))
    };
    let mut paths: Vec<PathBuf> = entries.filter(is_candidate).collect();
    paths.sort();
    paths
}
