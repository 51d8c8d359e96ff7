//! What the host prepares for an image: pixels of patches, and where the patches lie.

use crate::checkpoint::VisionArchitecture;
use crate::media::{AxisWeights, Picture, ResizeFilter};

/// The columns of a row of a square table, mixed to the columns of an image's grid.
pub(super) struct WidenedTable {
    /// `(side of the table, columns, hidden)`
    values: Vec<f32>,
    n_columns: usize,
    hidden: usize,
    down: Vec<AxisWeights>,
}

impl WidenedTable {
    /// Prepares a table, `(side * side, hidden)`, for a grid of rows and columns.
    pub(super) fn new((table, side): (&[f32], usize), hidden: usize, (n_rows, n_columns): (usize, usize)) -> Self {
        let across = ResizeFilter::Bilinear.weights(side, n_columns);
        let mut values = vec![0.0; side * n_columns * hidden];
        for (at, to) in values.chunks_exact_mut(hidden).enumerate() {
            mix(&table[at / n_columns * side * hidden..], hidden, &across[at % n_columns], to);
        }
        Self { values, n_columns, hidden, down: ResizeFilter::Bilinear.weights(side, n_rows) }
    }

    /// Writes the position of a patch.
    pub(super) fn write(&self, patch: usize, to: &mut [f32]) {
        let Self { values, n_columns, hidden, down } = self;
        to.fill(0.0);
        mix(&values[patch % n_columns * hidden..], n_columns * hidden, &down[patch / n_columns], to);
    }
}

/// The weighted mean of vectors that are `stride` apart.
fn mix(from: &[f32], stride: usize, axis: &AxisWeights, to: &mut [f32]) {
    for (at, weight) in axis.weights.iter().enumerate() {
        let vector = &from[(axis.first + at) * stride..][..to.len()];
        to.iter_mut().zip(vector).for_each(|(to, value)| *to += value * weight);
    }
}

/// Writes the normalised pixels of a patch: by row, column and channel.
pub(super) fn write_pixels(image: &Picture, architecture: &VisionArchitecture, patch: usize, to: &mut [f32]) {
    let VisionArchitecture { rules, mean, deviation, .. } = architecture;
    let (side, n_columns) = (rules.patch, image.width / rules.patch);
    let (top, left) = (patch / n_columns * side, patch % n_columns * side);
    for (line, to) in to.chunks_exact_mut(3 * side).enumerate() {
        let pixels = &image.pixels[3 * ((top + line) * image.width + left)..];
        for (at, (to, level)) in to.iter_mut().zip(pixels).enumerate() {
            *to = (f32::from(*level) / 255.0 - mean[at % 3]) / deviation[at % 3];
        }
    }
}

/// The cosines and sines of patches' angles: of the row, then of the column.
pub(super) fn axial_angles(
    frequencies: &[f32],
    n_columns: usize,
    patches: impl Iterator<Item = usize>,
) -> (Vec<f32>, Vec<f32>) {
    let places = patches.flat_map(|patch| [patch / n_columns, patch % n_columns]);
    let angles = places.flat_map(|at| frequencies.iter().map(move |frequency| at as f32 * frequency));
    angles.map(|angle| (angle.cos(), angle.sin())).unzip()
}
