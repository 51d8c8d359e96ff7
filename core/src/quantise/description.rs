//! The metadata that describes a folder's model in a GGUF file: the inverse of what `checkpoint` reads from one.

use crate::checkpoint::{
    Architecture, Checkpoint, Mixture, RopeScaling, SIGMOID, Yarn, invalid, rope_sections, yarn_attention_factor,
};
use crate::error::Result;
use crate::model::{DeltaHeads, DeltaNet, Heads, Layer, Operator, Survey, survey};
use crate::weights::{MetadataValue, Weights};

/// The entries under the architecture's name.
pub(super) fn metadata(files: &Weights, checkpoint: &Checkpoint) -> Result<Vec<(String, MetadataValue)>> {
    let (architecture, decoder) = (&checkpoint.architecture, survey(checkpoint)?);
    let mut entries = Entries { architecture, entries: Vec::new() };
    entries.check()?;
    entries.add("block_count", architecture.layers.len());
    entries.add("context_length", architecture.context_size);
    entries.add("embedding_length", decoder.hidden);
    entries.add("vocab_size", decoder.n_vocabulary);
    entries.add("attention.layer_norm_rms_epsilon", architecture.norm_eps);
    entries.add_operators(files, &decoder.stack.layers)?;
    entries.add_feed_forward(&decoder.stack.layers);
    entries.add_windows();
    entries.add_rope();
    entries.add_scales();
    if let Some(per_layer) = &decoder.per_layer {
        entries.add("embedding_length_per_layer_input", per_layer.width);
    }
    match architecture.layers.iter().filter(|layer| layer.key_values_of.is_some()).count() {
        0 => {}
        n_sharing => entries.add("attention.shared_kv_layers", n_sharing),
    }
    Ok(entries.entries)
}

fn delta_net(layer: &Layer<Survey>) -> Option<&DeltaNet<Survey>> {
    match &layer.operator {
        Operator::DeltaNet(delta_net) => Some(delta_net),
        _ => None,
    }
}

struct Entries<'a> {
    architecture: &'a Architecture,
    entries: Vec<(String, MetadataValue)>,
}

impl Entries<'_> {
    fn add(&mut self, key: &str, value: impl Into<MetadataValue>) {
        let architecture = self.architecture.family.exported_name();
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
    fn add_operators(&mut self, files: &Weights, layers: &[Layer<Survey>]) -> Result<()> {
        let heads: Vec<Option<Heads>> = layers.iter().map(Layer::heads).collect();
        let first = heads.iter().flatten().next().copied().unwrap_or_default();
        let first_delta_net = layers.iter().find_map(delta_net);
        let n_without = if first_delta_net.is_some() { first.n_keys } else { 0 };
        let n_keys = heads.iter().map(|heads| heads.map_or(n_without, |heads| heads.n_keys));
        self.add("attention.head_count", first.n_queries);
        match !self.architecture.family.lists_key_heads && n_keys.clone().all(|n_keys| n_keys == first.n_keys) {
            true => self.add("attention.head_count_kv", first.n_keys),
            false => {
                let n_keys = n_keys.map(|n_keys| i32::try_from(n_keys).unwrap_or(i32::MAX)).collect();
                self.add("attention.head_count_kv", MetadataValue::Integers(n_keys));
            }
        }
        self.add_head_sizes(&heads, first);
        let window = layers.iter().find_map(|layer| match &layer.operator {
            Operator::ShortConvolution(convolution) => Some(convolution.window),
            _ => None,
        });
        if let Some(window) = window {
            self.add("shortconv.l_cache", window);
        }
        first_delta_net.map_or(Ok(()), |first| self.add_delta_nets(files, first, layers))
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
    fn add_delta_nets(&mut self, files: &Weights, first: &DeltaNet<Survey>, layers: &[Layer<Survey>]) -> Result<()> {
        let DeltaHeads { n_keys, n_values, key_dim, .. } = first.heads;
        self.add("ssm.conv_kernel", first.window);
        self.add("ssm.state_size", key_dim);
        self.add("ssm.group_count", n_keys);
        self.add("ssm.time_step_rank", n_values);
        self.add("ssm.inner_size", first.heads.width());
        self.add("nextn_predict_layers", 0usize);
        self.add("rope.dimension_sections", MetadataValue::Integers(rope_sections(files)?));
        let are_recurrent: Vec<bool> = layers.iter().map(|layer| delta_net(layer).is_some()).collect();
        let interval =
            are_recurrent.iter().position(|is_recurrent| !is_recurrent).map_or(layers.len() + 1, |at| at + 1);
        let is_regular = |(layer, is_recurrent): (usize, &bool)| *is_recurrent != (layer + 1).is_multiple_of(interval);
        match are_recurrent.iter().enumerate().all(is_regular) {
            true => self.add("full_attention_interval", interval),
            false => self.add("attention.recurrent_layers", MetadataValue::Flags(are_recurrent)),
        }
        Ok(())
    }

    fn add_feed_forward(&mut self, layers: &[Layer<Survey>]) {
        let router = layers.iter().position(|layer| layer.n_experts() != 0);
        let widths: Vec<usize> = layers.iter().filter(|layer| layer.n_experts() == 0).map(Layer::width).collect();
        match (&widths[..], router) {
            ([first, others @ ..], _) if others.iter().all(|width| width == first) => {
                self.add("feed_forward_length", *first);
            }
            ([], router) => self.add("feed_forward_length", router.map_or(0, |router| layers[router].width())),
            (widths, _) => {
                let widths = widths.iter().map(|width| i32::try_from(*width).unwrap_or(i32::MAX)).collect();
                self.add("feed_forward_length", MetadataValue::Integers(widths));
            }
        }
        if let (Some(mixture), Some(router)) = (self.architecture.mixture.clone(), router) {
            self.add_experts(&mixture, router, &layers[router]);
        }
    }

    /// `first` is the first layer with experts, at the place `at`.
    fn add_experts(&mut self, mixture: &Mixture, at: usize, first: &Layer<Survey>) {
        self.add("expert_count", first.n_experts());
        self.add("expert_used_count", mixture.n_used);
        self.add("expert_feed_forward_length", first.width());
        self.add("leading_dense_block_count", at);
        self.add("expert_gating_func", SIGMOID);
        self.add("expert_weights_norm", mixture.is_normalised);
        self.add("expert_weights_scale", mixture.scale);
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
