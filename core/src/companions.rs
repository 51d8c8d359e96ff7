//! Files that belong to a model although another file is loaded: their names propose them, their headers decide.
//!
//! ```
//! use causerie::companions::choose_projector;
//! use causerie::names::ListedFile;
//!
//! # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/lfm2vl");
//! let size = |path: &str| std::fs::metadata(format!("{folder}/{path}")).unwrap().len();
//! let listing = ["lfm2vl-f16.gguf", "mmproj-lfm2vl-f16.gguf", "mmproj-lfm2vl-q8_0.gguf"]
//!     .map(|path| ListedFile { path: path.to_owned(), size: size(path) });
//! // An app asks a server for the first bytes.
//! let head = |path: &str, _: usize| Ok(std::fs::read(format!("{folder}/{path}")).unwrap());
//! let projector = choose_projector("lfm2vl-f16.gguf", &listing, head)?;
//! assert_eq!(projector.as_deref(), Some("mmproj-lfm2vl-f16.gguf"));
//! # Ok::<(), causerie::SdkError>(())
//! ```

use std::path::{Path, PathBuf};

use crate::checkpoint::Checkpoint;
use crate::error::Result;
use crate::model::embedding_shape;
use crate::names::ListedFile;
use crate::projectors;
use crate::weights::{ModelOrigin, Weights};

/// Chooses the projector file of a GGUF model in the listing of a repository, without having the files. `head` returns a number
/// of bytes from the beginning of a file, or the whole file if it has fewer. `None` if there is none that this library can use
/// with the model.
///
/// ```
/// use causerie::companions::choose_projector;
///
/// let asked = choose_projector("model.gguf", &[], |_, _| unreachable!("no file has the name of a projector"))?;
/// assert_eq!(asked, None);
/// # Ok::<(), causerie::SdkError>(())
/// ```
///
/// # Errors
/// The errors of `head`.
pub fn choose_projector(
    model: &str,
    listing: &[ListedFile],
    head: impl FnMut(&str, usize) -> Result<Vec<u8>>,
) -> Result<Option<String>> {
    projectors::in_listing(model, listing, head)
}

/// The projector file that loading takes with a GGUF file on disk: the one beside it whose header fits. `None` if there is none,
/// or if the model cannot be read.
///
/// ```
/// use causerie::companions::projector_beside;
///
/// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/lfm2vl");
/// let projector = projector_beside(format!("{folder}/lfm2vl-f16.gguf").as_ref()).unwrap();
/// assert!(projector.ends_with("mmproj-lfm2vl-f16.gguf"));
/// assert_eq!(projector_beside("no/such/model.gguf".as_ref()), None);
/// ```
pub fn projector_beside(model: &Path) -> Option<PathBuf> {
    // Most models have none, and their headers are long.
    if !projectors::has_candidates(model) {
        return None;
    }
    let weights = Weights::open_file(model, ModelOrigin::Disk).ok()?;
    let (_, hidden) = embedding_shape(&Checkpoint::read(&weights).ok()?.tensors).ok()?;
    let parts = projectors::find(&weights, None, hidden).ok()?;
    parts.vision.projector().or(parts.hearing.projector())?.file_path().map(Path::to_owned)
}
