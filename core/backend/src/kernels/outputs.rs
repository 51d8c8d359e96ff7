//! The outputs that all kernels write, and how far ahead they prefetch weights.

use crate::grid::Grid;
use crate::matrix::TILE;

/// A product's outputs, `(rows, outputs)`, which threads fill by tiles.
pub(crate) struct Outputs<'a> {
    grid: Grid<'a>,
    /// Whether to add to the outputs instead of overwriting them.
    adds: bool,
}

impl<'a> Outputs<'a> {
    pub(crate) fn new(out: &'a mut [f32], n_outputs: usize, adds: bool) -> Self {
        Self { grid: Grid::new(out, n_outputs), adds }
    }

    /// Writes sixteen outputs of a row; `sixteen` counts them in units of sixteen. Kernels call it for their own tiles only.
    #[inline(always)]
    pub(super) fn put(&self, row: usize, sixteen: usize, values: &[f32; TILE]) {
        let start = sixteen * TILE;
        // SAFETY: the caller of `Tier::product` guarantees that the tile belongs to this thread.
        let to = unsafe { self.grid.part(row, start..self.grid.n_columns.min(start + TILE)) };
        match <&mut [f32; TILE]>::try_from(&mut *to) {
            Ok(to) if !self.adds => *to = *values,
            Ok(to) => to.iter_mut().zip(values).for_each(|(to, value)| *to += value),
            Err(_) => {
                to.iter_mut().zip(values).for_each(|(to, value)| *to = if self.adds { *to + value } else { *value })
            }
        }
    }
}

/// Offset from a position in a tile to the bytes to prefetch, while `n_tiles` tiles are computed together. That is `distance`;
/// after the end of the tile follow the next tiles to compute, which come after all of the current ones.
#[inline(always)]
pub(super) fn prefetch_offset(position: usize, distance: usize, (n_tiles, tile_bytes): (usize, usize)) -> usize {
    if position + distance < tile_bytes { distance } else { distance + (n_tiles - 1) * tile_bytes }
}
