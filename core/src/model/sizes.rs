//! The size of a model and the memory that it will take, from the headers of its files alone.

use crate::checkpoint::Checkpoint;
use crate::error::Result;
use crate::model::delta_net::DeltaHeads;
use crate::model::heads::Heads;
use crate::model::layer::Operator;
use crate::model::native;
use crate::model::survey::survey;
use crate::options::CacheType;

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
    /// The names in the files of tensors that the decoder does not read.
    pub(crate) unread: Vec<String>,
    /// The storage format of keys and values.
    pub(crate) cache_type: CacheType,
}

impl Sizes {
    /// # Errors
    /// As [`survey`].
    pub(crate) fn read(checkpoint: &Checkpoint) -> Result<Self> {
        let (architecture, decoder) = (&checkpoint.architecture, survey(checkpoint)?);
        let n_layers = architecture.layers.len();
        let mut sizes = Self {
            architecture: architecture.name,
            context_size: architecture.context_size,
            n_vocabulary: decoder.n_vocabulary,
            hidden: decoder.hidden,
            n_sharing: architecture.layers.iter().filter(|layer| layer.key_values_of.is_some()).count(),
            per_layer: decoder.per_layer.as_ref().map_or(0, |per_layer| n_layers * per_layer.width),
            window: architecture.layers.iter().filter_map(|layer| layer.window).max(),
            n_weight_bytes: native::weight_bytes(&checkpoint.tensors),
            unread: checkpoint.unread().into_iter().map(str::to_owned).collect(),
            ..Self::default()
        };
        for layer in &decoder.stack.layers {
            match &layer.operator {
                Operator::ShortConvolution(convolution) => sizes.convolutions.push(convolution.window),
                Operator::DeltaNet(delta_net) => sizes.delta_nets.push((delta_net.window, delta_net.heads)),
                Operator::Attention(attention) => {
                    sizes.query_rows = sizes.query_rows.max(attention.q_proj.weight.n_rows);
                    sizes.heads.push(attention.heads);
                }
            }
            sizes.n_experts = sizes.n_experts.max(layer.n_experts());
            sizes.feed_forward = sizes.feed_forward.max(layer.width());
        }
        if 0 < sizes.n_experts {
            sizes.n_experts_used = architecture.mixture.as_ref().map_or(0, |mixture| mixture.n_used);
        }
        Ok(sizes)
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
