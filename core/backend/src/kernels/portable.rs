//! Products of quantised values on any processor, in the order that all kernels keep.

use crate::activations::Quantised;
use crate::kernels::Outputs;
use crate::matrix::{Format, Group, Matrix, TILE};

/// One row of activations times one tile.
///
/// For each group of 32 columns, in ascending order: an exact sum of products in i32, then
/// `y = fma(sum, weight_scale * activation_scale, y)`; Q6_K does so for each half group. Where weights have a minimum,
/// `y = fma(-minimum, activation_scale * sum of activations, y)` follows.
pub(super) fn tile(matrix: &Matrix, tile: usize, x: &Quantised, row: usize) -> [f32; TILE] {
    let mut y = [0f32; TILE];
    let bytes = matrix.tile(tile);
    for at in 0..x.n_groups {
        let place = x.at(row, at);
        let (values, scale) = (&x.values[place], x.scales[place]);
        for (lane, y) in y.iter_mut().enumerate() {
            let group = Group::read(matrix.format(), bytes, at, lane);
            let dot = |range: std::ops::Range<usize>| -> i32 {
                range.map(|i| i32::from(group.values[i]) * i32::from(values[i])).sum()
            };
            match matrix.format() {
                Format::Q6K => {
                    *y = (dot(0..16) as f32).mul_add(group.scales[0] * scale, *y);
                    *y = (dot(16..32) as f32).mul_add(group.scales[1] * scale, *y);
                }
                _ => *y = (dot(0..32) as f32).mul_add(group.scales[0] * scale, *y),
            }
            if let Some(minimum) = group.minimum {
                *y = (-minimum).mul_add(x.scaled_sums[place], *y);
            }
        }
    }
    y
}

/// Rows `0..n_rows` of activations times the tiles given.
pub(super) fn product(matrix: &Matrix, tiles: std::ops::Range<usize>, x: &Quantised, out: &Outputs<'_>) {
    for at in tiles {
        for row in 0..x.n_rows {
            out.put(row, at, &tile(matrix, at, x, row));
        }
    }
}
