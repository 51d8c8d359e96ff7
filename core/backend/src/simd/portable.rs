//! Plain Rust that runs on every processor: the reference for the other instruction sets, and the fallback where none of
//! them is available.
//!
//! Nothing here calls a library function per lane, so compilers turn all of it into the target's baseline vectors.

use super::instructions::{LANES, Simd, Work};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

/// `a * b + c`, rounded once, as [`f32::mul_add`] gives it.
///
/// Without FMA hardware `f32::mul_add` is a call, and that of Rust 1.95 rounds some subnormal results twice. So this computes in
/// f64, where the product of two f32 is exact. The sum is rounded to odd: truncated, with the last bit set if anything was
/// lost. Rounding that to f32 then gives the nearest value, because f64 has at least two bits more than f32, for subnormal
/// values, too (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd",
/// 2008).
#[inline(always)]
pub(crate) fn mul_add(a: f32, b: f32, c: f32) -> f32 {
    if cfg!(any(target_feature = "fma", target_arch = "aarch64")) { a.mul_add(b, c) } else { soft_mul_add(a, b, c) }
}

#[inline(always)]
fn soft_mul_add(a: f32, b: f32, c: f32) -> f32 {
    const SIGN: u64 = 1 << 63;
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    // What rounding lost, exactly (Knuth's two-sum); NaN if the sum is not finite.
    let rest = sum - product;
    let error = (product - (sum - rest)) + (c - rest);
    // Above 0 if the exact sum is farther from 0 than the rounded one.
    let outward = f64::from_bits(error.to_bits() ^ (sum.to_bits() & SIGN));
    let (is_too_large, is_too_small) = (u64::from(outward < 0.0), u64::from(0.0 < outward));
    f64::from_bits((sum.to_bits() - is_too_large) | is_too_large | is_too_small) as f32
}

/// The value of f16 bits, without a branch or a call for each.
#[inline(always)]
fn f16_to_f32(bits: u16) -> f32 {
    /// The difference of the exponents' biases, and the exponent of the smallest normal f16, where f32 has its exponent.
    const BIAS: u32 = (127 - 15) << 23;
    const MIN_NORMAL: u32 = BIAS + (1 << 23);
    let (sign, magnitude) = (u32::from(bits & 0x8000) << 16, u32::from(bits & 0x7FFF) << 13);
    let normal = magnitude + BIAS;
    // The fraction of a subnormal f16 counts from 0 and not from the smallest normal value.
    let subnormal = (f32::from_bits(magnitude + MIN_NORMAL) - f32::from_bits(MIN_NORMAL)).to_bits();
    // Infinity and NaN have the largest exponent.
    let special = magnitude | 0xFF << 23;
    let magnitude = match magnitude {
        0..0x0080_0000 => subnormal,
        0x0080_0000..0x0F80_0000 => normal,
        _ => special,
    };
    f32::from_bits(sign | magnitude)
}

/// To the nearest integer, ties to even, as [`f32::round_ties_even`] does; that is a call on x86-64 without SSE 4.1.
#[inline(always)]
pub(crate) fn round(x: f32) -> f32 {
    /// From here on all values are integers, so adding this drops the fraction.
    const INTEGERS: f32 = (1 << 23) as f32;
    let magnitude = x.abs();
    let rounded = (magnitude + INTEGERS) - INTEGERS;
    if magnitude < INTEGERS { rounded.copysign(x) } else { x }
}

impl Simd for Portable {
    type Floats = [f32; LANES];
    const HAS_MANY_REGISTERS: bool = false;

    fn run<W: Work>(self, work: W) -> W::Output {
        work.run(self)
    }

    #[inline(always)]
    fn splat(self, x: f32) -> Self::Floats {
        [x; LANES]
    }

    #[inline(always)]
    fn load(self, from: &[f32; LANES]) -> Self::Floats {
        *from
    }

    #[inline(always)]
    fn store(self, x: Self::Floats, to: &mut [f32; LANES]) {
        *to = x;
    }

    #[inline(always)]
    fn load_f16(self, from: &[u16; LANES]) -> Self::Floats {
        from.map(f16_to_f32)
    }

    #[inline(always)]
    fn load_bf16(self, from: &[u16; LANES]) -> Self::Floats {
        from.map(|bits| f32::from_bits(u32::from(bits) << 16))
    }

    #[inline(always)]
    fn load_i8(self, from: &[i8; LANES]) -> Self::Floats {
        from.map(f32::from)
    }

    #[inline(always)]
    fn add(self, a: Self::Floats, b: Self::Floats) -> Self::Floats {
        std::array::from_fn(|lane| a[lane] + b[lane])
    }

    #[inline(always)]
    fn sub(self, a: Self::Floats, b: Self::Floats) -> Self::Floats {
        std::array::from_fn(|lane| a[lane] - b[lane])
    }

    #[inline(always)]
    fn mul(self, a: Self::Floats, b: Self::Floats) -> Self::Floats {
        std::array::from_fn(|lane| a[lane] * b[lane])
    }

    #[inline(always)]
    fn div(self, a: Self::Floats, b: Self::Floats) -> Self::Floats {
        std::array::from_fn(|lane| a[lane] / b[lane])
    }

    #[inline(always)]
    fn mul_add(self, a: Self::Floats, b: Self::Floats, c: Self::Floats) -> Self::Floats {
        std::array::from_fn(|lane| mul_add(a[lane], b[lane], c[lane]))
    }

