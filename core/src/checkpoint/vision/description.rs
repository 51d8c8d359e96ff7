//! What the files say of a vision tower. Sizes come from the tensors.

use serde_json::Value as Json;

use crate::checkpoint::architecture::check_layers;
use crate::checkpoint::config_object::Config;
use crate::checkpoint::invalid::invalid;
use crate::checkpoint::vision::family::VisionFamily;
use crate::checkpoint::vision::gemma3::{self, GEMMA3};
use crate::checkpoint::vision::gemma4::{self, GEMMA4};
use crate::checkpoint::vision::lfm2_vl::LFM2_VL;
use crate::checkpoint::vision::lfm3_vl::LFM3_VL;
use crate::checkpoint::vision::names::is_vision;
use crate::checkpoint::vision::qwen35::{self, QWEN35};
use crate::checkpoint::vision::rules::{check, gguf_rules, processor_settings, rules};
use crate::error::Result;
use crate::media::TilingRules;
use crate::position::MutualAttention;
use crate::weights::{GgufFile, Weights};

/// The kinds of towers.
static FAMILIES: [&VisionFamily; 5] = [&LFM2_VL, &LFM3_VL, &GEMMA3, &GEMMA4, &QWEN35];

/// A tower and its projector.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VisionArchitecture {
    pub(crate) family: &'static VisionFamily,
    pub(crate) n_layers: usize,
    /// Heads of queries, and of keys and values.
    pub(crate) n_heads: usize,
    pub(crate) n_key_heads: usize,
    pub(crate) norm_eps: f32,
    /// The base of the angles of axial rotary positions, if there is no table of positions.
    pub(crate) rope_theta: Option<f32>,
    pub(crate) rules: TilingRules,
    /// Where rows of an image attend to each other in the decoder.
    pub(crate) mutual: MutualAttention,
    /// Mean and standard deviation of each channel, as shares of the largest level.
    pub(crate) mean: [f32; 3],
    pub(crate) deviation: [f32; 3],
}

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

    /// The rows of the largest image, if the rows of an image attend to each other, so that one pass computes all of them; else 0.
    pub(crate) fn max_whole_rows(&self) -> usize {
        match self.mutual {
            MutualAttention::Nowhere => 0,
            MutualAttention::InWindows | MutualAttention::Everywhere => self.rules.max_rows(),
        }
    }
}

fn family(kind: Option<&str>, is_of: impl Fn(&VisionFamily, &str) -> bool) -> Result<&'static VisionFamily> {
    let kind = kind.unwrap_or("unknown");
    let found = FAMILIES.into_iter().find(|family| is_of(family, kind));
    found.ok_or_else(|| invalid(format!("the vision tower of {kind:?} is not supported")))
}

fn of_gguf(file: &GgufFile) -> Result<VisionArchitecture> {
    let kind = match file.text("clip.projector_type")? {
        None => file.text("clip.vision.projector_type")?,
        kind => kind,
    };
    let family = family(kind, |family, kind| family.projector_type == kind)?;
    let count = |key: &str| {
        let key = format!("clip.vision.{key}");
        file.count(&key)?.ok_or_else(|| invalid(format!("metadata {key} is missing")))
    };
    let channels = |key: &str, usual: [f32; 3]| -> Result<[f32; 3]> {
        let key = format!("clip.vision.{key}");
        match file.numbers(&key)? {
            None => Ok(usual),
            Some(values) => values.try_into().map_err(|_| invalid(format!("metadata {key} must have three values"))),
        }
    };
    if file.booleans("clip.vision.is_deepstack_layers")?.is_some_and(|layers| layers.contains(&true)) {
        return Err(invalid("metadata clip.vision.is_deepstack_layers must be false for all layers"));
    }
    let n_heads = count("attention.head_count")?;
    let (mean, deviation) =
        levels(family, channels("image_mean", family.mean)?, channels("image_std", family.deviation)?);
    Ok(VisionArchitecture {
        n_layers: count("block_count")?,
        n_key_heads: file.count("clip.vision.attention.head_count_kv")?.unwrap_or(n_heads),
        n_heads,
        norm_eps: file.float("clip.vision.attention.layer_norm_epsilon")?.unwrap_or(family.norm_eps),
        rope_theta: family.rope_theta,
        rules: gguf_rules(file, &family.rules)?,
        // No key says so.
        mutual: if *family == GEMMA4 && gemma4::is_large(file) { gemma4::LARGE } else { family.mutual },
        mean,
        deviation,
        family,
    })
}

