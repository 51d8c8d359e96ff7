//! The gated short convolution: each channel mixes its last few inputs, or, in models that read in both directions, some on both
//! sides.
//!
//! `[B; C; X] = in_proj(x)`, `u = B * X`, `v_t = Σ_k w_k * u_(t - window + 1 + k)`, `y = out_proj(C * v)`.

use crate::checkpoint::invalid;
use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::layer_weights::LayerWeights;
use crate::model::linear::Linear;
use crate::model::taps;

pub(crate) struct ShortConvolution<B: Backend> {
    pub(crate) in_proj: Linear<B>,
    /// One row for each position of the window, oldest first: `(window * hidden)`.
    pub(crate) taps: B::Vector,
    /// `(hidden)`
    pub(crate) bias: Option<B::Vector>,
    pub(crate) out_proj: Linear<B>,
    pub(crate) window: usize,
    /// Whether each output mixes as many inputs after its own as before it.
    pub(crate) is_centred: bool,
    pub(crate) hidden: usize,
}

impl<B: Backend> ShortConvolution<B> {
    pub(crate) fn load(weights: &LayerWeights<'_, B>) -> Result<Self> {
        let (hidden, window, architecture) = (weights.hidden, window(weights)?, weights.architecture);
        let is_centred = architecture.is_bidirectional && !architecture.family.keeps_windows_causal;
        if is_centred && window.is_multiple_of(2) {
            let name = weights.file_name("shortconv.conv");
            return Err(invalid(format!("tensor {name} must have an odd number of columns, found {window}")));
        }
        Ok(Self {
            in_proj: weights.linear("shortconv.in_proj", 3 * hidden, hidden)?,
            taps: weights.backend.vector(taps::read(weights, "shortconv.conv", hidden)?)?,
            bias: weights.bias("shortconv.conv", hidden)?,
            out_proj: weights.linear("shortconv.out_proj", hidden, hidden)?,
            window,
            is_centred,
            hidden,
        })
    }
}

/// The number of tokens that the convolution of a layer spans.
pub(crate) fn window<B: Backend>(weights: &LayerWeights<'_, B>) -> Result<usize> {
    taps::window(weights, "shortconv.conv", weights.hidden)
}
