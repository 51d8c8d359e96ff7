//! The gated short convolution: each channel mixes its last few inputs.
//!
//! `[B; C; X] = in_proj(x)`, `u = B * X`, `v_t = Σ_k w_k * u_(t - window + 1 + k)`, `y = out_proj(C * v)`.

use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::invalid::invalid;
use crate::model::layer_weights::LayerWeights;
use crate::model::linear::Linear;

/// The longest window that is accepted; known models have 3 and 7.
const LONGEST: usize = 64;

pub(crate) struct ShortConvolution<B: Backend> {
    pub(crate) in_proj: Linear<B>,
    /// One row for each position of the window, oldest first: `(window * hidden)`.
    pub(crate) taps: B::Vector,
    /// `(hidden)`
    pub(crate) bias: Option<B::Vector>,
    pub(crate) out_proj: Linear<B>,
    pub(crate) window: usize,
    pub(crate) hidden: usize,
}

impl<B: Backend> ShortConvolution<B> {
    pub(crate) fn load(weights: &LayerWeights<'_, B>) -> Result<Self> {
        let (hidden, window, name) = (weights.hidden, window(weights)?, weights.name("shortconv.conv"));
        let shape = weights.shape("shortconv.conv").unwrap_or_default();
        let by_channel = weights.weights.floats(&name, shape)?;
        let taps = (0..window).flat_map(|tap| by_channel[tap..].iter().step_by(window).copied()).collect();
        Ok(Self {
            in_proj: weights.linear("shortconv.in_proj", 3 * hidden, hidden)?,
            taps: weights.backend.vector(taps)?,
            bias: weights.bias("shortconv.conv", hidden)?,
            out_proj: weights.linear("shortconv.out_proj", hidden, hidden)?,
            window,
            hidden,
        })
    }
}

/// The number of tokens that the convolution of a layer spans.
pub(crate) fn window<B>(weights: &LayerWeights<'_, B>) -> Result<usize> {
    let shape = weights.shape("shortconv.conv").unwrap_or_default();
    match *shape {
        // GGUF files drop the middle dimension of safetensors' (hidden, 1, window).
        [rows, 1, window] | [rows, window] if rows == weights.hidden && (2..=LONGEST).contains(&window) => Ok(window),
        _ => {
            let (name, hidden) = (weights.name("shortconv.conv"), weights.hidden);
            Err(invalid(format!(
                "tensor {name} must have {hidden} rows of 2 to {LONGEST} values, found shape {shape:?}"
            )))
        }
    }
}
