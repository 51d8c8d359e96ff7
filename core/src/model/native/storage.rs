//! The CPU network's matrices.

use std::io;

use causerie_backend::{Cpu, Format, Matrix};

use crate::error::{ErrorKind, Result, SdkError};
use crate::memory;
use crate::model::stored::Storage;
use crate::weights::{MatrixPlace, PackedMatrix, PackedWeights, TensorBlocks, TensorDescription, Tensors};

/// Bytes of rows that are packed at a time for a file.
const BAND: usize = 16 << 20;

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
        None => packed.part(matrix).and_then(|part| cpu.read_matrix(format, matrix.shape, &part)).and_then(|read| {
            match matrix.has_content(read.tile_bytes()) {
                true => Ok(read),
                false => Err(io::Error::new(io::ErrorKind::InvalidData, "its packed weights must have their checksum")),
            }
        }),
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
