//! How values of a file's types are stored in memory.
//!
//! The kernels know a few formats. A file's type without a format of its own is converted, mostly to one that holds the very
//! same values in somewhat more bits.

use std::borrow::Cow;

use causerie_backend::Format;
use half::f16;

use crate::weights::{GROUP, IQ4_LEVELS, SUPER, TensorType, dequantise, half_at, iq4_xs_scale, q3_k_scale, q3_k_value};

/// Appends the stored blocks of a block of the file.
type Convert = fn(&[u8], &mut Vec<u8>);

/// How the values of a file's type are stored.
pub(crate) struct Storage {
    tensor_type: TensorType,
    pub(crate) format: Format,
    /// `None` if the file's blocks are stored as they are.
    convert: Option<Convert>,
}

impl Storage {
    pub(crate) fn new(tensor_type: TensorType) -> Self {
        let (format, convert): (_, Option<Convert>) = match tensor_type {
            TensorType::F32 => (Format::F32, None),
            TensorType::F16 => (Format::F16, None),
            TensorType::Bf16 => (Format::Bf16, None),
            TensorType::Q4_0 => (Format::Q4_0, None),
            TensorType::Q5_1 => (Format::Q5_1, None),
            TensorType::Q8_0 => (Format::Q8_0, None),
            TensorType::Q4K => (Format::Q4K, None),
            TensorType::Q5K => (Format::Q5K, None),
            TensorType::Q6K => (Format::Q6K, None),
            TensorType::Q4_1 => (Format::Q5_1, Some(q4_1)),
            TensorType::Q5_0 => (Format::Q5_1, Some(q5_0)),
            TensorType::Q2K => (Format::Q8_0, Some(q2_k)),
            TensorType::Q3K => (Format::Q6K, Some(q3_k)),
            TensorType::Iq4Nl => (Format::Q8_0, Some(iq4_nl)),
            TensorType::Iq4Xs => (Format::Q8_0, Some(iq4_xs)),
        };
        Self { tensor_type, format, convert }
    }

    /// Bytes in the file of whole blocks that take this many bytes when stored.
    pub(crate) fn bytes_in_file(&self, n_stored: usize) -> usize {
        n_stored / self.stored_block_bytes() * self.tensor_type.block_bytes()
    }

    /// The stored blocks of blocks of the file.
    pub(crate) fn convert<'a>(&self, blocks: Cow<'a, [u8]>) -> Cow<'a, [u8]> {
        let Some(convert) = self.convert else { return blocks };
        let block_bytes = self.tensor_type.block_bytes();
        let mut stored = Vec::with_capacity(blocks.len() / block_bytes * self.stored_block_bytes());
        blocks.chunks_exact(block_bytes).for_each(|block| convert(block, &mut stored));
        stored.into()
    }

    /// Bytes of a block of the file when stored.
    fn stored_block_bytes(&self) -> usize {
        self.format.row_bytes(self.tensor_type.block())
    }
}

/// Q5_1 without fifth bits.
fn q4_1(block: &[u8], stored: &mut Vec<u8>) {
    stored.extend_from_slice(&block[..4]);
    stored.extend_from_slice(&[0; 4]);
    stored.extend_from_slice(&block[4..]);
}

/// Q5_1 with a minimum of -16 scales.
fn q5_0(block: &[u8], stored: &mut Vec<u8>) {
    let minimum = f16::from_f32(-16.0 * half_at(block, 0));
    stored.extend_from_slice(&block[..2]);
    stored.extend_from_slice(&minimum.to_le_bytes());
    stored.extend_from_slice(&block[2..]);
}

/// Q6_K, whose values have more bits.
fn q3_k(block: &[u8], stored: &mut Vec<u8>) {
    let value = |at: usize| (q3_k_value(block, at) + 32) as u8;
    // Q6_K: nibbles of values 64 apart share a byte, and so do the upper bits of four values 32 apart.
    stored.extend((0..128).map(|at| {
        let low = at / 64 * 128 + at % 64;
        value(low) & 15 | value(low + 64) << 4
    }));
    stored.extend((0..64).map(|at| {
        let first = at / 32 * 128 + at % 32;
        (0..4).fold(0, |bits, quarter| bits | value(first + 32 * quarter) >> 4 << (2 * quarter))
    }));
    stored.extend((0..16).map(|group| q3_k_scale(block, group) as u8));
    stored.extend_from_slice(&block[108..110]);
}

