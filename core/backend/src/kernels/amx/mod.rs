//! AMX: integer products of sixteen rows of activations and sixteen rows of weights in one instruction.
//!
//! A step takes one group of 32 columns, as the order of operations requires. Its sums go through memory to the same float
//! operations as in all other kernels. It is in assembly because Rust 1.95 has no stable intrinsics for AMX.

#[cfg(test)]
mod emulated;

use std::arch::asm;
use std::arch::x86_64::*;
use std::cell::RefCell;
use std::ops::Range;

use crate::activations::{BAND, GROUP, Quantised};
use crate::kernels::avx512::layouts::{FormatLayout, Q4_0, Q4K, Q5_1, Q5K, Q6K, Q8_0};
use crate::kernels::outputs::Outputs;
use crate::matrix::{Format, Matrix, TILE};

/// Minimum number of rows for which AMX is faster; fewer would leave most of the tiles empty.
pub(crate) const MIN_ROWS: usize = 12;

/// Steps whose sums are computed at the same time.
const AT_ONCE: usize = 4;

/// Exists only if [`detect`](Self::detect) has found AMX and the system has granted it to the process, or in tests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Amx(());

impl Amx {
    pub(crate) fn detect() -> Option<Self> {
        /// `arch_prctl` request for permission to use a part of the processor's state, and that part: the tiles' data.
        const REQUEST: libc::c_long = 0x1023;
        const TILE_DATA: libc::c_long = 18;
        if __cpuid(0).eax < 7 {
            return None;
        }
        let features = __cpuid_count(7, 0).edx;
        let has_tiles_and_int8 = features >> 24 & 1 == 1 && features >> 25 & 1 == 1;
        // The system may refuse what the processor has.
        // SAFETY: the call only changes the permissions of this process.
        let is_granted = has_tiles_and_int8 && unsafe { libc::syscall(libc::SYS_arch_prctl, REQUEST, TILE_DATA) } == 0;
        is_granted.then_some(Self(()))
    }

    /// AMX without the processor's, which must have AVX-512.
    #[cfg(test)]
    pub(crate) fn emulated() -> Self {
        emulated::install();
        Self(())
    }
}

/// The operand of `ldtilecfg`: the palette, then the bytes of a row and the rows of each tile.
#[repr(C, align(64))]
struct TileShapes([u8; 64]);

/// Tiles 0 and 1 hold activations, 2 and 3 weights of as many columns, 4 to 7 sums.
const fn shapes(n_columns: u8) -> TileShapes {
    let mut shapes = [0; 64];
    shapes[0] = 1;
    let mut tile = 0;
    while tile < 8 {
        let (rows, row_bytes) = match tile {
            0 | 1 => (16, n_columns),
            2 | 3 => (n_columns / 4, 64),
            _ => (16, 64),
        };
        shapes[16 + 2 * tile] = row_bytes;
        shapes[48 + tile] = rows;
        tile += 1;
    }
    TileShapes(shapes)
}

static GROUPS: TileShapes = shapes(32);
static HALF_GROUPS: TileShapes = shapes(16);

/// The thread's configured tiles. Dropping releases them, so that the system does not save them on a thread switch.
struct ConfiguredTiles;

impl ConfiguredTiles {
    /// # Safety
    /// AMX must have been granted.
    unsafe fn configure(shapes: &'static TileShapes) -> Self {
        // SAFETY: the shapes are valid. Without `nomem`, they are in memory at this point.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &shapes.0, options(nostack, readonly)) };
        Self
    }
}

impl Drop for ConfiguredTiles {
    fn drop(&mut self) {
        // SAFETY: tiles were configured, so AMX was granted.
        unsafe { asm!("tilerelease", options(nostack, nomem)) };
    }
}

/// Sixteen rows of weights, unpacked for tiles and float operations.
#[derive(Default)]
struct Expanded {
    /// `(groups, 8, 16, 4)`: signed bytes.
    bytes: Vec<Line>,
    /// `(groups, 2, 16)`: the scales of both halves; the second are the negative minima in formats with minima.
    factors: Vec<[Line; 2]>,
    /// The sums of each current step, and of the step `AT_ONCE` later. They are interleaved so that no address that is read is
    /// 4,096 bytes from one that is written at the same time: processors first take such addresses for the same one.
    sums: [[BandSums; 2]; AT_ONCE],
}

/// A cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

#[repr(C, align(64))]
/// Sums of a band of activations with a tile.
struct BandSums([i32; BAND * TILE]);

impl Default for BandSums {
    fn default() -> Self {
        Self([0; BAND * TILE])
    }
}

thread_local! {
    static EXPANDED: RefCell<Expanded> = RefCell::default();
}

