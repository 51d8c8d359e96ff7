//! The state of a sequence in tensors.

use std::collections::HashSet;

use candle_core::{Device, Result as TensorResult, Tensor};

use crate::error::{ErrorKind, Result, SdkError};
use crate::model::candle::pages::CandleKeyValues;
use crate::model::heads::Heads;
use crate::model::network::SequenceState;
use crate::model::saved_state::{SavedLayerKind, StateReader, StateWriter};

/// The state of a sequence in all layers.
#[derive(Clone)]
pub(super) struct CandleState {
    pub(super) layers: Vec<CandleLayerState>,
    pub(super) n_positions: usize,
}

/// The state of a sequence in one layer.
#[derive(Clone)]
pub(super) enum CandleLayerState {
    /// The last inputs of a convolution, `(window - 1, hidden)`.
    Convolution(Tensor),
    Attention(CandleKeyValues, Heads),
}

impl CandleState {
    /// The state before the first position.
    pub(super) fn new(layers: Vec<CandleLayerState>) -> Self {
        Self { layers, n_positions: 0 }
    }

    /// Reads the bytes of [`save`](SequenceState::save) into a state that is empty so far.
    pub(super) fn load(mut self, bytes: &[u8], device: &Device) -> Option<Self> {
        let mut reader = StateReader::new(bytes)?;
        self.n_positions = reader.n_positions();
        self.layers.iter_mut().try_for_each(|layer| layer.load(&mut reader, device))?;
        reader.is_at_end().then_some(self)
    }
}

impl CandleLayerState {
    fn load(&mut self, reader: &mut StateReader<'_>, device: &Device) -> Option<()> {
        let tensor =
            |reader: &mut StateReader<'_>, shape: &[usize]| Tensor::from_vec(reader.values(shape)?, shape, device).ok();
        match self {
            Self::Convolution(inputs) => {
                let (rows, columns) = inputs.dims2().ok()?;
                reader.expect_layer(SavedLayerKind::CONVOLUTION, [rows, columns])?;
                *inputs = tensor(reader, &[rows, columns])?;
            }
            Self::Attention(past, Heads { n_keys, head_dim, .. }) => {
                reader.expect_layer(SavedLayerKind::ATTENTION_F32, [*n_keys, *head_dim])?;
                let shape = [*n_keys, reader.n_positions(), *head_dim];
                let (keys, values) = (tensor(reader, &shape)?, tensor(reader, &shape)?);
                past.append(&keys, &values).ok()?;
            }
        }
        Some(())
    }

    fn save(&self, writer: &mut StateWriter) -> TensorResult<()> {
        let values = |tensor: &Tensor| tensor.flatten_all()?.to_vec1::<f32>();
        match self {
            Self::Convolution(inputs) => {
                let (rows, columns) = inputs.dims2()?;
                writer.layer(SavedLayerKind::CONVOLUTION, [rows, columns], &[&values(inputs)?]);
            }
            Self::Attention(past, Heads { n_keys, head_dim, .. }) => {
                let (k, v) = past.joined()?;
                let kind = SavedLayerKind::ATTENTION_F32;
                writer.layer(kind, [*n_keys, *head_dim], &[&values(&k)?, &values(&v)?]);
            }
        }
        Ok(())
    }
}

impl SequenceState for CandleState {
    fn n_positions(&self) -> usize {
        self.n_positions
    }

    fn can_be_cut(&self) -> bool {
        self.layers.iter().all(|layer| matches!(layer, CandleLayerState::Attention(..)))
    }

    fn cut(&self, n_positions: usize) -> Option<Box<dyn SequenceState>> {
        let n_back = self.n_positions.checked_sub(n_positions)?;
        let cut = |layer: &CandleLayerState| match layer {
            CandleLayerState::Attention(past, heads) => {
                past.cut(n_positions).map(|past| CandleLayerState::Attention(past, *heads))
            }
            CandleLayerState::Convolution(_) => (n_back == 0).then(|| layer.clone()),
        };
        let layers = self.layers.iter().map(cut).collect::<Option<_>>()?;
        Some(Box::new(Self { layers, n_positions }))
    }

    fn n_bytes(&self, counted: &mut HashSet<usize>) -> usize {
        let n_bytes = |layer: &CandleLayerState| match layer {
            CandleLayerState::Convolution(inputs) => inputs.elem_count() * inputs.dtype().size_in_bytes(),
            CandleLayerState::Attention(past, _) => {
                past.page_sizes().filter(|(page, _)| counted.insert(*page)).map(|(_, n_bytes)| n_bytes).sum()
            }
        };
        self.layers.iter().map(n_bytes).sum()
    }

    fn save(&self) -> Result<Option<Vec<u8>>> {
        let mut writer = StateWriter::new(self.n_positions);
        self.layers.iter().try_for_each(|layer| layer.save(&mut writer)).map_err(computation_failed)?;
        Ok(Some(writer.finish()))
    }

    fn clone_box(&self) -> Box<dyn SequenceState> {
        Box::new(self.clone())
    }
}

/// The error of a computation that candle refused.
pub(super) fn computation_failed(err: candle_core::Error) -> SdkError {
    SdkError::new(ErrorKind::Generation, "the model's computation failed").caused_by(err)
}
