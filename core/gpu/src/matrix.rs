//! Weights of products in the device's memory.

use std::borrow::Cow;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use causerie_backend::Format;
use wgpu::Buffer;

use crate::device::Gpu;
use crate::error::GpuError;
use crate::kernels::{ROWS_OF_FEW, WeightForm};
use crate::planes::{GROUP, PlaneSizes, Planes, TILE_ROWS, append_blocks, append_tiles, tile_bytes};

/// Bytes of rows that are copied to the device at a time.
const BAND: usize = 8 << 20;

/// Workgroups of a dispatch that every device takes.
const MAX_WORKGROUPS: usize = 65_535;

/// Weights of a product, `(outputs, inputs)`.
pub struct GpuMatrix {
    pub(crate) form: WeightForm,
    pub(crate) n_rows: usize,
    pub(crate) n_columns: usize,
    pub(crate) parts: Vec<MatrixPart>,
    /// Its first row in the buffers of its part: matrices of a stack share them.
    pub(crate) base_row: usize,
    /// Matrices of the stack that it belongs to.
    pub(crate) n_stacked: usize,
}

/// Rows of a matrix that fit into buffers that a kernel can read.
pub(crate) struct MatrixPart {
    pub(crate) first_row: usize,
    pub(crate) n_rows: usize,
    /// Values, or floats.
    pub(crate) quants: Buffer,
    pub(crate) scales: Option<Buffer>,
    pub(crate) upper: Option<Buffer>,
}

impl GpuMatrix {
    /// Copies a matrix to the device. `read` returns bytes of the rows, as files have them in this format.
    ///
    /// # Errors
    /// An unreadable file, and a device without memory.
    pub fn new<'a>(
        gpu: &Arc<Gpu>,
        format: Format,
        (n_rows, n_columns): (usize, usize),
        read: impl Fn(Range<usize>) -> io::Result<Cow<'a, [u8]>>,
    ) -> Result<Self, GpuError> {
        if format.is_quantised() && !n_columns.is_multiple_of(format.block()) {
            let block = format.block();
            return Err(GpuError::Failed(format!("columns must be a multiple of {block}, found {n_columns}")));
        }
        let rows_of_part = rows_of_part(gpu, format, n_columns)?;
        let part = |first_row: usize| {
            let rows = first_row..n_rows.min(first_row + rows_of_part);
            MatrixPart::new(gpu, format, rows, n_columns, &read)
        };
        let parts = (0..n_rows).step_by(rows_of_part).map(part).collect::<Result<_, _>>()?;
        Ok(Self { form: WeightForm(format), n_rows, n_columns, parts, base_row: 0, n_stacked: 1 })
    }

    /// Copies matrices of one size to the device: into the same buffers, if they are quantised and fit, so that a kernel can choose
    /// among them. `read` returns bytes of the rows of a matrix.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn stack<'a>(
        gpu: &Arc<Gpu>,
        format: Format,
        n_matrices: usize,
        (n_rows, n_columns): (usize, usize),
        read: impl Fn(usize, Range<usize>) -> io::Result<Cow<'a, [u8]>>,
    ) -> Result<Vec<Self>, GpuError> {
        let n_all = n_matrices.saturating_mul(n_rows);
        if !format.is_quantised() || n_all == 0 || rows_of_part(gpu, format, n_columns)? < n_all {
            let alone = |at: usize| Self::new(gpu, format, (n_rows, n_columns), |bytes| read(at, bytes));
            return (0..n_matrices).map(alone).collect();
        }
        let n_bytes = n_rows * format.row_bytes(n_columns);
        let read_across = |bytes: Range<usize>| {
            let [first, last] = [bytes.start, bytes.end.saturating_sub(1)].map(|at| at / n_bytes);
            let of = |at: usize| {
                bytes.start.max(at * n_bytes) - at * n_bytes..bytes.end.min((at + 1) * n_bytes) - at * n_bytes
            };
            if first == last {
                return read(first, of(first));
            }
            let mut all = Vec::with_capacity(bytes.len());
            for at in first..=last {
                all.extend_from_slice(&read(at, of(at))?);
            }
            Ok(Cow::Owned(all))
        };
        let all = Self::new(gpu, format, (n_all, n_columns), read_across)?;
        let (form, n_stacked) = (all.form, n_matrices);
        let matrix = |at: usize| {
            let parts = all.parts.iter().map(|part| part.with_rows(n_rows)).collect();
            Self { form, n_rows, n_columns, parts, base_row: at * n_rows, n_stacked }
        };
        Ok((0..n_matrices).map(matrix).collect())
    }

    /// Number of outputs.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of inputs.
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// Whether products with this matrix take quantised inputs.
    pub fn is_quantised(&self) -> bool {
        self.form.0.is_quantised()
    }
}

