//! Matrices of weights in the order in which products read them.
//!
//! A tile interleaves sixteen rows, one for each lane of a vector, so that one pass over a tile computes sixteen outputs and
//! no sum crosses lanes. Tiles of f16 and bf16 hold 32 rows, for two vectors. Quantised values keep the bits of the file;
//! Q4_K and Q5_K take two to three per cent more, for scales that need no unpacking. The layouts are in [`layout`]. A file is
//! packed while it is read, so there is one copy of the weights in memory; a file that holds tiles is mapped.

mod layout;
mod pack;
mod read;
#[cfg(test)]
mod tests;
mod tiles;

use std::io;
use std::ops::Range;
use std::sync::Arc;

use crate::memory::Arena;
use crate::model_file::{MappedFile, ModelFile};
use crate::pool::Pool;

use tiles::Tiles;

pub use layout::Format;
pub(crate) use layout::{GROUPS, HALVES, NIBBLES, TILE, VECTOR};
pub(crate) use read::TileGroup;
pub use tiles::MappedTiles;

/// Bytes to read from a file at a time: enough to outweigh the cost of a read, few enough to stay in the cache.
const CHUNK_BYTES: usize = 512 << 10;

/// A matrix of weights, `(rows, columns)`.
pub struct Matrix {
    format: Format,
    n_rows: usize,
    n_columns: usize,
    tiles: Tiles,
}

impl Matrix {
    /// Reads and packs a matrix. `read` returns a range of the matrix's bytes as a GGUF file has them; several threads may
    /// call it at once.
    ///
    /// # Errors
    /// Errors of `read`; [`io::ErrorKind::OutOfMemory`]; [`io::ErrorKind::InvalidData`] if the number of columns is not a
    /// multiple of the format's block, or if `read` returns fewer or more bytes than requested.
    pub(crate) fn pack<B: AsRef<[u8]>>(
        format: Format,
        (n_rows, n_columns): (usize, usize),
        (pool, arena): (&Pool, &Arena),
        read: impl Fn(Range<usize>) -> io::Result<B> + Sync,
    ) -> io::Result<Self> {
        let mut tiles = arena.take(checked_bytes(format, (n_rows, n_columns))?)?;
        let (row_bytes, tile_bytes) = (format.row_bytes(n_columns), format.tile_bytes(n_columns));
        let tile_rows = format.tile_rows();
        let tiles_of_chunk = (CHUNK_BYTES / (tile_rows * row_bytes)).max(1);
        let chunks = tiles.bytes_mut().chunks_mut(tiles_of_chunk * tile_bytes).enumerate();
        let failure = parking_lot::Mutex::new(None);
        pool.for_each(chunks.collect(), |(at, tiles)| {
            let first_row = at * tiles_of_chunk * tile_rows;
            let last_row = n_rows.min(first_row + tiles_of_chunk * tile_rows);
            let range = first_row * row_bytes..last_row * row_bytes;
            let packed = read(range.clone()).and_then(|bytes| {
                let bytes = bytes.as_ref();
                if bytes.len() != range.len() {
                    let message = format!("a read must return {} bytes, found {}", range.len(), bytes.len());
                    return Err(io::Error::new(io::ErrorKind::InvalidData, message));
                }
                let rows = bytes.chunks(tile_rows * row_bytes);
                tiles
                    .chunks_mut(tile_bytes)
                    .zip(rows)
                    .for_each(|(tile, rows)| pack::tile(format, rows, row_bytes, tile));
                Ok(())
            });
            if let Err(err) = packed {
                failure.lock().get_or_insert(err);
            }
        });
        match failure.into_inner() {
            Some(err) => Err(err),
            None => Ok(Self { format, n_rows, n_columns, tiles: Tiles::Owned(tiles) }),
        }
    }

    /// Takes the tiles of a mapped file, which holds nothing else.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] for a shape that the format does not have, another length, or a place in memory that is not a
    /// multiple of 64 bytes.
    pub(crate) fn map(format: Format, (n_rows, n_columns): (usize, usize), file: MappedFile) -> io::Result<Self> {
        check_length(format, (n_rows, n_columns), file.bytes().len())?;
        let tiles = Tiles::Mapped(Arc::new(MappedTiles::new(file)?));
        Ok(Self { format, n_rows, n_columns, tiles })
    }

    /// Reads tiles that a file holds, and nothing else, into memory.
    ///
    /// # Errors
    /// As [`map`](Self::map), the errors of reading, and [`io::ErrorKind::OutOfMemory`].
    pub(crate) fn read(
        format: Format,
        (n_rows, n_columns): (usize, usize),
        (pool, arena): (&Pool, &Arena),
        file: &ModelFile,
    ) -> io::Result<Self> {
        check_length(format, (n_rows, n_columns), file.n_bytes())?;
        let mut tiles = arena.take(file.n_bytes())?;
        let failure = parking_lot::Mutex::new(None);
        let chunks = tiles.bytes_mut().chunks_mut(CHUNK_BYTES).enumerate();
        pool.for_each(chunks.collect(), |(at, chunk)| {
            if let Err(err) = file.read_into(at * CHUNK_BYTES, chunk) {
                failure.lock().get_or_insert(err);
            }
        });
        match failure.into_inner() {
            Some(err) => Err(err),
            None => Ok(Self { format, n_rows, n_columns, tiles: Tiles::Owned(tiles) }),
        }
    }

    /// Number of rows: the outputs of a product.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of columns: the inputs of a product.
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// Storage format of the values.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The tiles as they lie in memory, for a file from which they can be mapped.
    pub fn tile_bytes(&self) -> &[u8] {
        self.tiles.bytes()
    }

    /// The tiles of a matrix that was mapped.
    pub fn mapped_tiles(&self) -> Option<&Arc<MappedTiles>> {
        match &self.tiles {
            Tiles::Mapped(tiles) => Some(tiles),
            Tiles::Owned(_) => None,
        }
    }

    pub(crate) fn n_tiles(&self) -> usize {
        self.n_rows.div_ceil(self.format.tile_rows())
    }

    /// The bytes of a tile; rows after the last one are zeros.
    pub(crate) fn tile(&self, index: usize) -> &[u8] {
        let n_bytes = self.format.tile_bytes(self.n_columns);
        &self.tiles.bytes()[index * n_bytes..][..n_bytes]
    }

    /// Writes the values of a row.
    ///
    /// # Panics
    /// If the row is out of range or `to` has another length.
    pub fn read_row(&self, row: usize, to: &mut [f32]) {
        assert!(row < self.n_rows && to.len() == self.n_columns, "the row must be below {}, found {row}", self.n_rows);
        let tile_rows = self.format.tile_rows();
        read::row(self.format, self.tile(row / tile_rows), row % tile_rows, to);
    }
}

/// Bytes of the tiles of a matrix that a format can have.
fn checked_bytes(format: Format, (n_rows, n_columns): (usize, usize)) -> io::Result<usize> {
    if n_rows == 0 || n_columns == 0 || !n_columns.is_multiple_of(format.block()) {
        let block = format.block();
        let message = format!("columns must be a positive multiple of {block}, found {n_rows} rows of {n_columns}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    format.checked_matrix_bytes((n_rows, n_columns)).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

fn check_length(format: Format, shape: (usize, usize), found: usize) -> io::Result<()> {
    let expected = checked_bytes(format, shape)?;
    if expected == found {
        return Ok(());
    }
    let message = format!("tiles of {shape:?} in {format:?} must have {expected} bytes, found {found}");
    Err(io::Error::new(io::ErrorKind::InvalidData, message))
}
