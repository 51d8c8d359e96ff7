//! Reads the architecture of a Hugging Face folder from its config.json. Keys have had several names.

use serde_json::Value as Json;

use crate::error::Result;
use crate::model::architecture::{Architecture, LayerPlan, Mixture, check_layers};
use crate::model::family::{FAMILIES, Family, WindowRule};
use crate::model::invalid::invalid;
use crate::model::rope::{RopeScaling, RopeSettings, Yarn, yarn_attention_factor};

const FULL: &str = "full_attention";
const SLIDING: &str = "sliding_attention";

pub(crate) fn read(config: &Json) -> Result<Architecture> {
    let config = Config(config);
    let family = match config.text("model_type")? {
        Some(name) => FAMILIES
            .iter()
            .find(|family| family.model_type == name)
            .ok_or_else(|| invalid(format!("architecture {name:?} is not supported")))?,
        None => return Err(invalid("config.json must have a model_type")),
    };
    if let Some(activation) = config.text("hidden_act")?.filter(|name| !["silu", "swish"].contains(name)) {
        return Err(invalid(format!("activation {activation:?} is not supported")));
    }
    if let Some(quantisation) = config.0.get("quantization_config").filter(|quantisation| !quantisation.is_null()) {
        let method = Config(quantisation).text("quant_method")?.unwrap_or("unknown");
        return Err(invalid(format!("weights quantised by {method:?} are not supported in a folder")));
    }
    let n_layers = check_layers(config.needed_count(&["num_hidden_layers"])?)?;
    let context_size = config.needed_count(&["max_position_embeddings"])?;
    Ok(Architecture {
        family,
        norm_eps: config.needed_number(&["rms_norm_eps", "norm_eps", "block_norm_eps"])? as f32, // the precision of the tensors
        context_size,
        n_heads: config.count(&["num_attention_heads", "num_heads"])?,
        head_dim: config.count(&["head_dim"])?,
        rope: rope(config, family, context_size, FULL)?,
        sliding_rope: rope(config, family, context_size, SLIDING)?,
        layers: layers(config, family, n_layers)?,
        mixture: if family.has_experts { Some(mixture(config)?) } else { None },
        is_tied: config.boolean(&["tie_embedding", "tie_word_embeddings"])?,
    })
}

/// A JSON object whose values must have the right type; null counts as absent.
#[derive(Clone, Copy)]
struct Config<'a>(&'a Json);

impl<'a> Config<'a> {
    fn value<T>(&self, keys: &[&str], expected: &str, read: impl Fn(&'a Json) -> Option<T>) -> Result<Option<T>> {
        let mut found = keys.iter().filter_map(|key| Some((key, self.0.get(key).filter(|value| !value.is_null())?)));
        let Some((key, value)) = found.next() else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| invalid(format!("{key} in config.json must be {expected}")))
    }

    fn count(&self, keys: &[&str]) -> Result<Option<usize>> {
        self.value(keys, "an integer of 0 or more", |value| usize::try_from(value.as_u64()?).ok())
    }

    fn number(&self, keys: &[&str]) -> Result<Option<f64>> {
        self.value(keys, "a number", Json::as_f64)
    }

    fn boolean(&self, keys: &[&str]) -> Result<Option<bool>> {
        self.value(keys, "a boolean", Json::as_bool)
    }

    fn text(&self, key: &str) -> Result<Option<&'a str>> {
        self.value(&[key], "a string", Json::as_str)
    }

    fn object(&self, key: &str) -> Result<Option<Config<'a>>> {
        self.value(&[key], "an object", |value| value.is_object().then_some(Config(value)))
    }

    fn list(&self, key: &str) -> Result<Option<&'a Vec<Json>>> {
        self.value(&[key], "an array", Json::as_array)
    }

    fn needed_count(&self, keys: &[&str]) -> Result<usize> {
        self.count(keys)?.ok_or_else(|| invalid(format!("config.json must have {}", keys[0])))
    }

    fn needed_number(&self, keys: &[&str]) -> Result<f64> {
        self.number(keys)?.ok_or_else(|| invalid(format!("config.json must have {}", keys[0])))
    }
}

/// The rotary positions of layers of one kind.
fn rope(config: Config<'_>, family: &Family, context_size: usize, kind: &str) -> Result<RopeSettings> {
    let parameters = of_kind(config, "rope_parameters", kind)?;
    let scaling_settings = match of_kind(config, "rope_scaling", kind)? {
        Some(scaling) => scaling,
        None => parameters.unwrap_or(Config(&Json::Null)),
    };
    let mut theta = None;
    for settings in [parameters, Some(scaling_settings), Some(config)].into_iter().flatten() {
        theta = theta.or(settings.number(&["rope_theta"])?);
    }
    let theta = theta.unwrap_or(family.default_theta.into());
    for settings in [config, scaling_settings] {
        if settings.number(&["partial_rotary_factor"])?.is_some_and(|share| share != 1.0) {
            return Err(invalid("rotary positions of a part of each head are not supported"));
        }
    }
    let scaling_kind = match scaling_settings.text("rope_type")? {
        Some(scaling) => scaling,
        None => scaling_settings.text("type")?.unwrap_or("default"),
    };
    let original_context = match config.count(&["original_max_position_embeddings"])? {
        Some(original) => original,
        None => scaling_settings.count(&["original_max_position_embeddings"])?.unwrap_or(context_size),
    };
    let scaling = match scaling_kind {
        // Dynamic scaling begins after the context that a conversation can have.
        "default" | "dynamic" => RopeScaling::None,
        "linear" => RopeScaling::Linear { factor: scaling_settings.needed_number(&["factor"])? },
        "llama3" => RopeScaling::Llama3 {
            factor: scaling_settings.needed_number(&["factor"])?,
            low: scaling_settings.needed_number(&["low_freq_factor"])?,
            high: scaling_settings.needed_number(&["high_freq_factor"])?,
            original_context,
        },
        "yarn" => RopeScaling::Yarn(yarn(scaling_settings, original_context, context_size)?),
        other => return Err(invalid(format!("rope scaling {other:?} is not supported"))),
    };
    Ok(RopeSettings { theta: theta as f32, scaling }) // as every implementation computes it
}

