//! Products of quantised values in plain Rust. They define the order of operations that all kernels keep.

use std::ops::Range;

use crate::activations::{GROUP, Quantised};
use crate::kernels::outputs::Outputs;
use crate::matrix::{Matrix, TILE, TileGroup, VECTOR};
use crate::simd::mul_add;

/// Rows of activations that share the unpacking of weights.
const ROWS: usize = 16;

/// Multiplies all rows of activations with the given tiles.
pub(super) fn product(matrix: &Matrix, tiles: Range<usize>, x: &Quantised, out: &Outputs<'_>) {
    for tile in tiles {
        for first in (0..x.n_rows).step_by(ROWS) {
            let rows = first..x.n_rows.min(first + ROWS);
            let mut y = [[0.0; TILE]; ROWS];
            for group in 0..x.n_groups {
                let weights = TileGroup::read(matrix.format(), matrix.tile(tile), group);
                for (y, row) in y.iter_mut().zip(rows.clone()) {
                    add_group(&weights, x, x.at(row, group), y);
                }
            }
            y.iter().zip(rows).for_each(|(y, row)| out.put(row, tile, y));
        }
    }
}

/// Adds the products of one group of 32 columns to the sums of one row of activations and the rows of a tile. Groups come in
/// ascending order.
///
/// The products of bytes are summed exactly, in i32; then `y = fma(sum, weight_scale * activation_scale, y)`. Q6_K, whose
/// half groups have scales of their own, does so for each half. If weights have a minimum,
/// `y = fma(-minimum, activation_scale * sum of activations, y)` follows.
fn add_group(weights: &TileGroup, x: &Quantised, place: usize, y: &mut [f32; TILE]) {
    let [first, second] = exact_sums(&weights.values, &x.values[place]);
    let scale = x.scales[place];
    match &weights.scales_of_second_half {
        Some(of_second_half) => {
            add_scaled(&first, &weights.scales, scale, y);
            add_scaled(&second, of_second_half, scale, y);
        }
        None => add_scaled(&std::array::from_fn(|lane| first[lane] + second[lane]), &weights.scales, scale, y),
    }
    if let Some(minima) = &weights.negative_minima {
        let scaled_sum = x.scaled_sums[place];
        y.iter_mut().zip(minima).for_each(|(y, minimum)| *y = mul_add(*minimum, scaled_sum, *y));
    }
}

fn add_scaled(sums: &[i32; TILE], weight_scales: &[f32; TILE], scale: f32, y: &mut [f32; TILE]) {
    for lane in 0..TILE {
        y[lane] = mul_add(sums[lane] as f32, weight_scales[lane] * scale, y[lane]); // sums have at most 20 bits
    }
}

/// The sums of products of each half of a group, for each row of a tile. Written in pairs of columns, which compilers turn into
/// the multiply-and-add of pairs that most processors have.
fn exact_sums(weights: &[[i16; VECTOR]; GROUP / 4], values: &[i8; GROUP]) -> [[i32; TILE]; 2] {
    let mut sums = [[0; TILE]; 2];
    let (four_columns, _) = values.as_chunks::<4>();
    for (half, sums) in sums.iter_mut().enumerate() {
        let mut pairs = [0; 2 * TILE];
        for vector in 4 * half..4 * half + 4 {
            let (weights, values) = (&weights[vector], [four_columns[vector].map(i16::from); TILE]);
            let values = values.as_flattened();
            for (at, pair) in pairs.iter_mut().enumerate() {
                *pair += i32::from(weights[2 * at]) * i32::from(values[2 * at])
                    + i32::from(weights[2 * at + 1]) * i32::from(values[2 * at + 1]);
            }
        }
        for (lane, sum) in sums.iter_mut().enumerate() {
            *sum = pairs[2 * lane] + pairs[2 * lane + 1];
        }
    }
    sums
}
