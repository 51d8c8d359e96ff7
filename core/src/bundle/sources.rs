//! What a bundle is made of: the files of a model and of its parts, and the manifest that names them.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json, json};

use crate::bundle::archive::{ArchiveWriter, MeasuredFile, Report, read, unreadable};
use crate::checkpoint::Checkpoint;
use crate::error::{ErrorKind, Result, SdkError};
use crate::model::embedding_shape;
use crate::names::is_plain_path;
use crate::names::manifest::{AUDIO_DECODER, AUDIO_PROJECTOR, AUDIO_TOKENIZER, FILE_NAME, FILES, MODEL, PROJECTOR};
use crate::packing::EXTENSION;
use crate::projectors::{self, ModelParts, PartFiles};
use crate::prompt::NO_AUDIO;
use crate::voice::{self, VoiceFiles};
use crate::weights::{FORMAT, FORMAT_VERSION, ListedModel, ModelOrigin, Weights};

/// Files of a model's parts that are not beside the model, and the form of its weights. Default: none, so that a bundle has the parts
/// that loading would find, and all files as they are.
///
/// ```no_run
/// use causerie::bundle::{self, BundleParts};
///
/// let parts = BundleParts { projectors: vec!["vision.gguf".into(), "sound.gguf".into()], ..Default::default() };
/// bundle::make("model.gguf", &parts, "model.bundle", |_| std::ops::ControlFlow::Continue(()))?;
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BundleParts {
    /// Projector files: one with all parts of the model that it has, or one for images and one for sound.
    pub projectors: Vec<PathBuf>,
    /// A GGUF file with the part that writes frames of sound (vocoder).
    pub audio_decoder: Option<PathBuf>,
    /// A GGUF file or folder with the part that turns frames into samples.
    pub audio_tokenizer: Option<PathBuf>,
    /// Whether the bundle has the weights of the language model as kernels read them, so that loading maps them
    /// ([`WeightMemory`](crate::WeightMemory)). Such a bundle loads on all processors, but not on a GPU, and other programs cannot
    /// use the model in it. The model must be in GGUF files.
    pub packs_weights: bool,
}

/// What a bundle is made of.
pub(super) struct BundleSources {
    /// The paths in the bundle, with those on disk.
    files: Vec<(String, PathBuf)>,
    /// The manifest, without the digests of the files.
    manifest: Map<String, Json>,
}

impl BundleSources {
    /// `packed` is where the model's weights will lie once they are packed, if they are.
    pub(super) fn new(weights: &Weights, parts: &BundleParts, packed: Option<&Path>) -> Result<Self> {
        if let ModelOrigin::Bundle(_) = weights.origin() {
            return Err(SdkError::new(ErrorKind::InvalidOption("model"), "the model must not be a bundle already"));
        }
        let mut model = ListedModel::new(weights)?;
        if let Some(packed) = packed {
            model.replace(&packed_name(weights), packed);
        }
        let ListedModel { first, files } = model;
        let mut listed = ListedParts { parameters: Map::from_iter([(MODEL.to_owned(), Json::from(first))]), files };
        listed.add_projectors(weights, &parts.projectors)?;
        let kind = match listed.add_voice(weights, parts)? {
            true => "lfm2-audio-v1",
            false if listed.parameters.len() == 1 => "text-to-text",
            false => "image-to-text",
        };
        let ListedParts { parameters, files } = listed;
        let mut names = BTreeSet::from([FILE_NAME.to_owned()]);
        match files.iter().find(|(name, _)| !is_plain_path(name) || !names.insert(name.to_lowercase())) {
            Some((name, _)) => {
                let message = format!("{name} cannot be in a bundle: its name is taken, or not valid on all systems");
                Err(SdkError::new(ErrorKind::InvalidOption("model"), message))
            }
            None => Ok(Self { files, manifest: manifest(weights, kind, parameters) }),
        }
    }

