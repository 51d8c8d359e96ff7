//! What the files say of an encoder of sound. Sizes come from the tensors.

use serde_json::Value as Json;

use crate::checkpoint::architecture::check_layers;
use crate::checkpoint::config_object::Config;
use crate::checkpoint::invalid::invalid;
use crate::checkpoint::sound::family::{HearingFamily, LFM2_AUDIO};
use crate::checkpoint::sound::lfm3_audio::{LFM3_AUDIO, LFM3_OMNI};
use crate::checkpoint::sound::names::{is_sound, is_sound_encoder};
use crate::error::Result;
use crate::weights::{GgufFile, Weights};

/// Features of a frame at most: more than any model has.
const MAX_BINS: usize = 1024;

/// The kinds of encoders. A vision tower beside one of LFM3-Audio makes it one of LFM3-Omni.
static FAMILIES: [&HearingFamily; 2] = [&LFM2_AUDIO, &LFM3_AUDIO];

/// An encoder and its adapter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HearingArchitecture {
    pub(crate) family: &'static HearingFamily,
    pub(crate) n_layers: usize,
    pub(crate) n_heads: usize,
    pub(crate) norm_eps: f32,
    /// Features of a frame.
    pub(crate) n_bins: usize,
}

impl HearingArchitecture {
    /// Reads the description in the files of a model, or in a projector file. `None` if they have no encoder of sound.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad) for an encoder of another kind.
    pub(crate) fn read(weights: &Weights) -> Result<Option<Self>> {
        let architecture = match weights {
            Weights::Gguf(file) => {
                let says_so = file.boolean("clip.has_audio_encoder")? == Some(true);
                if !says_so && !weights.tensors().any(|tensor| is_sound_encoder(tensor.name)) {
                    return Ok(None);
                }
                of_gguf(file)?
            }
            Weights::Folder(folder) => match of_folder(folder.config())? {
                Some(architecture) => architecture,
                None => return Ok(None),
            },
        };
        check_layers(architecture.n_layers)?;
        if !(1..=MAX_BINS).contains(&architecture.n_bins) {
            return Err(invalid(format!(
                "frames of sound must have between 1 and {MAX_BINS} features, found {}",
                architecture.n_bins
            )));
        }
        Ok(Some(architecture))
    }

    /// The names of the tensors for sound in a projector file that the encoder does not read, which belong to speech parts.
    pub(crate) fn unread(&self, weights: &Weights) -> Vec<String> {
        let Weights::Gguf(_) = weights else { return Vec::new() };
        let unread = weights.tensors().filter(|tensor| is_sound(tensor.name) && !self.reads(tensor.name));
        unread.map(|tensor| tensor.name.to_owned()).collect()
    }

    /// Whether the encoder reads a tensor of its file.
    pub(super) fn reads(&self, name: &str) -> bool {
        let layer = name.strip_prefix("a.blk.").and_then(|rest| rest.split('.').next()?.parse::<usize>().ok());
        is_sound_encoder(name) && layer.is_none_or(|layer| layer < self.n_layers)
    }
}

fn of_gguf(file: &GgufFile) -> Result<HearingArchitecture> {
    let kind = match file.text("clip.projector_type")? {
        None => file.text("clip.audio.projector_type")?,
        kind => kind,
    };
    let kind = kind.unwrap_or("unknown");
    let family = FAMILIES.into_iter().find(|family| family.projector_type == kind);
    let family = family.ok_or_else(|| invalid(format!("the sound encoder of {kind:?} is not supported")))?;
    // The Omni model also has a vision tower.
    let is_omni = *family == LFM3_AUDIO && file.boolean("clip.has_vision_encoder")? == Some(true);
    let family = if is_omni { &LFM3_OMNI } else { family };
    let count = |key: &str| {
        let key = format!("clip.audio.{key}");
        file.count(&key)?.ok_or_else(|| invalid(format!("metadata {key} is missing")))
    };
    Ok(HearingArchitecture {
        n_layers: count("block_count")?,
        n_heads: count("attention.head_count")?,
        norm_eps: file.float("clip.audio.attention.layer_norm_epsilon")?.unwrap_or(family.norm_eps),
        n_bins: file.count("clip.audio.num_mel_bins")?.unwrap_or(family.rules.bins),
        family,
    })
}

