//! Bundles: one file with all files of a model, for an app that ships it.
//!
//! A bundle is a ZIP archive. Its files are stored as they are, at multiples of 16 KiB, after a manifest with their digests. It is
//! loaded like any model, without being unpacked, and archive tools can unpack it. docs/bundles.md describes the format.
//!
//! ```
//! # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/lfm2-q4_0.gguf");
//! # let bundle = std::env::temp_dir().join(format!("causerie-load-{}.bundle", std::process::id()));
//! causerie::bundle::make(model, None, &bundle, |_| std::ops::ControlFlow::Continue(()))?;
//! let runner = causerie::ModelRunner::load(bundle.to_str().unwrap())?;
//! # drop(runner);
//! # std::fs::remove_file(bundle).unwrap();
//! # Ok::<(), causerie::SdkError>(())
//! ```

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crc32fast::Hasher;
use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};

use crate::checkpoint::Checkpoint;
use crate::error::{ErrorKind, Result, SdkError};
use crate::model::embedding_shape;
use crate::names::is_plain_path;
use crate::names::manifest::{FILE_NAME, FILES, MODEL, PROJECTOR};
use crate::projectors::{self, ModelParts};
use crate::quantise::PartialFile;
use crate::weights::{
    ALIGNMENT, Bundle, CENTRAL, END, END_64, FORMAT, FORMAT_VERSION, LOCAL, LOCAL_LENGTH, LOCATOR_64, ListedModel,
    ModelOrigin, WIDE, Weights,
};

/// Bytes that are read at a time.
const CHUNK: usize = 1 << 20;
/// The id of the extra field that pads a header; no registered field has it.
const PADDING: u16 = 0x6361;
/// The version of the ZIP format that has sizes of 64 bits.
const VERSION: u16 = 45;

/// A file of a bundle.
///
/// ```
/// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/lfm2-q4_0.gguf");
/// # let bundle = std::env::temp_dir().join(format!("causerie-list-{}.bundle", std::process::id()));
/// # causerie::bundle::make(model, None, &bundle, |_| std::ops::ControlFlow::Continue(()))?;
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
/// `<namespace>/<name>` in the local cache. The projector that loading would find comes along; `projector` names another one.
/// `progress` gets the finished fraction, from 0 to 1; `Break` cancels. A bundle that is not complete is removed.
///
/// ```
/// use causerie::{ModelRunner, bundle};
/// use std::ops::ControlFlow;
///
/// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/lfm2-q4_0.gguf");
/// # let output = std::env::temp_dir().join(format!("causerie-make-{}.bundle", std::process::id()));
/// bundle::make(model, None, &output, |fraction| {
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
    model: &str,
    projector: Option<&str>,
    output: impl AsRef<Path>,
    progress: impl FnMut(f32) -> ControlFlow<()>,
) -> Result<()> {
    let sources = BundleSources::new(&Weights::open(model)?, projector)?;
    let archive =
        ArchiveWriter { file: PartialFile::create(output.as_ref())?, length: 0, directory: Vec::new(), n_files: 0 };
    sources.write(archive, progress)
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
/// # causerie::bundle::make(model, None, &bundle, |_| ControlFlow::Continue(()))?;
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

fn unreadable(path: &Path, err: std::io::Error) -> SdkError {
    SdkError::new(ErrorKind::ModelLoad, format!("cannot read {}", path.display())).caused_by(err)
}

/// Reports how much of the work is done.
struct Report<P> {
    n_done: u64,
    n_total: u64,
    progress: P,
}

impl<P: FnMut(f32) -> ControlFlow<()>> Report<P> {
    fn add(&mut self, n_bytes: usize) -> Result<()> {
        self.n_done += n_bytes as u64; // usize has at most 64 bits
        match (self.progress)(self.n_done as f32 / self.n_total.max(1) as f32) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(SdkError::new(ErrorKind::LoadCancelled, "the bundle was cancelled")),
        }
    }
}

/// What a bundle is made of.
struct BundleSources {
    /// The paths in the bundle, with those on disk.
    files: Vec<(String, PathBuf)>,
    /// The manifest, without the digests of the files.
    manifest: Map<String, Json>,
}

