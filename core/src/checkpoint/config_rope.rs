//! Reads the rotary positions of a Hugging Face folder from its config.json.

use serde_json::Value as Json;

use crate::checkpoint::config_object::Config;
use crate::checkpoint::families::Family;
use crate::checkpoint::invalid::invalid;
use crate::checkpoint::rope::{
    LongRope, QueryGrowth, RopeScaling, RopeSettings, Yarn, long_attention_factor, yarn_attention_factor,
};
use crate::error::{Result, SdkError};

pub(crate) const FULL: &str = "full_attention";
pub(crate) const SLIDING: &str = "sliding_attention";

/// The sections of Qwen3.5, if config.json has none.
pub(super) const DEFAULT_SECTIONS: [i32; 4] = [11, 11, 10, 0];

/// The rotary positions of layers of one kind.
pub(crate) fn rope(config: Config<'_>, family: &Family, context_size: usize, kind: &str) -> Result<RopeSettings> {
    // Settings without a kind do not apply to layers with a window, if these have their own.
    let sliding_theta = family.sliding_theta.filter(|_| kind == SLIDING);
    let settings = KindSettings::read(config, kind, sliding_theta.is_none())?;
    let theta = match (settings.number("rope_theta")?, sliding_theta) {
        (Some(theta), _) => theta,
        (None, Some(theta)) => config.number(&["rope_local_base_freq"])?.unwrap_or(theta.into()),
        (None, None) => family.default_theta.into(),
    };
    let share = match settings.number("partial_rotary_factor")? {
        None if sliding_theta.is_none() && settings.parameters.is_none() => {
            family.rotated_share.unwrap_or(family.default_rotated_part)
        }
        share => share.unwrap_or(family.default_rotated_part),
    };
    let n_rotated = match share {
        1.0 => None,
        // Published files of LFM3 call these settings `default`.
        _ if settings.name()? == "proportional" || family.rotated_share.is_some() => None,
        _ if family.rotates_part => Some((share * head_dim(config)? as f64) as usize), // rounded down
        _ => return Err(invalid("rotary positions of a part of each head are not supported")),
    };
    let scaling = match settings.scaling(config, context_size)? {
        RopeScaling::None if share != 1.0 && n_rotated.is_none() => {
            RopeScaling::Proportional { share, factor: settings.number("factor")?.unwrap_or(1.0) }
        }
        scaling => scaling,
    };
    // In f32, as every implementation computes it.
    Ok(RopeSettings {
        theta: theta as f32,
        scaling,
        n_rotated,
        query_growth: settings.query_growth(config, context_size)?,
        sections: if family.has_sections { Some(sections(config)?) } else { None },
    })
}

/// The sections of time, rows and columns.
fn sections(config: Config<'_>) -> Result<[usize; 3]> {
    for key in ["rope_parameters", "rope_scaling"] {
        let settings = config.object(key)?.unwrap_or(Config(&Json::Null));
        if settings.boolean(&["mrope_interleaved"])? == Some(false) {
            return Err(invalid(format!("mrope_interleaved in {key} of config.json must be true")));
        }
    }
    let sections: Vec<i64> = rope_sections(config.0)?.into_iter().map(i64::from).collect();
    of_integers(&sections)
}

/// Sections from integers of the files, of which the fourth, if there is one, is not used.
pub(super) fn of_integers(sections: &[i64]) -> Result<[usize; 3]> {
    let counts: Option<Vec<usize>> = sections.iter().map(|count| usize::try_from(*count).ok()).collect();
    let counts = counts.and_then(|counts| Some(*counts.first_chunk::<3>()?));
    counts.ok_or_else(|| invalid(format!("sections of rotary positions must be three counts, found {sections:?}")))
}

/// The sections that a folder's config.json has, or the usual ones.
pub(super) fn rope_sections(config: &Json) -> Result<Vec<i32>> {
    let whole = Config(config);
    let config = whole.object("text_config")?.unwrap_or(whole);
    for key in ["rope_parameters", "rope_scaling"] {
        let settings = config.object(key)?.unwrap_or(Config(&Json::Null));
        if let Some(sections) = settings.list("mrope_section")? {
            let count = |section: &Json| section.as_u64().and_then(|count| i32::try_from(count).ok());
            let counts: Option<Vec<i32>> = sections.iter().chain([&Json::from(0)]).map(count).collect();
            let counts = counts.filter(|counts| counts.len() == 4);
            return counts.ok_or_else(|| invalid("mrope_section in config.json must be three integers of 0 or more"));
        }
    }
    Ok(DEFAULT_SECTIONS.to_vec())
}

