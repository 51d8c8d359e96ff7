//! What a step replaces as a whole: the last inputs of a convolution, and the matrices of a delta net. Clones share memory.

use std::sync::Arc;

use crate::device::Gpu;
use crate::error::GpuError;
use crate::pools::{ItemPool, PoolItem, ReservedItems};
use crate::recorder::Recorder;
use crate::recording::StepRecording;

/// Sizes of the values of a state.
pub trait StateSizes: Copy {
    /// Number of all values of a state.
    fn n_elements(self) -> usize;
}

/// The values of one layer and sequence, in f32, after the tokens so far.
#[derive(Clone)]
pub struct GpuState<S> {
    pub(crate) sizes: S,
    pub(crate) pool: Arc<ItemPool>,
    /// `None` before the first token: all values are zeros.
    pub(crate) item: Option<Arc<PoolItem>>,
    /// Whether [`cut`](Self::cut) must be able to return into the next step.
    pub(crate) keeps_steps: bool,
    /// The values before the last step and after each of its rows, if they were to be kept.
    last_step: Vec<Option<Arc<PoolItem>>>,
    pub(crate) reserved: ReservedItems,
}

/// The last inputs of a convolution, `(taps - 1, channels)`, oldest first.
pub type GpuWindow = GpuState<WindowSizes>;

/// The matrices of a delta net, `(value heads, value size / 32, key size, 32)`.
pub type GpuDeltaMemory = GpuState<DeltaSizes>;

/// Rows and columns of the last inputs of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSizes {
    /// Inputs before the next token: one less than the taps.
    pub n_past: usize,
    /// Values of an input.
    pub n_channels: usize,
}

/// Sizes of the heads of a delta net.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "as `causerie_backend::DeltaShape`")]
pub struct DeltaSizes {
    pub n_keys: usize,
    pub n_values: usize,
    pub key_dim: usize,
    pub value_dim: usize,
}

impl StateSizes for WindowSizes {
    fn n_elements(self) -> usize {
        self.n_past * self.n_channels
    }
}

impl StateSizes for DeltaSizes {
    fn n_elements(self) -> usize {
        self.n_values * self.key_dim * self.value_dim
    }
}

impl<S: StateSizes> GpuState<S> {
    /// The state before the first token: zeros.
    pub fn new(recorder: &Recorder, sizes: S) -> Self {
        let pool = recorder.pools().of_words(sizes.n_elements().max(1));
        Self { sizes, pool, item: None, keeps_steps: false, last_step: Vec::new(), reserved: ReservedItems::default() }
    }

    /// The sizes of the values.
    pub fn sizes(&self) -> S {
        self.sizes
    }

    /// The values' memory, which clones share; `None` before the first token.
    pub fn item(&self) -> Option<&Arc<PoolItem>> {
        self.item.as_ref()
    }

    /// Says whether [`cut`](Self::cut) must be able to return into the next step.
    pub fn expect_cut(&mut self, is_expected: bool) {
        self.keeps_steps = is_expected;
        self.last_step.clear();
    }

    /// The state without the last `n_back` rows of the last step; `None` if it was not kept.
    pub fn cut(&self, n_back: usize) -> Option<Self> {
        let item = match n_back {
            0 => self.item.clone(),
            _ => self.last_step.get(self.last_step.len().checked_sub(n_back + 1)?)?.clone(),
        };
        let (pool, reserved) = (Arc::clone(&self.pool), ReservedItems::default());
        Some(Self { item, keeps_steps: false, last_step: Vec::new(), pool, reserved, ..*self })
    }

    /// Takes the memory of some states more, which a step then fills without asking for it; for none, gives it back.
    ///
    /// # Errors
    /// The device has no memory left. Nothing is changed then.
    pub fn reserve(&mut self, recorder: &Recorder, n_items: usize) -> Result<(), GpuError> {
        if n_items == 0 {
            self.reserved.clear();
            return Ok(());
        }
        self.reserved.reserve(&self.pool, recorder.gpu(), &mut recorder.record(), n_items)
    }

    /// Memory for one state more.
    pub(crate) fn take(&mut self, gpu: &Gpu, recording: &mut StepRecording) -> Result<Arc<PoolItem>, GpuError> {
        self.reserved.take(&self.pool, gpu, recording)
    }

    /// Whether a step in place would change what others hold, or has nothing to change.
    pub fn needs_copy(&self) -> bool {
        self.item.as_ref().is_none_or(|item| 1 < Arc::strong_count(item))
    }

    /// Begins a step. If steps are kept, [`end_row`](Self::end_row) follows after each of its rows.
    pub(crate) fn begin_step(&mut self) {
        self.last_step.clear();
        self.end_row();
    }

    /// Keeps the values as they are after a row, if steps are kept.
    pub(crate) fn end_row(&mut self) {
        if self.keeps_steps {
            self.last_step.push(self.item.clone());
        }
    }

    /// Reads the values.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn to_floats(&self, recorder: &Recorder) -> Result<Vec<f32>, GpuError> {
        let n_elements = self.sizes.n_elements();
        let Some(item) = &self.item else { return Ok(vec![0.0; n_elements]) };
        let bytes = recorder.read_buffer(&self.pool.buffer()?, self.start_of(item), 4 * n_elements as u64)?;
        Ok(bytemuck::pod_collect_to_vec(&bytes))
    }

    /// Replaces the values.
    ///
    /// # Errors
    /// The device has no memory left.
    pub fn set(&mut self, recorder: &Recorder, values: &[f32]) -> Result<(), GpuError> {
        let (gpu, mut recording) = (recorder.gpu(), recorder.record());
        let item = self.reserved.take(&self.pool, gpu, &mut recording)?;
        // What was recorded before may still read the item's last owner, or copies the pool into a larger buffer.
        recording.submit(gpu);
        gpu.queue.write_buffer(&self.pool.buffer()?, self.start_of(&item), bytemuck::cast_slice(values));
        self.item = Some(item);
        gpu.check()
    }

    /// Where an item begins in the pool's buffer, in bytes.
    fn start_of(&self, item: &PoolItem) -> u64 {
        4 * u64::from(item.number) * self.pool.n_words as u64
    }

    /// The number of the values that the next tokens change in place: the sequence's own, or a copy of those that others hold, too.
    pub(crate) fn own(&mut self, recorder: &Recorder) -> Result<u32, GpuError> {
        match &self.item {
            None => self.set(recorder, &vec![0.0; self.sizes.n_elements()])?,
            Some(item) if 1 < Arc::strong_count(item) => {
                let (gpu, mut recording) = (recorder.gpu(), recorder.record());
                let copy = self.reserved.take(&self.pool, gpu, &mut recording)?;
                self.pool.copy(gpu, &mut recording, item, &copy)?;
                self.item = Some(copy);
            }
            Some(_) => {}
        }
        let item = self.item.as_ref().ok_or_else(|| GpuError::Failed("a state has no values".to_owned()))?;
        Ok(item.number)
    }
}
