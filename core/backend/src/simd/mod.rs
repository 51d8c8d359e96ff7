//! Sixteen numbers at once, on every processor in the same order.
//!
//! Kernels over floats are written once, over [`Simd`], and compiled for each instruction set. All sets have sixteen
//! lanes, whatever their registers hold, and fused multiply-add with one rounding, so all give the same bits; `Portable`
//! is the plain twin that tests compare with. A set is a token that exists only where the processor was found to have it,
//! which is what makes the safe methods safe.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::Avx512;
#[cfg(target_arch = "aarch64")]
pub(crate) use neon::{Neon, wide};
pub(crate) use portable::{Portable, mul_add, round};

/// Lanes of a vector.
pub(crate) const LANES: usize = 16;

/// An instruction set of this processor.
pub(crate) trait Simd: Copy + Send + Sync + 'static {
    /// Sixteen f32.
    type Floats: Copy;

    /// Does work that is compiled for this set, where all of it is inlined. What compilers leave out of line, closures of
    /// `for_each` above all, is compiled for none, and each operation in it becomes a call: write loops around vectors.
    fn run<W: Work>(self, work: W) -> W::Output;

    /// Whether two dozen sums and what is added to them fit into registers; else it is six.
    const HAS_MANY_REGISTERS: bool;

    fn splat(self, x: f32) -> Self::Floats;
    fn load(self, from: &[f32; LANES]) -> Self::Floats;
    fn store(self, x: Self::Floats, to: &mut [f32; LANES]);
    /// f16 bits to f32.
    fn load_f16(self, from: &[u16; LANES]) -> Self::Floats;
    /// bf16 bits to f32.
    fn load_bf16(self, from: &[u16; LANES]) -> Self::Floats;
    /// Whole numbers to f32.
    fn load_i8(self, from: &[i8; LANES]) -> Self::Floats;

    fn add(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;
    fn sub(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;
    fn mul(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;
    fn div(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;
    /// `a * b + c`, rounded once.
    fn mul_add(self, a: Self::Floats, b: Self::Floats, c: Self::Floats) -> Self::Floats;
    /// The larger of each; `b` where either is NaN.
    fn max(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;
    /// The smaller of each; `b` where either is NaN.
    fn min(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;
    /// To the nearest whole number, ties to even.
    fn round(self, x: Self::Floats) -> Self::Floats;
    /// 2 to the power of whole numbers from -126 to 127.
    fn power_of_two(self, n: Self::Floats) -> Self::Floats;

    /// How many bytes before `R` rows of activations meet weights memory is asked for them.
    #[inline(always)]
    fn ahead<const R: usize>(self) -> usize {
        2048
    }

    /// Asks memory for what will be read soon, which changes no result.
    #[inline(always)]
    fn ask_for<T>(self, at: *const T) {
        let _ = at;
    }

    /// Asks memory for what will be read some thousand bytes later.
    #[inline(always)]
    fn ask_for_later<T>(self, at: *const T) {
        self.ask_for(at);
    }

    /// The first `n` values, with `rest` behind them.
    #[inline(always)]
    fn load_first(self, from: &[f32], rest: f32) -> Self::Floats {
        let mut lanes = [rest; LANES];
        let n = from.len().min(LANES);
        lanes[..n].copy_from_slice(&from[..n]);
        self.load(&lanes)
    }

    #[inline(always)]
    fn to_array(self, x: Self::Floats) -> [f32; LANES] {
        let mut lanes = [0.0; LANES];
        self.store(x, &mut lanes);
        lanes
    }

    /// The sum of all lanes, in halves: lane 0 with 8, then with 4, and so on.
    #[inline(always)]
    fn sum(self, x: Self::Floats) -> f32 {
        let mut lanes = self.to_array(x);
        for half in [8, 4, 2, 1] {
            for lane in 0..half {
                lanes[lane] += lanes[lane + half];
            }
        }
        lanes[0]
    }

    #[inline(always)]
    fn largest(self, x: Self::Floats) -> f32 {
        let mut lanes = self.to_array(x);
        for half in [8, 4, 2, 1] {
            for lane in 0..half {
                lanes[lane] = if lanes[lane + half] < lanes[lane] { lanes[lane] } else { lanes[lane + half] };
            }
        }
        lanes[0]
    }

    /// `e^x` to within two units in the last place; 0 below -87, the largest power above 88.
    ///
    /// Cody and Waite's reduction to at most ln 2 / 2, then the Taylor series up to the seventh power.
    #[inline(always)]
    fn exp(self, x: Self::Floats) -> Self::Floats {
        const LN_2_HIGH: f32 = 355.0 / 512.0;
        const LN_2_LOW: f32 = -2.121_944_4e-4;
        // Between -88 and -87 it fades out, so that what is hidden with minus infinity is exactly 0.
        let fade = self.max(self.splat(0.0), self.min(self.splat(1.0), self.add(x, self.splat(88.0))));
        let x = self.min(self.max(x, self.splat(-87.0)), self.splat(88.0));
        let n = self.round(self.mul(x, self.splat(std::f32::consts::LOG2_E)));
        let rest = self.mul_add(n, self.splat(-LN_2_HIGH), x);
        let rest = self.mul_add(n, self.splat(-LN_2_LOW), rest);
        let mut series = self.splat(1.0 / 5040.0);
        for factor in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
            series = self.mul_add(series, rest, self.splat(factor));
        }
        self.mul(self.mul(series, self.power_of_two(n)), fade)
    }
}

/// Work to be compiled for an instruction set.
pub(crate) trait Work {
    type Output;

    fn run<S: Simd>(self, simd: S) -> Self::Output;
}