/// No format has groups of sixteen with minima: values are rounded to Q8_0, by half of a 127th of the largest value in 32
/// at most.
fn q2_k(block: &[u8], stored: &mut Vec<u8>) {
    let mut values = Vec::with_capacity(SUPER);
    dequantise(TensorType::Q2K, block, &mut values);
    for values in values.chunks_exact(GROUP) {
        // A NaN must not be hidden: the comparison keeps it as the largest value.
        let largest =
            values.iter().fold(0f32, |largest, value| if value.abs() <= largest { largest } else { value.abs() });
        let scale = f16::from_f32(largest / 127.0);
        let inverse = if scale.to_f32() == 0.0 { 0.0 } else { scale.to_f32().recip() };
        stored.extend_from_slice(&scale.to_le_bytes());
        stored.extend(values.iter().map(|value| (value * inverse).round().clamp(-127.0, 127.0) as i8 as u8));
    }
}

/// Q8_0 with the levels as values.
fn iq4_nl(block: &[u8], stored: &mut Vec<u8>) {
    stored.extend_from_slice(&block[..2]);
    extend_with_levels(&block[2..], stored);
}

/// Q8_0 with the levels as values and the product of both scales as an f16.
fn iq4_xs(block: &[u8], stored: &mut Vec<u8>) {
    for (group, nibbles) in block[8..].chunks_exact(16).enumerate() {
        let scale = half_at(block, 0) * f32::from(iq4_xs_scale(block, group));
        stored.extend_from_slice(&f16::from_f32(scale).to_le_bytes());
        extend_with_levels(nibbles, stored);
    }
}

/// The levels of sixteen bytes of nibbles: first the lower ones, then the upper ones.
fn extend_with_levels(nibbles: &[u8], stored: &mut Vec<u8>) {
    let level = |nibble: u8| IQ4_LEVELS[usize::from(nibble)] as u8;
    stored.extend(nibbles.iter().map(|byte| level(byte & 15)));
    stored.extend(nibbles.iter().map(|byte| level(byte >> 4)));
}

#[cfg(test)]
mod tests {
    use causerie_backend::Cpu;

    use super::*;
    use crate::weights::golden_blocks;

    fn rows(tensor_type: TensorType, blocks: &[u8]) -> Vec<f32> {
        let storage = Storage::new(tensor_type);
        let (n_rows, n_columns) = (blocks.len() / tensor_type.block_bytes(), tensor_type.block());
        let matrix = Cpu::new(1).matrix(storage.format, (n_rows, n_columns), |stored| {
            let [start, end] = [stored.start, stored.end].map(|at| storage.bytes_in_file(at));
            Ok(storage.convert(blocks[start..end].into()))
        });
        let (matrix, mut values) = (matrix.unwrap(), vec![0.0; n_rows * n_columns]);
        values.chunks_exact_mut(n_columns).enumerate().for_each(|(row, values)| matrix.read_row(row, values));
        values
    }

    #[test]
    fn stored_blocks_hold_the_values_that_gguf_py_reads() {
        for golden in golden_blocks() {
            let name = golden.tensor_type.name();
            let found = rows(golden.tensor_type, &golden.blocks);
            assert_eq!(found.len(), golden.values.len());
            // Relative to the largest value of a group: the rounding of an f16, half of one of 127 steps, sums in f32.
            let tolerance = match golden.tensor_type {
                TensorType::Iq4Xs => 6e-4,
                TensorType::Q2K => 4.5e-3,
                _ => 3e-7,
            };
            for (found, expect) in found.chunks(GROUP).zip(golden.values.chunks(GROUP)) {
                let largest = expect.iter().fold(0f32, |largest, value| largest.max(value.abs()));
                for (found, expect) in found.iter().zip(expect) {
                    assert!((found - expect).abs() <= tolerance * largest, "{name}: {found}, expected {expect}");
                }
            }
        }
    }

    #[test]
    fn values_that_are_not_numbers_are_not_hidden() {
        for tensor_type in TensorType::all().filter(|tensor_type| tensor_type.is_quantised()) {
            for not_finite in [f16::NAN, f16::INFINITY] {
                // All halves of the block, its scales among them.
                let block = not_finite.to_le_bytes().repeat(tensor_type.block_bytes() / 2);
                assert!(rows(tensor_type, &block).iter().all(|value| !value.is_finite()), "{}", tensor_type.name());
            }
        }
    }
}
