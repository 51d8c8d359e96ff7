//! How values lie in files and in tiles.

/// Rows of a tile, but for those of halves, which are twice as high: a column of a tile is a line of the cache at least, and
/// a single row of activations needs no second stream of weights to have work while it waits for a sum.
pub(crate) const TILE: usize = 16;
/// Values of a row that share a scale and meet as many quantised activations in one integer sum.
pub(crate) const GROUP: usize = 32;
/// Values of a super-block.
const SUPER: usize = 256;
/// Groups of a super-block.
pub(crate) const GROUPS: usize = SUPER / GROUP;

/// What a matrix's values are stored as, in files and in memory. GGUF's names.
///
/// In a tile, for each block of columns, lanes being rows (sixteen, or 32 of halves):
///
/// | format | block | in a tile |
/// |---|---|---|
/// | F32 | 1 | 16 values |
/// | F16, BF16 | 1 | 32 values |
/// | Q8_0 | 32 | 16 scales (f16); the group as bytes: 8 vectors, vector g holds columns 4g to 4g + 3 of each row |
/// | Q4_0 | 32 | 16 scales (f16); the group as nibbles: 4 vectors, low ones columns 4g.., high ones 16 + 4g.. |
/// | Q5_1 | 32 | 16 scales and 16 minima (f16); the group as nibbles; a vector of fifth bits, bit g for columns 4g.. |
/// | Q4_K | 256 | 16 scales and 16 scales of minima (f16); 8 x 16 scales, 8 x 16 minima (u8); 8 groups as nibbles |
/// | Q5_K | 256 | as Q4_K; behind the nibbles of each group a vector of fifth bits, as with Q5_1 |
/// | Q6_K | 256 | 16 scales (f16); 16 x 16 scales of half groups (i8); 8 groups, each nibbles and 2 vectors of upper bits, vector j with bits 2c.. for columns 16j + 4c.. |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are GGUF's")]
pub enum Format {
    F32,
    F16,
    Bf16,
    Q8_0,
    Q4_0,
    Q5_1,
    Q4K,
    Q5K,
    Q6K,
}

/// Bytes of a block.
pub(crate) struct Block {
    /// Of one row, in a file.
    in_file: usize,
    /// In a tile: what stands before the first group.
    pub(crate) head: usize,
    /// In a tile: a group of columns.
    pub(crate) group: usize,
    n_groups: usize,
}

impl Block {
    pub(crate) const fn tile_bytes(&self) -> usize {
        self.head + self.n_groups * self.group
    }

    /// A group's share of that, its part of the head included.
    #[cfg(target_arch = "x86_64")]
    pub(crate) const fn group_share(&self) -> usize {
        self.tile_bytes() / self.n_groups
    }
}

/// Bytes of a vector.
pub(crate) const VECTOR: usize = 64;
/// Bytes of a group's nibbles, of sixteen rows.
pub(crate) const NIBBLES: usize = 4 * VECTOR;
/// Bytes of sixteen f16.
pub(crate) const HALVES: usize = 32;

impl Format {
    /// Values of a block.
    pub const fn block(self) -> usize {
        match self {
            Self::F32 | Self::F16 | Self::Bf16 => 1,
            Self::Q8_0 | Self::Q4_0 | Self::Q5_1 => GROUP,
            Self::Q4K | Self::Q5K | Self::Q6K => SUPER,
        }
    }

    /// Whether activations are quantised to meet it.
    pub fn is_quantised(self) -> bool {
        !matches!(self, Self::F32 | Self::F16 | Self::Bf16)
    }

    pub(crate) const fn layout(self) -> Block {
        let (in_file, head, group, n_groups) = match self {
            Self::F32 => (4, 0, 4 * TILE, 1),
            Self::F16 | Self::Bf16 => (2, 0, 2 * 2 * TILE, 1),
            Self::Q8_0 => (34, HALVES, 8 * VECTOR, 1),
            Self::Q4_0 => (18, HALVES, NIBBLES, 1),
            Self::Q5_1 => (24, 2 * HALVES, NIBBLES + VECTOR, 1),
            Self::Q4K => (144, 2 * HALVES + 2 * GROUPS * TILE, NIBBLES, GROUPS),
            Self::Q5K => (176, 2 * HALVES + 2 * GROUPS * TILE, NIBBLES + VECTOR, GROUPS),
            Self::Q6K => (210, HALVES + 2 * GROUPS * TILE, NIBBLES + 2 * VECTOR, GROUPS),
        };
        Block { in_file, head, group, n_groups }
    }

    /// Bytes of a row in a file.
    pub const fn row_bytes(self, n_columns: usize) -> usize {
        n_columns / self.block() * self.layout().in_file
    }

    /// Rows of a tile.
    pub(crate) const fn tile_rows(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 2 * TILE,
            _ => TILE,
        }
    }

    /// Bytes of a tile.
    pub(crate) fn tile_bytes(self, n_columns: usize) -> usize {
        n_columns / self.block() * self.layout().tile_bytes()
    }

    /// Bytes of a matrix in memory; none where there are too many to count.
    pub fn matrix_bytes(self, (n_rows, n_columns): (usize, usize)) -> Option<usize> {
        n_rows.div_ceil(self.tile_rows()).checked_mul(self.tile_bytes(n_columns))
    }
}
