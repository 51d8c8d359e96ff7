//! NEON, which every aarch64 processor has.

use std::arch::aarch64::*;
use std::arch::asm;

use super::instructions::{LANES, Simd, Work};

/// Needs no detection, because NEON is part of aarch64.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Neon;

/// Sixteen floats in four registers.
pub(crate) type Four = [float32x4_t; 4];

/// Converts four f16 to f32. The intrinsic needs a type that is not stable yet.
#[inline(always)]
pub(crate) fn widened_halves(halves: uint16x4_t) -> float32x4_t {
    let wide;
    // SAFETY: converts registers; every aarch64 processor has the instruction.
    unsafe {
        asm!("fcvtl {wide:v}.4s, {halves:v}.4h", wide = lateout(vreg) wide, halves = in(vreg) halves,
            options(pure, nomem, nostack, preserves_flags));
    }
    wide
}

/// Applies an expression to each of the four registers. It is a macro because closures are not always inlined.
macro_rules! each {
    (|$($x:ident),*| $value:expr) => {{
        #[allow(unused_unsafe)]
        // SAFETY: every aarch64 processor has NEON.
        unsafe {
            [
                { $(let $x = $x[0];)* $value },
                { $(let $x = $x[1];)* $value },
                { $(let $x = $x[2];)* $value },
                { $(let $x = $x[3];)* $value },
            ]
        }
    }};
}

impl Simd for Neon {
    type Floats = Four;
    const HAS_MANY_REGISTERS: bool = false;

    #[inline(never)]
    fn run<W: Work>(self, work: W) -> W::Output {
        work.run(self)
    }

    #[inline(always)]
    fn prefetch<T>(self, at: *const T) {
        // SAFETY: a prefetch ignores invalid addresses. The intrinsic is not stable yet.
        unsafe { asm!("prfm pldl1keep, [{at}]", at = in(reg) at, options(readonly, nostack, preserves_flags)) };
    }

    #[inline(always)]
    fn splat(self, x: f32) -> Four {
        // SAFETY: every aarch64 processor has NEON.
        unsafe { [vdupq_n_f32(x); 4] }
    }

    #[inline(always)]
    fn load(self, from: &[f32; LANES]) -> Four {
        let at = from.as_ptr();
        // SAFETY: sixteen values are read.
        unsafe { [vld1q_f32(at), vld1q_f32(at.add(4)), vld1q_f32(at.add(8)), vld1q_f32(at.add(12))] }
    }

    #[inline(always)]
    fn store(self, x: Four, to: &mut [f32; LANES]) {
        let at = to.as_mut_ptr();
        // SAFETY: sixteen values are written.
        unsafe {
            vst1q_f32(at, x[0]);
            vst1q_f32(at.add(4), x[1]);
            vst1q_f32(at.add(8), x[2]);
            vst1q_f32(at.add(12), x[3]);
        }
    }

    #[inline(always)]
    fn load_f16(self, from: &[u16; LANES]) -> Four {
        let at = from.as_ptr();
        // SAFETY: sixteen values are read.
        unsafe {
            [
                widened_halves(vld1_u16(at)),
                widened_halves(vld1_u16(at.add(4))),
                widened_halves(vld1_u16(at.add(8))),
                widened_halves(vld1_u16(at.add(12))),
            ]
        }
    }

    #[inline(always)]
    fn load_bf16(self, from: &[u16; LANES]) -> Four {
        let at = from.as_ptr();
        // SAFETY: sixteen values are read.
        let halves = unsafe { [vld1_u16(at), vld1_u16(at.add(4)), vld1_u16(at.add(8)), vld1_u16(at.add(12))] };
        each!(|halves| vreinterpretq_f32_u32(vshll_n_u16::<16>(halves)))
    }

    #[inline(always)]
    fn load_i8(self, from: &[i8; LANES]) -> Four {
        // SAFETY: sixteen values are read.
        let words = unsafe {
            let bytes = vld1q_s8(from.as_ptr());
            let (low, high) = (vmovl_s8(vget_low_s8(bytes)), vmovl_s8(vget_high_s8(bytes)));
            [vget_low_s16(low), vget_high_s16(low), vget_low_s16(high), vget_high_s16(high)]
        };
        each!(|words| vcvtq_f32_s32(vmovl_s16(words)))
    }

    #[inline(always)]
    fn add(self, a: Four, b: Four) -> Four {
        each!(|a, b| vaddq_f32(a, b))
    }

    #[inline(always)]
    fn sub(self, a: Four, b: Four) -> Four {
        each!(|a, b| vsubq_f32(a, b))
    }

    #[inline(always)]
    fn mul(self, a: Four, b: Four) -> Four {
        each!(|a, b| vmulq_f32(a, b))
    }

    #[inline(always)]
    fn div(self, a: Four, b: Four) -> Four {
        each!(|a, b| vdivq_f32(a, b))
    }

    #[inline(always)]
    fn mul_add(self, a: Four, b: Four, c: Four) -> Four {
        each!(|a, b, c| vfmaq_f32(c, a, b))
    }

    #[inline(always)]
    fn max(self, a: Four, b: Four) -> Four {
        each!(|a, b| vbslq_f32(vcgtq_f32(a, b), a, b))
    }

    #[inline(always)]
    fn min(self, a: Four, b: Four) -> Four {
        each!(|a, b| vbslq_f32(vcltq_f32(a, b), a, b))
    }

    #[inline(always)]
    fn round(self, x: Four) -> Four {
        each!(|x| vrndnq_f32(x))
    }

    #[inline(always)]
    fn scale_by_power(self, x: Four, n: Four) -> Four {
        each!(|x, n| vmulq_f32(
            x,
            vreinterpretq_f32_s32(vshlq_n_s32::<23>(vaddq_s32(vcvtq_s32_f32(n), vdupq_n_s32(127))))
        ))
    }

    #[inline(always)]
    fn zero_below(self, x: Four, key: Four, bound: Four) -> Four {
        each!(|x, key, bound| vbslq_f32(vcltq_f32(key, bound), vdupq_n_f32(0.0), x))
    }
}
