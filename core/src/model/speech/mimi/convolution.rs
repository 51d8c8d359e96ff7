//! Causal convolutions over time, as products of windows of rows. Each remembers the rows before the next ones.

use std::mem;

use crate::checkpoint::invalid;
use crate::error::Result;
use crate::model::linear::Linear;
use crate::model::speech::mimi::reader::MimiReader;
use crate::model::speech::operations::CodecOperations;
use crate::model::whisper::RowWindows;

/// Elements of a kernel at most; known ones have 16.
const MAX_KERNEL: usize = 64;

pub(super) struct CausalConvolution<O: CodecOperations> {
    /// `(n_out * channels out, n_taps * channels in)`
    map: Linear<O>,
    /// Rows that an output depends on, the last of which is its own.
    n_taps: usize,
    /// Rows of output for each row of input.
    pub(super) n_out: usize,
    n_channels: usize,
}

/// The rows before the next ones, `(n_taps - 1, channels)`.
pub(super) struct ConvolutionMemory<O: CodecOperations>(O::Rows);

impl<O: CodecOperations> CausalConvolution<O> {
    /// Reads a convolution that gives as many rows as it gets, and the channels that it gives.
    pub(super) fn load(reader: &MimiReader<'_, O>, name: &str, n_channels: usize) -> Result<(Self, usize)> {
        let weight = format!("{name}.weight");
        let [n_outputs, n_inputs, n_taps] = reader.kernels(&weight, MAX_KERNEL)?;
        check_channels(name, n_channels, n_inputs)?;
        let values = reader.values(&weight, n_outputs * n_inputs * n_taps)?;
        let mut rows = Vec::with_capacity(values.len());
        for output in values.chunks_exact(n_inputs * n_taps) {
            rows.extend((0..n_taps).flat_map(|tap| output.iter().skip(tap).step_by(n_taps)));
        }
        let bias = reader.values(&format!("{name}.bias"), n_outputs)?;
        let map = reader.linear_of(&rows, (n_outputs, n_taps * n_inputs), Some(bias))?;
        Ok((Self { map, n_taps, n_out: 1, n_channels }, n_outputs))
    }

    /// Reads a transposed convolution, which gives `n_out` rows for each that it gets, and the channels that it gives. Kernels have
    /// `2 * n_out` elements, so an output depends on two rows.
    pub(super) fn load_transposed(reader: &MimiReader<'_, O>, name: &str, n_channels: usize) -> Result<(Self, usize)> {
        let weight = format!("{name}.weight");
        let [n_inputs, n_outputs, n_places] = reader.kernels(&weight, MAX_KERNEL)?;
        check_channels(name, n_channels, n_inputs)?;
        if n_places % 2 != 0 {
            return Err(invalid(format!("tensor {weight} must have kernels of an even size, found {n_places}")));
        }
        let (values, n_out) = (reader.values(&weight, n_inputs * n_outputs * n_places)?, n_places / 2);
        let mut rows = Vec::with_capacity(values.len());
        for (out, output) in (0..n_out).flat_map(|out| (0..n_outputs).map(move |output| (out, output))) {
            // The row before reaches its second half, and the row itself its first.
            for place in [n_out + out, out] {
                rows.extend((0..n_inputs).map(|input| values[(input * n_outputs + output) * n_places + place]));
            }
        }
        let bias = reader.values(&format!("{name}.bias"), n_outputs)?.repeat(n_out);
        let map = reader.linear_of(&rows, (n_out * n_outputs, 2 * n_inputs), Some(bias))?;
        Ok((Self { map, n_taps: 2, n_out, n_channels }, n_outputs))
    }

    /// The memory before the first row: zeros.
    pub(super) fn memory(&self, operations: &O) -> Result<ConvolutionMemory<O>> {
        let mut rows = O::Rows::default();
        if 1 < self.n_taps {
            operations.upload((self.n_taps - 1, self.n_channels), |_, row| row.fill(0.0), &mut rows)?;
        }
        Ok(ConvolutionMemory(rows))
    }

    /// Computes the outputs for the next `n_rows` rows.
    pub(super) fn apply(
        &self,
        operations: &O,
        (rows, n_rows): (&O::Rows, usize),
        ConvolutionMemory(memory): &mut ConvolutionMemory<O>,
        inputs: &mut O::Inputs,
        out: &mut O::Rows,
    ) -> Result<()> {
        let n_before = self.n_taps - 1;
        if n_before == 0 {
            operations.inputs(rows, &[&self.map], inputs)?;
        } else {
            operations.extend(rows, n_before, memory)?;
            let windows = RowWindows { size: self.n_taps, stride: 1, padding: 0 };
            operations.windows(memory, windows, 0..n_rows, &self.map, inputs)?;
            let mut last = O::Rows::default();
            let kept = n_rows..n_rows + n_before;
            operations.select(memory, &[kept], &mut last)?;
            *memory = mem::take(&mut last);
        }
        operations.product(inputs, [(&self.map, &mut *out)])?;
        operations.split_rows(out, self.n_out)
    }
}

fn check_channels(name: &str, expected: usize, found: usize) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(invalid(format!("tensor {name}.weight must have {expected} channels of input, found {found}")))
}