fn head_dim(config: Config<'_>) -> Result<usize> {
    match config.count(&["head_dim"])? {
        Some(head_dim) => Ok(head_dim),
        None => Ok(config.needed_count(&["hidden_size"])? / config.needed_count(&["num_attention_heads"])?.max(1)),
    }
}

/// Where the settings of one kind of layer are.
struct KindSettings<'a> {
    parameters: Option<Config<'a>>,
    /// The parameters, if nothing else has settings of the scaling.
    scaling: Config<'a>,
    /// The top level of config.json, if it has settings for this kind.
    common: Option<Config<'a>>,
}

impl<'a> KindSettings<'a> {
    /// Newer files may have settings for each kind. With `has_common`, settings without a kind apply to this kind, too.
    fn read(config: Config<'a>, kind: &str, has_common: bool) -> Result<Self> {
        let of_kind = |key: &str| match config.object(key)? {
            Some(settings) => Ok(settings.object(kind)?.or_else(|| has_common.then_some(settings))),
            None => Ok::<_, SdkError>(None),
        };
        let parameters = of_kind("rope_parameters")?;
        let scaling = of_kind("rope_scaling")?.or(parameters).unwrap_or(Config(&Json::Null));
        Ok(Self { parameters, scaling, common: has_common.then_some(config) })
    }

    fn number(&self, key: &str) -> Result<Option<f64>> {
        for settings in [self.parameters, Some(self.scaling), self.common].into_iter().flatten() {
            if let Some(number) = settings.number(&[key])? {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// The name of the scaling.
    fn name(&self) -> Result<&'a str> {
        match self.scaling.text("rope_type")? {
            Some(name) => Ok(name),
            None => Ok(self.scaling.text("type")?.unwrap_or("default")),
        }
    }

    fn original_context(&self, config: Config<'_>, context_size: usize) -> Result<usize> {
        match config.count(&["original_max_position_embeddings"])? {
            Some(original) => Ok(original),
            None => Ok(self.scaling.count(&["original_max_position_embeddings"])?.unwrap_or(context_size)),
        }
    }

    fn query_growth(&self, config: Config<'_>, context_size: usize) -> Result<Option<QueryGrowth>> {
        let original_context = self.original_context(config, context_size)?;
        let beta = self.number("llama_4_scaling_beta")?;
        Ok(beta.map(|beta| QueryGrowth { beta: beta as f32, original_context }))
    }

    fn scaling(&self, config: Config<'_>, context_size: usize) -> Result<RopeScaling> {
        let original_context = self.original_context(config, context_size)?;
        Ok(match self.name()? {
            // Dynamic scaling begins after the context that a conversation can have.
            "default" | "dynamic" | "proportional" => RopeScaling::None,
            "linear" => RopeScaling::Linear { factor: self.scaling.needed_number(&["factor"])? },
            "llama3" => RopeScaling::Llama3 {
                factor: self.scaling.needed_number(&["factor"])?,
                low: self.scaling.needed_number(&["low_freq_factor"])?,
                high: self.scaling.needed_number(&["high_freq_factor"])?,
                original_context,
            },
            "longrope" | "su" => RopeScaling::Long(long(self.scaling, original_context, context_size)?), // su: in first files
            "yarn" => RopeScaling::Yarn(yarn(self.scaling, original_context, context_size)?),
            other => return Err(invalid(format!("rope scaling {other:?} is not supported"))),
        })
    }
}

fn long(settings: Config<'_>, original_context: usize, context_size: usize) -> Result<LongRope> {
    let factor = settings.number(&["factor"])?.unwrap_or(context_size as f64 / original_context.max(1) as f64);
    let attention_factor = settings.number(&["attention_factor"])?;
    let factors = |key: &str| {
        let values = settings.list(key)?.ok_or_else(|| invalid(format!("config.json must have {key}")))?;
        let values: Option<Vec<f32>> = values.iter().map(|value| Some(value.as_f64()? as f32)).collect();
        values.ok_or_else(|| invalid(format!("{key} in config.json must be an array of numbers")))
    };
    Ok(LongRope {
        short: factors("short_factor")?,
        long: factors("long_factor")?,
        original_context,
        attention_factor: attention_factor.unwrap_or_else(|| long_attention_factor(factor, original_context)),
        context_size,
    })
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
