//! Finds the files of a model's vision tower: its own, or a projector file.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use crate::checkpoint::VisionArchitecture;
use crate::error::{ErrorKind, Result, SdkError};
use crate::names::{ListedFile, PROJECTOR_WORDS, choose_projector, is_projector};
use crate::prompt::TEXT_ONLY;
use crate::weights::{ModelBytes, ModelOrigin, Weights, embedding_length};

/// The map whose outputs are rows of the decoder's embedding.
const LAST_MAP: &str = "mm.2.weight";

/// Bytes from the beginning of a file that is elsewhere: more than the header of a projector has, and enough of a model's to
/// know the length of its embeddings.
const HEAD_BYTES: usize = 1 << 20;

/// What a projector must fit, as far as it is known.
#[derive(Clone, Copy)]
struct ProjectorTarget<'a> {
    /// The length of its embeddings.
    hidden: Option<usize>,
    /// `general.architecture` of its file.
    architecture: Option<&'a str>,
}

/// The vision tower of a model.
pub(crate) enum VisionFiles<'a> {
    /// Its files and their description.
    Found(FoundWeights<'a>, VisionArchitecture),
    /// Why the model takes no images.
    Missing(String),
}

/// Where a tower's tensors are.
pub(crate) enum FoundWeights<'a> {
    /// In the model's own files.
    Own(&'a Weights),
    Projector(Box<Weights>),
}

impl FoundWeights<'_> {
    pub(crate) fn weights(&self) -> &Weights {
        match self {
            Self::Own(weights) => weights,
            Self::Projector(weights) => weights,
        }
    }
}

/// Finds the tower: in the given projector file, in that of the model's manifest or of the model's bytes, in the model's own
/// files, or in a projector file beside them.
///
/// # Errors
/// [`ErrorKind::ModelLoad`] for a projector that was given.
pub(crate) fn find<'a>(weights: &'a Weights, given: Option<&str>, hidden: usize) -> Result<VisionFiles<'a>> {
    let architecture = weights.metadata_text("general.architecture")?;
    let decoder = ProjectorTarget { hidden: Some(hidden), architecture };
    if let Some(path) = given {
        return named(Path::new(path), ModelOrigin::Disk, decoder);
    }
    if let Some(path) = weights.origin().manifest().and_then(|manifest| manifest.projector.as_deref()) {
        return named(path, weights.origin().clone(), decoder);
    }
    if let ModelOrigin::Memory(Some(bytes)) = weights.origin() {
        let projector = Weights::from_bytes(ModelBytes::from(Cow::clone(bytes)))?;
        let rule = |rule: String| SdkError::new(ErrorKind::ModelLoad, format!("the projector: {rule}"));
        let architecture = fit(&projector, decoder).map_err(rule)?;
        return Ok(VisionFiles::Found(FoundWeights::Projector(Box::new(projector)), architecture));
    }
    match VisionArchitecture::read(weights) {
        Ok(Some(architecture)) => return Ok(VisionFiles::Found(FoundWeights::Own(weights), architecture)),
        Ok(None) => {}
        Err(err) => return Ok(VisionFiles::Missing(err.to_string())),
    }
    match (weights.file_path(), weights.origin()) {
        (Some(path), ModelOrigin::Disk | ModelOrigin::Manifest(_)) => Ok(beside(path, decoder)),
        _ => Ok(VisionFiles::Missing(TEXT_ONLY.to_owned())),
    }
}