    pub(super) fn write(
        mut self,
        mut archive: ArchiveWriter,
        progress: impl FnMut(f32) -> ControlFlow<()>,
    ) -> Result<()> {
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

/// The name of a model's packed weights.
fn packed_name(weights: &Weights) -> String {
    let stem = weights.path().and_then(Path::file_stem).map(|stem| stem.to_string_lossy());
    format!("{}.{EXTENSION}", stem.as_deref().unwrap_or("model"))
}

/// The manifest of a model, which keeps what the model's own manifest says besides its files.
fn manifest(weights: &Weights, kind: &str, files: Map<String, Json>) -> Map<String, Json> {
    let mut manifest = weights.origin().manifest().map(|manifest| manifest.json.clone()).unwrap_or_default();
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

/// The files of a model and its parts, with what the manifest says of them.
struct ListedParts {
    parameters: Map<String, Json>,
    files: Vec<(String, PathBuf)>,
}

impl ListedParts {
    /// Adds the projectors that loading would find, or those that were given.
    fn add_projectors(&mut self, weights: &Weights, given: &[PathBuf]) -> Result<()> {
        let (_, hidden) = embedding_shape(&Checkpoint::read(weights)?.tensors)?;
        let ModelParts { vision, hearing } = match given {
            [] => projectors::find(weights, None, hidden)?,
            given => given_projectors(weights, given, hidden)?,
        };
        if let PartFiles::Missing(reason) = &hearing
            && reason != NO_AUDIO
        {
            log::warn!("the bundle has no audio input: {reason}");
        }
        if let Some(projector) = vision.projector() {
            self.add(PROJECTOR, projector)?;
        }
        let Some(projector) = hearing.projector() else { return Ok(()) };
        match &vision {
            PartFiles::Missing(_) => self.add(PROJECTOR, projector),
            PartFiles::Found(vision, _) if vision.weights().file_path() == projector.file_path() => Ok(()),
            PartFiles::Found(..) => self.add(AUDIO_PROJECTOR, projector),
        }
    }

    /// Adds the parts that speak; returns whether there are any.
    fn add_voice(&mut self, weights: &Weights, parts: &BundleParts) -> Result<bool> {
        let (decoder, tokenizer) = (parts.audio_decoder.as_deref(), parts.audio_tokenizer.as_deref());
        let (voice, files) = voice::find_with_files(weights, decoder, tokenizer)?;
        match voice {
            VoiceFiles::Found(_) => {}
            VoiceFiles::None => return Ok(false),
            VoiceFiles::Missing(reason) => {
                log::warn!("the bundle does not speak: {reason}");
                return Ok(false);
            }
        }
        for (key, part) in [(AUDIO_DECODER, files.decoder), (AUDIO_TOKENIZER, files.tokenizer)] {
            if let Some(part) = part {
                self.add(key, &part)?;
            }
        }
        Ok(true)
    }

    /// Adds the files of a part, unless they are among the model's own.
    fn add(&mut self, key: &str, part: &Weights) -> Result<()> {
        let ListedModel { first, files } = ListedModel::new(part)?;
        let folder = part.folder_name().map(|name| format!("{name}/"));
        self.parameters.insert(key.to_owned(), folder.as_ref().map_or(first, |folder| format!("./{folder}")).into());
        for (name, path) in files {
            let name = folder.as_deref().unwrap_or_default().to_owned() + &name;
            if !self.files.iter().any(|(_, known)| *known == path) {
                self.files.push((name, path));
            }
        }
        Ok(())
    }
}

/// The parts of a model in projectors, each of which must have one that no other has.
fn given_projectors<'a>(weights: &'a Weights, given: &[PathBuf], hidden: usize) -> Result<ModelParts<'a>> {
    let absent = || PartFiles::Missing(NO_AUDIO.to_owned());
    let mut parts = ModelParts { vision: PartFiles::Missing(String::new()), hearing: absent() };
    for path in given {
        let ModelParts { vision, hearing } = projectors::find(weights, Some(path), hidden)?;
        let has_vision = vision.projector().is_some() && parts.vision.projector().is_none();
        let has_hearing = hearing.projector().is_some() && parts.hearing.projector().is_none();
        if !has_vision && !has_hearing {
            let rule = format!("{} must have a part that no other projector has", path.display());
            return Err(SdkError::new(ErrorKind::InvalidOption("projector"), rule));
        }
        if has_vision {
            parts.vision = vision;
        }
        if has_hearing {
            parts.hearing = hearing;
        }
    }
    Ok(parts)
}
