//! Finds the files of a model's parts: its own, or a projector file.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use crate::checkpoint::{HearingArchitecture, VisionArchitecture};
use crate::error::{ErrorKind, Result, SdkError};
use crate::names::{PROJECTOR_WORDS, choose_projector, is_projector};
use crate::projectors::part::ModelPart;
use crate::weights::{ModelBytes, ModelOrigin, Weights};

/// What a projector must fit, as far as it is known.
#[derive(Clone, Copy)]
pub(super) struct ProjectorTarget<'a> {
    /// The length of its embeddings.
    pub(super) hidden: Option<usize>,
    /// `general.architecture` of its file.
    pub(super) architecture: Option<&'a str>,
}

/// A part of a model.
pub(crate) enum PartFiles<'a, P> {
    /// Its files and their description.
    Found(FoundWeights<'a>, P),
    /// Why the model takes no such content.
    Missing(String),
}

/// The vision part and the audio part of a model.
pub(crate) struct ModelParts<'a> {
    pub(crate) vision: PartFiles<'a, VisionArchitecture>,
    pub(crate) hearing: PartFiles<'a, HearingArchitecture>,
}

impl ModelParts<'_> {
    /// The projector file of a part.
    pub(crate) fn projector(&self) -> Option<&Weights> {
        self.hearing.projector().or(self.vision.projector())
    }
}

/// Where a part's tensors are.
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

impl<P> PartFiles<'_, P> {
    /// The projector file, if the part is in one.
    pub(crate) fn projector(&self) -> Option<&Weights> {
        match self {
            Self::Found(FoundWeights::Projector(projector), _) => Some(projector),
            _ => None,
        }
    }
}

/// Finds the parts: in the given projector file, in that of the model's manifest or of the model's bytes, in the model's own
/// files, or in projector files beside them.
///
/// # Errors
/// [`ErrorKind::ModelLoad`] for a projector that was given, and has no part that can be used. If a manifest names a projector for
/// each part, both must have theirs.
pub(crate) fn find<'a>(weights: &'a Weights, given: Option<&Path>, hidden: usize) -> Result<ModelParts<'a>> {
    let (vision, hearing) = (find_part(weights, given, hidden)?, find_part(weights, given, hidden)?);
    let manifest = weights.origin().manifest().filter(|_| given.is_none());
    if manifest.is_some_and(|manifest| manifest.audio_projector.is_some()) {
        return Ok(ModelParts { vision: named_part(weights, vision)?, hearing: named_part(weights, hearing)? });
    }
    let path = given.or_else(|| manifest.and_then(|manifest| manifest.projector.as_deref()));
    let (vision, hearing) = match (vision, hearing) {
        (Ok(vision), Ok(hearing)) => (vision, hearing),
        (Ok(vision), Err(Unfit::Absent)) => (vision, PartFiles::Missing(HearingArchitecture::ABSENT.to_owned())),
        (Ok(vision), Err(unfit)) => (vision, PartFiles::Missing(unfit.reason::<HearingArchitecture>())),
        (Err(unfit), Ok(hearing)) => (PartFiles::Missing(unfit.reason::<VisionArchitecture>()), hearing),
        (Err(Unfit::Absent), Err(Unfit::Absent)) => {
            let [first, second] = [VisionArchitecture::NAME, HearingArchitecture::NAME];
            return Err(refused(path, format!("the file has no {first} and no {second}")));
        }
        (Err(Unfit::Opening(err)), _) => return Err(err),
        (Err(Unfit::Absent), Err(unfit)) => return Err(refused(path, unfit.reason::<HearingArchitecture>())),
        (Err(unfit), _) => return Err(refused(path, unfit.reason::<VisionArchitecture>())),
    };
    Ok(ModelParts { vision, hearing })
}

/// A part whose projector a manifest names for it alone.
fn named_part<'a, P: ModelPart>(weights: &Weights, found: Result<PartFiles<'a, P>, Unfit>) -> Result<PartFiles<'a, P>> {
    found.map_err(|unfit| match unfit {
        Unfit::Opening(err) => err,
        unfit => refused(weights.origin().manifest().and_then(P::in_manifest), unfit.reason::<P>()),
    })
}

/// The error for a projector that was given, or that belongs to the model's files.
fn refused(path: Option<&Path>, rule: String) -> SdkError {
    let place = path.map_or("the projector".to_owned(), |path| path.display().to_string());
    SdkError::new(ErrorKind::ModelLoad, format!("{place}: {rule}"))
}

/// Finds one part. The inner error is that of a projector which was given.
fn find_part<'a, P: ModelPart>(
    weights: &'a Weights,
    given: Option<&Path>,
    hidden: usize,
) -> Result<Result<PartFiles<'a, P>, Unfit>> {
    let architecture = weights.metadata_text("general.architecture")?;
    let decoder = ProjectorTarget { hidden: Some(hidden), architecture };
    if let Some(path) = given {
        return Ok(named(path, ModelOrigin::Disk, decoder));
    }
    if let Some(path) = weights.origin().manifest().and_then(P::in_manifest) {
        return Ok(named(path, weights.origin().clone(), decoder));
    }
    if let ModelOrigin::Memory(Some(bytes)) = weights.origin() {
        let projector = Weights::from_bytes(ModelBytes::from(Cow::clone(bytes)))?;
        let architecture = fit::<P>(&projector, decoder);
        return Ok(architecture.map(|found| PartFiles::Found(FoundWeights::Projector(Box::new(projector)), found)));
    }
    match P::read(weights) {
        Ok(Some(architecture)) => return Ok(Ok(PartFiles::Found(FoundWeights::Own(weights), architecture))),
        Ok(None) => {}
        Err(err) => return Ok(Ok(PartFiles::Missing(err.to_string()))),
    }
    let missing = || PartFiles::Missing(P::ABSENT.to_owned());
    Ok(Ok(match (weights.file_path(), weights.origin()) {
        (Some(path), ModelOrigin::Disk | ModelOrigin::Manifest(_)) => {
            let name = weights.metadata_text("general.name")?.unwrap_or_default();
            let is_expected = |path: &str| P::is_expected(path) || P::is_expected(name);
            let is_expected = is_expected(path.file_name().and_then(|name| name.to_str()).unwrap_or_default());
            beside(path, decoder, is_expected)
        }
        _ => missing(),
    }))
}

