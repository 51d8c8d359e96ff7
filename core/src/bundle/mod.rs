//! Bundles: one file with all files of a model, for an app that ships it.
//!
//! A bundle is a ZIP archive. Its files are stored as they are, at multiples of 16 KiB, after a manifest with their digests. It is
//! loaded like any model, without being unpacked, and archive tools can unpack it. docs/bundles.md describes the format.
//!
//! ```
//! # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/lfm2-q4_0.gguf");
//! # let bundle = std::env::temp_dir().join(format!("causerie-load-{}.bundle", std::process::id()));
//! causerie::bundle::make(model, &Default::default(), &bundle, |_| std::ops::ControlFlow::Continue(()))?;
//! let runner = causerie::ModelRunner::load(bundle.to_str().unwrap())?;
//! # drop(runner);
//! # std::fs::remove_file(bundle).unwrap();
//! # Ok::<(), causerie::SdkError>(())
//! ```

mod archive;
mod sources;

use std::ops::ControlFlow;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::bundle::archive::{ArchiveWriter, CHUNK, Report, unreadable};
use crate::bundle::sources::BundleSources;
use crate::error::{ErrorKind, Result, SdkError};
use crate::packing::{EXTENSION, write_model};
use crate::weights::{Bundle, Weights};

pub use sources::BundleParts;

/// A file of a bundle.
///
/// ```
/// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/lfm2-q4_0.gguf");
/// # let bundle = std::env::temp_dir().join(format!("causerie-list-{}.bundle", std::process::id()));
/// # causerie::bundle::make(model, &Default::default(), &bundle, |_| std::ops::ControlFlow::Continue(()))?;
/// for file in causerie::bundle::list(&bundle)? {
///     println!("{}: {} bytes, SHA-256 {}", file.path, file.size, file.sha256);
/// }
/// # std::fs::remove_file(bundle).unwrap();
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BundledFile {
    /// The path in the bundle, with `/`.
    pub path: String,
    /// The size in bytes.
    pub size: u64,
    /// The SHA-256 of the content, as 64 hexadecimal digits.
    pub sha256: String,
}

/// Writes a bundle of a model: a GGUF file with all of its parts, a Hugging Face folder, the files of a manifest, or
/// `<namespace>/<name>` in the local cache. The parts that loading would find come along: projectors, and the parts that speak; `parts`
/// names others.
/// `progress` gets the finished fraction, from 0 to 1; `Break` cancels. A bundle that is not complete is removed.
///
/// ```
/// use causerie::{ModelRunner, bundle};
/// use std::ops::ControlFlow;
///
/// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/lfm2-q4_0.gguf");
/// # let output = std::env::temp_dir().join(format!("causerie-make-{}.bundle", std::process::id()));
/// bundle::make(model, &Default::default(), &output, |fraction| {
///     println!("{:.0} %", fraction * 100.0);
///     ControlFlow::Continue(())
/// })?;
/// let runner = ModelRunner::load(output.to_str().unwrap())?;
/// # std::fs::remove_file(output).unwrap();
/// # Ok::<(), causerie::SdkError>(())
/// ```
///
/// # Errors
/// As [`ModelRunner::load`](crate::ModelRunner::load) for files that cannot be read; [`ErrorKind::InvalidOption`] if the output
/// exists or cannot be written, or if the model is a bundle already; [`ErrorKind::LoadCancelled`] after `Break`.
pub fn make(
    model: impl AsRef<Path>,
    parts: &BundleParts,
    output: impl AsRef<Path>,
    mut progress: impl FnMut(f32) -> ControlFlow<()>,
) -> Result<()> {
    /// The share of the work that packing weights is.
    const PACKING: f32 = 0.5;
    let (weights, output) = (Weights::open(model)?, output.as_ref());
    let packed = parts.packs_weights.then(|| output.with_extension(format!("{EXTENSION}.{}.part", std::process::id())));
    let sources = BundleSources::new(&weights, parts, packed.as_deref())?;
    let archive = ArchiveWriter::create(output)?;
    let begin = if packed.is_some() { PACKING } else { 0.0 };
    let pack = |path| write_model(&weights, path, &mut |share| progress(share * begin));
    let _packed = packed.map(pack).transpose()?; // removed at the end
    sources.write(archive, |share| progress(begin + share * (1.0 - begin)))
}

/// Returns the files of a bundle, ordered by their paths. Their contents are not read.
///
/// ```
/// assert!(causerie::bundle::list("no/such.bundle").is_err());
/// ```
///
/// # Errors
/// [`ErrorKind::ModelLoad`] if the file is not a bundle, is damaged, or cannot be read.
pub fn list(bundle: impl AsRef<Path>) -> Result<Vec<BundledFile>> {
    Ok(files(&open(bundle.as_ref())?))
}

/// Reads all files of a bundle, and returns those whose digest is not that of the manifest. `progress` gets the finished
/// fraction, from 0 to 1; `Break` cancels.
///
/// ```
/// use std::ops::ControlFlow;
/// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/lfm2-q4_0.gguf");
/// # let bundle = std::env::temp_dir().join(format!("causerie-verify-{}.bundle", std::process::id()));
/// # causerie::bundle::make(model, &Default::default(), &bundle, |_| ControlFlow::Continue(()))?;
/// assert!(causerie::bundle::verify(&bundle, |_| ControlFlow::Continue(()))?.is_empty());
/// # std::fs::remove_file(bundle).unwrap();
/// # Ok::<(), causerie::SdkError>(())
/// ```
///
/// # Errors
/// As [`list`], and [`ErrorKind::LoadCancelled`] after `Break`.
pub fn verify(bundle: impl AsRef<Path>, progress: impl FnMut(f32) -> ControlFlow<()>) -> Result<Vec<BundledFile>> {
    let path = bundle.as_ref();
    let opened = open(path)?;
    let files = files(&opened);
    let mut report = Report { n_done: 0, n_total: files.iter().map(|file| file.size).sum(), progress };
    let mut damaged = Vec::new();
    for file in files {
        let content = opened.entry(&file.path).map_err(|err| unreadable(path, err))?;
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; CHUNK.min(content.n_bytes())];
        for start in (0..content.n_bytes()).step_by(CHUNK) {
            let chunk = &mut buffer[..CHUNK.min(content.n_bytes() - start)];
            content.read_into(start, chunk).map_err(|err| unreadable(path, err))?;
            hasher.update(&chunk);
            report.add(chunk.len())?;
        }
        if format!("{:x}", hasher.finalize()) != file.sha256 {
            damaged.push(file);
        }
    }
    Ok(damaged)
}

fn open(path: &Path) -> Result<Bundle> {
    let not_a_bundle = || SdkError::new(ErrorKind::ModelLoad, format!("{} must be a bundle", path.display()));
    Bundle::open(path)?.ok_or_else(not_a_bundle)
}

fn files(bundle: &Bundle) -> Vec<BundledFile> {
    let files = bundle.manifest.files.iter();
    files.map(|(path, file)| BundledFile { path: path.clone(), size: file.size, sha256: file.sha256.clone() }).collect()
}
