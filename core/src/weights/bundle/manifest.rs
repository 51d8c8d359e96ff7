//! Manifests: JSON that says which files a model consists of, and how it is to be used. LEAP's have the same form.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use causerie_backend::ModelFile;
use serde_json::{Map, Value as Json};

use crate::error::{ErrorKind, Result, SdkError};
use crate::names::is_plain_path;
use crate::names::manifest::{AUDIO_DECODER, AUDIO_PROJECTOR, AUDIO_TOKENIZER, FILES, MAX_BYTES, MODEL, PROJECTOR};
use crate::options::SamplingDefaults;
use crate::weights::content::unreadable;

/// The `format` of a manifest in a bundle.
pub(crate) const FORMAT: &str = "causerie/bundle";
pub(crate) const FORMAT_VERSION: u64 = 1;

/// Which files a model consists of, and how it is to be used.
pub(crate) struct Manifest {
    /// The object as it was read.
    pub(crate) json: Map<String, Json>,
    /// The model's file, or its folder.
    pub(crate) model: PathBuf,
    pub(crate) is_folder: bool,
    pub(crate) projector: Option<PathBuf>,
    /// The projector with the audio part, if it is another one.
    pub(crate) audio_projector: Option<PathBuf>,
    /// What writes frames of sound.
    pub(crate) audio_decoder: Option<ManifestPart>,
    /// What turns frames into samples.
    pub(crate) audio_tokenizer: Option<ManifestPart>,
    /// The chat template that replaces the model's own.
    pub(crate) chat_template: Option<String>,
    /// The sampling values that replace the values of the model's files.
    pub(crate) sampling: SamplingDefaults,
    /// Sizes and digests of the files.
    pub(crate) files: BTreeMap<String, ManifestFile>,
}

/// A part of a model that a manifest names.
pub(crate) struct ManifestPart {
    pub(crate) path: PathBuf,
    pub(crate) is_folder: bool,
}

/// What a manifest says about a file.
pub(crate) struct ManifestFile {
    pub(crate) size: u64,
    /// 64 hexadecimal digits, in lower case.
    pub(crate) sha256: String,
}

impl Manifest {
    /// Reads a manifest beside the files of its model.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let file = ModelFile::open(path).map_err(unreadable(path))?;
        check_size(file.n_bytes())?;
        let json = file.read(0..file.n_bytes()).map_err(unreadable(path))?;
        let with_path = |err: SdkError| SdkError::new(err.kind(), path.display().to_string()).caused_by(err);
        Self::parse(object(&json).map_err(with_path)?, path.parent().unwrap_or(path)).map_err(with_path)
    }

    /// Reads the manifest of a bundle, whose files have paths below the bundle's own.
    pub(super) fn of_bundle(json: &[u8], bundle: &Path) -> Result<Self> {
        let json = object(json)?;
        if json.get("format").and_then(Json::as_str) != Some(FORMAT) {
            return Err(broken(format!("format must be {FORMAT:?}")));
        }
        match json.get("format_version").and_then(Json::as_u64) {
            Some(FORMAT_VERSION) => Self::parse(json, bundle),
            _ => Err(broken(format!("format_version must be {FORMAT_VERSION}: another release wrote it"))),
        }
    }

    /// Whether a file is a manifest, whatever it says.
    pub(crate) fn is_at(path: &Path) -> bool {
        let json = || {
            let file = ModelFile::open(path).ok().filter(|file| file.n_bytes() <= MAX_BYTES)?;
            file.read(0..file.n_bytes()).ok()
        };
        json().and_then(|json| object(&json).ok()).is_some_and(|json| json.contains_key(FILES))
    }

    /// The files stay in the folder of the manifest, or in its bundle.
    fn parse(json: Map<String, Json>, root: &Path) -> Result<Self> {
        let parameters = json.get(FILES).and_then(Json::as_object);
        let parameters = parameters.ok_or_else(|| broken(format!("{FILES} must be an object")))?;
        let file = |key: &str| {
            let place = format!("{FILES}.{key}");
            text(parameters.get(key), &place)?.map(|path| plain(&path, &place)).transpose()
        };
        let model = file(MODEL)?.ok_or_else(|| broken(format!("{FILES}.{MODEL} must be there")))?;
        let projector = |key: &str| Ok::<_, SdkError>(file(key)?.map(|path| root.join(path)));
        let part = |key: &str| {
            let named = |path: String| ManifestPart { is_folder: is_folder(&path), path: root.join(path) };
            Ok::<_, SdkError>(file(key)?.map(named))
        };
        let null = Json::Null;
        let sampling = json.get("generation_time_parameters").and_then(|values| values.get("sampling_parameters"));
        let files = json.get("files").and_then(Json::as_object);
        Ok(Self {
            is_folder: is_folder(&model),
            projector: projector(PROJECTOR)?,
            audio_projector: projector(AUDIO_PROJECTOR)?,
            audio_decoder: part(AUDIO_DECODER)?,
            audio_tokenizer: part(AUDIO_TOKENIZER)?,
            model: root.join(&model),
            chat_template: text(parameters.get("chat_template"), &format!("{FILES}.chat_template"))?,
            sampling: sampling_of(sampling.unwrap_or(&null))?,
            files: files.into_iter().flatten().map(listed).collect::<Result<_>>()?,
            json,
        })
    }
}

