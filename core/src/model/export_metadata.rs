//! The metadata that describes a folder's model in a GGUF file: the inverse of `metadata`.

use crate::error::Result;
use crate::model::architecture::{Architecture, Mixture};
use crate::model::config_rope::rope_sections;
use crate::model::decoder::embedding_shape;
use crate::model::delta_net::DeltaHeads;
use crate::model::dense;
use crate::model::heads::Heads;
use crate::model::invalid::invalid;
use crate::model::layer_weights::LayerWeights;
use crate::model::metadata::SIGMOID;
use crate::model::names;
use crate::model::per_layer;
use crate::model::rope::{RopeScaling, Yarn, yarn_attention_factor};
use crate::model::short_convolution;
use crate::model::taps;
use crate::weights::{MetadataValue, Weights};

/// The entries under the architecture's name.
pub(crate) fn metadata(weights: &Weights, architecture: &Architecture) -> Result<Vec<(String, MetadataValue)>> {
    let mut entries = Entries { architecture, entries: Vec::new() };
    entries.check()?;
    let (n_vocabulary, hidden) = embedding_shape(weights)?;
    entries.add("block_count", architecture.layers.len());
    entries.add("context_length", architecture.context_size);
    entries.add("embedding_length", hidden);
    entries.add("vocab_size", n_vocabulary);
    entries.add("attention.layer_norm_rms_epsilon", architecture.norm_eps);
    let prefix = names::folder_prefix(weights);
    let layer = |layer| LayerWeights { backend: &(), weights, architecture, prefix, layer, hidden };
    let layers: Vec<_> = (0..architecture.layers.len()).map(layer).collect();
    entries.add_operators(&layers)?;
    entries.add_feed_forward(&layers)?;
    entries.add_windows();
    entries.add_rope();
    entries.add_scales();
    if let Some(width) = per_layer::width(weights, architecture.layers.len())? {
        entries.add("embedding_length_per_layer_input", width);
    }
    match architecture.layers.iter().filter(|layer| layer.key_values_of.is_some()).count() {
        0 => {}
        n_sharing => entries.add("attention.shared_kv_layers", n_sharing),
    }
    Ok(entries.entries)
}

struct Entries<'a> {
    architecture: &'a Architecture,
    entries: Vec<(String, MetadataValue)>,
}