/// The part in a projector file that was named.
fn named<P: ModelPart>(
    path: &Path,
    origin: ModelOrigin,
    decoder: ProjectorTarget<'_>,
) -> Result<PartFiles<'static, P>, Unfit> {
    let (projector, architecture) = open(path, origin, decoder)?;
    Ok(PartFiles::Found(FoundWeights::Projector(Box::new(projector)), architecture))
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

/// The part in a projector file in the folder of a model's file. `is_expected` says whether the model seems to have one.
fn beside<P: ModelPart>(model: &Path, decoder: ProjectorTarget<'_>, is_expected: bool) -> PartFiles<'static, P> {
    let folder = folder_of(model);
    let names = candidates(folder);
    let absent = || PartFiles::Missing(P::ABSENT.to_owned());
    if names.is_empty() {
        let [first, second] = PROJECTOR_WORDS;
        return match is_expected {
            true => PartFiles::Missing(format!(
                "{} the model's projector file: found no GGUF file named *{first}* or *{second}* beside the model's",
                P::REQUIRES
            )),
            false => absent(),
        };
    }
    let (mut fitting, mut refused) = (Vec::new(), Vec::new());
    for name in names {
        match open::<P>(&folder.join(&name), ModelOrigin::Disk, decoder) {
            Ok(projector) => fitting.push((name, projector)),
            Err(Unfit::Absent) if !is_expected => {}
            Err(Unfit::Opening(_)) if !is_expected => {}
            Err(Unfit::Opening(_)) => refused.push(format!("{name} cannot be read")),
            Err(unfit) => refused.push(format!("{name}: {}", unfit.reason::<P>())),
        }
    }
    let names: Vec<String> = fitting.iter().map(|(name, _)| name.clone()).collect();
    let model = model.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let requires = format!("{} the model's projector file", P::REQUIRES);
    match choose_projector(model, &names).map(str::to_owned) {
        Some(chosen) => {
            let found = fitting.into_iter().find(|(name, _)| *name == chosen);
            found.map_or_else(absent, |(_, (weights, architecture))| {
                PartFiles::Found(FoundWeights::Projector(Box::new(weights)), architecture)
            })
        }
        None if names.is_empty() && refused.is_empty() => absent(),
        None if names.is_empty() => PartFiles::Missing(format!("{requires}: {}", refused.join("; "))),
        None => {
            PartFiles::Missing(format!("{requires}, and several may be: {}; name one when loading", names.join(", ")))
        }
    }
}

/// Why a file is not the projector of a model.
pub(super) enum Unfit {
    Opening(SdkError),
    /// It has no such part.
    Absent,
    Content(String),
}

impl Unfit {
    fn reason<P: ModelPart>(self) -> String {
        match self {
            Self::Opening(err) => err.to_string(),
            Self::Absent => format!("the file has no {}", P::NAME),
            Self::Content(rule) => rule,
        }
    }
}

/// Opens a projector file, and checks that it fits the model. Errors name no folder, as they may reach a client of the HTTP
/// service.
fn open<P: ModelPart>(path: &Path, origin: ModelOrigin, decoder: ProjectorTarget<'_>) -> Result<(Weights, P), Unfit> {
    let weights = Weights::open_file(path, origin).map_err(Unfit::Opening)?;
    let architecture = fit(&weights, decoder)?;
    Ok((weights, architecture))
}

/// The part of a projector file whose rows are as long as the model's, and which was made for models of its architecture.
pub(super) fn fit<P: ModelPart>(
    weights: &Weights,
    ProjectorTarget { hidden, architecture: decoder }: ProjectorTarget<'_>,
) -> Result<P, Unfit> {
    let architecture = P::read(weights).map_err(|err| Unfit::Content(err.to_string()))?.ok_or(Unfit::Absent)?;
    if let Some(decoder) = decoder.filter(|decoder| !architecture.decoders().contains(decoder)) {
        let expected = architecture.decoders().join(" or ");
        return Err(Unfit::Content(format!("the projector is one for models of {expected}, found {decoder}")));
    }
    let (map, is_transposed) = architecture.last_map();
    let shape = weights.tensors().find(|tensor| tensor.name == map).map(|tensor| tensor.shape);
    let is_long = |&[rows, columns]: &[usize; 2]| {
        let found = if is_transposed { columns } else { rows };
        hidden.is_none_or(|hidden| found == hidden)
    };
    match (shape, hidden) {
        (Some(shape), _) if <&[usize; 2]>::try_from(shape).is_ok_and(is_long) => Ok(architecture),
        (Some(shape), Some(hidden)) => {
            Err(Unfit::Content(format!("tensor {map} must give rows of {hidden} values, found shape {shape:?}")))
        }
        _ => Err(Unfit::Content(format!("tensor {map} is missing"))),
    }
}