/// The tower in a projector file that was named.
fn named(path: &Path, origin: ModelOrigin, decoder: ProjectorTarget<'_>) -> Result<VisionFiles<'static>> {
    let (projector, architecture) = open(path, origin, decoder).map_err(|unfit| match unfit {
        Unfit::Opening(err) => err,
        Unfit::Content(rule) => SdkError::new(ErrorKind::ModelLoad, format!("{}: {rule}", path.display())),
    })?;
    Ok(VisionFiles::Found(FoundWeights::Projector(Box::new(projector)), architecture))
}

/// Whether files beside a model's file have names of projectors.
pub(crate) fn has_candidates(model: &Path) -> bool {
    !candidates(folder_of(model)).is_empty()
}

fn folder_of(model: &Path) -> &Path {
    model.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The files of a folder that have names of projectors, in order.
fn candidates(folder: &Path) -> Vec<String> {
    let name = |entry: fs::DirEntry| entry.file_name().into_string().ok();
    let names = fs::read_dir(folder).into_iter().flatten().flatten().filter_map(name);
    let mut names: Vec<String> = names.filter(|name| is_projector(name)).collect();
    names.sort();
    names
}

/// The tower in a projector file in the folder of a model's file.
fn beside(model: &Path, decoder: ProjectorTarget<'_>) -> VisionFiles<'static> {
    let folder = folder_of(model);
    let names = candidates(folder);
    if names.is_empty() {
        let [first, second] = PROJECTOR_WORDS;
        return VisionFiles::Missing(format!(
            "images require the model's projector file: found no GGUF file named *{first}* or *{second}* beside the model's"
        ));
    }
    let (mut fitting, mut refused) = (Vec::new(), Vec::new());
    for name in names {
        match open(&folder.join(&name), ModelOrigin::Disk, decoder) {
            Ok(projector) => fitting.push((name, projector)),
            Err(Unfit::Opening(_)) => refused.push(format!("{name} cannot be read")),
            Err(Unfit::Content(rule)) => refused.push(format!("{name}: {rule}")),
        }
    }
    let names: Vec<String> = fitting.iter().map(|(name, _)| name.clone()).collect();
    let model = model.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match choose_projector(model, &names).map(str::to_owned) {
        Some(chosen) => {
            let found = fitting.into_iter().find(|(name, _)| *name == chosen);
            found.map_or_else(
                || VisionFiles::Missing(TEXT_ONLY.to_owned()),
                |(_, (weights, architecture))| {
                    VisionFiles::Found(FoundWeights::Projector(Box::new(weights)), architecture)
                },
            )
        }
        None if names.is_empty() => {
            VisionFiles::Missing(format!("images require the model's projector file: {}", refused.join("; ")))
        }
        None => VisionFiles::Missing(format!(
            "images require the model's projector file, and several may be: {}; name one when loading",
            names.join(", ")
        )),
    }
}

/// The projector file of a model in a listing, of which no file is here: it lies beside the model's file, has a name of such
/// files, and a header that fits. `head` gets a number of bytes from the beginning of a file, or the whole file if it has fewer.
/// `None` if there is no projector that this library can use, or none that is clearly the model's.
pub(crate) fn in_listing(
    model: &str,
    listing: &[ListedFile],
    mut head: impl FnMut(&str, usize) -> Result<Vec<u8>>,
) -> Result<Option<String>> {
    let (folder, model_name) = model.rsplit_once('/').unwrap_or(("", model));
    let name = |file: &ListedFile| {
        let (own, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        (own == folder && is_projector(name)).then(|| name.to_owned())
    };
    let mut names: Vec<String> = listing.iter().filter_map(name).collect();
    names.sort();
    let mut hidden = None;
    while let Some(chosen) = choose_projector(model_name, &names).map(str::to_owned) {
        let path = if folder.is_empty() { chosen.clone() } else { format!("{folder}/{chosen}") };
        let size = listing.iter().find(|file| file.path == path).map_or(0, |file| file.size);
        if hidden.is_none() {
            hidden = Some(embedding_length(&head(model, HEAD_BYTES)?));
        }
        let bytes = head(&path, HEAD_BYTES)?;
        let weights = Weights::of_head(bytes, usize::try_from(size).unwrap_or(usize::MAX));
        let decoder = ProjectorTarget { hidden: hidden.flatten(), architecture: None };
        if weights.is_ok_and(|weights| fit(&weights, decoder).is_ok()) {
            return Ok(Some(path));
        }
        names.retain(|name| *name != chosen);
    }
    Ok(None)
}

/// Why a file is not the projector of a model.
enum Unfit {
    Opening(SdkError),
    Content(String),
}

/// Opens a projector file, and checks that it fits the model. Errors name no folder, as they may reach a client of the HTTP
/// service.
fn open(
    path: &Path,
    origin: ModelOrigin,
    decoder: ProjectorTarget<'_>,
) -> Result<(Weights, VisionArchitecture), Unfit> {
    let weights = Weights::open_file(path, origin).map_err(Unfit::Opening)?;
    let architecture = fit(&weights, decoder).map_err(Unfit::Content)?;
    Ok((weights, architecture))
}

/// The tower of a projector file whose rows are as long as the model's, and which was made for models of its architecture.
fn fit(
    weights: &Weights,
    ProjectorTarget { hidden, architecture: decoder }: ProjectorTarget<'_>,
) -> Result<VisionArchitecture, String> {
    let architecture = VisionArchitecture::read(weights).map_err(|err| err.to_string())?;
    let architecture = architecture.ok_or("the file has no vision tower")?;
    if let Some(decoder) = decoder.filter(|decoder| !architecture.family.decoders.contains(decoder)) {
        let expected = architecture.family.decoders.join(" or ");
        return Err(format!("the projector is one for models of {expected}, found {decoder}"));
    }
    let rows = weights.tensors().find(|tensor| tensor.name == LAST_MAP).map(|tensor| tensor.shape);
    match (rows, hidden) {
        (Some(&[rows, _]), hidden) if hidden.is_none_or(|hidden| rows == hidden) => Ok(architecture),
        (Some(shape), Some(hidden)) => Err(format!("tensor {LAST_MAP} must have {hidden} rows, found shape {shape:?}")),
        _ => Err(format!("tensor {LAST_MAP} is missing")),
    }
}
