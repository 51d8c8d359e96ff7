//! What layers remember of a sequence in a GPU's memory. The bytes that are saved are the same as the CPU's.

use std::collections::HashSet;
use std::sync::Arc;

use causerie_gpu::{
    CacheFormat, GpuDeltaMemory, GpuKeyValues, GpuWindow, KeyValueShape, Recorder, StateSizes, WindowSizes,
};

use crate::error::Result;
use crate::model::gpu::backend::failed_step;
use crate::model::operations::LayerMemory;
use crate::model::saved_state::{SavedLayerKind, StateReader, StateWriter};

/// Keys and values of an attention layer.
#[derive(Clone)]
pub(crate) struct WgslKeyValues {
    pub(super) past: GpuKeyValues,
    pub(super) recorder: Arc<Recorder>,
}

/// The last inputs of a convolution.
#[derive(Clone)]
pub(crate) struct WgslWindow {
    pub(super) window: GpuWindow,
    pub(super) recorder: Arc<Recorder>,
}

/// The matrices of a delta net.
#[derive(Clone)]
pub(crate) struct WgslDeltaMemory {
    pub(super) memory: GpuDeltaMemory,
    pub(super) recorder: Arc<Recorder>,
}

impl LayerMemory for WgslKeyValues {
    const CAN_BE_CUT: bool = true;

    fn expect_cut(&mut self, _: bool) {}

    fn cut(&self, n_positions: usize, _: usize) -> Option<Self> {
        Some(Self { past: self.past.cut(n_positions)?, recorder: Arc::clone(&self.recorder) })
    }

    fn ahead(&self) -> Self {
        Self { past: self.past.ahead(), recorder: Arc::clone(&self.recorder) }
    }

    fn settle(&mut self) {
        self.past.settle();
    }

    fn keep_last(&mut self, n_positions: usize) {
        self.past.keep_last(n_positions);
    }

    fn reserve(&mut self, n_rows: usize, _: bool) -> Result<()> {
        self.past.reserve(&self.recorder, n_rows).map_err(failed_step)
    }

    fn n_bytes(&self, counted: &mut HashSet<usize>) -> usize {
        let pages = self.past.pages().iter().filter(|page| counted.insert(Arc::as_ptr(page).addr()));
        pages.count() * self.past.shape().page_bytes()
    }

    fn save(&self, writer: &mut StateWriter) -> Result<()> {
        let KeyValueShape { n_heads, head_dim, format } = self.past.shape();
        let (keys, values) = self.past.to_floats(&self.recorder).map_err(failed_step)?;
        writer.layer(kind(format), [n_heads, head_dim], &[&keys, &values]);
        Ok(())
    }

    fn load(&mut self, reader: &mut StateReader<'_>) -> Option<()> {
        let KeyValueShape { n_heads, head_dim, format } = self.past.shape();
        reader.expect_layer(kind(format), [n_heads, head_dim])?;
        let n_positions = reader.n_positions();
        let shape = [n_heads, n_positions, head_dim];
        let mut uploaded = || {
            let values = by_position(&reader.values(&shape)?, (n_heads, n_positions, head_dim));
            self.recorder.uploaded(&values, n_heads * head_dim).ok()
        };
        let (keys, values) = (uploaded()?, uploaded()?);
        self.past.append(&self.recorder, 0..n_positions, &keys, &values).ok()?;
        self.recorder.submit().ok()
    }
}

impl LayerMemory for WgslWindow {
    const CAN_BE_CUT: bool = false;

    fn expect_cut(&mut self, is_expected: bool) {
        self.window.expect_cut(is_expected);
    }

    fn cut(&self, _: usize, n_back: usize) -> Option<Self> {
        Some(Self { window: self.window.cut(n_back)?, recorder: Arc::clone(&self.recorder) })
    }

