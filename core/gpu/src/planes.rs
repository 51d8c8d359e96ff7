//! Weights as kernels read them: the bits of a file, in planes of values and planes of scales.

use causerie_backend::Format;

/// Values of a group, which has a scale.
pub(crate) const GROUP: usize = 32;
/// Groups of a super-block.
const GROUPS: usize = 8;
/// Rows of a tile of float weights.
pub(crate) const TILE_ROWS: usize = 32;

/// Bytes that some rows of a matrix take: values, or floats; scales; and upper bits.
#[derive(Default)]
pub(crate) struct Planes {
    pub(crate) quants: Vec<u8>,
    pub(crate) scales: Vec<u8>,
    pub(crate) upper: Vec<u8>,
}

/// Bytes of a block of 32 in each plane.
pub(crate) struct PlaneSizes {
    pub(crate) quants: usize,
    /// Halves of a byte: super-blocks have 20 bytes for eight blocks.
    pub(crate) half_scales: usize,
    pub(crate) upper: usize,
}

impl PlaneSizes {
    pub(crate) fn new(format: Format) -> Self {
        let (quants, half_scales, upper) = match format {
            Format::Q8_0 => (32, 4, 0),
            Format::Q4_0 => (16, 4, 0),
            Format::Q5_1 => (16, 8, 4),
            Format::Q4K => (16, 5, 0),
            Format::Q5K => (16, 5, 4),
            Format::Q6K => (16, 5, 8),
            Format::F32 | Format::F16 | Format::Bf16 => (0, 0, 0),
        };
        Self { quants, half_scales, upper }
    }
}

/// Bytes of a tile of 32 rows of float weights.
pub(crate) fn tile_bytes(format: Format, n_columns: usize) -> usize {
    match format {
        Format::F32 => 4 * TILE_ROWS * n_columns,
        _ => 4 * TILE_ROWS * n_columns.div_ceil(2),
    }
}

/// Appends the blocks of rows of a quantised matrix, as files have them.
pub(crate) fn append_blocks(format: Format, blocks: &[u8], to: &mut Planes) {
    let block_bytes = format.row_bytes(format.block());
    for block in blocks.chunks_exact(block_bytes) {
        match format {
            Format::Q4_0 | Format::Q8_0 => {
                to.scales.extend_from_slice(&block[..2]);
                to.quants.extend_from_slice(&block[2..]);
            }
            Format::Q5_1 => {
                to.scales.extend_from_slice(&block[..4]);
                let bits = block.get(4..8).and_then(<[u8]>::first_chunk).map_or(0, |bits| u32::from_le_bytes(*bits));
                to.upper.extend_from_slice(&fifth_bits(|at| bits >> at & 1).to_le_bytes());
                to.quants.extend_from_slice(&block[8..]);
            }
            Format::Q4K => {
                append_scales(block, to);
                (0..GROUPS).for_each(|group| append_nibbles(to, |at| k_nibble(&block[16..], group, at)));
            }
            Format::Q5K => {
                append_scales(block, to);
                for group in 0..GROUPS {
                    append_nibbles(to, |at| k_nibble(&block[48..], group, at));
                    let bit = |at: usize| u32::from(block[16 + at] >> group & 1);
                    to.upper.extend_from_slice(&fifth_bits(bit).to_le_bytes());
                }
            }
            Format::Q6K => {
                to.scales.extend_from_slice(&half::f16::from_le_bytes([block[208], block[209]]).to_f32().to_le_bytes());
                to.scales.extend_from_slice(&block[192..208]);
                for group in 0..GROUPS {
                    let (half, quarter) = (group / 4, group % 4);
                    let low = &block[64 * half + 32 * (quarter % 2)..];
                    append_nibbles(to, |at| low[at] >> (4 * (quarter / 2)) & 15);
                    let bits = |at: usize| u32::from(block[128 + 32 * half + at] >> (2 * quarter) & 3);
                    (0..2).for_each(|part| to.upper.extend_from_slice(&upper_pairs(part, bits).to_le_bytes()));
                }
            }
            Format::F32 | Format::F16 | Format::Bf16 => {}
        }
    }
}

/// Appends rows of floats as tiles of 32 rows: the values of a column, or of a pair of columns, of all rows side by side.
pub(crate) fn append_tiles(format: Format, rows: &[u8], n_columns: usize, to: &mut Vec<u8>) {
    let row_bytes = format.row_bytes(n_columns);
    let n_words = tile_bytes(format, n_columns) / 4 / TILE_ROWS;
    for tile in rows.chunks(row_bytes * TILE_ROWS) {
        for word in 0..n_words {
            for row in 0..TILE_ROWS {
                let row = tile.get(row * row_bytes..(row + 1) * row_bytes).unwrap_or_default();
                let bytes = row.get(4 * word..).unwrap_or_default();
                // The last pair of an odd number of columns, and rows beyond the last, are filled with zeros.
                to.extend((0..4).map(|at| bytes.get(at).copied().unwrap_or_default()));
            }
        }
    }
}

/// Scale and minimum of a group of Q4_K or Q5_K, six bits each.
fn k_factors(packed: &[u8], group: usize) -> (u8, u8) {
    match group {
        0..4 => (packed[group] & 63, packed[group + 4] & 63),
        _ => {
            let (scale, minimum) = (packed[group - 4] >> 6, packed[group] >> 6);
            (packed[group + 4] & 15 | scale << 4, packed[group + 4] >> 4 | minimum << 4)
        }
    }
}

fn append_scales(block: &[u8], to: &mut Planes) {
    to.scales.extend_from_slice(&block[..4]);
    let factors = |group| k_factors(&block[4..16], group);
    to.scales.extend((0..GROUPS).map(|group| factors(group).0));
    to.scales.extend((0..GROUPS).map(|group| factors(group).1));
}

/// The lower bits of a value of Q4_K or Q5_K: two groups share 32 bytes.
fn k_nibble(bytes: &[u8], group: usize, at: usize) -> u8 {
    bytes[32 * (group / 2) + at] >> (4 * (group % 2)) & 15
}

/// Sixteen bytes: the first sixteen values in the lower halves, the others in the upper ones.
fn append_nibbles(to: &mut Planes, value: impl Fn(usize) -> u8) {
    to.quants.extend((0..GROUP / 2).map(|at| value(at) | value(at + GROUP / 2) << 4));
}

/// A word with a bit for each value: bit j of byte c is for value 4j + c.
fn fifth_bits(bit: impl Fn(usize) -> u32) -> u32 {
    (0..GROUP).fold(0, |bits, at| bits | bit(at) << (8 * (at % 4) + at / 4))
}

/// A word with two bits for each of sixteen values: bits 2j and 2j + 1 of byte c are for value 4j + c of the part.
fn upper_pairs(part: usize, bits: impl Fn(usize) -> u32) -> u32 {
    (0..GROUP / 2).fold(0, |word, at| word | bits(GROUP / 2 * part + at) << (8 * (at % 4) + 2 * (at / 4)))
}