/// How levels from 0 to 1 become what the tower reads, by the mean and the deviation of each channel that the files state.
fn levels(family: &VisionFamily, mean: [f32; 3], deviation: [f32; 3]) -> ([f32; 3], [f32; 3]) {
    match family.centres_levels {
        true => (std::array::from_fn(|at| mean[at] + deviation[at] / 2.0), deviation.map(|deviation| deviation / 2.0)),
        false => (mean, deviation),
    }
}

fn of_folder(config: &Json, settings: &Json) -> Result<VisionArchitecture> {
    let whole = Config(config);
    let family = family(whole.text("model_type")?, |family, kind| family.model_types.contains(&kind))?;
    let vision = whole.object("vision_config")?.ok_or_else(|| invalid("config.json must have vision_config"))?;
    for (activation, expected) in [
        (vision.text("hidden_act")?, "gelu_pytorch_tanh"),
        (vision.text("hidden_activation")?, "gelu_pytorch_tanh"),
        (whole.text("projector_hidden_act")?, "gelu"),
    ] {
        if activation.is_some_and(|activation| activation != expected) {
            return Err(invalid(format!("the activation of images must be {expected:?}, found {activation:?}")));
        }
    }
    if *family == QWEN35 {
        qwen35::check(vision)?;
    }
    if *family == GEMMA3 {
        gemma3::check(Config(settings))?;
    }
    let settings = Config(settings);
    let channels = |key: &str, usual: [f32; 3]| -> Result<[f32; 3]> {
        let Some(values) = settings.list(key)? else { return Ok(usual) };
        let values: Option<Vec<f32>> = values.iter().map(|value| value.as_f64().map(|value| value as f32)).collect();
        let values = values.and_then(|values| values.try_into().ok());
        values.ok_or_else(|| invalid(format!("{key} of the image processor must have three numbers")))
    };
    let n_heads = vision.needed_count(&["num_attention_heads", "num_heads"])?;
    let eps = vision.number(&["layer_norm_eps", "norm_eps", "rms_norm_eps"])?;
    let (mean, deviation) = match settings.boolean(&["do_normalize"])? {
        Some(false) => ([0.0; 3], [1.0; 3]),
        _ => (channels("image_mean", family.mean)?, channels("image_std", family.deviation)?),
    };
    let (mean, deviation) = levels(family, mean, deviation);
    Ok(VisionArchitecture {
        n_layers: vision.needed_count(&["num_hidden_layers", "depth"])?,
        n_key_heads: vision.count(&["num_key_value_heads"])?.unwrap_or(n_heads),
        n_heads,
        norm_eps: eps.map_or(family.norm_eps, |eps| eps as f32), // the precision of the tensors
        rope_theta: family.rope_theta.map(|usual| rope_theta(vision, usual)).transpose()?,
        rules: rules((whole, vision, settings), &family.rules)?,
        mutual: if *family == GEMMA4 && gemma4::is_two_way(whole)? { gemma4::LARGE } else { family.mutual },
        mean,
        deviation,
        family,
    })
}

fn rope_theta(vision: Config<'_>, usual: f32) -> Result<f32> {
    let Some(parameters) = vision.object("rope_parameters")? else { return Ok(usual) };
    match parameters.text("rope_type")? {
        None | Some("axial" | "default") => Ok(parameters.number(&["rope_theta"])?.map_or(usual, |theta| theta as f32)),
        Some(kind) => Err(invalid(format!("the rope_type of images must be \"axial\" or \"default\", found {kind:?}"))),
    }
}
