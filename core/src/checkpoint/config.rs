//! Reads the architecture of a Hugging Face folder from its config.json. Keys have had several names.

use serde_json::Value as Json;

use crate::checkpoint::architecture::{Architecture, LayerPlan, Mixture, Scales, check_layers, share_key_values};
use crate::checkpoint::config_object::Config;
use crate::checkpoint::config_rope::{FULL, SLIDING, rope};
use crate::checkpoint::embedding::BERT;
use crate::checkpoint::families::{FAMILIES, Family, WindowRule};
use crate::checkpoint::invalid::{embeds, invalid, mamba};
use crate::checkpoint::stated::{StatedSize, StatedSizes};
use crate::error::{Result, SdkError};

/// The kind of decision models that score options, and the family of their decoders.
const OPTIONS_MODEL_TYPE: &str = "d1_omni";
const LFM2: &str = "lfm2";
const NORM_EPS: [&str; 3] = ["rms_norm_eps", "norm_eps", "block_norm_eps"];
/// Layers after the last one that predict further tokens.
const FURTHER_LAYERS: [&str; 2] = ["num_nextn_predict_layers", "mtp_num_hidden_layers"];
const TIED: [&str; 2] = ["tie_embedding", "tie_word_embeddings"];

pub(crate) fn read(config: &Json) -> Result<Architecture> {
    let whole = Config(config);
    let config = decoder(whole)?;
    let scores_options = scores_options(whole.0);
    let name = if scores_options { Some(LFM2) } else { config.text("model_type")? };
    let family = match name {
        Some(BERT) => return Err(embeds(BERT)),
        Some(name) => FAMILIES
            .iter()
            .find(|family| family.model_type == name)
            .ok_or_else(|| invalid(format!("architecture {name:?} is not supported")))?,
        None => return Err(invalid("config.json must have a model_type")),
    };
    check_supported(config, family)?;
    [config, whole].iter().try_for_each(check_not_quantised)?;
    let n_layers = check_layers(config.needed_count(&["num_hidden_layers"])?)?;
    let context_size = match (config.count(&["max_position_embeddings"])?, family.default_context) {
        (None, Some(context_size)) => context_size,
        _ => config.needed_count(&["max_position_embeddings"])?,
    };
    let norm_eps = match (config.number(&NORM_EPS)?, family.default_norm_eps) {
        (None, Some(norm_eps)) => norm_eps,
        _ => config.needed_number(&NORM_EPS)?,
    };
    Ok(Architecture {
        family,
        name: family.model_type,
        n_further_layers: config.count(&FURTHER_LAYERS)?.unwrap_or(0),
        stated: stated(config, family)?,
        norm_eps: norm_eps as f32, // the precision of the tensors
        context_size,
        is_bidirectional: scores_options || is_bidirectional(config, whole)?,
        n_heads: config.count(&["num_attention_heads", "num_heads"])?,
        head_dim: config.count(&["head_dim"])?,
        n_delta_keys: config.count(&["linear_num_key_heads"])?,
        rope: rope(config, family, context_size, FULL)?,
        sliding_rope: rope(config, family, context_size, SLIDING)?,
        layers: layers(config, family, n_layers)?,
        mixture: if family.has_experts { Some(mixture(config)?) } else { None },
        scales: scales(config, family)?,
    })
}

/// Whether tokens attend to those after them, too. LFM2's files say so only by the name of their class.
fn is_bidirectional(config: Config<'_>, whole: Config<'_>) -> Result<bool> {
    let is_everywhere = |value: &Json| [Json::from(true), "all".into()].contains(value);
    let is_named = |value: &Json| value.as_str().is_some_and(|class| class.contains("Bidirectional"));
    Ok(config.0.get("use_bidirectional_attention").is_some_and(is_everywhere)
        || config.boolean(&["is_causal"])? == Some(false)
        || whole.list("architectures")?.is_some_and(|classes| classes.iter().any(is_named)))
}

