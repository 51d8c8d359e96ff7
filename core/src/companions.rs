//! Files that belong to a model although another file is loaded: projectors, and the parts that speak. Their names propose them,
//! their headers decide.
//!
//! ```
//! use causerie::companions::choose_companions;
//! use causerie::names::ListedFile;
//!
//! # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/lfm2vl");
//! let size = |path: &str| std::fs::metadata(format!("{folder}/{path}")).unwrap().len();
//! let listing = ["lfm2vl-f16.gguf", "mmproj-lfm2vl-f16.gguf", "mmproj-lfm2vl-q8_0.gguf"]
//!     .map(|path| ListedFile { path: path.to_owned(), size: size(path) });
//! // An app asks a server for the first bytes.
//! let head = |path: &str, _: usize| Ok(std::fs::read(format!("{folder}/{path}")).unwrap());
//! let companions = choose_companions("lfm2vl-f16.gguf", &listing, head)?;
//! assert_eq!(companions, ["mmproj-lfm2vl-f16.gguf"]);
//! # Ok::<(), causerie::SdkError>(())
//! ```

use std::path::{Path, PathBuf};

use crate::checkpoint::Checkpoint;
use crate::error::Result;
use crate::model::embedding_shape;
use crate::names::ListedFile;
use crate::projectors;
use crate::voice;
use crate::weights::{ListedModel, ModelOrigin, Weights};

/// Chooses the files that belong to a GGUF model in the listing of a repository, without having the files: the projectors with its
/// vision part and its audio part, and the parts that speak. `head` returns a number of bytes from the beginning of a file, or the
/// whole file if it has fewer. None of those that this library cannot use with the model.
///
/// ```
/// use causerie::companions::choose_companions;
///
/// let asked = choose_companions("model.gguf", &[], |_, _| unreachable!("no file has the name of a companion"))?;
/// assert!(asked.is_empty());
/// # Ok::<(), causerie::SdkError>(())
/// ```
///
/// # Errors
/// The errors of `head`.
pub fn choose_companions(
    model: &str,
    listing: &[ListedFile],
    mut head: impl FnMut(&str, usize) -> Result<Vec<u8>>,
) -> Result<Vec<String>> {
    let mut chosen = projectors::in_listing(model, listing, &mut head)?;
    chosen.extend(voice::in_listing(model, listing, &mut head)?);
    Ok(chosen)
}

/// The files that loading takes with a GGUF file on disk: those beside it whose headers fit. Empty if there are none, or if the model
/// cannot be read.
///
/// ```
/// use causerie::companions::companions_beside;
///
/// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/lfm2a-speech");
/// let files = companions_beside(format!("{folder}/lfm2a-speech-f16.gguf").as_ref());
/// let names: Vec<_> = files.iter().filter_map(|path| path.file_name()?.to_str()).collect();
/// let speech = ["vocoder-lfm2a-speech-f16.gguf", "tokenizer-lfm2a-speech-f16.gguf"];
/// assert_eq!(names, [&["mmproj-lfm2a-speech-q8_0.gguf"][..], &speech].concat());
/// assert!(companions_beside("no/such/model.gguf".as_ref()).is_empty());
/// ```
pub fn companions_beside(model: &Path) -> Vec<PathBuf> {
    // Most models have none, and their headers are long.
    if !projectors::has_candidates(model) && !voice::has_candidates(model) {
        return Vec::new();
    }
    files_beside(model).unwrap_or_default()
}

fn files_beside(model: &Path) -> Result<Vec<PathBuf>> {
    let weights = Weights::open_file(model, ModelOrigin::Disk)?;
    let (_, hidden) = embedding_shape(&Checkpoint::read(&weights)?.tensors)?;
    let parts = projectors::find(&weights, None, hidden)?;
    let mut files: Vec<PathBuf> = Vec::new();
    let mut add = |part: Option<&Weights>| -> Result<()> {
        let listed = part.map(ListedModel::new).transpose()?;
        for (_, path) in listed.into_iter().flat_map(|listed| listed.files) {
            if !files.contains(&path) {
                files.push(path);
            }
        }
        Ok(())
    };
    add(parts.vision.projector())?;
    add(parts.hearing.projector())?;
    let (found, voice) = voice::find_with_files(&weights, None, None)?;
    if let voice::VoiceFiles::Found(_) = found {
        add(voice.decoder.as_ref())?;
        add(voice.tokenizer.as_ref())?;
    }
    Ok(files)
}
