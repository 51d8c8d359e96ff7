//! Vectors of sixteen floats, with the same results on every processor.
//!
//! Kernels over floats are written once, over [`Simd`], and compiled for each instruction set. All sets have sixteen lanes,
//! whatever the width of their registers, and a multiply-add with one rounding, so all compute the same bits; tests compare
//! them with `Portable`. A value of an instruction set's type exists only if the processor has these instructions, which is
//! why the methods are safe.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod instructions;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::Avx512;
pub(crate) use instructions::{LANES, Simd, Work};
#[cfg(target_arch = "aarch64")]
pub(crate) use neon::{Neon, widened_halves};
pub(crate) use portable::{Portable, mul_add, round};
