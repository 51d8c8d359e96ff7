//! Operations that make inputs of products.

use std::ops::Range;
use std::sync::Arc;

use wgpu::Buffer;

use crate::device::Gpu;
use crate::error::GpuError;
use crate::kernels::{GateCurve, Kernel};
use crate::planes::GROUP;
use crate::pools::{ItemPool, PoolItem};
use crate::recorder::Recorder;
use crate::recording::StepRecording;
use crate::rows::{GpuInputs, GpuRows, GpuVector};
use crate::state::GpuWindow;

/// In place of the number of a window: one of zeros, or none that is written.
const NONE: u32 = u32::MAX;

/// The buffers that are filled with inputs.
pub(super) struct Filled {
    floats: Buffer,
    /// Bytes and scales.
    quantised: Option<(Buffer, Buffer)>,
}

/// Windows that advance in a step.
pub(super) struct AdvancedWindows {
    /// For each row: the first row of its sequence, the window before it, and the window that the row fills.
    pub(super) table: Vec<u32>,
    pub(super) n_past: usize,
    pub(super) pool: Arc<ItemPool>,
    /// Windows before the step, which no row of the step may fill.
    #[allow(dead_code, reason = "held until the kernel is recorded")]
    replaced: Vec<Arc<PoolItem>>,
}

impl Filled {
    pub(super) fn new(
        gpu: &Gpu,
        recording: &mut StepRecording,
        inputs: &mut GpuInputs,
        (n_rows, width): (usize, usize),
        is_quantised: bool,
    ) -> Result<Self, GpuError> {
        if is_quantised && !width.is_multiple_of(GROUP) {
            return Err(GpuError::Failed(format!("inputs must be a multiple of {GROUP} columns, found {width}")));
        }
        (inputs.n_rows, inputs.width) = (n_rows, width);
        let n = n_rows * width;
        let floats = recording.reserve(gpu, &mut inputs.floats, n)?.clone();
        let quantised = match is_quantised {
            true => Some((
                recording.reserve(gpu, &mut inputs.quantised, n.div_ceil(4))?.clone(),
                recording.reserve(gpu, &mut inputs.scales, 4 * n / GROUP)?.clone(),
            )),
            false => None,
        };
        Ok(Self { floats, quantised })
    }

    pub(super) fn bindings<'a>(&'a self, others: &[(u32, &'a Buffer)]) -> Vec<(u32, &'a Buffer)> {
        self.bindings_from(0, others)
    }

    /// The bindings of an instance of the end of kernels, whose numbers are higher by `first`.
    pub(super) fn bindings_from<'a>(&'a self, first: u32, others: &[(u32, &'a Buffer)]) -> Vec<(u32, &'a Buffer)> {
        let mut bindings = others.to_vec();
        bindings.push((first + 5, &self.floats));
        if let Some((quantised, scales)) = &self.quantised {
            bindings.extend([(first + 6, quantised), (first + 7, scales)]);
        }
        bindings
    }
}

impl Recorder {
    /// Rows as inputs.
    ///
    /// # Errors
    /// The device has no memory left. All operations have this error.
    pub fn inputs(&self, rows: &GpuRows, is_quantised: bool, inputs: &mut GpuInputs) -> Result<(), GpuError> {
        self.row_inputs(rows, None, is_quantised, inputs)
    }

    /// `rows * gates` as inputs. The gates have a value for each element of a row, or for each head.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn gate_heads(
        &self,
        rows: &GpuRows,
        gates: &GpuRows,
        is_quantised: bool,
        inputs: &mut GpuInputs,
    ) -> Result<(), GpuError> {
        self.row_inputs(rows, Some(gates), is_quantised, inputs)
    }

    fn row_inputs(
        &self,
        rows: &GpuRows,
        gates: Option<&GpuRows>,
        is_quantised: bool,
        inputs: &mut GpuInputs,
    ) -> Result<(), GpuError> {
        let (gpu, mut recording) = (self.gpu(), self.record());
        let shape = (rows.n_rows, rows.width);
        let filled = Filled::new(gpu, &mut recording, inputs, shape, is_quantised)?;
        let mut others = vec![(0, rows.values.get()?)];
        if let Some(gates) = gates {
            others.push((1, gates.values.get()?));
        }
        let n_sharing = gates.map_or(1, |gates| rows.width / gates.width.max(1));
        let kernel = Kernel::RowInputs { is_gated: gates.is_some(), is_quantised };
        let numbers = [rows.width as u32, n_sharing as u32];
        recording.run_by_columns(gpu, kernel, &filled.bindings(&others), &numbers, shape);
        Ok(())
    }

    /// `rows / sqrt(mean(rows²) + epsilon) * weight` as inputs.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn norm(
        &self,
        rows: &GpuRows,
        (weight, epsilon): (&GpuVector, f32),
        is_quantised: bool,
        inputs: &mut GpuInputs,
    ) -> Result<(), GpuError> {
        let (gpu, mut recording) = (self.gpu(), self.record());
        let shape = (rows.n_rows, rows.width);
        let filled = Filled::new(gpu, &mut recording, inputs, shape, is_quantised)?;
        let bindings = filled.bindings(&[(0, rows.values.get()?), (1, &weight.buffer)]);
        let numbers = [rows.width as u32, epsilon.to_bits()];
        recording.run(gpu, Kernel::Norm { is_quantised }, &bindings, &numbers, [rows.n_rows, 1, 1]);
        Ok(())
    }

