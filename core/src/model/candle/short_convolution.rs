//! The gated short convolution, with tensors.

use candle_core::{DType, Result as TensorResult, Tensor};

use crate::model::candle::backend::Candle;
use crate::model::short_convolution::ShortConvolution;

impl ShortConvolution<Candle> {
    /// `x` is `(time, hidden)`; `inputs` is replaced by the last inputs of this chunk, however short it is.
    pub(super) fn forward(&self, x: &Tensor, inputs: &mut Tensor) -> TensorResult<Tensor> {
        let time = x.dim(0)?;
        let projected = self.in_proj.forward(x)?; // (time, 3 * hidden)
        let part = |i: usize| projected.narrow(1, i * self.hidden, self.hidden);
        let gated = (part(0)? * part(2)?)?;
        let u = Tensor::cat(&[&*inputs, &gated], 0)?; // (window - 1 + time, hidden)
        let mut mixed = Tensor::zeros((time, self.hidden), DType::F32, x.device())?;
        for k in 0..self.window {
            mixed = (mixed
                + u.narrow(0, k, time)?.broadcast_mul(&self.taps.narrow(0, k * self.hidden, self.hidden)?)?)?;
        }
        if let Some(bias) = &self.bias {
            mixed = mixed.broadcast_add(bias)?;
        }
        // A copy: a view would keep all of `u` in memory for as long as a snapshot lives.
        *inputs = u.narrow(0, time, self.window - 1)?.force_contiguous()?;
        self.out_proj.forward(&(part(1)? * mixed)?)
    }
}
