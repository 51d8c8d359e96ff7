//! Reads the architecture of a GGUF file from its metadata.

use crate::checkpoint::architecture::{
    Architecture, LayerPlan, MAX_HEAD, Mixture, Scales, check_layers, share_key_values,
};
use crate::checkpoint::config_rope::{DEFAULT_SECTIONS, of_integers};
use crate::checkpoint::decision::{n_scorer_layers, type_of};
use crate::checkpoint::embedding::BERT;
use crate::checkpoint::families::{FAMILIES, Family, WindowRule};
use crate::checkpoint::invalid::{embeds, invalid};
use crate::checkpoint::rope::{LongRope, QueryGrowth, RopeScaling, RopeSettings, Yarn, yarn_attention_factor};
use crate::checkpoint::stated::{StatedSize, StatedSizes};
use crate::error::{Result, SdkError};
use crate::weights::{GgufFile, Tensors};

/// The value of `expert_gating_func` for a sigmoid.
pub(crate) const SIGMOID: usize = 2;

/// The factors of LongRoPE.
pub(crate) const SHORT_FACTORS: &str = "rope_factors_short.weight";
pub(crate) const LONG_FACTORS: &str = "rope_factors_long.weight";

pub(super) fn read(file: &GgufFile, tensors: &Tensors) -> Result<Architecture> {
    let family = match file.text("general.architecture")? {
        Some(name) => FAMILIES.iter().find(|family| family.gguf == name),
        None => return Err(invalid("metadata general.architecture is missing")),
    };
    let Some(family) = family else {
        let name = file.text("general.architecture")?.unwrap_or_default();
        if name == BERT {
            return Err(embeds(name));
        }
        if name == "clip" {
            return Err(invalid("the file has only a model's part for images (architecture \"clip\")"));
        }
        return Err(invalid(format!("architecture {name:?} is not supported")));
    };
    let keys = MetadataKeys { file, tensors, family };
    type_of(file)?;
    let n_scorer_layers = n_scorer_layers(file, keys.n_layers()?)?;
    let n_layers = check_layers(keys.n_layers()? - n_scorer_layers)?;
    let context_size = keys.needed("context_length", keys.count("context_length")?)?;
    let rope = keys.rope(context_size)?;
    Ok(Architecture {
        family,
        name: family.gguf,
        n_further_layers: keys.count("nextn_predict_layers")?.unwrap_or(0).saturating_add(n_scorer_layers),
        stated: keys.stated()?,
        norm_eps: keys.needed("attention.layer_norm_rms_epsilon", keys.float("attention.layer_norm_rms_epsilon")?)?,
        context_size,
        is_bidirectional: file
            .boolean(&keys.name("attention.causal"))?
            .map_or(family.is_encoder, |is_causal| !is_causal),
        n_heads: keys.heads()?,
        head_dim: keys.head_dim()?,
        n_delta_keys: keys.count("ssm.group_count")?,
        sliding_rope: keys.sliding_rope(&rope)?,
        rope,
        layers: keys.layers(n_layers)?,
        mixture: keys.mixture()?,
        scales: keys.scales()?,
    })
}

/// Metadata under the name of the architecture.
struct MetadataKeys<'a> {
    file: &'a GgufFile,
    tensors: &'a Tensors,
    family: &'static Family,
}

