//! The gated delta net: attention of constant cost, with a matrix for each value head instead of keys and values.
//!
//! `[q | k | v] = silu(convolution(in_proj(x)))`, with `q` and `k` of length 1. For each value head, the matrix decays by
//! `e^(rate of decay * softplus(decay(x) + bias))`, is corrected by a part `sigmoid(rate(x))` of its error for `k`, and is
//! read by `q`; then `y = out_proj(norm(read) * silu(gate(x)))`.

use crate::checkpoint::invalid;
use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::layer_weights::LayerWeights;
use crate::model::linear::Linear;
use crate::model::taps;

/// The sizes of keys and of values are multiples of this, and not larger than that; known models have 128.
const UNIT: usize = 32;
const MAX_SIZE: usize = 256;

pub(crate) struct DeltaNet<B: Backend> {
    /// Queries, keys and values.
    pub(crate) in_proj: Linear<B>,
    pub(crate) gate: Linear<B>,
    /// One output for each value head.
    pub(crate) rate: Linear<B>,
    /// One output for each value head.
    pub(crate) decay: Linear<B>,
    /// One row for each position of the window, oldest first: `(window * channels)`.
    pub(crate) taps: B::Vector,
    pub(crate) window: usize,
    /// The logarithm of the decay per unit, below 0: `(value heads)`.
    pub(crate) log_decays: B::Vector,
    /// Added to the outputs of `decay`: `(value heads)`.
    pub(crate) decay_bias: B::Vector,
    /// The norm of what is read: `(value size)`.
    pub(crate) norm: B::Vector,
    pub(crate) out_proj: Linear<B>,
    pub(crate) heads: DeltaHeads,
}

/// The heads of a delta net. Value heads that share a key head are `n_keys` apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeltaHeads {
    pub(crate) n_keys: usize,
    pub(crate) n_values: usize,
    pub(crate) key_dim: usize,
    pub(crate) value_dim: usize,
}

impl DeltaHeads {
    pub(crate) fn read<B: Backend>(weights: &LayerWeights<'_, B>) -> Result<Self> {
        let n_keys = weights.architecture.n_delta_keys;
        let n_keys = n_keys.ok_or_else(|| invalid("the files must give the number of key heads of delta nets"))?;
        let (n_channels, n_values) = (weights.rows("attn_qkv")?, weights.rows("ssm_beta")?);
        let value_dim = match weights.shape("ssm_norm") {
            Some(&[value_dim]) => value_dim,
            _ => return Err(weights.tensors.missing(&weights.name("ssm_norm"))),
        };
        let key_dim = || {
            let n_key_elements = n_channels.checked_sub(n_values.checked_mul(value_dim)?)?;
            let n_heads = n_keys.checked_mul(2).filter(|n_heads| *n_heads != 0 && n_values.is_multiple_of(n_keys))?;
            n_key_elements.is_multiple_of(n_heads).then(|| n_key_elements / n_heads)
        };
        let is_valid = |size: usize| size.is_multiple_of(UNIT) && (1..=MAX_SIZE).contains(&size);
        match key_dim().filter(|key_dim| is_valid(*key_dim) && is_valid(value_dim) && n_values != 0) {
            Some(key_dim) => Ok(Self { n_keys, n_values, key_dim, value_dim }),
            None => Err(invalid(format!(
                "the {n_channels} channels of layer {} must divide into {n_keys} queries and keys, and {n_values} values \
                 of {value_dim}, whose sizes are multiples of {UNIT} up to {MAX_SIZE}",
                weights.layer
            ))),
        }
    }

    /// Elements of the queries, keys and values of a token.
    pub(crate) fn n_channels(&self) -> usize {
        2 * self.n_keys * self.key_dim + self.n_values * self.value_dim
    }

    /// Elements of the values of a token.
    pub(crate) fn width(&self) -> usize {
        self.n_values * self.value_dim
    }

    /// Elements of all matrices.
    pub(crate) fn n_memory_elements(&self) -> usize {
        self.width() * self.key_dim
    }
}

impl<B: Backend> DeltaNet<B> {
    pub(crate) fn load(weights: &LayerWeights<'_, B>) -> Result<Self> {
        let heads = DeltaHeads::read(weights)?;
        let (hidden, n_channels, width, n_values) = (weights.hidden, heads.n_channels(), heads.width(), heads.n_values);
        let vector = |values: Vec<f32>| weights.backend.vector(values);
        let log_decays = weights.tensors.floats(&format!("blk.{}.ssm_a", weights.layer), &[n_values])?;
        Ok(Self {
            in_proj: weights.linear("attn_qkv", n_channels, hidden)?,
            gate: weights.linear("attn_gate", width, hidden)?,
            rate: weights.linear("ssm_beta", n_values, hidden)?,
            decay: weights.linear("ssm_alpha", n_values, hidden)?,
            taps: vector(taps::read(weights, "ssm_conv1d", n_channels)?)?,
            window: taps::window(weights, "ssm_conv1d", n_channels)?,
            log_decays: vector(log_decays)?,
            decay_bias: vector(weights.tensors.floats(&weights.bias_name("ssm_dt"), &[n_values])?)?,
            norm: vector(weights.tensors.floats(&weights.name("ssm_norm"), &[heads.value_dim])?)?,
            out_proj: weights.linear("ssm_out", hidden, width)?,
            heads,
        })
    }
}
