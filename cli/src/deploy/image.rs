//! The container image: the program and the model, and nothing else. A builder of the user's choice builds it from a
//! folder that is written here.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use causerie::companions::companions_beside;
use causerie::names::{ListedFile, ModelFiles, choose_files};
use indicatif::{ProgressBar, ProgressStyle};
use minijinja::{Value, context};
use sha2::{Digest, Sha256};

use crate::arguments::{Builder, ImageOptions};
use crate::deploy::manifests::render;
use crate::deploy::tool::Tool;
use crate::failure::Failure;
use crate::model::LocalModel;
use crate::output::remark;

/// The parts that an image is built from.
pub(crate) struct ImageRecipe {
    containerfile: String,
    /// Each file of the image: its path on this machine and its path in the image.
    files: Vec<(PathBuf, PathBuf)>,
    /// Name of the image; its tag is a hash of the contents.
    pub(crate) reference: String,
}

impl ImageRecipe {
    /// Reads and checks all files, and writes nothing.
    pub(crate) fn new(
        app: &str,
        options: &ImageOptions,
        registry: Option<&str>,
        model: &LocalModel,
    ) -> Result<Self, Failure> {
        let binary = match &options.binary {
            Some(binary) => binary.clone(),
            None => std::env::current_exe()?,
        };
        check_program(&binary, options.base == "scratch")?;
        let mut files = vec![(binary, PathBuf::from("causerie"))];
        let mut entrypoint = vec!["/causerie".to_owned(), "serve".to_owned()];
        if let LocalModel::Named { name, place } = model {
            let inside = add_model(place, &mut files)?;
            entrypoint.extend(["--model".to_owned(), format!("/{}", inside.display())]);
            if place != Path::new(name) {
                entrypoint.extend(["--model-id".to_owned(), name.clone()]); // the cache's names of folders are hashes
            }
        }
        let base = &options.base;
        let containerfile = render(
            "Containerfile",
            context! { base, entrypoint => Value::from_iter(entrypoint), model => model.name().is_some() },
        );
        let hash = hash(&containerfile, &files)?;
        let prefix = registry.unwrap_or("localhost").trim_end_matches('/');
        Ok(Self { reference: format!("{prefix}/{app}:{}", &hash[..16]), containerfile, files })
    }

    /// Writes the Containerfile.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), Failure> {
        fs::create_dir_all(folder)?;
        Ok(fs::write(folder.join("Containerfile"), &self.containerfile)?)
    }

    /// Builds the image. The folder holds links to its files meanwhile, or copies if it is on another disk.
    pub(crate) fn build(&self, builder: &Tool, folder: &Path) -> Result<(), Failure> {
        let contents = folder.join("image");
        for (here, there) in &self.files {
            link(here, &contents.join(there))?;
        }
        remark(format_args!("building {} with {}", self.reference, builder.name));
        let file = folder.join("Containerfile");
        let built = builder.run([
            "build".as_ref(),
            "--file".as_ref(),
            file.as_os_str(),
            "--tag".as_ref(),
            self.reference.as_ref(),
            contents.as_os_str(),
        ]);
        fs::remove_dir_all(&contents)?;
        Ok(built?)
    }
}

/// Finds the builder that was named, or the first one on PATH.
pub(crate) fn builder(named: Option<Builder>) -> Result<Tool, Failure> {
    let names: &[&str] = match named {
        Some(Builder::Buildah) => &["buildah"],
        Some(Builder::Podman) => &["podman"],
        Some(Builder::Docker) => &["docker"],
        None => &["buildah", "podman", "docker"],
    };
    Ok(Tool::find(names, "build an image")?)
}

/// The subfolder of a model's folder with what turns frames of sound into samples.
const SPEECH_FOLDER: &str = "audio_detokenizer";