impl BundleSources {
    fn new(weights: &Weights, projector: Option<&str>) -> Result<Self> {
        if let ModelOrigin::Bundle(_) = weights.origin() {
            return Err(SdkError::new(ErrorKind::InvalidOption("model"), "the model must not be a bundle already"));
        }
        let ListedModel { first, mut files } = ListedModel::new(weights)?;
        let mut parameters = Map::from_iter([(MODEL.to_owned(), Json::from(first))]);
        let (_, hidden) = embedding_shape(&Checkpoint::read(weights)?.tensors)?;
        // A bundle has one projector file: that of the vision part, if it is not the same.
        let ModelParts { vision, hearing } = projectors::find(weights, projector, hidden)?;
        if let Some(projector) = vision.projector().or(hearing.projector()) {
            let ListedModel { first, files: parts } = ListedModel::new(projector)?;
            parameters.insert(PROJECTOR.to_owned(), first.into());
            files.extend(parts);
        }
        let mut names = BTreeSet::from([FILE_NAME.to_owned()]);
        match files.iter().find(|(name, _)| !is_plain_path(name) || !names.insert(name.to_lowercase())) {
            Some((name, _)) => {
                let message = format!("{name} cannot be in a bundle: its name is taken, or not valid on all systems");
                Err(SdkError::new(ErrorKind::InvalidOption("model"), message))
            }
            None => Ok(Self { files, manifest: manifest(weights, parameters) }),
        }
    }

    fn write(mut self, mut archive: ArchiveWriter, progress: impl FnMut(f32) -> ControlFlow<()>) -> Result<()> {
        let sizes = self
            .files
            .iter()
            .map(|(_, path)| path.metadata().map(|metadata| metadata.len()).map_err(|err| unreadable(path, err)));
        // Each file is read twice: its digest comes before it.
        let n_total = 2 * sizes.sum::<Result<u64>>()?;
        let mut report = Report { n_done: 0, n_total, progress };
        report.add(0)?;
        let mut measured = Vec::new();
        for (_, path) in &self.files {
            let mut measure = MeasuredFile::default();
            read(path, |chunk| {
                measure.add(chunk);
                report.add(chunk.len())
            })?;
            measured.push(measure);
        }
        let listed: Map<String, Json> = self
            .files
            .iter()
            .zip(&measured)
            .map(|((name, _), file)| (format!("./{name}"), json!({"size": file.size, "sha256": file.sha256()})))
            .collect();
        self.manifest.insert("files".to_owned(), listed.into());
        let manifest = format!("{:#}\n", Json::from(self.manifest)).into_bytes();
        let mut measure = MeasuredFile::default();
        measure.add(&manifest);
        archive.begin(FILE_NAME, &measure)?;
        archive.put(&manifest)?;
        for ((name, path), measure) in self.files.iter().zip(&measured) {
            archive.begin(name, measure)?;
            let mut again = MeasuredFile::default();
            read(path, |chunk| {
                again.add(chunk);
                archive.put(chunk)?;
                report.add(chunk.len())
            })?;
            if again.sha256() != measure.sha256() {
                let message = format!("{} changed while the bundle was made", path.display());
                return Err(SdkError::new(ErrorKind::ModelLoad, message));
            }
        }
        archive.finish()
    }
}

/// The manifest of a model, which keeps what the model's own manifest says besides its files.
fn manifest(weights: &Weights, files: Map<String, Json>) -> Map<String, Json> {
    let mut manifest = weights.origin().manifest().map(|manifest| manifest.json.clone()).unwrap_or_default();
    let kind = if files.contains_key(PROJECTOR) { "image-to-text" } else { "text-to-text" };
    let mut parameters = files;
    if let Some(template) = manifest.get(FILES).and_then(|own| own.get("chat_template")) {
        parameters.insert("chat_template".to_owned(), template.clone());
    }
    manifest.entry("schema_version").or_insert_with(|| "1.0.0".into());
    manifest.entry("inference_type").or_insert_with(|| format!("llama.cpp/{kind}").into());
    manifest.insert("format".to_owned(), FORMAT.into());
    manifest.insert("format_version".to_owned(), FORMAT_VERSION.into());
    manifest.insert(FILES.to_owned(), parameters.into());
    manifest
}

fn read(path: &Path, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut file = File::open(path).map_err(|err| unreadable(path, err))?;
    let mut buffer = vec![0; CHUNK];
    loop {
        match file.read(&mut buffer).map_err(|err| unreadable(path, err))? {
            0 => return Ok(()),
            n_read => take(&buffer[..n_read])?,
        }
    }
}

/// What an archive says about a file.
#[derive(Default)]
struct MeasuredFile {
    size: u64,
    sha256: Sha256,
    crc: Hasher,
}