impl Entries<'_> {
    fn add(&mut self, key: &str, value: impl Into<MetadataValue>) {
        let architecture = names::exported_architecture(self.architecture.family);
        self.entries.push((format!("{architecture}.{key}"), value.into()));
    }

    /// Whether no layer has rotary positions. Only the files of Granite can say so.
    fn has_no_rope(&self) -> bool {
        self.architecture.family.has_multipliers && self.architecture.layers.iter().all(|layer| !layer.has_rope)
    }

    /// Refuses what GGUF files cannot say.
    fn check(&self) -> Result<()> {
        if self.has_no_rope() {
            return Ok(());
        }
        let interval = self.architecture.family.no_rope_interval;
        let expect = |layer: usize| interval.is_none_or(|interval| !(layer + 1).is_multiple_of(interval));
        match self.architecture.layers.iter().enumerate().find(|(layer, plan)| plan.has_rope != expect(*layer)) {
            Some((layer, _)) => Err(invalid(format!(
                "GGUF files cannot describe whether layer {layer} has rotary positions, against the rule of its family"
            ))),
            None => Ok(()),
        }
    }

    /// Heads and convolutions. A layer without attention has no key heads, unless it is a delta net.
    fn add_operators(&mut self, layers: &[LayerWeights<'_, ()>]) -> Result<()> {
        let heads = layers.iter().map(Heads::of_attention).collect::<Result<Vec<_>>>()?;
        let first = heads.iter().flatten().next().copied().unwrap_or_default();
        let delta_net = layers.iter().find(|layer| DeltaHeads::are_in(layer));
        let n_without = if delta_net.is_some() { first.n_keys } else { 0 };
        let n_keys = heads.iter().map(|heads| heads.map_or(n_without, |heads| heads.n_keys));
        self.add("attention.head_count", first.n_queries);
        let is_hybrid = self.architecture.family.gguf == "granitehybrid"; // whose files list them
        match !is_hybrid && n_keys.clone().all(|n_keys| n_keys == first.n_keys) {
            true => self.add("attention.head_count_kv", first.n_keys),
            false => {
                let n_keys = n_keys.map(|n_keys| i32::try_from(n_keys).unwrap_or(i32::MAX)).collect();
                self.add("attention.head_count_kv", MetadataValue::Integers(n_keys));
            }
        }
        self.add_head_sizes(&heads, first);
        if let Some(layer) = layers.iter().find(|layer| layer.shape("shortconv.conv").is_some()) {
            self.add("shortconv.l_cache", short_convolution::window(layer)?);
        }
        delta_net.map_or(Ok(()), |layer| self.add_delta_nets(layer, layers))
    }

    /// The sizes of heads. Layers with a window have keys of their own if their heads have another size.
    fn add_head_sizes(&mut self, heads: &[Option<Heads>], first: Heads) {
        let architecture = self.architecture;
        let size = |has_window: bool| {
            let mut layers = heads.iter().zip(&architecture.layers);
            layers
                .find_map(|(heads, layer)| heads.filter(|_| layer.window.is_some() == has_window))
                .map(|it| it.head_dim)
        };
        let full = size(false).unwrap_or(first.head_dim);
        let sliding = size(true).filter(|sliding| *sliding != full);
        for (size, end) in [(Some(full), ""), (sliding, "_swa")] {
            let Some(size) = size else { continue };
            self.add(&format!("attention.key_length{end}"), size);
            self.add(&format!("attention.value_length{end}"), size);
            self.add(&format!("rope.dimension_count{end}"), architecture.rope.n_rotated.unwrap_or(size));
        }
    }

    /// What describes delta nets, and which layers have them; `first` is the first of these.
    fn add_delta_nets(&mut self, first: &LayerWeights<'_, ()>, layers: &[LayerWeights<'_, ()>]) -> Result<()> {
        let heads = DeltaHeads::read(first)?;
        self.add("ssm.conv_kernel", taps::window(first, "ssm_conv1d", heads.n_channels())?);
        self.add("ssm.state_size", heads.key_dim);
        self.add("ssm.group_count", heads.n_keys);
        self.add("ssm.time_step_rank", heads.n_values);
        self.add("ssm.inner_size", heads.width());
        self.add("nextn_predict_layers", 0usize);
        if let Weights::Folder(folder) = first.weights {
            self.add("rope.dimension_sections", MetadataValue::Integers(rope_sections(folder.config())?));
        }
        let are_recurrent: Vec<bool> = layers.iter().map(DeltaHeads::are_in).collect();
        let interval =
            are_recurrent.iter().position(|is_recurrent| !is_recurrent).map_or(layers.len() + 1, |at| at + 1);
        let is_regular = |(layer, is_recurrent): (usize, &bool)| *is_recurrent != (layer + 1).is_multiple_of(interval);
        match are_recurrent.iter().enumerate().all(is_regular) {
            true => self.add("full_attention_interval", interval),
            false => self.add("attention.recurrent_layers", MetadataValue::Flags(are_recurrent)),
        }
        Ok(())
    }

    fn add_feed_forward(&mut self, layers: &[LayerWeights<'_, ()>]) -> Result<()> {
        let router = layers.iter().find(|layer| layer.shape("ffn_gate_inp").is_some());
        let dense = layers.iter().filter(|layer| layer.shape("ffn_gate_inp").is_none());
        let widths = dense.map(dense::width).collect::<Result<Vec<_>>>()?;
        match (&widths[..], router) {
            ([first, others @ ..], _) if others.iter().all(|width| width == first) => {
                self.add("feed_forward_length", *first);
            }
            ([], router) => {
                let width = router.map_or(Ok(0), LayerWeights::expert_width)?;
                self.add("feed_forward_length", width);
            }
            (widths, _) => {
                let widths = widths.iter().map(|width| i32::try_from(*width).unwrap_or(i32::MAX)).collect();
                self.add("feed_forward_length", MetadataValue::Integers(widths));
            }
        }
        if let (Some(mixture), Some(router)) = (self.architecture.mixture.clone(), router) {
            self.add_experts(&mixture, router)?;
        }
        Ok(())
    }

    /// `first` is the first layer with experts.
    fn add_experts(&mut self, mixture: &Mixture, first: &LayerWeights<'_, ()>) -> Result<()> {
        self.add("expert_count", first.rows("ffn_gate_inp")?);
        self.add("expert_used_count", mixture.n_used);
        self.add("expert_feed_forward_length", first.expert_width()?);
        self.add("leading_dense_block_count", first.layer);
        self.add("expert_gating_func", SIGMOID);
        self.add("expert_weights_norm", mixture.is_normalised);
        self.add("expert_weights_scale", mixture.scale);
        Ok(())
    }

    fn add_windows(&mut self) {
        let architecture = self.architecture;
        let Some(window) = architecture.layers.iter().find_map(|layer| layer.window) else { return };
        self.add("attention.sliding_window", window);
        self.add("rope.freq_base_swa", architecture.sliding_rope.theta);
        if architecture.layers.iter().any(|layer| layer.window.is_none()) {
            let slides = architecture.layers.iter().map(|layer| layer.window.is_some()).collect();
            self.add("attention.sliding_window_pattern", MetadataValue::Flags(slides));
        }
    }

    /// Scalings without keys are divisors, which are a tensor.
    fn add_rope(&mut self) {
        let rope = &self.architecture.rope;
        self.add("rope.freq_base", rope.theta);
        match &rope.scaling {
            RopeScaling::Linear { factor } => {
                self.add("rope.scaling.type", "linear");
                self.add("rope.scaling.factor", *factor as f32); // the precision of metadata
            }
            RopeScaling::Yarn(yarn) => self.add_yarn(yarn),
            RopeScaling::Long(long) => {
                self.add("rope.scaling.original_context_length", long.original_context);
                self.add("rope.scaling.attn_factor", long.attention_factor as f32); // the precision of metadata
            }
            _ => {}
        }
        if let Some(growth) = rope.query_growth {
            self.add("attention.temperature_scale", growth.beta);
        }
        if self.has_no_rope() {
            self.add("rope.scaling.finetuned", false);
        }
    }

    fn add_yarn(&mut self, yarn: &Yarn) {
        self.add("rope.scaling.type", "yarn");
        self.add("rope.scaling.factor", yarn.factor as f32); // the precision of metadata
        self.add("rope.scaling.original_context_length", yarn.original_context);
        self.add("rope.scaling.yarn_beta_fast", yarn.beta_fast as f32); // the precision of metadata
        self.add("rope.scaling.yarn_beta_slow", yarn.beta_slow as f32);
        match yarn.attention_factor {
            1.0 => self.add("rope.scaling.yarn_log_multiplier", 1.0), // cancels the recommended factor
            factor if factor == yarn_attention_factor(yarn.factor, 1.0) => {}
            factor => self.add("rope.scaling.yarn_attn_factor", factor as f32),
        }
    }

    fn add_scales(&mut self) {
        let scales = self.architecture.scales;
        for (key, scale, usual) in [
            ("embedding_scale", Some(scales.embedding), Some(1.0)),
            ("attention.scale", scales.attention, self.architecture.family.attention_scale),
            ("residual_scale", Some(scales.residual), Some(1.0)),
            ("logit_scale", Some(scales.logits.recip()), Some(1.0)),
            ("final_logit_softcapping", scales.logit_softcap, None),
        ] {
            if let Some(scale) = scale.filter(|_| scale != usual) {
                self.add(key, scale);
            }
        }
    }
}
