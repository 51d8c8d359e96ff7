//! What the CPU network stores weights as.
//!
//! The kernels know a few formats. A file's type without a format of its own is converted, mostly to one that holds the very
//! same values in somewhat more bits.

use std::borrow::Cow;
use std::io;

use causerie_backend::{Cpu, Format, Matrix};
use half::f16;

use crate::error::{ErrorKind, Result, SdkError};
use crate::memory;
use crate::weights::{
    GROUP, IQ4_LEVELS, MatrixPlace, PackedMatrix, PackedWeights, SUPER, TensorBlocks, TensorDescription, TensorType,
    Tensors, dequantise, half_at, iq4_xs_scale, q3_k_scale, q3_k_value,
};

/// Bytes of rows that are packed at a time for a file.
const BAND: usize = 16 << 20;

/// Appends the stored blocks of a block of the file.
type Convert = fn(&[u8], &mut Vec<u8>);

/// How the values of a file's type are stored.
struct Storage {
    tensor_type: TensorType,
    format: Format,
    /// `None` if the file's blocks are stored as they are.
    convert: Option<Convert>,
}

impl Storage {
    fn new(tensor_type: TensorType) -> Self {
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
    fn bytes_in_file(&self, n_stored: usize) -> usize {
        n_stored / self.stored_block_bytes() * self.tensor_type.block_bytes()
    }

    /// The stored blocks of blocks of the file.
    fn convert<'a>(&self, blocks: Cow<'a, [u8]>) -> Cow<'a, [u8]> {
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

/// Reads a matrix and packs it for the kernels, or takes it from packed weights.
pub(super) fn matrix(cpu: &Cpu, tensors: &Tensors, place: &MatrixPlace<'_>) -> Result<Matrix> {
    let blocks = tensors.blocks(place)?;
    match tensors.packed(place)? {
        Some((packed, matrix)) => packed_matrix(cpu, packed, matrix, &blocks),
        None => pack(cpu, &blocks, place.shape, 0),
    }
}

fn packed_matrix(
    cpu: &Cpu,
    packed: &PackedWeights,
    matrix: &PackedMatrix,
    blocks: &TensorBlocks<'_>,
) -> Result<Matrix> {
    let format = Storage::new(blocks.tensor_type()).format;
    if matrix.format != format {
        let (expected, found) = (format.name(), matrix.format.name());
        let rule = format!("its packed weights must be in {expected}, found {found}");
        return Err(blocks.unreadable(io::Error::new(io::ErrorKind::InvalidData, rule)));
    }
    let taken = match packed.mapped(matrix) {
        Some(map) => map.and_then(|map| cpu.mapped_matrix(format, matrix.shape, map)),
        None => packed.part(matrix).and_then(|part| cpu.read_matrix(format, matrix.shape, &part)),
    };
    taken.map_err(|err| blocks.unreadable(err))
}

/// The storage format of a matrix.
pub(super) fn stored_format(tensors: &Tensors, place: &MatrixPlace<'_>) -> Result<Format> {
    Ok(Storage::new(tensors.blocks(place)?.tensor_type()).format)
}

/// Packs a matrix in pieces, for a file.
pub(super) fn pack_in_bands(
    cpu: &Cpu,
    tensors: &Tensors,
    place: &MatrixPlace<'_>,
    mut put: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let blocks = tensors.blocks(place)?;
    let format = Storage::new(blocks.tensor_type()).format;
    let (n_rows, n_columns) = place.shape;
    let rows_of_band = (BAND / format.row_bytes(n_columns).max(1)).max(1).next_multiple_of(format.tile_rows());
    for first in (0..n_rows).step_by(rows_of_band) {
        let band = pack(cpu, &blocks, (rows_of_band.min(n_rows - first), n_columns), first)?;
        put(band.tile_bytes())?;
    }
    Ok(())
}

/// Packs a matrix of these values.
pub(super) fn matrix_of(cpu: &Cpu, values: &[f32], shape: (usize, usize)) -> Result<Matrix> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let packed = cpu.matrix(Format::F32, shape, |range| {
        bytes.get(range).ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
    });
    packed.map_err(|err| match err.kind() {
        io::ErrorKind::OutOfMemory => memory::exhausted("a matrix", bytes.len()),
        _ => SdkError::new(ErrorKind::ModelLoad, "a matrix cannot be packed").caused_by(err),
    })
}

/// Packs the rows of blocks from one on.
fn pack(cpu: &Cpu, blocks: &TensorBlocks<'_>, shape: (usize, usize), first_row: usize) -> Result<Matrix> {
    let storage = Storage::new(blocks.tensor_type());
    let before = first_row * storage.format.row_bytes(shape.1);
    let packed = cpu.matrix(storage.format, shape, |stored| {
        let [start, end] = [stored.start, stored.end].map(|at| storage.bytes_in_file(before + at));
        blocks.read(start..end).map(|blocks| storage.convert(blocks))
    });
    packed.map_err(|err| blocks.unreadable(err))
}

/// Bytes of a tensor once loaded: matrices in their storage format, other tensors as f32.
pub(super) fn n_bytes_loaded(tensor: &TensorDescription<'_>) -> u64 {
    let Some((columns, outer)) = tensor.shape.split_last().filter(|(_, outer)| !outer.is_empty()) else {
        return 4 * tensor.n_values();
    };
    let n_rows = outer.iter().try_fold(1usize, |n_rows, size| n_rows.checked_mul(*size));
    let format = Storage::new(tensor.tensor_type).format;
    let n_bytes = n_rows.and_then(|n_rows| format.matrix_bytes((n_rows, *columns)));
    n_bytes.map_or(u64::MAX, |n_bytes| n_bytes as u64)
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
