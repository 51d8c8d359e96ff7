//! Where the tiles of a matrix lie: in memory of its own, or in a mapped file, from which they may be copied later.

use std::io;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::memory::{Arena, ArenaBytes};
use crate::model_file::MappedFile;

/// Bytes that are copied at a time, in a fraction of a millisecond.
const PIECE: usize = 1 << 20;

/// What vectors are aligned to in memory.
const LINE: usize = 64;

pub(super) enum Tiles {
    Owned(ArenaBytes),
    Mapped(Arc<MappedTiles>),
}

impl Tiles {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Owned(tiles) => tiles.bytes(),
            Self::Mapped(tiles) => tiles.bytes(),
        }
    }
}

/// Tiles in a mapped file, which can be copied to large pages while products use them. The bytes are the same.
pub struct MappedTiles {
    file: MappedFile,
    copy: OnceLock<ArenaBytes>,
    /// A copy that is not complete, and the bytes that it has.
    begun: Mutex<Option<(ArenaBytes, usize)>>,
}

impl MappedTiles {
    pub(super) fn new(file: MappedFile) -> io::Result<Self> {
        if !file.bytes().as_ptr().addr().is_multiple_of(LINE) {
            let message = format!("tiles must begin at a multiple of {LINE} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(Self { file, copy: OnceLock::new(), begun: Mutex::new(None) })
    }

    /// The number of bytes.
    pub fn n_bytes(&self) -> usize {
        self.file.bytes().len()
    }

    /// Whether the tiles have been copied.
    pub fn is_copied(&self) -> bool {
        self.copy.get().is_some()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.copy.get().map_or_else(|| self.file.bytes(), ArenaBytes::bytes)
    }

    /// Copies a piece; returns whether the copy is complete, and from then on used. The pages of the file are released then.
    pub(crate) fn copy_piece(&self, arena: &Arena) -> io::Result<bool> {
        let mut begun = self.begun.lock();
        if self.is_copied() {
            return Ok(true);
        }
        let from = self.file.bytes();
        let (mut copy, n_done) = match begun.take() {
            Some(begun) => begun,
            None => (arena.take(from.len())?, 0),
        };
        let end = from.len().min(n_done + PIECE);
        copy.bytes_mut()[n_done..end].copy_from_slice(&from[n_done..end]);
        if end < from.len() {
            *begun = Some((copy, end));
            return Ok(false);
        }
        let _ = self.copy.set(copy); // only here, and the lock is held
        self.file.release();
        Ok(true)
    }

    /// Drops a copy that is not complete.
    pub fn stop_copying(&self) {
        *self.begun.lock() = None;
    }
}
