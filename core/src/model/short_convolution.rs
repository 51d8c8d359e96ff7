//! The gated short convolution: each channel mixes its last few inputs.
//!
//! `[B; C; X] = in_proj(x)`, `u = B * X`, `v_t = Σ_k w_k * u_(t - window + 1 + k)`, `y = out_proj(C * v)`.

use candle_core::{DType, Result as TensorResult, Tensor};

use crate::error::Result;
use crate::model::layer::LayerWeights;
use crate::model::linear::Linear;
use crate::model::wrong;

/// The longest window that is believed; known models have 3 and 7.
const LONGEST: usize = 64;

pub(crate) struct ShortConvolution {
    in_proj: Linear,
    /// One row for each place in the window, oldest first: `(window, hidden)`.
    taps: Tensor,
    /// `(hidden)`
    bias: Option<Tensor>,
    out_proj: Linear,
    /// The inputs before the first token: zeros, `(window - 1, hidden)`.
    start: Tensor,
    window: usize,
    hidden: usize,
}

impl ShortConvolution {
    pub(crate) fn load(weights: &LayerWeights<'_>) -> Result<Self> {
        let (hidden, window, name) = (weights.hidden, window(weights)?, weights.name("shortconv.conv"));
        let failed = |err| wrong(format!("cannot load tensor {name}")).caused_by(err);
        let shape = weights.shape("shortconv.conv").unwrap_or_default();
        let taps = weights.weights.floats(&name, shape)?.reshape((hidden, window));
        let start = Tensor::zeros((window - 1, hidden), DType::F32, weights.weights.device());
        Ok(Self {
            in_proj: weights.linear("shortconv.in_proj", 3 * hidden, hidden)?,
            taps: taps.and_then(|taps| taps.t()?.contiguous()).map_err(failed)?,
            bias: weights.bias("shortconv.conv", hidden)?,
            out_proj: weights.linear("shortconv.out_proj", hidden, hidden)?,
            start: start.map_err(failed)?,
            window,
            hidden,
        })
    }

    pub(crate) fn start(&self) -> Tensor {
        self.start.clone()
    }

    /// `x` is `(time, hidden)`; `inputs` is replaced by the last ones of this stretch, however short it is.
    pub(crate) fn forward(&self, x: &Tensor, inputs: &mut Tensor) -> TensorResult<Tensor> {
        let time = x.dim(0)?;
        let projected = self.in_proj.forward(x)?; // (time, 3 * hidden)
        let part = |i: usize| projected.narrow(1, i * self.hidden, self.hidden);
        let gated = (part(0)? * part(2)?)?;
        let u = Tensor::cat(&[&*inputs, &gated], 0)?; // (window - 1 + time, hidden)
        let mut mixed = Tensor::zeros((time, self.hidden), DType::F32, x.device())?;
        for k in 0..self.window {
            mixed = (mixed + u.narrow(0, k, time)?.broadcast_mul(&self.taps.narrow(0, k, 1)?)?)?;
        }
        if let Some(bias) = &self.bias {
            mixed = mixed.broadcast_add(bias)?;
        }
        // A copy: a view would keep all of `u` in memory for as long as a snapshot lives.
        *inputs = u.narrow(0, time, self.window - 1)?.force_contiguous()?;
        self.out_proj.forward(&(part(1)? * mixed)?)
    }
}

/// Tokens that the convolution of a layer spans.
pub(crate) fn window(weights: &LayerWeights<'_>) -> Result<usize> {
    let shape = weights.shape("shortconv.conv").unwrap_or_default();
    match *shape {
        // GGUF files drop the middle dimension of safetensors' (hidden, 1, window).
        [rows, 1, window] | [rows, window] if rows == weights.hidden && (2..=LONGEST).contains(&window) => Ok(window),
        _ => {
            let (name, hidden) = (weights.name("shortconv.conv"), weights.hidden);
            Err(wrong(format!("tensor {name} has shape {shape:?}, expected {hidden} rows of a window")))
        }
    }
}
