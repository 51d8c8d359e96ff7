//! AVX-512 with VNNI, which Intel's processors since Cascade Lake and AMD's since Zen 4 have.

use std::arch::x86_64::*;

use super::avx2::largest_of_halves;
use super::instructions::{LANES, Simd, Work};

/// Exists only if [`detect`](Self::detect) has found the features.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512 {
    /// AMD's Zen 4 needs other prefetches than the other processors that were measured: Zen 5, and Intel's.
    pub(crate) is_zen_4: bool,
}

impl Avx512 {
    /// Prefetch distance for a single row on Zen 4. A larger one would fill the few miss buffers of the first-level cache,
    /// and the processor's own prefetcher is faster with a single stream.
    pub(crate) const NEAR: usize = 320;

    pub(crate) fn detect() -> Option<Self> {
        let has_all = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vnni")
            && is_x86_feature_detected!("f16c")
            && is_x86_feature_detected!("fma");
        has_all.then(|| Self { is_zen_4: vendor() == *b"AuthenticAMD" && family() == 0x19 })
    }
}

/// The processor's vendor identification.
fn vendor() -> [u8; 12] {
    let answer = __cpuid(0);
    let [ebx, edx, ecx] = [answer.ebx, answer.edx, answer.ecx].map(u32::to_le_bytes);
    std::array::from_fn(|at| [ebx, edx, ecx][at / 4][at % 4])
}

/// The processor's family number. AMD's 0x19 is Zen 3 and Zen 4, of which only Zen 4 has AVX-512.
fn family() -> u32 {
    let answer = __cpuid(1).eax;
    (answer >> 8 & 0xF) + (answer >> 20 & 0xFF)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,f16c,fma")]
#[inline(never)]
fn run_with<W: Work>(simd: Avx512, work: W) -> W::Output {
    work.run(simd)
}

impl Simd for Avx512 {
    type Floats = __m512;
    const HAS_MANY_REGISTERS: bool = true;

    #[inline(always)]
    fn run<W: Work>(self, work: W) -> W::Output {
        // SAFETY: `self` proves the features.
        unsafe { run_with(self, work) }
    }

    #[inline(always)]
    fn prefetch_distance<const R: usize>(self) -> usize {
        if self.is_zen_4 && R == 1 { Self::NEAR } else { 2048 }
    }

    #[inline(always)]
    fn prefetch<T>(self, at: *const T) {
        // SAFETY: every x86-64 processor can prefetch; an invalid address is ignored.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
    }

    /// Prefetches into the second-level cache on Zen 4, whose first-level cache has few miss buffers.
    #[inline(always)]
    fn prefetch_far<T>(self, at: *const T) {
        if self.is_zen_4 {
            // SAFETY: as above.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(at.cast()) };
        } else {
            self.prefetch(at);
        }
    }

    #[inline(always)]
    fn splat(self, x: f32) -> __m512 {
        // SAFETY: `self` proves AVX-512 F.
        unsafe { _mm512_set1_ps(x) }
    }

    #[inline(always)]
    fn load(self, from: &[f32; LANES]) -> __m512 {
        // SAFETY: `self` proves AVX-512 F; sixteen values are read.
        unsafe { _mm512_loadu_ps(from.as_ptr()) }
    }

    #[inline(always)]
    fn store(self, x: __m512, to: &mut [f32; LANES]) {
        // SAFETY: `self` proves AVX-512 F; sixteen values are written.
        unsafe { _mm512_storeu_ps(to.as_mut_ptr(), x) }
    }

    #[inline(always)]
    fn load_f16(self, from: &[u16; LANES]) -> __m512 {
        // SAFETY: `self` proves AVX-512 F; sixteen values are read.
        unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(from.as_ptr().cast())) }
    }

    #[inline(always)]
    fn load_bf16(self, from: &[u16; LANES]) -> __m512 {
        // SAFETY: `self` proves AVX-512 F; sixteen values are read.
        unsafe {
            let wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.as_ptr().cast()));
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(wide))
        }
    }

    #[inline(always)]
    fn load_i8(self, from: &[i8; LANES]) -> __m512 {
        // SAFETY: `self` proves AVX-512 F; sixteen values are read.
        unsafe { _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(from.as_ptr().cast()))) }
    }

    #[inline(always)]
    fn add(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512 F.
        unsafe { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512 F.
        unsafe { _mm512_sub_ps(a, b) }
    }

    #[inline(always)]
    fn mul(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512 F.
        unsafe { _mm512_mul_ps(a, b) }
    }

    #[inline(always)]
    fn div(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512 F.
        unsafe { _mm512_div_ps(a, b) }
    }

    #[inline(always)]
    fn mul_add(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512 F.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn max(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512 F.
        unsafe { _mm512_max_ps(a, b) }
    }

    #[inline(always)]
    fn min(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512 F.
        unsafe { _mm512_min_ps(a, b) }
    }

    /// By halves as everywhere, in registers.
    #[inline(always)]
    fn sum(self, x: __m512) -> f32 {
        // SAFETY: `self` proves AVX-512 F and DQ.
        unsafe {
            let eight = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps::<1>(x));
            let four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
        }
    }

    #[inline(always)]
    fn largest(self, x: __m512) -> f32 {
        // SAFETY: `self` proves AVX-512 F and DQ, with which processors have AVX.
        unsafe { largest_of_halves(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps::<1>(x)) }
    }

    #[inline(always)]
    fn round(self, x: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512 F.
        unsafe { _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(x) }
    }

    #[inline(always)]
    fn scale_by_power(self, x: __m512, n: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512 F.
        unsafe { _mm512_scalef_ps(x, n) }
    }

    #[inline(always)]
    fn zero_below(self, x: __m512, key: __m512, bound: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512 F.
        unsafe { _mm512_maskz_mov_ps(_mm512_cmp_ps_mask::<_CMP_NLT_UQ>(key, bound), x) }
    }
}