    /// `curve(gates) * ups` as inputs.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn gate(
        &self,
        curve: GateCurve,
        gates: &GpuRows,
        ups: &GpuRows,
        is_quantised: bool,
        inputs: &mut GpuInputs,
    ) -> Result<(), GpuError> {
        let (gpu, mut recording) = (self.gpu(), self.record());
        let shape = (gates.n_rows, gates.width);
        let filled = Filled::new(gpu, &mut recording, inputs, shape, is_quantised)?;
        let bindings = filled.bindings(&[(0, gates.values.get()?), (1, ups.values.get()?)]);
        let kernel = Kernel::Gate { curve, is_quantised };
        recording.run_by_columns(gpu, kernel, &bindings, &[gates.width as u32], shape);
        Ok(())
    }

    /// The gated short convolution of rows `[B; C; X]` as inputs. Each window belongs to some rows, and advances.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn convolve<'w>(
        &self,
        projected: &GpuRows,
        (taps, bias): (&GpuVector, Option<&GpuVector>),
        windows: impl Iterator<Item = (Range<usize>, &'w mut GpuWindow)>,
        is_quantised: bool,
        inputs: &mut GpuInputs,
    ) -> Result<(), GpuError> {
        let n_channels = projected.width / 3;
        let Some(advanced) = self.advance_windows(windows)? else { return Ok(()) };
        let (gpu, mut recording) = (self.gpu(), self.record());
        let shape = (projected.n_rows, n_channels);
        let filled = Filled::new(gpu, &mut recording, inputs, shape, is_quantised)?;
        let table = recording.append(gpu, advanced.table)?;
        let (tables, windows) = (recording.table_buffer(), advanced.pool.buffer()?);
        let mut others = vec![(0, projected.values.get()?), (1, &taps.buffer), (2, &tables), (3, &windows)];
        others.extend(bias.map(|bias| (4, &bias.buffer)));
        let kernel = Kernel::Convolve { has_bias: bias.is_some(), is_quantised };
        let numbers = [n_channels as u32, advanced.n_past as u32 + 1, table];
        recording.run_by_columns(gpu, kernel, &filled.bindings(&others), &numbers, shape);
        Ok(())
    }

    /// Queries, keys and values of a delta net: a causal convolution of each channel, then SiLU. Each window belongs to some rows, and
    /// advances.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn convolve_channels<'w>(
        &self,
        projected: &GpuRows,
        taps: &GpuVector,
        windows: impl Iterator<Item = (Range<usize>, &'w mut GpuWindow)>,
        tokens: &mut GpuRows,
    ) -> Result<(), GpuError> {
        let shape = (projected.n_rows, projected.width);
        let Some(advanced) = self.advance_windows(windows)? else { return Ok(()) };
        let (gpu, mut recording) = (self.gpu(), self.record());
        recording.reserve(gpu, &mut tokens.values, shape.0 * shape.1)?;
        (tokens.n_rows, tokens.width) = shape;
        let table = recording.append(gpu, advanced.table)?;
        let (tables, windows) = (recording.table_buffer(), advanced.pool.buffer()?);
        let bindings =
            [(0, projected.values.get()?), (1, &taps.buffer), (2, &tables), (3, &windows), (4, tokens.values.get()?)];
        let numbers = [shape.1 as u32, advanced.n_past as u32 + 1, table];
        recording.run_by_columns(gpu, Kernel::DeltaConvolve, &bindings, &numbers, shape);
        Ok(())
    }

    /// Gives each window its successor after the step, and after each row of a step that may be undone.
    pub(super) fn advance_windows<'w>(
        &self,
        windows: impl Iterator<Item = (Range<usize>, &'w mut GpuWindow)>,
    ) -> Result<Option<AdvancedWindows>, GpuError> {
        let mut advanced: Option<AdvancedWindows> = None;
        for (rows, window) in windows {
            let advanced = advanced.get_or_insert_with(|| AdvancedWindows {
                table: Vec::new(),
                n_past: window.sizes.n_past,
                pool: Arc::clone(&window.pool),
                replaced: Vec::new(),
            });
            let current = window.item.as_ref().map_or(NONE, |item| item.number);
            window.begin_step();
            for row in rows.clone() {
                let mut next = NONE;
                if row + 1 == rows.end || window.keeps_steps {
                    let item = window.take(self.gpu(), &mut self.record())?;
                    next = item.number;
                    advanced.replaced.extend(window.item.replace(item));
                    window.end_row();
                }
                advanced.table.extend([rows.start as u32, current, next]);
            }
        }
        Ok(advanced)
    }

    /// The values of inputs, as rows.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn input_rows(&self, inputs: &GpuInputs, rows: &mut GpuRows) -> Result<(), GpuError> {
        self.columns_of((inputs.floats.get()?, inputs.n_rows, inputs.width), 0..inputs.width, rows)
    }
}