    #[inline(always)]
    fn max(self, a: Self::Floats, b: Self::Floats) -> Self::Floats {
        std::array::from_fn(|lane| if b[lane] < a[lane] { a[lane] } else { b[lane] })
    }

    #[inline(always)]
    fn min(self, a: Self::Floats, b: Self::Floats) -> Self::Floats {
        std::array::from_fn(|lane| if a[lane] < b[lane] { a[lane] } else { b[lane] })
    }

    #[inline(always)]
    fn round(self, x: Self::Floats) -> Self::Floats {
        x.map(round)
    }

    #[inline(always)]
    fn scale_by_power(self, x: Self::Floats, n: Self::Floats) -> Self::Floats {
        std::array::from_fn(|lane| x[lane] * f32::from_bits(((n[lane] as i32 + 127) << 23) as u32))
    }

    #[inline(always)]
    fn zero_below(self, x: Self::Floats, key: Self::Floats, bound: Self::Floats) -> Self::Floats {
        std::array::from_fn(|lane| if key[lane] < bound[lane] { 0.0 } else { x[lane] })
    }
}

#[cfg(test)]
mod tests {
    use half::f16;
    use proptest::prelude::*;

    use super::*;

    fn is_same(found: f32, expect: f32) -> bool {
        found.to_bits() == expect.to_bits() || (found.is_nan() && expect.is_nan())
    }

    /// Whether `f32::mul_add` is an instruction; without, it is no reference.
    fn has_reference() -> bool {
        #[cfg(target_arch = "x86_64")]
        return is_x86_feature_detected!("fma");
        #[cfg(not(target_arch = "x86_64"))]
        return cfg!(target_arch = "aarch64");
    }

    #[track_caller]
    fn check(a: f32, b: f32, c: f32) {
        if !has_reference() {
            return;
        }
        let (found, expect) = (soft_mul_add(a, b, c), a.mul_add(b, c));
        assert!(is_same(found, expect), "{a:e} * {b:e} + {c:e} ({a:?}): found {found:e}, expected {expect:e}");
    }

    /// Zeros, subnormal and normal limits, powers of two and their neighbours, infinities, NaN; each with both signs.
    fn edges() -> Vec<f32> {
        let mut magnitudes = vec![0, 1, 2, 3, 0x0040_0000, 0x007F_FFFF, 0x0080_0000, 0x0080_0001, 0x7F7F_FFFF];
        magnitudes.extend([0x7F80_0000, 0x7FC0_0000]);
        for exponent in [1, 23, 24, 52, 63, 64, 75, 100, 103, 104, 126, 127, 128, 150, 151, 190, 252, 253] {
            let power: u32 = exponent << 23;
            magnitudes.extend([power - 1, power, power + 1, power | 0x0040_0000, power | 0x007F_FFFF]);
        }
        magnitudes.into_iter().flat_map(|bits| [bits, bits | 1 << 31]).map(f32::from_bits).collect()
    }

    #[test]
    fn fused_multiply_add_is_exact_at_the_edges() {
        let edges = edges();
        for a in &edges {
            for b in &edges {
                edges.iter().for_each(|c| check(*a, *b, *c));
                // The sum nearly cancels, or its last bit is half way between two values.
                let product = a * b;
                for c in [product, -product, product * 0.5, product * 8_388_608.0, product * 16_777_216.0] {
                    check(*a, *b, c);
                    check(*a, *b, -c);
                }
            }
        }
    }

    fn power(exponent: i32) -> f32 {
        f64::from(exponent).exp2() as f32
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200_000))]

        #[test]
        fn fused_multiply_add_is_exact(a: u32, b: u32, c: u32) {
            let [a, b, c] = [a, b, c].map(f32::from_bits);
            check(a, b, c);
        }

        /// `(1 + k u) (1 - k u) = 1 - (k u)^2`, scaled to half of the last place of `c`: f64 loses the square, and rounding its
        /// sum to f32 goes the wrong way for every odd `c`.
        #[test]
        fn fused_multiply_add_is_exact_half_way(
            k in 1u32..256,
            places in 1u32 << 23..1 << 24,
            last in -149i32..100,
            [is_subnormal, is_negative]: [bool; 2],
        ) {
            let (places, last) = if is_subnormal { ((places / 2) | 1, -150) } else { (places | 1, last) };
            let (u, half) = (k as f32 / (1 << 23) as f32, last / 2);
            let (a, b) = (power(half) * (1.0 + u), power(last - half) * (1.0 - u));
            let c = (f64::from(places) * f64::from(last + 1).exp2()) as f32;
            let rounded_twice = (f64::from(a) * f64::from(b) + f64::from(c)) as f32;
            // The product is less than half of the last place.
            prop_assert_eq!(soft_mul_add(a, b, c), c);
            prop_assert_ne!(rounded_twice, c);
            check(a, b, if is_negative { -c } else { c });
        }

        #[test]
        fn rounding_is_to_the_nearest_even_integer(x: u32, near in -300i32..300) {
            for x in [f32::from_bits(x), near as f32 / 2.0, near as f32 / 4.0 * 65_536.0] {
                prop_assert!(is_same(round(x), x.round_ties_even()), "{x}");
            }
        }
    }

    #[test]
    fn every_f16_is_converted() {
        for bits in 0..=u16::MAX {
            let expect = f16::from_bits(bits).to_f32();
            assert!(is_same(f16_to_f32(bits), expect), "{bits:#06x}: expected {expect:e}");
        }
    }
}
