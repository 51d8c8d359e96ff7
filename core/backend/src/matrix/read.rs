//! The values of tiles, as the formats define them: for embeddings, and for the portable kernels.

use half::{bf16, f16};

use super::layout::{Format, GROUP, GROUPS, HALVES, NIBBLES, TILE, VECTOR};
use crate::simd::{Portable, Simd};

/// Thirty-two columns of a tile of a quantised matrix, unpacked. A weight is `scale * value + negative minimum`.
pub(crate) struct TileGroup {
    /// Vector `g` holds columns `4g` to `4g + 3` of each row, `(8, 16 rows, 4)`.
    pub(crate) values: [[i16; VECTOR]; GROUP / 4],
    /// One for each row: of the whole group, or of its first half if the second has its own.
    pub(crate) scales: [f32; TILE],
    pub(crate) scales_of_second_half: Option<[f32; TILE]>,
    pub(crate) negative_minima: Option<[f32; TILE]>,
}

impl TileGroup {
    /// Unpacks a group; groups are counted through all blocks of the tile.
    pub(crate) fn read(format: Format, tile: &[u8], index: usize) -> Self {
        let layout = format.layout();
        let (block, index) = block_of(format, tile, index);
        let (scales, scales_of_second_half) = scales(format, block, index);
        Self {
            values: values(format, &block[layout.head + index * layout.group..]),
            scales,
            scales_of_second_half,
            negative_minima: negative_minima(format, block, index),
        }
    }
}

/// The block of a group, which is counted through all blocks of a tile, and its index within the block.
fn block_of(format: Format, tile: &[u8], index: usize) -> (&[u8], usize) {
    let n_groups = format.block() / GROUP;
    (&tile[index / n_groups * format.layout().tile_bytes()..], index % n_groups)
}

/// The values of a group, `(8, 16 rows, 4)`.
fn values(format: Format, group: &[u8]) -> [[i16; VECTOR]; GROUP / 4] {
    let mut values = [[0; VECTOR]; GROUP / 4];
    for (index, values) in values.iter_mut().enumerate() {
        some_values(format, group, index, 0, values);
    }
    values
}

/// Writes values of vector `index` of a group, from the place `first` of the vector on.
fn some_values(format: Format, group: &[u8], index: usize, first: usize, to: &mut [i16]) {
    let bytes = |vector: usize| &group[vector + first..][..to.len()];
    if format == Format::Q8_0 {
        let bytes = bytes(index * VECTOR);
        to.iter_mut().zip(bytes).for_each(|(to, byte)| *to = i16::from(*byte as i8));
        return;
    }
    let (lower, upper, offset) = match format {
        Format::Q5_1 | Format::Q5K => (bytes(index % 4 * VECTOR), Some((bytes(NIBBLES), index, 1)), 0),
        Format::Q6K => {
            let upper = bytes(NIBBLES + index / 4 * VECTOR);
            (bytes(index % 4 * VECTOR), Some((upper, 2 * (index % 4), 3)), 32)
        }
        Format::Q4_0 => (bytes(index % 4 * VECTOR), None, 8),
        _ => (bytes(index % 4 * VECTOR), None, 0),
    };
    for (at, to) in to.iter_mut().enumerate() {
        let bits = upper.map_or(0, |(upper, shift, mask)| (upper[at] >> shift & mask) << 4);
        *to = i16::from(lower[at] >> (index / 4 * 4) & 15 | bits) - offset;
    }
}

fn scales(format: Format, block: &[u8], index: usize) -> ([f32; TILE], Option<[f32; TILE]>) {
    let all = halves(block, 0);
    match format {
        Format::Q4K | Format::Q5K => (times(all, bytes(block, 2 * HALVES, index).map(f32::from)), None),
        Format::Q6K => {
            let [first, second] = [2 * index, 2 * index + 1]
                .map(|at| times(all, bytes(block, HALVES, at).map(|byte| f32::from(byte as i8))));
            (first, Some(second))
        }
        _ => (all, None),
    }
}

fn negative_minima(format: Format, block: &[u8], index: usize) -> Option<[f32; TILE]> {
    match format {
        Format::Q5_1 => Some(halves(block, 1)),
        Format::Q4K | Format::Q5K => {
            let minima = bytes(block, 2 * HALVES, GROUPS + index).map(f32::from);
            Some(times(halves(block, 1), minima).map(|minimum| -minimum))
        }
        _ => None,
    }
}

/// Writes the values of one row in a group.
fn row_of_group(format: Format, tile: &[u8], index: usize, lane: usize, to: &mut [f32]) {
    let (block, index) = block_of(format, tile, index);
    let group = &block[format.layout().head + index * format.layout().group..];
    let (first_scales, second_scales) = scales(format, block, index);
    let second_scales = second_scales.unwrap_or(first_scales);
    let minimum = negative_minima(format, block, index).map(|minima| minima[lane]);
    for (vector, to) in to.chunks_mut(4).enumerate() {
        let mut values = [0; 4];
        some_values(format, group, vector, 4 * lane, &mut values);
        let scale = if vector < GROUP / 8 { first_scales[lane] } else { second_scales[lane] };
        for (to, value) in to.iter_mut().zip(values) {
            let scaled = scale * f32::from(value);
            *to = minimum.map_or(scaled, |minimum| scaled + minimum);
        }
    }
}

/// Sixteen f16, one for each row.
fn halves(block: &[u8], vector: usize) -> [f32; TILE] {
    Portable.load_f16(&std::array::from_fn(|lane| u16::from_le_bytes(get(block, vector, lane))))
}

/// Sixteen bytes, one for each row.
fn bytes(block: &[u8], start: usize, vector: usize) -> [u8; TILE] {
    std::array::from_fn(|lane| block[start + vector * TILE + lane])
}

fn times(a: [f32; TILE], b: [f32; TILE]) -> [f32; TILE] {
    std::array::from_fn(|lane| a[lane] * b[lane])
}

/// Writes the values of one row of a tile.
pub(super) fn row(format: Format, tile: &[u8], lane: usize, to: &mut [f32]) {
    if format.is_quantised() {
        for (index, to) in to.chunks_mut(GROUP).enumerate() {
            row_of_group(format, tile, index, lane, to);
        }
        return;
    }
    for (column, to) in to.iter_mut().enumerate() {
        *to = match format {
            Format::F16 => f16::from_le_bytes(get(tile, 2 * column, lane)).to_f32(),
            Format::Bf16 => bf16::from_le_bytes(get(tile, 2 * column, lane)).to_f32(),
            _ => f32::from_le_bytes(get(tile, column, lane)),
        };
    }
}

/// The value of a row in a vector of `N` bytes each; rows beyond the sixteenth are in the next vector.
fn get<const N: usize>(bytes: &[u8], vector: usize, lane: usize) -> [u8; N] {
    std::array::from_fn(|at| bytes[(vector * TILE + lane) * N + at])
}