/// Whether a folder is that of a decision model that scores options.
pub(super) fn scores_options(config: &Json) -> bool {
    config.get("model_type").is_some_and(|name| name == OPTIONS_MODEL_TYPE)
}

/// Models with several parts, such as one for images, describe the decoder apart.
pub(super) fn decoder(whole: Config<'_>) -> Result<Config<'_>> {
    for key in ["text_config", "lfm"] {
        if let Some(decoder) = whole.object(key)? {
            return Ok(decoder);
        }
    }
    Ok(whole)
}

/// Whether the embedding also gives the logits, if config.json says.
pub(super) fn is_tied(config: &Json) -> Result<Option<bool>> {
    let whole = Config(config);
    match decoder(whole)?.boolean(&TIED)? {
        Some(is_tied) => Ok(Some(is_tied)),
        None => whole.boolean(&TIED),
    }
}

/// The sizes that the tensors have, too.
fn stated(config: Config<'_>, family: &Family) -> Result<StatedSizes> {
    let size = |keys: &[&str]| {
        let key = keys.iter().find(|key| config.0.get(key).is_some_and(|value| !value.is_null()));
        let value = config.count(keys)?;
        let stated = key.zip(value).map(|(key, value)| StatedSize::new(format!("{key} in config.json"), vec![value]));
        Ok::<_, SdkError>(stated)
    };
    let has_own_heads = config.0.get("num_global_key_value_heads").is_some_and(|value| !value.is_null());
    Ok(StatedSizes {
        hidden: size(&["hidden_size"])?,
        vocabulary: size(&["vocab_size"])?,
        query_heads: size(&["num_attention_heads", "num_heads"])?,
        // Layers with a window may have other key heads than those without.
        key_heads: if has_own_heads { None } else { size(&["num_key_value_heads"])? },
        width: family.width_key.map_or(Ok(None), |key| size(&[key]))?,
        experts: if family.has_experts { size(&["num_experts"])? } else { None },
        expert_width: if family.has_experts { size(&["moe_intermediate_size"])? } else { None },
    })
}

/// Refuses what would be computed in another way.
fn check_supported(config: Config<'_>, family: &Family) -> Result<()> {
    for key in ["hidden_activation", "hidden_act"] {
        if let Some(activation) = config.text(key)?.filter(|name| !family.activation.names().contains(name)) {
            return Err(invalid(format!("activation {activation:?} is not supported")));
        }
    }
    for (key, is_used) in [
        ("use_sandwich_norm", family.has_output_norms),
        ("use_attention_gate", family.has_head_gates),
        ("attn_output_gate", family.has_query_gates),
    ] {
        if config.boolean(&[key])?.is_some_and(|value| value != is_used) {
            return Err(invalid(format!("{key} must be {is_used} for architecture {:?}", family.model_type)));
        }
    }
    if !family.has_experts && config.count(&["num_local_experts"])?.is_some_and(|count| 0 < count) {
        return Err(invalid(format!("experts are not supported in architecture {:?}", family.model_type)));
    }
    for key in ["attention_k_eq_v", "enable_moe_block"] {
        if config.boolean(&[key])? == Some(true) {
            return Err(invalid(format!("{key} is not supported")));
        }
    }
    match config.number(&["attn_logit_softcapping"])? {
        Some(_) => Err(invalid("attn_logit_softcapping is not supported")),
        None => Ok(()),
    }
}

fn check_not_quantised(config: &Config<'_>) -> Result<()> {
    let Some(quantisation) = config.0.get("quantization_config").filter(|quantisation| !quantisation.is_null()) else {
        return Ok(());
    };
    let mut names = Vec::new();
    for key in ["quant_algo", "format", "quant_method"] {
        names.extend(Config(quantisation).text(key)?);
    }
    let name = names.first().unwrap_or(&"unknown");
    Err(invalid(format!("weights quantised by {name:?} are not supported in a folder")))
}

fn scales(config: Config<'_>, family: &Family) -> Result<Scales> {
    // In the precision of the tensors.
    let number = |key: &str, change: fn(f64) -> f64| {
        Ok::<_, SdkError>(config.number(&[key])?.map(|number| change(number) as f32))
    };
    if family.has_multipliers {
        return Ok(Scales {
            embedding: number("embedding_multiplier", |scale| scale)?.unwrap_or(1.0),
            attention: number("attention_multiplier", |scale| scale)?.or(Some(1.0)),
            residual: number("residual_multiplier", |scale| scale)?.unwrap_or(1.0),
            logits: number("logits_scaling", f64::recip)?.unwrap_or(1.0),
            logit_softcap: None,
        });
    }
    Ok(Scales {
        attention: number("query_pre_attn_scalar", |scalar| scalar.powf(-0.5))?.or(family.attention_scale),
        logit_softcap: number("final_logit_softcapping", |cap| cap)?,
        ..Scales::default()
    })
}

fn layers(config: Config<'_>, family: &Family, n_layers: usize) -> Result<Vec<LayerPlan>> {
    let has_rope = ropes(config, family, n_layers)?;
    let rule = family.window;
    let may_slide = match rule {
        WindowRule::Listed | WindowRule::All | WindowRule::AllBut(_) | WindowRule::AlwaysListed => true,
        WindowRule::FromLayer | WindowRule::WithoutRope => config.boolean(&["use_sliding_window"])?.unwrap_or(false),
    };
    let default = family.default_window.filter(|_| config.0.get("sliding_window").is_none());
    let window = config.count(&["sliding_window"])?.or(default).filter(|_| may_slide);
    let first = config.count(&["max_window_layers"])?.unwrap_or(28);
    let kinds = config.list("layer_types")?.filter(|_| rule != WindowRule::All);
    if kinds.is_some_and(|kinds| kinds.len() < n_layers) {
        return Err(invalid(format!("layer_types in config.json must have an entry for each of {n_layers} layers")));
    }
    let interval = match rule {
        WindowRule::AllBut(interval) => config.count(&["sliding_window_pattern"])?.unwrap_or(interval),
        _ => 0,
    };
    let plan = |layer: usize| {
        let slides = match (kinds.map(|kinds| kinds[layer].as_str().unwrap_or_default()), rule) {
            (Some(FULL | "attention" | "conv" | "linear_attention"), _) | (None, WindowRule::Listed) => false,
            (Some(SLIDING), _) => true,
            (Some("mamba"), _) => return Err(mamba(layer)),
            (Some(other), _) => return Err(invalid(format!("layers of type {other:?} are not supported"))),
            (None, WindowRule::All) => true,
            (None, WindowRule::FromLayer) => first <= layer,
            (None, WindowRule::WithoutRope) => !has_rope[layer],
            (None, WindowRule::AllBut(_)) => !(layer + 1).is_multiple_of(interval),
            (None, WindowRule::AlwaysListed) => return Err(invalid("config.json must have layer_types")),
        };
        if slides && window.is_none() && (kinds.is_some() || matches!(rule, WindowRule::AllBut(_))) {
            return Err(invalid(format!("config.json must have sliding_window, because layer {layer} has a window")));
        }
        Ok(LayerPlan { window: window.filter(|_| slides), has_rope: has_rope[layer], key_values_of: None })
    };
    let mut layers = (0..n_layers).map(plan).collect::<Result<Vec<_>>>()?;
    share_key_values(&mut layers, config.count(&["num_kv_shared_layers"])?.unwrap_or(0))?;
    Ok(layers)
}

/// Whether each layer has rotary positions.
fn ropes(config: Config<'_>, family: &Family, n_layers: usize) -> Result<Vec<bool>> {
    // Granite 4 has it in all layers or in none.
    if config.text("position_embedding_type")?.is_some_and(|name| name != "rope") {
        return Ok(vec![false; n_layers]);
    }
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