/// The settings under a key; newer files may have them for each kind of layer.
fn of_kind<'a>(config: Config<'a>, key: &str, kind: &str) -> Result<Option<Config<'a>>> {
    match config.object(key)? {
        Some(settings) => Ok(Some(settings.object(kind)?.unwrap_or(settings))),
        None => Ok(None),
    }
}

fn yarn(settings: Config<'_>, original_context: usize, context_size: usize) -> Result<Yarn> {
    let default_factor = context_size as f64 / original_context.max(1) as f64;
    let factor = settings.number(&["factor"])?.unwrap_or(default_factor);
    let is_given = |multiplier: &f64| *multiplier != 0.0;
    let multipliers = (settings.number(&["mscale"])?, settings.number(&["mscale_all_dim"])?);
    let recommended = match (multipliers.0.filter(is_given), multipliers.1.filter(is_given)) {
        (Some(above), Some(below)) => yarn_attention_factor(factor, above) / yarn_attention_factor(factor, below),
        _ => yarn_attention_factor(factor, 1.0),
    };
    Ok(Yarn {
        factor,
        original_context,
        attention_factor: settings.number(&["attention_factor"])?.unwrap_or(recommended),
        beta_fast: settings.number(&["beta_fast"])?.filter(is_given).unwrap_or(32.0),
        beta_slow: settings.number(&["beta_slow"])?.filter(is_given).unwrap_or(1.0),
        truncate: settings.boolean(&["truncate"])?.unwrap_or(true),
    })
}

fn layers(config: Config<'_>, family: &Family, n_layers: usize) -> Result<Vec<LayerPlan>> {
    let has_rope = ropes(config, family, n_layers)?;
    let rule = family.window;
    let may_slide = match rule {
        WindowRule::Listed | WindowRule::All => true,
        WindowRule::FromLayer | WindowRule::WithoutRope => config.boolean(&["use_sliding_window"])?.unwrap_or(false),
    };
    // Mistral's first files have no key for the window.
    let first_files = (rule == WindowRule::All && config.0.get("sliding_window").is_none()).then_some(4096);
    let window = config.count(&["sliding_window"])?.or(first_files).filter(|_| may_slide);
    let first = config.count(&["max_window_layers"])?.unwrap_or(28);
    let kinds = config.list("layer_types")?.filter(|_| rule != WindowRule::All);
    if kinds.is_some_and(|kinds| kinds.len() < n_layers) {
        return Err(invalid(format!("layer_types in config.json must have an entry for each of {n_layers} layers")));
    }
    let plan = |layer: usize| {
        let slides = match (kinds.map(|kinds| kinds[layer].as_str().unwrap_or_default()), rule) {
            (Some(FULL | "conv"), _) | (None, WindowRule::Listed) => false,
            (Some(SLIDING), _) => true,
            (Some(other), _) => return Err(invalid(format!("layers of type {other:?} are not supported"))),
            (None, WindowRule::All) => true,
            (None, WindowRule::FromLayer) => first <= layer,
            (None, WindowRule::WithoutRope) => !has_rope[layer],
        };
        if slides && kinds.is_some() && window.is_none() {
            return Err(invalid(format!("config.json must have sliding_window, because layer {layer} has a window")));
        }
        Ok(LayerPlan { window: window.filter(|_| slides), has_rope: has_rope[layer] })
    };
    (0..n_layers).map(plan).collect()
}

/// Whether each layer has rotary positions.
fn ropes(config: Config<'_>, family: &Family, n_layers: usize) -> Result<Vec<bool>> {
    let Some(default_interval) = family.no_rope_interval else {
        return Ok(vec![true; n_layers]);
    };
    let Some(list) = config.list("no_rope_layers")? else {
        let interval = config.count(&["no_rope_layer_interval"])?.unwrap_or(default_interval);
        // is_multiple_of: no number is a multiple of an interval of 0
        return Ok((1..=n_layers).map(|number| !number.is_multiple_of(interval)).collect());
    };
    let ropes = list.iter().map(|entry| Some(entry.as_u64()? != 0)); // despite the key, 1 is a layer with rotary positions
    let ropes: Option<Vec<bool>> = ropes.collect();
    ropes
        .filter(|ropes| n_layers <= ropes.len())
        .ok_or_else(|| invalid(format!("no_rope_layers in config.json must have 0 or 1 for each of {n_layers} layers")))
}

fn mixture(config: Config<'_>) -> Result<Mixture> {
    Ok(Mixture {
        n_used: config.needed_count(&["num_experts_per_tok"])?,
        is_normalised: config.boolean(&["norm_topk_prob"])?.unwrap_or(true),
        scale: config.number(&["routed_scaling_factor"])?.unwrap_or(1.0) as f32, // the precision of the tensors
        has_bias: config.boolean(&["use_expert_bias"])?.unwrap_or(true),
    })
}
