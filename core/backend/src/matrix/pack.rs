//! Packs rows, as files have them, into tiles.

use super::layout::{Format, GROUP, GROUPS, HALVES, NIBBLES, TILE, VECTOR};

/// A group of one row: its 32 values, one byte each, four in a word.
type GroupWords = [u32; GROUP / 4];

/// Packs the rows of a tile, which are concatenated in `rows`, into a zeroed tile. The last tile may have fewer rows.
pub(super) fn tile(format: Format, rows: &[u8], row_bytes: usize, tile: &mut [u8]) {
    let layout = format.layout();
    let mut packer = Packer { rows, row_bytes, tile };
    match format {
        // Packs runs of columns, which are contiguous in the file, or single columns if they do not fill runs.
        Format::F32 if row_bytes.is_multiple_of(64) => {
            packer.each_block::<TILE, 64, { 64 * TILE }>(put_each::<TILE, 4, _, _>)
        }
        Format::F32 => packer.each_block::<TILE, 4, { 4 * TILE }>(put_each::<TILE, 4, _, _>),
        Format::F16 | Format::Bf16 if row_bytes.is_multiple_of(64) => {
            packer.each_block::<{ 2 * TILE }, 64, { 64 * 2 * TILE }>(put_each::<{ 2 * TILE }, 2, _, _>)
        }
        Format::F16 | Format::Bf16 => {
            packer.each_block::<{ 2 * TILE }, 2, { 2 * 2 * TILE }>(put_each::<{ 2 * TILE }, 2, _, _>)
        }
        Format::Q8_0 => {
            packer.each_block::<TILE, 34, { Format::Q8_0.layout().tile_bytes() }>(|[d0, d1, values @ ..], lane, out| {
                put(out, 0, lane, [*d0, *d1]);
                put_bytes(&mut out[HALVES..], lane, words(values));
            })
        }
        Format::Q4_0 => packer.each_block::<TILE, 18, { Format::Q4_0.layout().tile_bytes() }>(
            |[d0, d1, nibbles @ ..], lane, out| {
                put(out, 0, lane, [*d0, *d1]);
                put_nibbles(&mut out[HALVES..], lane, split_nibbles(nibbles));
            },
        ),
        Format::Q5_1 => packer.each_block::<TILE, 24, { Format::Q5_1.layout().tile_bytes() }>(
            |[d0, d1, m0, m1, f0, f1, f2, f3, nibbles @ ..], lane, out| {
                put(out, 0, lane, [*d0, *d1]);
                put(out, 1, lane, [*m0, *m1]);
                let out = &mut out[2 * HALVES..];
                put_nibbles(out, lane, split_nibbles(nibbles));
                put(&mut out[NIBBLES..], 0, lane, by_columns(u32::from_le_bytes([*f0, *f1, *f2, *f3])).to_le_bytes());
            },
        ),
        Format::Q4K => packer.each_block::<TILE, 144, { Format::Q4K.layout().tile_bytes() }>(|block, lane, out| {
            put_scales(out, lane, block);
            for group in 0..GROUPS {
                put_nibbles(&mut out[layout.head + group * layout.group..], lane, k_nibbles(&block[16..], group));
            }
        }),
        Format::Q5K => packer.each_block::<TILE, 176, { Format::Q5K.layout().tile_bytes() }>(|block, lane, out| {
            put_scales(out, lane, block);
            let fifth = words(&block[16..48]);
            for group in 0..GROUPS {
                let out = &mut out[layout.head + group * layout.group..];
                put_nibbles(out, lane, k_nibbles(&block[48..], group));
                let bits = (0..8).fold(0, |bits, at| bits | ((fifth[at] >> group & 0x0101_0101) << at));
                put(&mut out[NIBBLES..], 0, lane, bits.to_le_bytes());
            }
        }),
        Format::Q6K => packer.each_block::<TILE, 210, { Format::Q6K.layout().tile_bytes() }>(|block, lane, out| {
            put(out, 0, lane, [block[208], block[209]]);
            for (at, scale) in block[192..208].iter().enumerate() {
                put(&mut out[HALVES..], at, lane, [*scale]);
            }
            for group in 0..GROUPS {
                let out = &mut out[layout.head + group * layout.group..];
                let (half, quarter) = (group / 4, group % 4);
                // Two runs of 32 bytes hold the nibbles of four groups: the first two in the low nibbles, then the others.
                let run = words(&block[64 * half + 32 * (quarter % 2)..][..32]);
                let upper = words(&block[128 + 32 * half..][..32]);
                put_nibbles(out, lane, run.map(|word| word >> (4 * (quarter / 2)) & 0x0F0F_0F0F));
                let upper = upper.map(|word| word >> (2 * quarter) & 0x0303_0303);
                for vector in 0..2 {
                    let bits = (0..4).fold(0, |bits, at| bits | (upper[4 * vector + at] << (2 * at)));
                    put(&mut out[NIBBLES + vector * VECTOR..], 0, lane, bits.to_le_bytes());
                }
            }
        }),
    }
}

