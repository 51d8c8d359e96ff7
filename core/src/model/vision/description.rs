//! What the files say of a vision tower. Sizes come from the tensors.

use serde_json::Value as Json;

use crate::error::Result;
use crate::media::TilingRules;
use crate::model::architecture::check_layers;
use crate::model::config_object::Config;
use crate::model::invalid::invalid;
use crate::model::vision::names::is_vision;
use crate::model::vision::rules::{check, default_rules, processor_settings, rules};
use crate::weights::{GgufFile, Weights};

/// The tower and the projector of LFM2-VL: SigLIP 2, whose patches are merged.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VisionArchitecture {
    pub(crate) n_layers: usize,
    pub(crate) n_heads: usize,
    pub(crate) norm_eps: f32,
    pub(crate) rules: TilingRules,
    /// Mean and standard deviation of each channel, as shares of the largest level.
    pub(crate) mean: [f32; 3],
    pub(crate) deviation: [f32; 3],
}

const NORM_EPS: f64 = 1e-6;
const HALVES: [f32; 3] = [0.5; 3];

impl VisionArchitecture {
    /// Reads the description in the files of a model, or in a projector file. `None` if they have no tower.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad) for a tower of another kind.
    pub(crate) fn read(weights: &Weights) -> Result<Option<Self>> {
        if !weights.tensors().any(|tensor| is_vision(tensor.name)) {
            return Ok(None);
        }
        let architecture = match weights {
            Weights::Gguf(file) => of_gguf(file)?,
            Weights::Folder(folder) => of_folder(folder.config(), &processor_settings(folder)?)?,
        };
        check(&architecture.rules)?;
        check_layers(architecture.n_layers)?;
        Ok(Some(architecture))
    }
}

fn unsupported(kind: &str) -> crate::error::SdkError {
    invalid(format!("the vision tower of {kind:?} is not supported"))
}

fn of_gguf(file: &GgufFile) -> Result<VisionArchitecture> {
    match file.text("clip.projector_type")? {
        Some("lfm2") => {}
        other => return Err(unsupported(other.unwrap_or("unknown"))),
    }
    let count = |key: &str| {
        let key = format!("clip.vision.{key}");
        file.count(&key)?.ok_or_else(|| invalid(format!("metadata {key} is missing")))
    };
    let channels = |key: &str| -> Result<[f32; 3]> {
        let key = format!("clip.vision.{key}");
        match file.numbers(&key)? {
            None => Ok(HALVES),
            Some(values) => values.try_into().map_err(|_| invalid(format!("metadata {key} must have three values"))),
        }
    };
    let merge = file.count("clip.vision.projector.scale_factor")?.unwrap_or(default_rules().merge);
    Ok(VisionArchitecture {
        n_layers: count("block_count")?,
        n_heads: count("attention.head_count")?,
        norm_eps: file.float("clip.vision.attention.layer_norm_epsilon")?.unwrap_or(NORM_EPS as f32),
        rules: TilingRules { patch: count("patch_size")?, merge, ..default_rules() },
        mean: channels("image_mean")?,
        deviation: channels("image_std")?,
    })
}

fn of_folder(config: &Json, settings: &Json) -> Result<VisionArchitecture> {
    let whole = Config(config);
    match whole.text("model_type")? {
        Some("lfm2_vl" | "lfm2-vl") => {}
        other => return Err(unsupported(other.unwrap_or("unknown"))),
    }
    let vision = whole.object("vision_config")?.ok_or_else(|| invalid("config.json must have vision_config"))?;
    for (activation, expected) in
        [(vision.text("hidden_act")?, "gelu_pytorch_tanh"), (whole.text("projector_hidden_act")?, "gelu")]
    {
        if activation.is_some_and(|activation| activation != expected) {
            return Err(invalid(format!("the activation of images must be {expected:?}, found {activation:?}")));
        }
    }
    let settings = Config(settings);
    let channels = |key: &str| -> Result<[f32; 3]> {
        let Some(values) = settings.list(key)? else { return Ok(HALVES) };
        let values: Option<Vec<f32>> = values.iter().map(|value| value.as_f64().map(|value| value as f32)).collect();
        let values = values.and_then(|values| values.try_into().ok());
        values.ok_or_else(|| invalid(format!("{key} of the image processor must have three numbers")))
    };
    let rules = rules(settings)?;
    Ok(VisionArchitecture {
        n_layers: vision.needed_count(&["num_hidden_layers"])?,
        n_heads: vision.needed_count(&["num_attention_heads"])?,
        norm_eps: vision.number(&["layer_norm_eps"])?.unwrap_or(NORM_EPS) as f32, // the precision of the tensors
        rules: TilingRules { merge: whole.count(&["downsample_factor"])?.unwrap_or(rules.merge), ..rules },
        mean: channels("image_mean")?,
        deviation: channels("image_std")?,
    })
}
