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

use crate::error::Result;
use crate::names::ListedFile;
use crate::vision;

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
    vision::in_listing(model, listing, head)
}
