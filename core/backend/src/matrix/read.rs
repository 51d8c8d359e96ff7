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
        let n_groups = format.block() / GROUP;
        let (block, index) = (&tile[index / n_groups * layout.tile_bytes()..], index % n_groups);
        let (scales, scales_of_second_half) = scales(format, block, index);
        Self {
            values: values(format, &block[layout.head + index * layout.group..]),
            scales,
            scales_of_second_half,
            negative_minima: negative_minima(format, block, index),
        }
    }

    /// The weight of a row in one of the group's columns.
    fn weight(&self, lane: usize, column: usize) -> f32 {
        let scales = match &self.scales_of_second_half {
            Some(scales) if GROUP / 2 <= column => scales,
            _ => &self.scales,
        };
        let scaled = scales[lane] * f32::from(self.values[column / 4][4 * lane + column % 4]);
        self.negative_minima.map_or(scaled, |minima| scaled + minima[lane])
    }
}

fn values(format: Format, group: &[u8]) -> [[i16; VECTOR]; GROUP / 4] {
    let vector = |start: usize| -> [u8; VECTOR] { std::array::from_fn(|at| group[start + at]) };
    std::array::from_fn(|index| {
        if format == Format::Q8_0 {
            return vector(index * VECTOR).map(|byte| i16::from(byte as i8));
        }
        let nibbles = vector(index % 4 * VECTOR).map(|byte| byte >> (index / 4 * 4) & 15);
        let upper = |start: usize, shift: usize, mask: u8| {
            let bits = vector(start);
            std::array::from_fn(|at| i16::from(nibbles[at] | (bits[at] >> shift & mask) << 4))
        };
        match format {
            Format::Q5_1 | Format::Q5K => upper(NIBBLES, index, 1),
            Format::Q6K => upper(NIBBLES + index / 4 * VECTOR, 2 * (index % 4), 3).map(|value: i16| value - 32),
            Format::Q4_0 => nibbles.map(|value| i16::from(value) - 8),
            _ => nibbles.map(i16::from),
        }
    })
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
            let group = TileGroup::read(format, tile, index);
            to.iter_mut().enumerate().for_each(|(column, to)| *to = group.weight(lane, column));
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
