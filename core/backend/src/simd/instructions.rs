//! What the kernels over floats need of an instruction set.

/// Lanes of a vector.
pub(crate) const LANES: usize = 16;

/// An instruction set of this processor.
pub(crate) trait Simd: Copy + Send + Sync + 'static {
    /// Sixteen f32.
    type Floats: Copy;

    /// Runs work in a function of its own that is compiled for this instruction set. All of it must be inlined: compilers build
    /// a function that they keep separate, most often a closure of `for_each`, without the set, and each vector operation in
    /// it becomes a call. So write loops around vectors. Work may run further work: a function with many inner loops keeps
    /// fewer of their values in registers than a function for each.
    fn run<W: Work>(self, work: W) -> W::Output;

    /// Whether registers hold two dozen sums and their operands; otherwise they hold six.
    const HAS_MANY_REGISTERS: bool;

    fn splat(self, x: f32) -> Self::Floats;
    fn load(self, from: &[f32; LANES]) -> Self::Floats;
    fn store(self, x: Self::Floats, to: &mut [f32; LANES]);
    /// Converts f16 bits to f32.
    fn load_f16(self, from: &[u16; LANES]) -> Self::Floats;
    /// Converts bf16 bits to f32.
    fn load_bf16(self, from: &[u16; LANES]) -> Self::Floats;
    /// Converts integers to f32.
    fn load_i8(self, from: &[i8; LANES]) -> Self::Floats;

    fn add(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;
    fn sub(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;
    fn mul(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;
    fn div(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;
    /// `a * b + c`, rounded once.
    fn mul_add(self, a: Self::Floats, b: Self::Floats, c: Self::Floats) -> Self::Floats;
    /// The larger value of each lane; `b` if either is NaN.
    fn max(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;
    /// The smaller value of each lane; `b` if either is NaN.
    fn min(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;
    /// Rounds to the nearest integer, ties to even.
    fn round(self, x: Self::Floats) -> Self::Floats;
    /// `x` times 2 to the power of `n`, an integer from -126 to 127; neither the power nor the result is below the normal range.
    fn scale_by_power(self, x: Self::Floats, n: Self::Floats) -> Self::Floats;
    /// `x`, but 0 in the lanes where `key` is below the bound, which none is that is NaN.
    fn zero_below(self, x: Self::Floats, key: Self::Floats, bound: Self::Floats) -> Self::Floats;

    /// Prefetch distance in bytes, for weights that are multiplied with `R` rows of activations.
    #[inline(always)]
    fn prefetch_distance<const R: usize>(self) -> usize {
        2048
    }

    /// Prefetches what will be read soon. It changes no result.
    #[inline(always)]
    fn prefetch<T>(self, at: *const T) {
        let _ = at;
    }

    /// Prefetches what will be read some thousand bytes later.
    #[inline(always)]
    fn prefetch_far<T>(self, at: *const T) {
        self.prefetch(at);
    }

    /// Loads up to sixteen values and fills the other lanes with `rest`.
    #[inline(always)]
    fn load_first(self, from: &[f32], rest: f32) -> Self::Floats {
        if let Some(all) = from.first_chunk() {
            return self.load(all);
        }
        let mut lanes = [rest; LANES];
        let n = from.len().min(LANES);
        lanes[..n].copy_from_slice(&from[..n]);
        self.load(&lanes)
    }

    /// Stores the first lanes, as many as there is room for.
    #[inline(always)]
    fn store_first(self, x: Self::Floats, to: &mut [f32]) {
        match to.first_chunk_mut() {
            Some(all) => self.store(x, all),
            None => to.copy_from_slice(&self.to_array(x)[..to.len()]),
        }
    }

    #[inline(always)]
    fn to_array(self, x: Self::Floats) -> [f32; LANES] {
        let mut lanes = [0.0; LANES];
        self.store(x, &mut lanes);
        lanes
    }

    /// The sum of all lanes, by halves: lane 0 with 8, then with 4, and so on.
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

    /// The largest value of all lanes.
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
        let lowest = self.splat(-87.0);
        // In this order, a value that is not a number remains so.
        let bounded = self.min(self.splat(88.0), self.max(lowest, x));
        let n = self.round(self.mul(bounded, self.splat(std::f32::consts::LOG2_E)));
        let rest = self.mul_add(n, self.splat(-LN_2_HIGH), bounded);
        let rest = self.mul_add(n, self.splat(-LN_2_LOW), rest);
        let mut series = self.splat(1.0 / 5040.0);
        for factor in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
            series = self.mul_add(series, rest, self.splat(factor));
        }
        // Scores hidden as minus infinity get exactly 0, and no result is below the normal range, where GPUs have zeros.
        self.zero_below(self.scale_by_power(series, n), x, lowest)
    }
}

/// Work that can be compiled for any instruction set.
pub(crate) trait Work {
    type Output;

    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Tier;
    use crate::simd::Portable;

    #[test]
    fn the_exponential_ends_within_the_normal_range() {
        let exp = |x: f32| Portable.to_array(Portable.exp([x; LANES]))[0];
        let last = exp(-87.0);
        assert!(f32::MIN_POSITIVE <= last && (f64::from(last) / (-87f64).exp() - 1.0).abs() < 2e-7, "{last:e}");
        for below in [(-87f32).next_down(), -87.5, -88.0, -1e30, f32::NEG_INFINITY] {
            assert_eq!(exp(below).to_bits(), 0, "{below}");
        }
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(f32::NAN).is_nan());
    }

    /// The bits of the exponential, NaN as one value.
    struct Exponentials<'a>(&'a [[f32; LANES]]);

    impl Work for Exponentials<'_> {
        type Output = Vec<u32>;

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> Vec<u32> {
            let mut bits = Vec::new();
            for x in self.0 {
                for y in simd.to_array(simd.exp(simd.load(x))) {
                    bits.push(if y.is_nan() { f32::NAN.to_bits() } else { y.to_bits() });
                }
            }
            bits
        }
    }

    #[test]
    fn the_exponential_is_the_same_on_all_instruction_sets() {
        let mut x = vec![[0.0; LANES]; 4096];
        // All magnitudes and signs, infinities and values that are not numbers; then the range that counts, and its ends.
        for (at, x) in x.as_flattened_mut().iter_mut().enumerate() {
            *x = f32::from_bits((at as u32) << 16);
        }
        x.extend(
            (0..4096).map(|at| std::array::from_fn(|lane| (at * LANES + lane) as f32 * (180.0 / 65_536.0) - 90.0)),
        );
        x.push(
            [(-87f32).next_down(), -87.0, (-87f32).next_up(), 87.9, 88.0, 88f32.next_up(), -0.0, 0.0]
                .repeat(2)
                .try_into()
                .unwrap(),
        );
        let portable = Portable.run(Exponentials(&x));
        for tier in Tier::all() {
            let found = tier.run(Exponentials(&x));
            let first = found.iter().zip(&portable).position(|(found, expected)| found != expected);
            assert_eq!(first.map(|at| x[at / LANES][at % LANES]), None, "{tier:?}");
        }
    }

    /// The bits of the largest lane of each vector.
    struct Largest<'a>(&'a [[f32; LANES]]);

    impl Work for Largest<'_> {
        type Output = Vec<u32>;

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> Vec<u32> {
            self.0.iter().map(|x| simd.largest(simd.load(x)).to_bits()).collect()
        }
    }

    #[test]
    fn the_largest_lane_is_the_same_on_all_instruction_sets() {
        let special = [f32::NAN, f32::NEG_INFINITY, f32::INFINITY, -0.0, 0.0, 1.5];
        let mut x = vec![std::array::from_fn(|lane| lane as f32 - 20.0), [f32::NEG_INFINITY; LANES], [-0.0; LANES]];
        for lane in 0..LANES {
            for (at, value) in special.into_iter().enumerate() {
                let mut one = [special[(at + lane) % special.len()]; LANES];
                one[lane] = value;
                x.push(one);
            }
        }
        let portable = Portable.run(Largest(&x));
        assert_eq!(f32::from_bits(portable[0]), -5.0);
        for tier in Tier::all() {
            assert_eq!(tier.run(Largest(&x)), portable, "{tier:?}");
        }
    }
}
