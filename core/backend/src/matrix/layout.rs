//! Layouts of values in files and in tiles.

/// Rows of a tile. Tiles of f16 and bf16 have twice as many, so that a column fills a cache line and a single row of
/// activations has two independent sums to compute from one stream of weights.
pub(crate) const TILE: usize = 16;
/// Values of a row that share a scale. Their products with as many quantised activations form one integer sum.
pub(crate) const GROUP: usize = 32;
/// Values of a super-block.
const SUPER: usize = 256;
/// Groups of a super-block.
pub(crate) const GROUPS: usize = SUPER / GROUP;

/// Storage format of a matrix's values, in files and in memory, by GGUF's names.
///
/// A tile stores, for each block of columns, with a lane for each row (16 rows, or 32 of F16 and BF16):
///
/// | format | block | in a tile |
/// |---|---|---|
/// | F32 | 1 | 16 values |
/// | F16, BF16 | 1 | 32 values |
/// | Q8_0 | 32 | 16 scales (f16); the group as bytes: 8 vectors; vector g holds columns 4g to 4g + 3 of each row |
/// | Q4_0 | 32 | 16 scales (f16); the group as nibbles: 4 vectors; the low nibbles of vector g are columns 4g.., the high ones columns 16 + 4g.. |
/// | Q5_1 | 32 | 16 scales and 16 minima (f16); the group as nibbles; a vector of fifth bits, bit g for columns 4g.. |
/// | Q4_K | 256 | 16 scales and 16 scales of minima (f16); 8 x 16 scales, 8 x 16 minima (u8); 8 groups as nibbles |
/// | Q5_K | 256 | as Q4_K; the nibbles of each group are followed by a vector of fifth bits, as in Q5_1 |
/// | Q6_K | 256 | 16 scales (f16); 16 x 16 scales of half groups (i8); 8 groups, each nibbles and 2 vectors of upper bits; bits 2c.. of vector j are for columns 16j + 4c.. |
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

/// Sizes of a block, in bytes.
pub(crate) struct BlockLayout {
    /// One row of the block in a file.
    in_file: usize,
    /// What precedes the first group in a tile.
    pub(crate) head: usize,
    /// One group of columns in a tile.
    pub(crate) group: usize,
    n_groups: usize,
}

impl BlockLayout {
    pub(crate) const fn tile_bytes(&self) -> usize {
        self.head + self.n_groups * self.group
    }

    /// A group's share of the block's bytes, including its part of the head.
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
    /// All formats.
    pub const ALL: [Self; 9] =
        [Self::F32, Self::F16, Self::Bf16, Self::Q8_0, Self::Q4_0, Self::Q5_1, Self::Q4K, Self::Q5K, Self::Q6K];

    /// GGUF's name of the format.
    ///
    /// ```
    /// use causerie_backend::Format;
    /// assert_eq!(Format::Q4K.name(), "Q4_K");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "F32",
            Self::F16 => "F16",
            Self::Bf16 => "BF16",
            Self::Q8_0 => "Q8_0",
            Self::Q4_0 => "Q4_0",
            Self::Q5_1 => "Q5_1",
            Self::Q4K => "Q4_K",
            Self::Q5K => "Q5_K",
            Self::Q6K => "Q6_K",
        }
    }

    /// The format with a name.
    ///
    /// ```
    /// use causerie_backend::Format;
    /// assert_eq!((Format::named("BF16"), Format::named("Q4_1")), (Some(Format::Bf16), None));
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Values of a block.
    pub const fn block(self) -> usize {
        match self {
            Self::F32 | Self::F16 | Self::Bf16 => 1,
            Self::Q8_0 | Self::Q4_0 | Self::Q5_1 => GROUP,
            Self::Q4K | Self::Q5K | Self::Q6K => SUPER,
        }
    }

    /// Whether products with this format take quantised activations.
    pub fn is_quantised(self) -> bool {
        !matches!(self, Self::F32 | Self::F16 | Self::Bf16)
    }

    pub(crate) const fn layout(self) -> BlockLayout {
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
        BlockLayout { in_file, head, group, n_groups }
    }

    /// Bytes of a row in a file.
    pub const fn row_bytes(self, n_columns: usize) -> usize {
        n_columns / self.block() * self.layout().in_file
    }

    /// Rows of a tile.
    pub const fn tile_rows(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 2 * TILE,
            _ => TILE,
        }
    }

    /// Bytes of a tile.
    pub(crate) fn tile_bytes(self, n_columns: usize) -> usize {
        n_columns / self.block() * self.layout().tile_bytes()
    }

    /// Bytes of a matrix in memory; `None` on overflow.
    pub fn matrix_bytes(self, (n_rows, n_columns): (usize, usize)) -> Option<usize> {
        n_rows.div_ceil(self.tile_rows()).checked_mul(self.tile_bytes(n_columns))
    }

    /// Bytes of a matrix in memory; `None` if the format has no matrix of this shape, or on overflow.
    pub fn checked_matrix_bytes(self, (n_rows, n_columns): (usize, usize)) -> Option<usize> {
        let is_possible = n_rows != 0 && n_columns != 0 && n_columns.is_multiple_of(self.block());
        // A tile has less than 256 bytes for each of its columns.
        n_columns.checked_mul(256).filter(|_| is_possible)?;
        self.matrix_bytes((n_rows, n_columns))
    }
}