pub(super) fn product(_: Amx, matrix: &Matrix, tiles: Range<usize>, x: &Quantised, out: &Outputs<'_>) {
    assert!(x.height == BAND, "activations must be in bands of {BAND}");
    EXPANDED.with_borrow_mut(|expanded| {
        // SAFETY: `Amx` proves AMX, and all processors with AMX have AVX-512.
        unsafe {
            match matrix.format() {
                Format::Q4_0 => product_of::<Q4_0>(matrix, tiles, x, out, expanded),
                Format::Q8_0 => product_of::<Q8_0>(matrix, tiles, x, out, expanded),
                Format::Q4K => product_of::<Q4K>(matrix, tiles, x, out, expanded),
                Format::Q5_1 => product_of::<Q5_1>(matrix, tiles, x, out, expanded),
                Format::Q5K => product_of::<Q5K>(matrix, tiles, x, out, expanded),
                Format::Q6K => product_of::<Q6K>(matrix, tiles, x, out, expanded),
                Format::F32 | Format::F16 | Format::Bf16 => unreachable!("floats have kernels of their own"),
            }
        }
    });
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,f16c")]
unsafe fn product_of<L: FormatLayout>(
    matrix: &Matrix,
    tiles: Range<usize>,
    x: &Quantised,
    out: &Outputs<'_>,
    expanded: &mut Expanded,
) {
    // SAFETY: the caller guarantees AMX.
    let _tiles = unsafe { ConfiguredTiles::configure(if L::BY_HALVES { &HALF_GROUPS } else { &GROUPS }) };
    for tile in tiles {
        expanded.expand::<L>(matrix.tile(tile), x.n_groups);
        for band in 0..x.n_rows.div_ceil(BAND) {
            // SAFETY: tiles are configured; the expanded weights have as many groups as the activations.
            unsafe { band_of::<L>(expanded, x, band, tile, out) };
        }
    }
}

impl Expanded {
    /// Unpacks a tile.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,f16c")]
    fn expand<L: FormatLayout>(&mut self, tile: &[u8], n_groups: usize) {
        let layout = L::FORMAT.layout();
        let groups_of_block = L::FORMAT.block() / GROUP;
        assert!(tile.len() == n_groups / groups_of_block * layout.tile_bytes());
        self.bytes.resize(8 * n_groups, Line([0; 64]));
        self.factors.resize(n_groups, [Line([0; 64]); 2]);
        let offset = _mm512_set1_epi8(L::OFFSET as i8); // 128 wraps to itself
        for group in 0..n_groups {
            let block = tile[group / groups_of_block * layout.tile_bytes()..].as_ptr();
            // SAFETY: the block lies in the tile; lines are aligned.
            unsafe {
                for (at, bytes) in L::bytes(block, group % groups_of_block).into_iter().enumerate() {
                    let line = &raw mut self.bytes[8 * group + at];
                    _mm512_store_si512(line.cast(), _mm512_sub_epi8(bytes, offset));
                }
                let [first, second] = L::scales(block, group % groups_of_block);
                let second = if L::HAS_MINIMA { L::minima(block, group % groups_of_block) } else { second };
                let [to_first, to_second] = &mut self.factors[group];
                _mm512_store_ps((&raw mut *to_first).cast(), first);
                _mm512_store_ps((&raw mut *to_second).cast(), second);
            }
        }
    }
}

/// Multiplies a band of activations with expanded weights.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,f16c")]
unsafe fn band_of<L: FormatLayout>(
    expanded: &mut Expanded,
    x: &Quantised,
    band: usize,
    tile: usize,
    out: &Outputs<'_>,
) {
    let steps_of_group = if L::BY_HALVES { 2 } else { 1 };
    let at_once = AT_ONCE / steps_of_group;
    let first = x.at(band * BAND, 0);
    let n = x.n_groups * BAND;
    let (values, scales) = (&x.values[first..][..n], &x.scales[first..][..n]);
    let scaled_sums = &x.scaled_sums[first..][..n];
    let Expanded { bytes, factors, sums } = expanded;
    let (values, bytes) = (values.as_flattened(), bytes.as_slice());
    assert!(bytes.len() == 8 * x.n_groups && factors.len() == x.n_groups);
    // Computes the next sums while the float operations use the current ones.
    let multiply = |first: usize, sums: &mut [[BandSums; 2]; AT_ONCE]| {
        let which = first / at_once % 2;
        let step = |at: usize| {
            let (group, half) = (first + at / steps_of_group, at % steps_of_group);
            // SAFETY: activations and weights have the group, as the caller checks.
            unsafe {
                (
                    values.as_ptr().add(group * BAND * GROUP + half * (GROUP / 2)).cast::<u8>(),
                    bytes.as_ptr().add(8 * group + 4 * half).cast::<u8>(),
                )
            }
        };
        // SAFETY: the pointers are to sixteen rows of activations, weights for as many columns, and memory for all sums.
        unsafe {
            if first + at_once <= x.n_groups {
                multiply_all([step(0), step(1), step(2), step(3)], sums.as_mut_ptr().cast::<BandSums>().add(which));
            } else {
                let n_left = x.n_groups.saturating_sub(first) * steps_of_group;
                (0..n_left).for_each(|at| multiply_one(step(at), &mut sums[at][which]));
            }
        }
    };
    let mut y = [_mm512_setzero_ps(); BAND];
    multiply(0, sums);
    for first in (0..x.n_groups).step_by(at_once) {
        multiply(first + at_once, sums);
        let which = first / at_once % 2;
        let groups = first..x.n_groups.min(first + at_once);
        for (group, sums) in groups.zip(sums.chunks_exact(steps_of_group)) {
            let factors = &factors[group];
            // SAFETY: aligned lines of sixteen floats.
            let (first, second) = unsafe {
                (_mm512_load_ps((&raw const factors[0]).cast()), _mm512_load_ps((&raw const factors[1]).cast()))
            };
            let scales = &scales[BAND * group..][..BAND];
            let scaled_sums = &scaled_sums[BAND * group..][..BAND];
            for row in 0..BAND {
                let scale = _mm512_set1_ps(scales[row]);
                // SAFETY: aligned lines of sixteen sums.
                let sum = |of: &BandSums| unsafe {
                    _mm512_cvtepi32_ps(_mm512_load_si512(of.0[row * TILE..].as_ptr().cast()))
                };
                y[row] = _mm512_fmadd_ps(sum(&sums[0][which]), _mm512_mul_ps(first, scale), y[row]);
                if L::BY_HALVES {
                    y[row] = _mm512_fmadd_ps(sum(&sums[1][which]), _mm512_mul_ps(second, scale), y[row]);
                }
                if L::HAS_MINIMA {
                    y[row] = _mm512_fmadd_ps(second, _mm512_set1_ps(scaled_sums[row]), y[row]);
                }
            }
        }
    }
    for (row, y) in y.into_iter().enumerate().take(x.n_rows - band * BAND) {
        let mut values = [0.0; TILE];
        // SAFETY: sixteen floats are written.
        unsafe { _mm512_storeu_ps(values.as_mut_ptr(), y) };
        out.put(band * BAND + row, tile, &values);
    }
}

/// Exact products of sixteen rows of activations, `GROUP` bytes apart, and sixteen rows of weights; writes to every other
/// element of `sums`. It computes four steps at once: a product takes some fifty cycles, and the next can start after sixteen.
#[inline(always)]
unsafe fn multiply_all(steps: [(*const u8, *const u8); AT_ONCE], sums: *mut BandSums) {
    let [(x0, w0), (x1, w1), (x2, w2), (x3, w3)] = steps;
    // SAFETY: the caller guarantees the pointers and configured tiles.
    unsafe {
        asm!(
            "tilezero tmm4",
            "tilezero tmm5",
            "tilezero tmm6",
            "tilezero tmm7",
            "tileloadd tmm0, [{x0} + {x_row}]",
            "tileloadd tmm2, [{w0} + {row}]",
            "tdpbssd tmm4, tmm0, tmm2",
            "tileloadd tmm1, [{x1} + {x_row}]",
            "tileloadd tmm3, [{w1} + {row}]",
            "tdpbssd tmm5, tmm1, tmm3",
            "tileloadd tmm0, [{x2} + {x_row}]",
            "tileloadd tmm2, [{w2} + {row}]",
            "tdpbssd tmm6, tmm0, tmm2",
            "tileloadd tmm1, [{x3} + {x_row}]",
            "tileloadd tmm3, [{w3} + {row}]",
            "tdpbssd tmm7, tmm1, tmm3",
            "tilestored [{sums} + {row}], tmm4",
            "tilestored [{sums} + {row} + 2048], tmm5",
            "tilestored [{sums} + {row} + 4096], tmm6",
            "tilestored [{sums} + {row} + 6144], tmm7",
            x0 = in(reg) x0, x1 = in(reg) x1, x2 = in(reg) x2, x3 = in(reg) x3,
            w0 = in(reg) w0, w1 = in(reg) w1, w2 = in(reg) w2, w3 = in(reg) w3,
            sums = in(reg) sums, x_row = in(reg) GROUP, row = in(reg) 64usize,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        );
    }
}

/// One step of [`multiply_all`].
#[inline(always)]
unsafe fn multiply_one((x, w): (*const u8, *const u8), sums: &mut BandSums) {
    // SAFETY: the caller guarantees the pointers and configured tiles.
    unsafe {
        asm!(
            "tilezero tmm4",
            "tileloadd tmm0, [{x} + {x_row}]",
            "tileloadd tmm2, [{w} + {row}]",
            "tdpbssd tmm4, tmm0, tmm2",
            "tilestored [{sums} + {row}], tmm4",
            x = in(reg) x, w = in(reg) w, sums = in(reg) sums.0.as_mut_ptr(), x_row = in(reg) GROUP, row = in(reg) 64usize,
            out("tmm0") _, out("tmm2") _, out("tmm4") _,
            options(nostack),
        );
    }
}
