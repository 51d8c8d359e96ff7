//! The size of a model and the memory that it will take, from the headers of its files alone.

use crate::error::Result;
use crate::model::decoder::embedding_shape;
use crate::model::delta_net::DeltaHeads;
use crate::model::description;
use crate::model::heads::Heads;
use crate::model::layer_weights::LayerWeights;
use crate::model::{dense, names, native, per_layer, short_convolution, taps};
use crate::options::CacheType;
use crate::weights::Weights;

/// Prompt tokens that one step computes at most. Working memory grows with it, and a cancel waits for one step at most.
pub(crate) const PREFILL_CHUNK: usize = 128;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) architecture: &'static str,
    pub(crate) context_size: usize,
    pub(crate) n_vocabulary: usize,
    pub(crate) hidden: usize,
    /// Width of the widest feed-forward block, or of the widest expert.
    pub(crate) feed_forward: usize,
    /// The heads of each attention layer.
    pub(crate) heads: Vec<Heads>,
    /// Attention layers, the last ones, that read the keys and values of others.
    pub(crate) n_sharing: usize,
    /// Values that a token has for all layers together, if a model has per-layer embeddings.
    pub(crate) per_layer: usize,
    /// The widest attention window, if any layer has one.
    pub(crate) window: Option<usize>,
    /// Tokens that each short convolution spans.
    pub(crate) convolutions: Vec<usize>,
    /// The window of the convolution, and the heads, of each delta net.
    pub(crate) delta_nets: Vec<(usize, DeltaHeads)>,
    /// Rows of the widest projection of queries.
    pub(crate) query_rows: usize,
    pub(crate) n_experts: usize,
    pub(crate) n_experts_used: usize,
    /// Bytes of the weights once loaded.
    pub(crate) n_weight_bytes: u64,
    /// The storage format of keys and values.
    pub(crate) cache_type: CacheType,
}

impl Sizes {
    pub(crate) fn read(weights: &Weights) -> Result<Self> {
        let architecture = description::read(weights)?;
        let (n_vocabulary, hidden) = embedding_shape(weights)?;
        let n_layers = architecture.layers.len();
        let mut sizes = Self {
            architecture: architecture.family.name(weights),
            context_size: architecture.context_size,
            n_vocabulary,
            hidden,
            n_sharing: architecture.layers.iter().filter(|layer| layer.key_values_of.is_some()).count(),
            per_layer: per_layer::width(weights, n_layers)?.map_or(0, |width| n_layers * width),
            window: architecture.layers.iter().filter_map(|layer| layer.window).max(),
            n_weight_bytes: native::weight_bytes(weights, architecture.layers.len()),
            ..Self::default()
        };
        let prefix = names::folder_prefix(weights);
        for layer in 0..n_layers {
            sizes.add(&LayerWeights { backend: &(), weights, architecture: &architecture, prefix, layer, hidden })?;
        }
        Ok(sizes)
    }

    fn add(&mut self, layer: &LayerWeights<'_, ()>) -> Result<()> {
        match ["shortconv.conv", "ssm_beta"].map(|part| layer.shape(part)) {
            [Some(_), _] => self.convolutions.push(short_convolution::window(layer)?),
            [_, Some(_)] => {
                let heads = DeltaHeads::read(layer)?;
                self.delta_nets.push((taps::window(layer, "ssm_conv1d", heads.n_channels())?, heads));
            }
            _ => {
                let heads = Heads::read(layer)?;
                self.query_rows = self.query_rows.max(heads.projected_query_rows(layer.architecture.family));
                self.heads.push(heads);
            }
        }
        let width = match layer.shape("ffn_gate_inp") {
            Some(_) => {
                self.n_experts = self.n_experts.max(layer.rows("ffn_gate_inp")?);
                self.n_experts_used = layer.architecture.mixture.as_ref().map_or(0, |mixture| mixture.n_used);
                layer.expert_width()?
            }
            None => dense::width(layer)?,
        };
        self.feed_forward = self.feed_forward.max(width);
        Ok(())
    }

    /// Bytes of the keys and values of a sequence.
    pub(crate) fn key_value_bytes(&self, n_positions: usize) -> u64 {
        let own = &self.heads[..self.heads.len().saturating_sub(self.n_sharing)];
        let n_bytes = own.iter().map(|heads| native::key_value_bytes(heads, self.cache_type, n_positions));
        n_bytes.fold(0, u64::saturating_add)
    }

    /// Bytes of the convolution inputs that a sequence keeps.
    pub(crate) fn convolution_bytes(&self) -> u64 {
        let bytes = self.convolutions.iter().map(|window| product([window - 1, self.hidden, FLOAT]));
        bytes.fold(0, u64::saturating_add)
    }

    /// Bytes of the matrices of delta nets and of the inputs that their convolutions keep.
    pub(crate) fn delta_net_bytes(&self) -> u64 {
        let bytes = self.delta_nets.iter().map(|(window, heads)| {
            product([window - 1, heads.n_channels(), FLOAT]).saturating_add(product([heads.n_memory_elements(), FLOAT]))
        });
        bytes.fold(0, u64::saturating_add)
    }

    /// Bytes of the values between operations while a chunk of this many positions is computed.
    pub(crate) fn working_bytes(&self, chunk: usize) -> u64 {
        let n_channels = self.delta_nets.iter().map(|(_, heads)| heads.n_channels()).max().unwrap_or_default();
        // The residual stream and its projections; the inputs of products as floats and as bytes with scales.
        let widest = self.feed_forward.max(self.query_rows).max(n_channels).max(self.hidden);
        let mut rows = 4 * self.per_layer + 4 * (self.hidden + 3 * widest.max(self.hidden)) + 6 * widest;
        if 0 < self.n_experts {
            // The values of one expert at a time, which all rows may use.
            rows += 4 * (2 * self.feed_forward + self.hidden) + 6 * widest;
        }
        product([rows, chunk]).saturating_add(product([2, self.n_vocabulary, FLOAT]))
    }
}

const FLOAT: usize = size_of::<f32>();

fn product<const N: usize>(factors: [usize; N]) -> u64 {
    factors.into_iter().fold(1, |product, factor| product.saturating_mul(factor as u64))
}
