//! A pass of the decoder with tensors. Sequences are computed one after the other.

use std::any::Any;

use candle_core::{DType, Module, Result as TensorResult, Tensor};
use candle_nn::ops::rms_norm;

use crate::error::Result;
use crate::model::candle::backend::Candle;
use crate::model::candle::pages::CandleKeyValues;
use crate::model::candle::state::{CandleLayerState, CandleState, computation_failed};
use crate::model::decoder::Decoder;
use crate::model::layer::{Layer, Operator};
use crate::model::network::{ForwardOutcome, Inputs, Network, PerSequence, SequenceState, Step};

impl Network for Decoder<Candle> {
    fn n_vocabulary(&self) -> usize {
        self.n_vocabulary
    }

    fn hidden_size(&self) -> usize {
        self.hidden
    }

    fn shares_passes(&self) -> bool {
        false
    }

    fn start(&self) -> Result<Box<dyn SequenceState>> {
        Ok(Box::new(self.empty_state().map_err(computation_failed)?))
    }

    fn load_state(&self, bytes: &[u8]) -> Option<Box<dyn SequenceState>> {
        Some(Box::new(self.empty_state().ok()?.load(bytes, &self.backend.device)?))
    }

    fn forward(&self, steps: &mut [Step<'_>]) -> PerSequence<Result<ForwardOutcome>> {
        let one = |step| self.compute(step).map(|()| ForwardOutcome::Done).map_err(computation_failed);
        steps.iter_mut().map(one).collect()
    }
}

impl Decoder<Candle> {
    fn empty_state(&self) -> TensorResult<CandleState> {
        let layers = self.layers.iter().map(|layer| match &layer.operator {
            Operator::ShortConvolution(convolution) => {
                let shape = (convolution.window - 1, convolution.hidden);
                Tensor::zeros(shape, DType::F32, &self.backend.device).map(CandleLayerState::Convolution)
            }
            Operator::Attention(attention) => {
                Ok(CandleLayerState::Attention(CandleKeyValues::default(), attention.heads))
            }
            Operator::DeltaNet(_) => candle_core::bail!("delta nets are not supported"),
        });
        Ok(CandleState::new(layers.collect::<TensorResult<_>>()?))
    }

    fn compute(&self, step: &mut Step<'_>) -> TensorResult<()> {
        let Some(state) = (&mut *step.state as &mut dyn Any).downcast_mut::<CandleState>() else {
            candle_core::bail!("the state belongs to another network")
        };
        let mut x = self.embed(step.inputs)?; // (time, hidden)
        for (layer, layer_state) in self.layers.iter().zip(&mut state.layers) {
            x = layer.forward(&x, state.n_positions, layer_state, self.norm_eps)?;
        }
        state.n_positions += step.inputs.len();
        if step.n_logits == 0 {
            step.logits.clear();
            return Ok(());
        }
        let last = x.narrow(0, step.inputs.len() - step.n_logits, step.n_logits)?.contiguous()?;
        let last = rms_norm(&last, &self.output_norm, self.norm_eps)?;
        *step.logits = self.head().forward(&last)?.flatten_all()?.to_vec1()?;
        Ok(())
    }

    /// `(time, hidden)`
    fn embed(&self, inputs: Inputs<'_>) -> TensorResult<Tensor> {
        let device = &self.backend.device;
        match inputs {
            Inputs::Tokens(tokens) => self.embedding.embedding(&Tensor::new(tokens, device)?),
            Inputs::Rows { rows, n_rows } => Tensor::from_slice(rows, (n_rows, self.hidden), device),
        }
    }
}

impl Layer<Candle> {
    /// `x` and the result are `(time, hidden)`. The first position is `start`.
    fn forward(&self, x: &Tensor, start: usize, state: &mut CandleLayerState, norm_eps: f32) -> TensorResult<Tensor> {
        let normed = rms_norm(x, &self.operator_norm, norm_eps)?;
        let mixed = match (&self.operator, state) {
            (Operator::ShortConvolution(convolution), CandleLayerState::Convolution(inputs)) => {
                convolution.forward(&normed, inputs)?
            }
            (Operator::Attention(attention), CandleLayerState::Attention(past, _)) => {
                attention.forward(&normed, start, past, norm_eps)?
            }
            _ => candle_core::bail!("the state belongs to another model"),
        };
        let x = (x + mixed)?;
        &x + self.feed_forward.forward(&rms_norm(&x, &self.feed_forward_norm, norm_eps)?)?
    }
}
