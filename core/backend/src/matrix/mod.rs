//! Matrices of weights in the order in which products read them.
//!
//! A tile holds sixteen rows side by side, one for each lane of a vector, so that one pass over a tile gives sixteen
//! outputs and no sum runs across lanes; of halves it holds 32, for two vectors. Quantised values keep the bits of the file (Q4_K and Q5_K spend two to three
//! per cent more, for scales that need no unpacking); the layouts are in [`layout`]. A file is packed while it is read,
//! so there is one copy of the weights in memory.

mod layout;
mod pack;
mod read;
#[cfg(test)]
mod tests;

use std::io;
use std::ops::Range;

use crate::memory::{Arena, Memory};
use crate::pool::Pool;

pub use layout::Format;
pub(crate) use layout::{GROUPS, HALVES, NIBBLES, TILE, VECTOR};
pub(crate) use read::Group;

/// Rows that are read from a file at a time: enough bytes for a read to pay, few enough to stay in the cache.
const STRETCH_BYTES: usize = 512 << 10;

/// A matrix, `(rows, columns)`.
pub struct Matrix {
    format: Format,
    n_rows: usize,
    n_columns: usize,
    tiles: Memory,
}

impl Matrix {
    /// Reads and packs a matrix. `read` gives a part of the matrix's bytes, as they stand in a GGUF file; several threads
    /// may call it at once.
    ///
    /// # Errors
    /// Those of `read`; [`io::ErrorKind::OutOfMemory`]; [`io::ErrorKind::InvalidData`] when columns are no whole number
    /// of blocks, or `read` gives another number of bytes than it was asked for.
    pub(crate) fn pack<B: AsRef<[u8]>>(
        format: Format,
        (n_rows, n_columns): (usize, usize),
        (pool, arena): (&Pool, &Arena),
        read: impl Fn(Range<usize>) -> io::Result<B> + Sync,
    ) -> io::Result<Self> {
        if n_rows == 0 || n_columns == 0 || !n_columns.is_multiple_of(format.block()) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the matrix is no whole number of blocks"));
        }
        let (row_bytes, tile_bytes) = (format.row_bytes(n_columns), format.tile_bytes(n_columns));
        let n_bytes = format.matrix_bytes((n_rows, n_columns));
        let mut tiles = arena.take(n_bytes.ok_or(io::ErrorKind::OutOfMemory)?)?;
        let tile_rows = format.tile_rows();
        let tiles_of_stretch = (STRETCH_BYTES / (tile_rows * row_bytes)).max(1);
        let stretches = tiles.bytes_mut().chunks_mut(tiles_of_stretch * tile_bytes).enumerate();
        let failure = std::sync::Mutex::new(None);
        pool.for_each(stretches.collect(), |(at, tiles)| {
            let first_row = at * tiles_of_stretch * tile_rows;
            let last_row = n_rows.min(first_row + tiles_of_stretch * tile_rows);
            let range = first_row * row_bytes..last_row * row_bytes;
            let packed = read(range.clone()).and_then(|bytes| {
                let bytes = bytes.as_ref();
                if bytes.len() != range.len() {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "a part of another length was read"));
                }
                let rows = bytes.chunks(tile_rows * row_bytes);
                tiles
                    .chunks_mut(tile_bytes)
                    .zip(rows)
                    .for_each(|(tile, rows)| pack::tile(format, rows, row_bytes, tile));
                Ok(())
            });
            if let Err(err) = packed {
                failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(err);
            }
        });
        match failure.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
            Some(err) => Err(err),
            None => Ok(Self { format, n_rows, n_columns, tiles }),
        }
    }

    /// Rows: outputs of a product.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Columns: inputs of a product.
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// What the values are stored as.
    pub fn format(&self) -> Format {
        self.format
    }

    pub(crate) fn n_tiles(&self) -> usize {
        self.n_rows.div_ceil(self.format.tile_rows())
    }

    /// The bytes of a tile; those of rows beyond the last are zeros.
    pub(crate) fn tile(&self, index: usize) -> &[u8] {
        let n_bytes = self.format.tile_bytes(self.n_columns);
        &self.tiles.bytes()[index * n_bytes..][..n_bytes]
    }

    /// Writes the values of a row.
    ///
    /// # Panics
    /// When there is no such row, or `to` is not as long as it.
    pub fn read_row(&self, row: usize, to: &mut [f32]) {
        assert!(row < self.n_rows && to.len() == self.n_columns, "row {row} of a matrix of {}", self.n_rows);
        let tile_rows = self.format.tile_rows();
        read::row(self.format, self.tile(row / tile_rows), row % tile_rows, to);
    }
}