fn of_folder(config: &Json) -> Result<Option<HearingArchitecture>> {
    let whole = Config(config);
    let classes = whole.list("architectures")?.into_iter().flatten().filter_map(Json::as_str);
    let classes: Vec<&str> = classes.collect();
    let is_of = |family: &&'static HearingFamily| classes.contains(&family.class);
    let Some(family) = FAMILIES.into_iter().find(is_of) else { return Ok(None) };
    let missing = |part: &str| invalid(format!("config.json must have {part}"));
    let encoder = whole.object("encoder")?.ok_or_else(|| missing("encoder"))?;
    check_encoder(encoder.0)?;
    if let Some(preprocessor) = whole.object("preprocessor")? {
        check_preprocessor(preprocessor.0)?;
    }
    Ok(Some(architecture_of(family, encoder)?))
}

fn architecture_of(family: &'static HearingFamily, encoder: Config<'_>) -> Result<HearingArchitecture> {
    Ok(HearingArchitecture {
        n_layers: encoder.needed_count(&["n_layers"])?,
        n_heads: encoder.needed_count(&["n_heads"])?,
        norm_eps: family.norm_eps,
        n_bins: encoder.count(&["feat_in"])?.unwrap_or(family.rules.bins),
        family,
    })
}

/// Refuses an encoder that would be computed in another way.
fn check_encoder(encoder: &Json) -> Result<()> {
    check("encoder", encoder, "subsampling", &"dw_striding".into())?;
    check("encoder", encoder, "subsampling_factor", &8.into())?;
    check("encoder", encoder, "causal_downsampling", &false.into())?;
    check("encoder", encoder, "reduction", &Json::Null)?;
    check("encoder", encoder, "self_attention_model", &"rel_pos".into())?;
    check("encoder", encoder, "att_context_size", &Json::from(vec![-1, -1]))?;
    check("encoder", encoder, "xscaling", &false.into())?;
    check("encoder", encoder, "untie_biases", &true.into())?;
    check("encoder", encoder, "conv_norm_type", &"batch_norm".into())?;
    check("encoder", encoder, "conv_context_size", &Json::Null)?;
    check("encoder", encoder, "feat_out", &(-1).into())
}

/// Refuses features that would be computed in another way.
fn check_preprocessor(preprocessor: &Json) -> Result<()> {
    check("preprocessor", preprocessor, "sample_rate", &16_000.into())?;
    check("preprocessor", preprocessor, "normalize", &"per_feature".into())?;
    check("preprocessor", preprocessor, "window_size", &0.025.into())?;
    check("preprocessor", preprocessor, "window_stride", &0.01.into())?;
    check("preprocessor", preprocessor, "window", &"hann".into())?;
    check("preprocessor", preprocessor, "n_fft", &512.into())?;
    check("preprocessor", preprocessor, "log", &true.into())?;
    check("preprocessor", preprocessor, "frame_splicing", &1.into())?;
    check("preprocessor", preprocessor, "pad_to", &0.into())
}

/// Refuses a setting with another value than the expected one. A missing setting is the expected one.
fn check(part: &str, settings: &Json, key: &str, expected: &Json) -> Result<()> {
    let is_same = |found: &Json| match (found.as_f64(), expected.as_f64()) {
        (Some(found), Some(expected)) => found == expected,
        _ => found == expected,
    };
    match settings.get(key) {
        Some(found) if !is_same(found) && !found.is_null() => {
            Err(invalid(format!("{key} of the {part} in config.json must be {expected}, found {found}")))
        }
        _ => Ok(()),
    }
}