/// Bytes of a row in the largest plane.
fn largest_plane(format: Format, n_columns: usize) -> usize {
    match format.is_quantised() {
        true => n_columns / GROUP * PlaneSizes::new(format).quants,
        false => tile_bytes(format, n_columns) / TILE_ROWS,
    }
}

fn rows_of_part(gpu: &Gpu, format: Format, n_columns: usize) -> Result<usize, GpuError> {
    let most = usize::try_from(gpu.max_buffer_bytes()).unwrap_or(usize::MAX);
    let most = (most / largest_plane(format, n_columns).max(1)).min(MAX_WORKGROUPS * ROWS_OF_FEW as usize);
    match most / TILE_ROWS * TILE_ROWS {
        0 => Err(GpuError::OutOfMemory(format!("a row of {n_columns} columns"))),
        n_rows => Ok(n_rows),
    }
}

impl MatrixPart {
    /// The same buffers, for a matrix of so many rows.
    fn with_rows(&self, n_rows: usize) -> Self {
        let Self { quants, scales, upper, .. } = self;
        Self { first_row: 0, n_rows, quants: quants.clone(), scales: scales.clone(), upper: upper.clone() }
    }

    fn new<'a>(
        gpu: &Arc<Gpu>,
        format: Format,
        rows: Range<usize>,
        n_columns: usize,
        read: impl Fn(Range<usize>) -> io::Result<Cow<'a, [u8]>>,
    ) -> Result<Self, GpuError> {
        let n_blocks = rows.len() * n_columns / GROUP;
        let sizes = PlaneSizes::new(format);
        let optional = |n_bytes: usize| (0 < n_bytes).then(|| gpu.buffer(n_bytes as u64)).transpose();
        let part = Self {
            first_row: rows.start,
            n_rows: rows.len(),
            quants: match format.is_quantised() {
                true => gpu.buffer((n_blocks * sizes.quants) as u64)?,
                false => gpu.buffer((rows.len().div_ceil(TILE_ROWS) * tile_bytes(format, n_columns)) as u64)?,
            },
            scales: optional((n_blocks * sizes.half_scales).div_ceil(2))?,
            upper: optional(n_blocks * sizes.upper)?,
        };
        let row_bytes = format.row_bytes(n_columns);
        // Whole tiles, so that each band begins at a whole word of each plane.
        let rows_of_band = (BAND / row_bytes.max(1)).next_multiple_of(TILE_ROWS).max(TILE_ROWS);
        let mut at = [0; 3];
        for first in rows.clone().step_by(rows_of_band) {
            let end = rows.end.min(first + rows_of_band);
            let bytes = read(first * row_bytes..end * row_bytes)
                .map_err(|err| GpuError::Failed(format!("weights cannot be read: {err}")))?;
            let mut planes = Planes::default();
            match format.is_quantised() {
                true => append_blocks(format, &bytes, &mut planes),
                false => append_tiles(format, &bytes, n_columns, &mut planes.quants),
            }
            let all = [
                (Some(&part.quants), planes.quants),
                (part.scales.as_ref(), planes.scales),
                (part.upper.as_ref(), planes.upper),
            ];
            for ((buffer, mut bytes), at) in all.into_iter().zip(&mut at) {
                let n_bytes = bytes.len();
                bytes.resize(n_bytes.next_multiple_of(4), 0); // the last band only
                if let Some(buffer) = buffer.filter(|_| 0 < n_bytes) {
                    gpu.queue.write_buffer(buffer, *at, &bytes);
                }
                *at += n_bytes as u64;
            }
            // Frees what was staged for this band.
            gpu.queue.submit([]);
        }
        gpu.check().map(|()| part)
    }
}