/// Packs rows into a tile.
struct Packer<'a> {
    rows: &'a [u8],
    row_bytes: usize,
    tile: &'a mut [u8],
}

impl Packer<'_> {
    /// Packs each block of `N` bytes into the `M` bytes that it shares with the blocks of the other `LANES`. It fills all lanes
    /// of a part of the tile before the next part, so that memory is written once.
    fn each_block<const LANES: usize, const N: usize, const M: usize>(
        &mut self,
        pack: impl Fn(&[u8; N], usize, &mut [u8; M]),
    ) {
        for (at, out) in self.tile.as_chunks_mut().0.iter_mut().enumerate() {
            for (lane, row) in self.rows.chunks_exact(self.row_bytes).enumerate() {
                debug_assert!(lane < LANES);
                if let Some(block) = row.get(at * N..).and_then(<[u8]>::first_chunk) {
                    pack(block, lane % LANES, out); // the remainder shows the compiler that the lane is in range
                }
            }
        }
    }
}

/// Writes each value of `W` bytes to its lane of the next `LANES`.
fn put_each<const LANES: usize, const W: usize, const N: usize, const M: usize>(
    values: &[u8; N],
    lane: usize,
    out: &mut [u8; M],
) {
    for (at, value) in values.as_chunks::<W>().0.iter().enumerate() {
        put(out, at * LANES / TILE, lane, *value);
    }
}

/// Writes a value of `N` bytes to its lane of a vector; lanes after the sixteenth are in the next vector.
fn put<const N: usize>(out: &mut [u8], vector: usize, lane: usize, value: [u8; N]) {
    out[(vector * TILE + lane) * N..][..N].copy_from_slice(&value);
}

fn words(bytes: &[u8]) -> GroupWords {
    let (words, _) = bytes.as_chunks::<4>();
    std::array::from_fn(|at| u32::from_le_bytes(words[at]))
}

fn put_bytes(out: &mut [u8], lane: usize, words: GroupWords) {
    for (vector, word) in words.into_iter().enumerate() {
        put(out, vector, lane, word.to_le_bytes());
    }
}

fn put_nibbles(out: &mut [u8], lane: usize, words: GroupWords) {
    for vector in 0..4 {
        put(out, vector, lane, (words[vector] | words[vector + 4] << 4).to_le_bytes());
    }
}

/// The nibbles of a group of Q4_0, one byte each: the low ones of 16 bytes, then the high ones.
fn split_nibbles(bytes: &[u8; 16]) -> GroupWords {
    let fours = bytes.as_chunks::<4>().0;
    std::array::from_fn(|at| u32::from_le_bytes(fours[at % 4]) >> (at / 4 * 4) & 0x0F0F_0F0F)
}

/// Reorders bits, one for each column of a group, like its values: bit g of byte c is for column 4g + c.
fn by_columns(bits: u32) -> u32 {
    /// Multiplying by this spreads four adjacent bits to distances of eight.
    const SPREAD: u32 = 1 | 1 << 7 | 1 << 14 | 1 << 21;
    (0..8).fold(0, |all, run| all | (((bits >> (4 * run) & 15) * SPREAD) & 0x0101_0101) << run)
}

/// The nibbles of a group of Q4_K or Q5_K; each run of 32 bytes holds two groups.
fn k_nibbles(nibbles: &[u8], group: usize) -> GroupWords {
    words(&nibbles[group / 2 * 32..][..32]).map(|word| word >> (4 * (group % 2)) & 0x0F0F_0F0F)
}

/// Writes the head of a block of Q4_K or Q5_K: two f16, then scales and minima of six bits in twelve bytes.
fn put_scales(out: &mut [u8], lane: usize, block: &[u8]) {
    put(out, 0, lane, [block[0], block[1]]);
    put(out, 1, lane, [block[2], block[3]]);
    let packed = &block[4..16];
    for group in 0..GROUPS {
        let (scale, minimum) = match group {
            0..4 => (packed[group] & 63, packed[group + 4] & 63),
            _ => {
                (packed[group + 4] & 15 | packed[group - 4] >> 6 << 4, packed[group + 4] >> 4 | packed[group] >> 6 << 4)
            }
        };
        put(&mut out[2 * HALVES..], group, lane, [scale]);
        put(&mut out[2 * HALVES..], GROUPS + group, lane, [minimum]);
    }
}