pub(super) fn check_size(n_bytes: usize) -> Result<()> {
    match n_bytes <= MAX_BYTES {
        true => Ok(()),
        false => Err(broken(format!("it must have at most {MAX_BYTES} bytes, found {n_bytes}"))),
    }
}

fn broken(rule: impl std::fmt::Display) -> SdkError {
    SdkError::new(ErrorKind::ModelLoad, format!("not a valid manifest of a model: {rule}"))
}

fn object(json: &[u8]) -> Result<Map<String, Json>> {
    serde_json::from_slice(json).map_err(|err| broken("it must be a JSON object").caused_by(err))
}

/// A path without the `./` that it may begin with; empty for the folder of the manifest.
fn plain(path: &str, place: &str) -> Result<String> {
    if path.contains("://") {
        let rule = format!("{place} must be a path, found an address: a pull of the manifest fetches its files");
        return Err(broken(rule));
    }
    let rest = path.strip_prefix("./").unwrap_or(path);
    match path == "./" || is_plain_path(rest.strip_suffix('/').unwrap_or(rest)) {
        true => Ok(rest.to_owned()),
        false => Err(broken(format!("{place} must be a relative path, found {path:?}"))),
    }
}

fn is_folder(path: &str) -> bool {
    path.is_empty() || path.ends_with('/')
}

fn text(value: Option<&Json>, place: &str) -> Result<Option<String>> {
    match value {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(broken(format!("{place} must be a string"))),
    }
}

fn sampling_of(values: &Json) -> Result<SamplingDefaults> {
    let number = |key: &str| match values.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(value) => {
            let number = value.as_f64().map(|number| number as f32); // rounding is fine for settings
            number.map(Some).ok_or_else(|| broken(format!("sampling_parameters.{key} must be a number")))
        }
    };
    let top_k = match values.get("top_k") {
        None | Some(Json::Null) => None,
        Some(value) => {
            let count = value.as_u64().and_then(|count| usize::try_from(count).ok());
            Some(count.ok_or_else(|| broken("sampling_parameters.top_k must be an integer of 0 or more"))?)
        }
    };
    Ok(SamplingDefaults {
        temperature: number("temperature")?,
        top_p: number("top_p")?,
        top_k,
        min_p: number("min_p")?,
        repetition_penalty: number("repetition_penalty")?,
    })
}

fn listed((path, entry): (&String, &Json)) -> Result<(String, ManifestFile)> {
    let size = entry.get("size").and_then(Json::as_u64);
    let sha256 = entry.get("sha256").and_then(Json::as_str).map(str::to_ascii_lowercase);
    let sha256 = sha256.filter(|digest| digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()));
    match (size, sha256) {
        (Some(size), Some(sha256)) => Ok((plain(path, "files")?, ManifestFile { size, sha256 })),
        _ => Err(broken(format!("files[{path:?}] must have a size and a sha256"))),
    }
}