    fn reserve(&mut self, n_rows: usize, is_cut_expected: bool) -> Result<()> {
        let n_windows = if is_cut_expected { n_rows } else { n_rows.min(1) };
        self.window.reserve(&self.recorder, n_windows).map_err(failed_step)
    }

    fn n_bytes(&self, _: &mut HashSet<usize>) -> usize {
        self.window.sizes().n_elements() * size_of::<f32>()
    }

    fn save(&self, writer: &mut StateWriter) -> Result<()> {
        let inputs = self.window.to_floats(&self.recorder).map_err(failed_step)?;
        writer.layer(SavedLayerKind::CONVOLUTION, window_sizes(&self.window), &[&inputs]);
        Ok(())
    }

    fn load(&mut self, reader: &mut StateReader<'_>) -> Option<()> {
        let sizes = window_sizes(&self.window);
        reader.expect_layer(SavedLayerKind::CONVOLUTION, sizes)?;
        self.window.set(&self.recorder, &reader.values(&sizes)?).ok()
    }
}

impl LayerMemory for WgslDeltaMemory {
    const CAN_BE_CUT: bool = false;

    fn expect_cut(&mut self, is_expected: bool) {
        self.memory.expect_cut(is_expected);
    }

    fn cut(&self, _: usize, n_back: usize) -> Option<Self> {
        Some(Self { memory: self.memory.cut(n_back)?, recorder: Arc::clone(&self.recorder) })
    }

    fn reserve(&mut self, n_rows: usize, is_cut_expected: bool) -> Result<()> {
        let n_copies = if is_cut_expected { n_rows + 1 } else { usize::from(self.memory.needs_copy()) };
        self.memory.reserve(&self.recorder, n_copies.min(n_rows.saturating_mul(2))).map_err(failed_step)
    }

    fn n_bytes(&self, counted: &mut HashSet<usize>) -> usize {
        let is_new = self.memory.item().is_some_and(|item| counted.insert(Arc::as_ptr(item).addr()));
        if is_new { self.memory.sizes().n_elements() * size_of::<f32>() } else { 0 }
    }

    fn save(&self, writer: &mut StateWriter) -> Result<()> {
        let values = self.memory.to_floats(&self.recorder).map_err(failed_step)?;
        writer.layer(SavedLayerKind::DELTA_NET, matrix_sizes(&self.memory), &[&values]);
        Ok(())
    }

    fn load(&mut self, reader: &mut StateReader<'_>) -> Option<()> {
        let sizes = matrix_sizes(&self.memory);
        reader.expect_layer(SavedLayerKind::DELTA_NET, sizes)?;
        self.memory.set(&self.recorder, &reader.values(&sizes)?).ok()
    }
}

/// Rows and columns of the last inputs.
fn window_sizes(window: &GpuWindow) -> [usize; 2] {
    let WindowSizes { n_past, n_channels } = window.sizes();
    [n_past, n_channels]
}

/// Value heads of a delta net, and the elements of a matrix.
fn matrix_sizes(memory: &GpuDeltaMemory) -> [usize; 2] {
    let sizes = memory.sizes();
    [sizes.n_values, sizes.key_dim * sizes.value_dim]
}

/// `(heads, positions, head_dim)` as `(positions, heads, head_dim)`.
fn by_position(values: &[f32], (n_heads, n_positions, head_dim): (usize, usize, usize)) -> Vec<f32> {
    let heads = (0..n_positions).flat_map(|at| (0..n_heads).map(move |head| (head * n_positions + at) * head_dim));
    heads.flat_map(|start| &values[start..start + head_dim]).copied().collect()
}

/// The kind of attention with this storage format.
fn kind(format: CacheFormat) -> SavedLayerKind {
    match format {
        CacheFormat::F32 => SavedLayerKind::ATTENTION_F32,
        CacheFormat::F16 => SavedLayerKind::ATTENTION_F16,
        CacheFormat::Q8_0 => SavedLayerKind::ATTENTION_Q8_0,
    }
}
