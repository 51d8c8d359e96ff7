//! The twin that runs on every processor.

use half::{bf16, f16};

use super::{LANES, Simd, Work};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

impl Simd for Portable {
    type Floats = [f32; LANES];
    const HAS_MANY_REGISTERS: bool = true;

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
        from.map(|bits| f16::from_bits(bits).to_f32())
    }

    #[inline(always)]
    fn load_bf16(self, from: &[u16; LANES]) -> Self::Floats {
        from.map(|bits| bf16::from_bits(bits).to_f32())
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
        std::array::from_fn(|lane| a[lane].mul_add(b[lane], c[lane]))
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
        x.map(f32::round_ties_even)
    }

    #[inline(always)]
    fn power_of_two(self, n: Self::Floats) -> Self::Floats {
        n.map(|n| f32::from_bits(((n as i32 + 127) << 23) as u32))
    }
}
