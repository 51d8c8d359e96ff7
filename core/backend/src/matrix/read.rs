//! Values of single rows, as the formats define them: for embeddings, and for the kernels' portable twin.

use half::{bf16, f16};

use super::layout::{Format, GROUP, GROUPS, HALVES, NIBBLES, TILE, VECTOR};

/// Thirty-two values of a row of a quantised matrix: `scale * value - minimum`.
pub(crate) struct Group {
    pub(crate) values: [i8; GROUP],
    /// Of each half.
    pub(crate) scales: [f32; 2],
    pub(crate) minimum: Option<f32>,
}

impl Group {
    /// The group of the row in a lane.
    pub(crate) fn read(format: Format, tile: &[u8], at: usize, lane: usize) -> Self {
        let layout = format.layout();
        let n_groups = format.block() / GROUP;
        let (block, at) = (&tile[at / n_groups * layout.tile_bytes()..], at % n_groups);
        let group = &block[layout.head + at * layout.group..];
        let half = |vector: usize| f16::from_le_bytes(get(block, vector, lane)).to_f32();
        let byte = |start: usize, vector: usize| block[start + vector * TILE + lane];
        let nibble = |at: usize| group[at % 16 / 4 * VECTOR + lane * 4 + at % 4] >> (at / 16 * 4) & 15;
        let values = std::array::from_fn(|at| match format {
            Format::Q8_0 => group[at / 4 * VECTOR + lane * 4 + at % 4] as i8,
            Format::Q4_0 => nibble(at) as i8 - 8,
            Format::Q5_1 | Format::Q5K => {
                (nibble(at) | (group[NIBBLES + lane * 4 + at % 4] >> (at / 4) & 1) << 4) as i8
            }
            Format::Q6K => {
                let upper = group[NIBBLES + at / 16 * VECTOR + lane * 4 + at % 4] >> (2 * (at / 4 % 4)) & 3;
                (nibble(at) | upper << 4) as i8 - 32
            }
            _ => nibble(at) as i8,
        });
        let scales = match format {
            Format::Q4K | Format::Q5K => [half(0) * f32::from(byte(2 * HALVES, at)); 2],
            Format::Q6K => [0, 1].map(|part| half(0) * f32::from(byte(HALVES, 2 * at + part) as i8)),
            _ => [half(0); 2],
        };
        let minimum = match format {
            Format::Q5_1 => Some(-half(1)),
            Format::Q4K | Format::Q5K => Some(half(1) * f32::from(byte(2 * HALVES, GROUPS + at))),
            _ => None,
        };
        Self { values, scales, minimum }
    }
}

/// The values of the row in a lane of a tile.
pub(super) fn row(format: Format, tile: &[u8], lane: usize, to: &mut [f32]) {
    if format.is_quantised() {
        for (at, to) in to.chunks_mut(GROUP).enumerate() {
            let group = Group::read(format, tile, at, lane);
            for (at, to) in to.iter_mut().enumerate() {
                *to = group.scales[at / 16] * f32::from(group.values[at]) - group.minimum.unwrap_or(0.0);
            }
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

/// A lane's value of a vector; lanes beyond sixteen are those of the next.
fn get<const N: usize>(bytes: &[u8], vector: usize, lane: usize) -> [u8; N] {
    std::array::from_fn(|at| bytes[(vector * TILE + lane) * N + at])
}
