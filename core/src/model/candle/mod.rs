//! Computing with candle's tensors: on Metal, and on the CPU as the reference that the native path is compared with.

mod attention;
mod experts;
mod pages;
mod short_convolution;

use candle_core::quantized::QMatMul;
use candle_core::{DType, Device, Module, Result as TensorResult, Tensor};
use candle_nn::ops::{rms_norm, silu};

use crate::error::{ErrorKind, Result, SdkError};
use crate::model::backend::Backend;
use crate::model::decoder::Decoder;
use crate::model::feed_forward::{Dense, FeedForward};
use crate::model::layer::{Layer, Operator};
use crate::model::linear::Linear;
use crate::model::state::{LayerState, State};
use crate::weights::{MatrixPlace, Weights};

pub(super) use pages::KeyValues;

pub(crate) struct Candle {
    pub(crate) device: Device,
}

impl Backend for Candle {
    type Matrix = QMatMul;
    type Vector = Tensor;

    fn matrix(&self, weights: &Weights, place: &MatrixPlace<'_>) -> Result<QMatMul> {
        weights.matrix(place, &self.device)
    }

    fn vector(&self, numbers: Vec<f32>) -> Result<Tensor> {
        let n = numbers.len();
        Tensor::from_vec(numbers, n, &self.device)
            .map_err(|err| SdkError::new(ErrorKind::ModelLoad, "cannot load a vector").caused_by(err))
    }
}

impl Decoder<Candle> {
    pub(crate) fn start(&self) -> TensorResult<State> {
        let layers = self.layers.iter().map(|layer| match &layer.operator {
            Operator::ShortConvolution(convolution) => {
                let shape = (convolution.window - 1, convolution.hidden);
                Tensor::zeros(shape, DType::F32, &self.backend.device).map(LayerState::Inputs)
            }
            Operator::Attention(_) => Ok(LayerState::KeyValues(KeyValues::default())),
        });
        Ok(State::new(layers.collect::<TensorResult<_>>()?))
    }

    /// Reads tokens and returns what the last layer makes of them, `(time, hidden)`.
    pub(crate) fn read(&self, ids: &[u32], state: &mut State) -> TensorResult<Tensor> {
        let ids = Tensor::new(ids, &self.backend.device)?;
        let mut x = self.embedding.embedding(&ids)?; // (time, hidden)
        for (layer, layer_state) in self.layers.iter().zip(&mut state.layers) {
            x = layer.forward(&x, state.n_tokens, layer_state, self.norm_eps)?;
        }
        state.n_tokens += ids.elem_count();
        Ok(x)
    }

    /// Reads tokens and returns the logits after the last ones.
    pub(crate) fn forward(&self, ids: &[u32], state: &mut State, n_logits: usize) -> TensorResult<Vec<f32>> {
        let x = self.read(ids, state)?;
        let last = x.narrow(0, ids.len() - n_logits, n_logits)?.contiguous()?;
        let last = rms_norm(&last, &self.output_norm, self.norm_eps)?;
        self.head().forward(&last)?.flatten_all()?.to_vec1()
    }
}

impl Layer<Candle> {
    /// `x` is `(time, hidden)`, as is what returns. Its first token stands at `start`.
    fn forward(&self, x: &Tensor, start: usize, state: &mut LayerState, norm_eps: f32) -> TensorResult<Tensor> {
        let normed = rms_norm(x, &self.operator_norm, norm_eps)?;
        let mixed = match (&self.operator, state) {
            (Operator::ShortConvolution(convolution), LayerState::Inputs(inputs)) => {
                convolution.forward(&normed, inputs)?
            }
            (Operator::Attention(attention), LayerState::KeyValues(past)) => {
                attention.forward(&normed, start, past, norm_eps)?
            }
            _ => candle_core::bail!("the state belongs to another model"),
        };
        let x = (x + mixed)?;
        &x + self.feed_forward.forward(&rms_norm(&x, &self.feed_forward_norm, norm_eps)?)?
    }
}

impl FeedForward<Candle> {
    /// `x` is `(time, hidden)`, as is what returns.
    fn forward(&self, x: &Tensor) -> TensorResult<Tensor> {
        match self {
            Self::Dense(dense) => dense.forward(x),
            Self::Experts(experts) => experts.forward(x),
        }
    }
}

impl Dense<Candle> {
    fn forward(&self, x: &Tensor) -> TensorResult<Tensor> {
        let gate = silu(&self.gate.forward(x)?)?;
        self.down.forward(&(gate * self.up.forward(x)?)?)
    }
}

impl Linear<Candle> {
    /// `(time, inputs)` to `(time, outputs)`.
    fn forward(&self, x: &Tensor) -> TensorResult<Tensor> {
        let y = self.weight.forward(x)?;
        match &self.bias {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        }
    }
}
