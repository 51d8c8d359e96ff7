//! AVX2 with FMA and F16C, which most x86-64 processors since about 2015 have. Sixteen lanes are two registers.

use std::arch::x86_64::*;

use super::instructions::{LANES, Simd, Work};

/// Exists only if [`detect`](Self::detect) has found the features.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    pub(crate) fn detect() -> Option<Self> {
        let has_all =
            is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c");
        has_all.then_some(Self(()))
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline(never)]
fn run_with<W: Work>(simd: Avx2, work: W) -> W::Output {
    work.run(simd)
}

#[derive(Clone, Copy)]
pub(crate) struct Pair(__m256, __m256);

impl Simd for Avx2 {
    type Floats = Pair;
    const HAS_MANY_REGISTERS: bool = false;

    #[inline(always)]
    fn run<W: Work>(self, work: W) -> W::Output {
        // SAFETY: `self` proves the features.
        unsafe { run_with(self, work) }
    }

    #[inline(always)]
    fn prefetch<T>(self, at: *const T) {
        // SAFETY: every x86-64 processor can prefetch; an invalid address is ignored.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
    }

    #[inline(always)]
    fn splat(self, x: f32) -> Pair {
        // SAFETY: `self` proves AVX2, FMA and F16C.
        unsafe { Pair(_mm256_set1_ps(x), _mm256_set1_ps(x)) }
    }

    #[inline(always)]
    fn load(self, from: &[f32; LANES]) -> Pair {
        // SAFETY: as above; sixteen values are read.
        unsafe { Pair(_mm256_loadu_ps(from.as_ptr()), _mm256_loadu_ps(from.as_ptr().add(8))) }
    }

    #[inline(always)]
    fn store(self, x: Pair, to: &mut [f32; LANES]) {
        // SAFETY: as above; sixteen values are written.
        unsafe {
            _mm256_storeu_ps(to.as_mut_ptr(), x.0);
            _mm256_storeu_ps(to.as_mut_ptr().add(8), x.1);
        }
    }

    #[inline(always)]
    fn load_f16(self, from: &[u16; LANES]) -> Pair {
        // SAFETY: as above; sixteen values are read.
        unsafe {
            let half = |at: usize| _mm256_cvtph_ps(_mm_loadu_si128(from.as_ptr().add(at).cast()));
            Pair(half(0), half(8))
        }
    }

    #[inline(always)]
    fn load_bf16(self, from: &[u16; LANES]) -> Pair {
        // SAFETY: as above; sixteen values are read.
        unsafe {
            let half = |at: usize| {
                let wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(from.as_ptr().add(at).cast()));
                _mm256_castsi256_ps(_mm256_slli_epi32::<16>(wide))
            };
            Pair(half(0), half(8))
        }
    }

    #[inline(always)]
    fn load_i8(self, from: &[i8; LANES]) -> Pair {
        // SAFETY: as above; sixteen values are read.
        unsafe {
            let half =
                |at: usize| _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(from.as_ptr().add(at).cast())));
            Pair(half(0), half(8))
        }
    }

    #[inline(always)]
    fn add(self, a: Pair, b: Pair) -> Pair {
        // SAFETY: as above.
        unsafe { Pair(_mm256_add_ps(a.0, b.0), _mm256_add_ps(a.1, b.1)) }
    }

    #[inline(always)]
    fn sub(self, a: Pair, b: Pair) -> Pair {
        // SAFETY: as above.
        unsafe { Pair(_mm256_sub_ps(a.0, b.0), _mm256_sub_ps(a.1, b.1)) }
    }

    #[inline(always)]
    fn mul(self, a: Pair, b: Pair) -> Pair {
        // SAFETY: as above.
        unsafe { Pair(_mm256_mul_ps(a.0, b.0), _mm256_mul_ps(a.1, b.1)) }
    }

    #[inline(always)]
    fn div(self, a: Pair, b: Pair) -> Pair {
        // SAFETY: as above.
        unsafe { Pair(_mm256_div_ps(a.0, b.0), _mm256_div_ps(a.1, b.1)) }
    }

    #[inline(always)]
    fn max(self, a: Pair, b: Pair) -> Pair {
        // SAFETY: as above.
        unsafe { Pair(_mm256_max_ps(a.0, b.0), _mm256_max_ps(a.1, b.1)) }
    }

    #[inline(always)]
    fn min(self, a: Pair, b: Pair) -> Pair {
        // SAFETY: as above.
        unsafe { Pair(_mm256_min_ps(a.0, b.0), _mm256_min_ps(a.1, b.1)) }
    }

    #[inline(always)]
    fn mul_add(self, a: Pair, b: Pair, c: Pair) -> Pair {
        // SAFETY: as above.
        unsafe { Pair(_mm256_fmadd_ps(a.0, b.0, c.0), _mm256_fmadd_ps(a.1, b.1, c.1)) }
    }

    #[inline(always)]
    fn largest(self, x: Pair) -> f32 {
        // SAFETY: as above.
        unsafe { largest_of_halves(x.0, x.1) }
    }

    #[inline(always)]
    fn round(self, x: Pair) -> Pair {
        const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
        // SAFETY: as above.
        unsafe { Pair(_mm256_round_ps::<NEAREST>(x.0), _mm256_round_ps::<NEAREST>(x.1)) }
    }

    #[inline(always)]
    fn scale_by_power(self, x: Pair, n: Pair) -> Pair {
        // SAFETY: as above.
        unsafe {
            let power = |n: __m256| {
                let exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
                _mm256_castsi256_ps(_mm256_slli_epi32::<23>(exponent))
            };
            Pair(_mm256_mul_ps(x.0, power(n.0)), _mm256_mul_ps(x.1, power(n.1)))
        }
    }

    #[inline(always)]
    fn zero_below(self, x: Pair, key: Pair, bound: Pair) -> Pair {
        // SAFETY: as above.
        unsafe {
            Pair(
                _mm256_and_ps(_mm256_cmp_ps::<_CMP_NLT_UQ>(key.0, bound.0), x.0),
                _mm256_and_ps(_mm256_cmp_ps::<_CMP_NLT_UQ>(key.1, bound.1), x.1),
            )
        }
    }
}

/// The largest of sixteen values, by halves in registers; compilers compare the values of an array one by one.
#[inline]
#[target_feature(enable = "avx")]
pub(super) fn largest_of_halves(low: __m256, high: __m256) -> f32 {
    let eight = _mm256_max_ps(low, high);
    let four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
    let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)))
}