impl MetadataKeys<'_> {
    fn name(&self, key: &str) -> String {
        format!("{}.{key}", self.family.gguf)
    }

    fn count(&self, key: &str) -> Result<Option<usize>> {
        self.file.count(&self.name(key))
    }

    fn float(&self, key: &str) -> Result<Option<f32>> {
        self.file.float(&self.name(key))
    }

    fn needed<T>(&self, key: &str, value: Option<T>) -> Result<T> {
        value.ok_or_else(|| invalid(format!("metadata {} is missing", self.name(key))))
    }

    /// The sizes that the tensors have, too.
    fn stated(&self) -> Result<StatedSizes> {
        let sizes = |key: &str| {
            let name = self.name(key);
            let values = self.file.integers(&name)?;
            let values = values.map(|values| values.into_iter().map(usize::try_from).collect()).transpose();
            let values = values.map_err(|_| invalid(format!("metadata {name} must be 0 or more")))?;
            Ok::<_, SdkError>(values.map(|values| StatedSize::new(format!("metadata {name}"), values)))
        };
        // 0 stands for a size that does not exist, in all keys but these.
        let positive = |key: &str| match sizes(key)? {
            Some(size) if size.values.iter().all(|value| *value == 0) => {
                Err(invalid(format!("{} must be above 0, found 0", size.key)))
            }
            size => Ok(size),
        };
        Ok(StatedSizes {
            hidden: positive("embedding_length")?,
            vocabulary: sizes("vocab_size")?,
            query_heads: positive("attention.head_count")?,
            key_heads: sizes("attention.head_count_kv")?,
            width: sizes("feed_forward_length")?,
            experts: sizes("expert_count")?,
            expert_width: sizes("expert_feed_forward_length")?,
        })
    }

    /// Layers, without those that predict further tokens.
    fn n_layers(&self) -> Result<usize> {
        let n_blocks = self.needed("block_count", self.count("block_count")?)?;
        Ok(n_blocks.saturating_sub(self.count("nextn_predict_layers")?.unwrap_or(0)))
    }

    /// The largest number of heads in any layer: an array has 0 for layers without attention.
    fn heads(&self) -> Result<Option<usize>> {
        let heads = self.file.integers(&self.name("attention.head_count"))?.unwrap_or_default();
        let most = heads.into_iter().max().filter(|most| *most != 0).map(usize::try_from).transpose();
        most.map_err(|_| invalid(format!("metadata {} must be 0 or more", self.name("attention.head_count"))))
    }

    fn head_dim(&self) -> Result<Option<usize>> {
        let (keys, values) = (self.count("attention.key_length")?, self.count("attention.value_length")?);
        if values.is_some_and(|values| keys.is_some_and(|keys| keys != values)) {
            return Err(invalid(format!("heads with keys of {keys:?} and values of {values:?} are not supported")));
        }
        let rotated = self.count("rope.dimension_count")?;
        // Files without a length of keys have this one, which is the same if whole heads are rotated.
        if keys.is_some() && rotated.is_some() && keys != rotated && !self.family.rotates_part {
            return Err(invalid(format!("rotary positions of {rotated:?} of {keys:?} dimensions are not supported")));
        }
        Ok(keys.or(rotated.filter(|_| !self.family.rotates_part)))
    }

    fn rope(&self, context_size: usize) -> Result<RopeSettings> {
        let theta = self.float("rope.freq_base")?.unwrap_or(self.family.default_theta);
        let kind = self.file.text(&self.name("rope.scaling.type"))?;
        let factor = match self.float("rope.scaling.factor")? {
            Some(factor) => Some(factor),
            None => self.float("rope.scale_linear")?, // the key of old files
        };
        let factor = factor.map(f64::from).filter(|factor| *factor != 0.0); // 0 means none there
        let scaling = match (kind.unwrap_or("linear"), factor) {
            _ if self.tensors.shape(LONG_FACTORS).is_some() => RopeScaling::Long(self.long(context_size)?),
            ("none", _) | ("linear" | "yarn", None) => RopeScaling::None,
            ("linear", Some(factor)) => RopeScaling::Linear { factor },
            ("yarn", Some(factor)) => RopeScaling::Yarn(self.yarn(factor, context_size)?),
            (other, _) => return Err(invalid(format!("rope scaling {other:?} is not supported"))),
        };
        let n_rotated = if self.family.rotates_part { self.count("rope.dimension_count")? } else { None };
        let original_context = self.original_context(context_size)?;
        let query_growth = self.float("attention.temperature_scale")?.filter(|beta| *beta != 0.0); // 0 means none
        let query_growth = query_growth.map(|beta| QueryGrowth { beta, original_context });
        let sections = if self.family.has_sections { Some(self.sections()?) } else { None };
        Ok(RopeSettings { theta, scaling, n_rotated, query_growth, sections })
    }

    fn sections(&self) -> Result<[usize; 3]> {
        let found = self.file.integers(&self.name("rope.dimension_sections"))?;
        let found = found.unwrap_or_else(|| DEFAULT_SECTIONS.map(i64::from).to_vec());
        of_integers(&found)
    }

    /// The rotary positions of layers with a window; the other layers have `rope`.
    fn sliding_rope(&self, rope: &RopeSettings) -> Result<RopeSettings> {
        let theta = self.float("rope.freq_base_swa")?;
        Ok(match self.family.sliding_theta {
            Some(default) => RopeSettings { theta: theta.unwrap_or(default), scaling: RopeScaling::None, ..*rope },
            None => RopeSettings { theta: theta.unwrap_or(rope.theta), ..rope.clone() },
        })
    }

    fn scales(&self) -> Result<Scales> {
        if self.family.has_multipliers {
            let scale = |key: &str| Ok::<_, SdkError>(self.float(key)?.filter(|scale| *scale != 0.0)); // 0 means none
            return Ok(Scales {
                embedding: scale("embedding_scale")?.unwrap_or(1.0),
                attention: scale("attention.scale")?,
                residual: scale("residual_scale")?.unwrap_or(1.0),
                logits: scale("logit_scale")?.map_or(1.0, f32::recip),
                logit_softcap: None,
            });
        }
        let attention = match self.count("block_count")? {
            Some(n_layers) if self.family.odd_scale_layers == Some(n_layers) => {
                let hidden = self.needed("embedding_length", self.count("embedding_length")?)?;
                let n_heads = self.needed("attention.head_count", self.heads()?)?;
                Some((n_heads as f32 / hidden as f32).sqrt())
            }
            _ => self.family.attention_scale,
        };
        Ok(Scales { attention, logit_softcap: self.float("final_logit_softcapping")?, ..Scales::default() })
    }

    fn original_context(&self, context_size: usize) -> Result<usize> {
        Ok(self.count("rope.scaling.original_context_length")?.unwrap_or(context_size))
    }

    fn long(&self, context_size: usize) -> Result<LongRope> {
        Ok(LongRope {
            short: self.factors(SHORT_FACTORS)?,
            long: self.factors(LONG_FACTORS)?,
            original_context: self.original_context(context_size)?,
            attention_factor: self.float("rope.scaling.attn_factor")?.unwrap_or(1.0).into(),
            context_size,
        })
    }

    /// The values of a tensor that has a factor for each pair of a head.
    fn factors(&self, name: &str) -> Result<Vec<f32>> {
        match self.tensors.shape(name) {
            Some(shape @ &[1..=MAX_HEAD]) => self.tensors.floats(name, shape),
            found => Err(invalid(format!("tensor {name} must have a factor for each pair, found {found:?}"))),
        }
    }

    fn yarn(&self, factor: f64, context_size: usize) -> Result<Yarn> {
        let number = |key: &str| Ok::<_, crate::error::SdkError>(self.float(key)?.map(f64::from));
        // llama.cpp's converter writes two settings of config.json under this key: attention_factor, and attn_factor, which
        // is below 1 and which transformers ignores.
        let whole = number("rope.scaling.yarn_attn_factor")?.filter(|whole| 1.0 <= *whole);
        let attention_factor = match whole {
            Some(whole) => whole,
            None => {
                let multiplier = number("rope.scaling.yarn_log_multiplier")?.filter(|multiplier| *multiplier != 0.0);
                let divisor = multiplier.map_or(1.0, |multiplier| yarn_attention_factor(factor, multiplier));
                yarn_attention_factor(factor, 1.0) / divisor * number("rope.scaling.attn_factor")?.unwrap_or(1.0)
            }
        };
        Ok(Yarn {
            factor,
            original_context: self.original_context(context_size)?,
            attention_factor,
            beta_fast: number("rope.scaling.yarn_beta_fast")?.unwrap_or(32.0),
            beta_slow: number("rope.scaling.yarn_beta_slow")?.unwrap_or(1.0),
            truncate: true,
        })
    }

    fn layers(&self, n_layers: usize) -> Result<Vec<LayerPlan>> {
        let window = self.count("attention.sliding_window")?.filter(|window| 0 < *window); // 0 means none
        let slides = self.slides(n_layers)?;
        // The key's name says something else; Granite's files use it for this.
        let is_without_rope =
            self.family.has_multipliers && self.file.boolean(&self.name("rope.scaling.finetuned"))? == Some(false);
        let has_rope =
            |layer: usize| self.family.no_rope_interval.is_none_or(|interval| !(layer + 1).is_multiple_of(interval));
        let plan = |layer: usize| LayerPlan {
            window: window.filter(|_| slides[layer]),
            has_rope: !is_without_rope && has_rope(layer),
            key_values_of: None,
        };
        let mut layers: Vec<_> = (0..n_layers).map(plan).collect();
        share_key_values(&mut layers, self.count("attention.shared_kv_layers")?.unwrap_or(0))?;
        Ok(layers)
    }

    /// The layers that have the window: all of them, unless an array or the number of the first one without says otherwise.
    fn slides(&self, n_layers: usize) -> Result<Vec<bool>> {
        let key = "attention.sliding_window_pattern";
        let all_but = |interval: usize| (1..=n_layers).map(|number| !number.is_multiple_of(interval)).collect();
        if let Ok(Some(interval)) = self.count(key) {
            return Ok(all_but(interval));
        }
        let listed = self.file.booleans(&self.name(key))?;
        match (listed, self.family.window) {
            (Some(listed), _) if listed.len() < n_layers => {
                let key = self.name(key);
                Err(invalid(format!("metadata {key} must have an entry for each of {n_layers} layers")))
            }
            (Some(listed), _) => Ok(listed),
            (None, WindowRule::AllBut(interval)) => Ok(all_but(interval)),
            (None, WindowRule::AlwaysListed) => self.needed(key, None),
            (None, _) => Ok(vec![true; n_layers]),
        }
    }

    fn mixture(&self) -> Result<Option<Mixture>> {
        if !self.family.has_experts {
            return match self.count("expert_count")? {
                None | Some(0) => Ok(None),
                Some(_) => Err(invalid(format!("experts are not supported in architecture {:?}", self.family.gguf))),
            };
        }
        if let Some(gating) = self.count("expert_gating_func")?.filter(|gating| *gating != SIGMOID) {
            return Err(invalid(format!("expert gating function must be {SIGMOID}, found {gating}")));
        }
        Ok(Some(Mixture {
            n_used: self.needed("expert_used_count", self.count("expert_used_count")?)?,
            is_normalised: self.file.boolean(&self.name("expert_weights_norm"))?.unwrap_or(true),
            scale: self.float("expert_weights_scale")?.filter(|scale| *scale != 0.0).unwrap_or(1.0), // 0 means none
            has_bias: true,
        }))
    }
}