impl MeasuredFile {
    fn add(&mut self, chunk: &[u8]) {
        self.size += chunk.len() as u64; // usize has at most 64 bits
        self.sha256.update(chunk);
        self.crc.update(chunk);
    }

    fn sha256(&self) -> String {
        format!("{:x}", self.sha256.clone().finalize())
    }
}

/// Writes a ZIP archive. All sizes and offsets have 64 bits, so that there is one form for all files.
struct ArchiveWriter {
    file: PartialFile,
    length: u64,
    directory: Vec<u8>,
    n_files: u64,
}

impl ArchiveWriter {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.length += bytes.len() as u64; // usize has at most 64 bits
        self.file.write(bytes)
    }

    /// Writes the header of a file, whose content must follow.
    fn begin(&mut self, name: &str, file: &MeasuredFile) -> Result<()> {
        let start = self.length;
        let crc = file.crc.clone().finalize();
        let name_length = name.len() as u16; // a plain path has at most 1024 bytes
        let sizes = wide(&[file.size, file.size]);
        let padding = padding(start + (LOCAL_LENGTH + name.len() + sizes.len()) as u64);
        self.put(&LOCAL.to_le_bytes())?;
        self.put(&common(crc, name_length, (sizes.len() + padding.len()) as u16))?; // below 2 * ALIGNMENT
        self.put(&[name.as_bytes(), &sizes, &padding].concat())?;
        let extra = wide(&[file.size, file.size, start]);
        self.directory.extend([&CENTRAL.to_le_bytes()[..], &VERSION.to_le_bytes()].concat());
        self.directory.extend(common(crc, name_length, extra.len() as u16)); // 28
        self.directory.extend([0; 10]); // comment, disk, attributes
        self.directory.extend(u32::MAX.to_le_bytes());
        self.directory.extend([name.as_bytes(), &extra].concat());
        self.n_files += 1;
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        let directory = std::mem::take(&mut self.directory);
        let (start, length, n_files) = (self.length, directory.len() as u64, self.n_files);
        self.put(&directory)?;
        let end = self.length;
        self.put(&END_64.to_le_bytes())?;
        self.put(&44_u64.to_le_bytes())?; // the bytes of this record that follow
        self.put(&[VERSION.to_le_bytes(), VERSION.to_le_bytes(), [0; 2], [0; 2], [0; 2], [0; 2]].concat())?;
        self.put(&[n_files, n_files, length, start].map(u64::to_le_bytes).concat())?;
        self.put(&[&LOCATOR_64.to_le_bytes()[..], &[0; 4], &end.to_le_bytes(), &1_u32.to_le_bytes()].concat())?;
        self.put(&[&END.to_le_bytes()[..], &[0; 4], &[0xFF; 12], &[0; 2]].concat())?;
        self.file.finish()
    }
}

/// What both headers of a file have: version, flags, method, time, checksum, sizes, and the lengths of name and extra fields.
fn common(crc: u32, name_length: u16, extra_length: u16) -> Vec<u8> {
    /// Names are UTF-8.
    const FLAGS: u16 = 1 << 11;
    /// Midnight of 1 January 1980, the first moment that an archive can name: equal files make equal archives.
    const TIME: [u8; 4] = [0, 0, 0x21, 0];
    let head = [VERSION.to_le_bytes(), FLAGS.to_le_bytes(), [0; 2]].concat();
    let lengths = [name_length.to_le_bytes(), extra_length.to_le_bytes()].concat();
    [&head[..], &TIME, &crc.to_le_bytes(), &[0xFF; 8], &lengths].concat()
}

/// The extra field with integers of 64 bits.
fn wide(numbers: &[u64]) -> Vec<u8> {
    let length = size_of_val(numbers) as u16; // two or three
    let numbers: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    [&WIDE.to_le_bytes()[..], &length.to_le_bytes(), &numbers].concat()
}

/// The extra field that moves the content after a header to the next multiple of the alignment.
fn padding(header_end: u64) -> Vec<u8> {
    const HEAD: usize = 4;
    let missing = (header_end.next_multiple_of(ALIGNMENT as u64) - header_end) as usize; // below ALIGNMENT
    let n_bytes = if (1..HEAD).contains(&missing) { missing + ALIGNMENT } else { missing };
    let Some(length) = n_bytes.checked_sub(HEAD) else { return Vec::new() };
    let mut field = [PADDING.to_le_bytes(), (length as u16).to_le_bytes()].concat(); // below 2 * ALIGNMENT
    field.resize(n_bytes, 0);
    field
}