/// Adds the files of a model under `model/`; returns the path of the model in the image.
fn add_model(model: &Path, files: &mut Vec<(PathBuf, PathBuf)>) -> Result<PathBuf, Failure> {
    let failed = |err: io::Error| Failure(format!("cannot add the model at {} to an image: {err}", model.display()));
    if model.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json")) {
        let (model, make) = (model.display(), "causerie bundle make");
        return Err(Failure(format!("{model} is a manifest: `{make}` writes one file with its model for an image")));
    }
    let resolved = model.canonicalize().map_err(failed)?;
    // The name that was given: files in the local cache are links to files whose names are hashes.
    let name = model.file_name().or_else(|| resolved.file_name()).map(PathBuf::from).unwrap_or_default();
    let inside = Path::new("model").join(name);
    if !resolved.is_dir() {
        // Loading finds companions beside the model, or in a folder there.
        let folder = model.parent().unwrap_or(Path::new(""));
        for part in parts(model).into_iter().chain(companions_beside(model)) {
            let below = part.strip_prefix(folder).ok().or_else(|| part.file_name().map(Path::new));
            let there = Path::new("model").join(below.unwrap_or(&part));
            files.push((part.canonicalize().map_err(failed)?, there));
        }
        return Ok(inside);
    }
    for below in ["", SPEECH_FOLDER].into_iter().filter(|below| resolved.join(below).is_dir()) {
        for entry in fs::read_dir(resolved.join(below)).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let file = entry.path().canonicalize().map_err(failed)?;
            if file.is_file() {
                files.push((file, inside.join(below).join(entry.file_name())));
            }
        }
    }
    files[1..].sort_by(|one, other| one.1.cmp(&other.1));
    Ok(inside)
}

