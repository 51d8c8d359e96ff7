//! What layers remember of a sequence, in tensors.

use std::collections::HashSet;

use candle_core::{DType, Device, Result as TensorResult, Tensor};

use crate::error::Result;
use crate::model::candle::pages::CandleKeyValues;
use crate::model::candle::rows::computation_failed;
use crate::model::delta_net::DeltaHeads;
use crate::model::heads::Heads;
use crate::model::operations::LayerMemory;
use crate::model::saved_state::{SavedLayerKind, StateReader, StateWriter};

/// Columns of a delta net's matrix that lie together in saved bytes.
const COLUMNS: usize = 32;

/// Keys and values of an attention layer.
#[derive(Clone)]
pub(crate) struct TensorKeyValues {
    pub(super) past: CandleKeyValues,
    heads: Heads,
    device: Device,
}

/// The last inputs of a convolution, `(window - 1, channels)`.
#[derive(Clone)]
pub(crate) struct TensorWindow(pub(super) Tensor);

/// The matrices of a delta net, `(value heads, key size, value size)`.
#[derive(Clone)]
pub(crate) struct TensorDeltaMemory {
    pub(super) matrices: Tensor,
    pub(super) heads: DeltaHeads,
}

impl TensorKeyValues {
    pub(super) fn new(heads: Heads, device: &Device) -> Self {
        Self { past: CandleKeyValues::default(), heads, device: device.clone() }
    }

    pub(super) fn heads(&self) -> Heads {
        self.heads
    }
}

impl TensorWindow {
    pub(super) fn new(n_taps: usize, n_channels: usize, device: &Device) -> Result<Self> {
        Tensor::zeros((n_taps - 1, n_channels), DType::F32, device).map(Self).map_err(computation_failed)
    }
}

impl TensorDeltaMemory {
    pub(super) fn new(heads: DeltaHeads, device: &Device) -> Result<Self> {
        let shape = (heads.n_values, heads.key_dim, heads.value_dim);
        let matrices = Tensor::zeros(shape, DType::F32, device).map_err(computation_failed)?;
        Ok(Self { matrices, heads })
    }

    fn sizes(&self) -> [usize; 2] {
        [self.heads.n_values, self.heads.key_dim * self.heads.value_dim]
    }
}

impl LayerMemory for TensorKeyValues {
    const CAN_BE_CUT: bool = true;

    fn expect_cut(&mut self, _: bool) {}

    fn cut(&self, n_positions: usize, _: usize) -> Option<Self> {
        Some(Self { past: self.past.cut(n_positions)?, ..self.clone() })
    }

    fn keep_last(&mut self, n_positions: usize) {
        self.past.keep_last(n_positions);
    }

    fn n_bytes(&self, counted: &mut HashSet<usize>) -> usize {
        self.past.page_sizes().filter(|(page, _)| counted.insert(*page)).map(|(_, n_bytes)| n_bytes).sum()
    }

    fn save(&self, writer: &mut StateWriter) -> Result<()> {
        let Heads { n_keys, head_dim, .. } = self.heads;
        let floats = || {
            let (keys, values) = self.past.joined()?;
            Ok((floats(&keys)?, floats(&values)?))
        };
        let (keys, values) = floats().map_err(computation_failed)?;
        writer.layer(SavedLayerKind::ATTENTION_F32, [n_keys, head_dim], &[&keys, &values]);
        Ok(())
    }

    fn load(&mut self, reader: &mut StateReader<'_>) -> Option<()> {
        let Heads { n_keys, head_dim, .. } = self.heads;
        reader.expect_layer(SavedLayerKind::ATTENTION_F32, [n_keys, head_dim])?;
        let shape = [n_keys, reader.n_positions(), head_dim];
        let (keys, values) = (read(reader, &shape, &self.device)?, read(reader, &shape, &self.device)?);
        self.past.append(&keys, &values).ok()
    }
}

impl LayerMemory for TensorWindow {
    const CAN_BE_CUT: bool = false;

    fn expect_cut(&mut self, _: bool) {}

    fn cut(&self, _: usize, n_back: usize) -> Option<Self> {
        (n_back == 0).then(|| self.clone())
    }

    fn n_bytes(&self, _: &mut HashSet<usize>) -> usize {
        self.0.elem_count() * size_of::<f32>()
    }

    fn save(&self, writer: &mut StateWriter) -> Result<()> {
        let (rows, columns) = self.0.dims2().map_err(computation_failed)?;
        writer.layer(SavedLayerKind::CONVOLUTION, [rows, columns], &[&floats(&self.0).map_err(computation_failed)?]);
        Ok(())
    }

    fn load(&mut self, reader: &mut StateReader<'_>) -> Option<()> {
        let (rows, columns) = self.0.dims2().ok()?;
        reader.expect_layer(SavedLayerKind::CONVOLUTION, [rows, columns])?;
        self.0 = read(reader, &[rows, columns], &self.0.device().clone())?;
        Some(())
    }
}

impl LayerMemory for TensorDeltaMemory {
    const CAN_BE_CUT: bool = false;

    fn expect_cut(&mut self, _: bool) {}

    fn cut(&self, _: usize, n_back: usize) -> Option<Self> {
        (n_back == 0).then(|| self.clone())
    }

    fn n_bytes(&self, _: &mut HashSet<usize>) -> usize {
        self.matrices.elem_count() * size_of::<f32>()
    }

    fn save(&self, writer: &mut StateWriter) -> Result<()> {
        let DeltaHeads { n_values, key_dim, value_dim, .. } = self.heads;
        let columns = || {
            let blocks = self.matrices.reshape((n_values, key_dim, value_dim / COLUMNS, COLUMNS))?;
            floats(&blocks.transpose(1, 2)?)
        };
        writer.layer(SavedLayerKind::DELTA_NET, self.sizes(), &[&columns().map_err(computation_failed)?]);
        Ok(())
    }

    fn load(&mut self, reader: &mut StateReader<'_>) -> Option<()> {
        let DeltaHeads { n_values, key_dim, value_dim, .. } = self.heads;
        reader.expect_layer(SavedLayerKind::DELTA_NET, self.sizes())?;
        let shape = [n_values, value_dim / COLUMNS, key_dim, COLUMNS];
        let blocks = read(reader, &shape, self.matrices.device())?;
        self.matrices = blocks.transpose(1, 2).ok()?.reshape((n_values, key_dim, value_dim)).ok()?;
        Some(())
    }
}

fn floats(tensor: &Tensor) -> TensorResult<Vec<f32>> {
    tensor.flatten_all()?.to_vec1()
}

fn read(reader: &mut StateReader<'_>, shape: &[usize], device: &Device) -> Option<Tensor> {
    Tensor::from_vec(reader.values(shape)?, shape, device).ok()
}
