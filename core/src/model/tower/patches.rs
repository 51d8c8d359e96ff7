//! What the host prepares for an image: pixels of patches, and where the patches lie.

use crate::checkpoint::VisionArchitecture;
use crate::error::{ErrorKind, Result, SdkError};
use crate::media::{AxisWeights, Picture, ResizeFilter};
use crate::model::tower::weights::PlaceTable;

/// The vectors of the places of an image's patches.
pub(super) enum PlaceVectors<'a> {
    Square(WidenedTable),
    Axes {
        /// Vectors of columns, and of rows.
        tables: [&'a [f32]; 2],
        n_columns: usize,
    },
}

impl<'a> PlaceVectors<'a> {
    /// Prepares a table for a grid of rows and columns.
    ///
    /// # Errors
    /// [`ErrorKind::UnsupportedContent`] for a grid that is longer than the table.
    pub(super) fn new(table: &'a PlaceTable, hidden: usize, (n_rows, n_columns): (usize, usize)) -> Result<Self> {
        match table {
            PlaceTable::Square { values, side, is_aligned } => {
                Ok(Self::Square(WidenedTable::new((values, *side, *is_aligned), hidden, (n_rows, n_columns))))
            }
            PlaceTable::Axes { n_places, .. } if *n_places < n_rows.max(n_columns) => {
                let found = n_rows.max(n_columns);
                Err(SdkError::new(
                    ErrorKind::UnsupportedContent,
                    format!("an image must have at most {n_places} patches along a side, found {found}"),
                ))
            }
            PlaceTable::Axes { values, n_places } => {
                let (columns, rows) = values.split_at(n_places * hidden);
                Ok(Self::Axes { tables: [columns, rows], n_columns })
            }
        }
    }

    /// Writes the vector of a patch.
    pub(super) fn write(&self, patch: usize, to: &mut [f32]) {
        match self {
            Self::Square(table) => table.write(patch, to),
            Self::Axes { tables: [columns, rows], n_columns } => {
                let hidden = to.len();
                let [column, row] = [(columns, patch % n_columns), (rows, patch / n_columns)]
                    .map(|(table, at)| &table[at * hidden..(at + 1) * hidden]);
                to.iter_mut().zip(column.iter().zip(row)).for_each(|(to, (column, row))| *to = column + row);
            }
        }
    }
}

/// The columns of a row of a square table, mixed to the columns of an image's grid.
pub(super) struct WidenedTable {
    /// `(side of the table, columns, hidden)`
    values: Vec<f32>,
    n_columns: usize,
    hidden: usize,
    down: Vec<AxisWeights>,
}

impl WidenedTable {
    /// Prepares a table, `(side * side, hidden)`, for a grid of rows and columns. If it is aligned, the patches of corners have the
    /// vectors of its corners.
    fn new(
        (table, side, is_aligned): (&[f32], usize, bool),
        hidden: usize,
        (n_rows, n_columns): (usize, usize),
    ) -> Self {
        let weights = |n: usize| match is_aligned {
            true => aligned_weights(side, n),
            false => ResizeFilter::Bilinear.weights(side, n),
        };
        let across = weights(n_columns);
        let mut values = vec![0.0; side * n_columns * hidden];
        for (at, to) in values.chunks_exact_mut(hidden).enumerate() {
            mix(&table[at / n_columns * side * hidden..], hidden, &across[at % n_columns], to);
        }
        Self { values, n_columns, hidden, down: weights(n_rows) }
    }

    /// Writes the position of a patch.
    fn write(&self, patch: usize, to: &mut [f32]) {
        let Self { values, n_columns, hidden, down } = self;
        to.fill(0.0);
        mix(&values[patch % n_columns * hidden..], n_columns * hidden, &down[patch / n_columns], to);
    }
}

/// The weights of the nearest two of some inputs, whose ends are the ends of the outputs.
fn aligned_weights(n_inputs: usize, n_outputs: usize) -> Vec<AxisWeights> {
    let step = (n_inputs - 1) as f32 / n_outputs.saturating_sub(1).max(1) as f32;
    let of_output = |output: usize| {
        let place = output as f32 * step;
        let first = (place as usize).min(n_inputs - 1); // rounded down
        let rest = place - first as f32;
        let weights = if first + 1 < n_inputs { vec![1.0 - rest, rest] } else { vec![1.0] };
        AxisWeights { first, weights }
    };
    (0..n_outputs).map(of_output).collect()
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

/// The cosines and sines of the halves of all heads of patches: of the column, then of the row.
pub(super) fn half_angles(
    frequencies: &[f32],
    n_columns: usize,
    patches: impl Iterator<Item = usize>,
    n_heads: usize,
) -> (Vec<f32>, Vec<f32>) {
    let (mut cosines, mut sines) = (Vec::new(), Vec::new());
    for patch in patches {
        let places = [patch % n_columns, patch / n_columns];
        let angles = places.into_iter().flat_map(|at| frequencies.iter().map(move |frequency| at as f32 * frequency));
        let (of_cosines, of_sines): (Vec<f32>, Vec<f32>) = angles.map(|angle| (angle.cos(), angle.sin())).unzip();
        for _ in 0..n_heads {
            cosines.extend_from_slice(&of_cosines);
            sines.extend_from_slice(&of_sines);
        }
    }
    (cosines, sines)
}