/// All files of a model that is split into several, by one of them; else the file itself.
fn parts(model: &Path) -> Vec<PathBuf> {
    let folder = model.parent().unwrap_or(model);
    let name = model.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let folder_entries = fs::read_dir(if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    let listed = |entry: fs::DirEntry| Some(ListedFile { path: entry.file_name().into_string().ok()?, size: 1 });
    let listing: Vec<_> = folder_entries.into_iter().flatten().flatten().filter_map(listed).collect();
    match choose_files(name, &listing, Some(name)) {
        Ok(ModelFiles::Gguf(files)) => files.iter().map(|file| folder.join(file)).collect(),
        _ => vec![model.to_owned()],
    }
}

/// Refuses a program that could not run in the image.
fn check_program(path: &Path, has_no_libraries: bool) -> Result<(), Failure> {
    let refused = |why: &str| Failure(format!("{} {why}", path.display()));
    let mut head = Vec::new();
    let opened = File::open(path).and_then(|file| file.take(4096).read_to_end(&mut head));
    opened.map_err(|err| refused(&format!("cannot be read: {err}")))?;
    match is_dynamic(&head) {
        None => Err(refused(
            "must be a 64-bit program for Linux: choose one with --binary, or an existing image with --image",
        )),
        Some(true) if has_no_libraries => Err(refused(
            "must be linked statically, as the image has no libraries: build it with scripts/static and pass it as \
             --binary, or choose a base image with a C library with --base",
        )),
        Some(_) => Ok(()),
    }
}

/// Whether a Linux program needs a dynamic loader; `None` if the file is not a 64-bit Linux program.
fn is_dynamic(head: &[u8]) -> Option<bool> {
    /// Type of the program header that names the loader (`PT_INTERP`).
    const LOADER: [u8; 4] = [3, 0, 0, 0];
    // ELF with 64 bits, little-endian.
    head.strip_prefix(b"\x7fELF\x02\x01")?;
    let number = |at: usize, length: usize| {
        let bytes = head.get(at..at.checked_add(length)?)?;
        bytes.iter().rev().try_fold(0_usize, |number, byte| number.checked_mul(256)?.checked_add(usize::from(*byte)))
    };
    let (start, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    for index in 0..count {
        let at = index.checked_mul(size)?.checked_add(start)?;
        if head.get(at..at.checked_add(4)?)? == LOADER {
            return Some(true);
        }
    }
    Some(false)
}

/// Returns the hash of all contents of the image. Reading a large model takes a while, so progress is shown.
fn hash(containerfile: &str, files: &[(PathBuf, PathBuf)]) -> Result<String, Failure> {
    let mut all = Sha256::new_with_prefix(containerfile);
    for (here, there) in files {
        let failed = |err: io::Error| Failure(format!("cannot read {}: {err}", here.display()));
        let file = File::open(here).map_err(failed)?;
        let bar = ProgressBar::new(file.metadata().map_err(failed)?.len());
        let style = ProgressStyle::with_template("reading {msg} {bar:24} {bytes}/{total_bytes}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(there.display().to_string());
        let mut one = Sha256::new();
        io::copy(&mut bar.wrap_read(file), &mut one).map_err(failed)?;
        bar.finish_and_clear();
        all.update(there.to_string_lossy().as_bytes());
        all.update(one.finalize());
    }
    Ok(format!("{:x}", all.finalize()))
}

/// Creates a hard link to a file, or a copy if the disks differ.
fn link(here: &Path, there: &Path) -> Result<(), Failure> {
    if let Some(folder) = there.parent() {
        fs::create_dir_all(folder)?;
    }
    if there.exists() {
        fs::remove_file(there)?; // left by a build that was interrupted
    }
    if fs::hard_link(here, there).is_err() {
        fs::copy(here, there).map_err(|err| Failure(format!("cannot copy {}: {err}", here.display())))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_has_all_parts_of_a_split_model() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        let split = ["m-Q4_0-00001-of-00002.gguf", "m-Q4_0-00002-of-00002.gguf"];
        for name in [&split[..], &["other-Q4_0.gguf", "odd.bin"]].concat() {
            fs::write(place(name), name).unwrap();
        }
        assert_eq!(parts(&place(split[0])), split.map(place));
        assert_eq!(parts(&place("other-Q4_0.gguf")), [place("other-Q4_0.gguf")]);
        assert_eq!(parts(&place("odd.bin")), [place("odd.bin")]);
    }

    #[test]
    fn an_image_has_the_projector_of_its_model() {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/models/lfm2vl");
        let folder = tempfile::tempdir().unwrap();
        for file in ["lfm2vl-f16.gguf", "mmproj-lfm2vl-f16.gguf", "mmproj-lfm2vl-q8_0.gguf"] {
            fs::copy(fixtures.join(file), folder.path().join(file)).unwrap();
        }
        let mut files = Vec::new();
        let inside = add_model(&folder.path().join("lfm2vl-f16.gguf"), &mut files).ok();
        assert_eq!(inside, Some(PathBuf::from("model/lfm2vl-f16.gguf")));
        let there: Vec<PathBuf> = files.into_iter().map(|(_, there)| there).collect();
        assert_eq!(there, ["model/lfm2vl-f16.gguf", "model/mmproj-lfm2vl-f16.gguf"].map(PathBuf::from));
    }

    /// The header of a program with segments of these types.
    fn program(kinds: &[u8]) -> Vec<u8> {
        let mut head = b"\x7fELF\x02\x01".to_vec();
        head.resize(64, 0);
        head[32] = 64;
        head[54] = 56;
        head[56] = u8::try_from(kinds.len()).unwrap();
        for kind in kinds {
            head.push(*kind);
            head.resize(head.len() + 55, 0);
        }
        head
    }

    #[test]
    fn a_program_that_needs_libraries_is_recognised() {
        assert_eq!(is_dynamic(&program(&[6, 3, 1])), Some(true));
        assert_eq!(is_dynamic(&program(&[1, 1])), Some(false));
        assert_eq!(is_dynamic(&program(&[1, 1])[..100]), None, "truncated");
        for other in [&b""[..], b"#!/bin/sh", b"\x7fELF\x01\x01", b"\xcf\xfa\xed\xfe", &[0xff; 4096]] {
            assert_eq!(is_dynamic(other), None);
        }
        let mut hostile = program(&[1]);
        hostile[32..40].fill(0xff);
        assert_eq!(is_dynamic(&hostile), None);
    }
}
