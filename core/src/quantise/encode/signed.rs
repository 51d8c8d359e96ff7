//! Types without offsets: Q6_K, super-blocks of sixteen groups, `x = d * scale * q` with scales of eight bits and q from -32 to
//! 31; and Q5_0, groups with `x = scale * q` and q from -16 to 15.
//!
//! Scales are found as in [`affine`](super::affine).

use std::array::from_fn;

use half::f16;

use super::lanes::{nearest, sum};
use super::plain::five_bits;
use crate::weights::{GROUP, SUPER};

/// Values of a group of Q6_K.
const SIXTEEN: usize = 16;
const GROUPS: usize = SUPER / SIXTEEN;
/// The lowest level of Q6_K.
const LOWEST: f32 = -32.0;
/// Candidate scales of a group. They map the value of the largest magnitude to the lowest level, or up to 0.9 beside it.
const CANDIDATES: usize = 19;

/// A super-block before it is packed.
struct SignedBlock {
    d: f16,
    scales: [f32; GROUPS],
    /// From -32 to 31.
    levels: [[f32; SIXTEEN]; GROUPS],
}

pub(super) fn q6_k(values: &[f32], blocks: &mut Vec<u8>) {
    for block in values.as_chunks::<SUPER>().0 {
        encode(block).pack(blocks);
    }
}

pub(super) fn q5_0(values: &[f32], blocks: &mut Vec<u8>) {
    for group in values.as_chunks::<GROUP>().0 {
        let scale = f16::from_f32(fit(group, -16.0));
        blocks.extend(scale.to_le_bytes());
        five_bits(&levels(group, scale.to_f32(), -16.0).map(|level| (level + 16.0) as u8), blocks); // 0 to 31
    }
}

fn encode(values: &[f32; SUPER]) -> SignedBlock {
    let (groups, _) = values.as_chunks::<SIXTEEN>();
    let fits: [f32; GROUPS] = from_fn(|at| fit(&groups[at], LOWEST));
    let largest =
        fits.iter().fold(0.0, |largest: f32, scale| if largest.abs() < scale.abs() { *scale } else { largest });
    let mut block =
        SignedBlock { d: f16::from_f32(largest / -128.0), scales: [0.0; GROUPS], levels: [[0.0; SIXTEEN]; GROUPS] };
    let d = block.d.to_f32();
    if d != 0.0 {
        block.scales = fits.map(|scale| nearest((scale / d).clamp(-128.0, 127.0)));
    }
    block.choose(groups);
    let refit = block.refit(groups);
    if refit.error(groups) < block.error(groups) { refit } else { block }
}

/// Errors count by the square of the value: large values matter more to the products that they are factors of.
fn weight(value: f32) -> f32 {
    value * value
}

/// The scale with the smallest weighted squared error, for levels from `lowest` to `-lowest - 1`.
fn fit<const N: usize>(values: &[f32; N], lowest: f32) -> f32 {
    let largest =
        values.iter().fold(0.0, |largest: f32, value| if largest.abs() < value.abs() { *value } else { largest });
    if largest.abs() < f32::MIN_POSITIVE {
        return 0.0;
    }
    let candidates = (0..CANDIDATES).map(|at| largest / (lowest + 0.9 - at as f32 / 10.0));
    // With the least squares scale, the error is the constant Σ w x² less this gain.
    let solve = |scale: f32| {
        let levels = levels(values, scale, lowest);
        let sum_lx = sum::<N>(|at| weight(values[at]) * levels[at] * values[at]);
        let sum_ll = sum::<N>(|at| weight(values[at]) * levels[at] * levels[at]);
        if 0.0 < sum_ll { (sum_lx / sum_ll, sum_lx * sum_lx / sum_ll) } else { (0.0, 0.0) }
    };
    candidates.map(solve).fold((0.0, 0.0), |best, found| if best.1 < found.1 { found } else { best }).0
}

/// The levels nearest to the values.
fn levels<const N: usize>(values: &[f32; N], scale: f32, lowest: f32) -> [f32; N] {
    let inverse = if f32::MIN_POSITIVE <= scale.abs() { 1.0 / scale } else { 0.0 };
    values.map(|value| nearest((value * inverse).max(lowest).min(-lowest - 1.0)))
}

fn error(values: &[f32; SIXTEEN], levels: &[f32; SIXTEEN], scale: f32) -> f32 {
    sum::<SIXTEEN>(|at| {
        let difference = scale * levels[at] - values[at];
        weight(values[at]) * difference * difference
    })
}

impl SignedBlock {
    /// Chooses scales near the present ones, and levels, with the smallest error for this d.
    fn choose(&mut self, groups: &[[f32; SIXTEEN]]) {
        let d = self.d.to_f32();
        for (at, group) in groups.iter().enumerate() {
            let scale = self.scales[at];
            let near = [scale, scale - 1.0, scale + 1.0].into_iter().filter(|scale| (-128.0..=127.0).contains(scale));
            let mut smallest = f32::INFINITY;
            for scale in near {
                let levels = levels(group, d * scale, LOWEST);
                let error = error(group, &levels, d * scale);
                if error < smallest {
                    smallest = error;
                    (self.scales[at], self.levels[at]) = (scale, levels);
                }
            }
        }
    }

    /// The block with the d that is the least squares with its scales and levels, and levels chosen again.
    fn refit(&self, groups: &[[f32; SIXTEEN]]) -> Self {
        let (mut sum_aa, mut sum_ax) = (0.0, 0.0);
        for (at, values) in groups.iter().enumerate() {
            let (scale, levels) = (self.scales[at], &self.levels[at]);
            sum_aa += scale * scale * sum::<SIXTEEN>(|at| weight(values[at]) * levels[at] * levels[at]);
            sum_ax += scale * sum::<SIXTEEN>(|at| weight(values[at]) * levels[at] * values[at]);
        }
        let d = if 0.0 < sum_aa { f16::from_f32(sum_ax / sum_aa) } else { self.d };
        let mut block = Self { d, ..*self };
        block.choose(groups);
        block
    }

    fn error(&self, groups: &[[f32; SIXTEEN]]) -> f32 {
        let d = self.d.to_f32();
        groups.iter().enumerate().map(|(at, group)| error(group, &self.levels[at], d * self.scales[at])).sum()
    }

    /// The six bits of a value.
    fn level(&self, at: usize) -> u8 {
        (self.levels[at / SIXTEEN][at % SIXTEEN] - LOWEST) as u8 // 0 to 63
    }

    /// The lower four bits, the upper two, the scales, and d.
    fn pack(&self, blocks: &mut Vec<u8>) {
        for half in [0, 128] {
            let two = |at: usize| self.level(half + at) & 15 | self.level(half + 64 + at) << 4;
            blocks.extend((0..64).map(two));
        }
        for half in [0, 128] {
            let four =
                |at: usize| (0..4).fold(0, |byte, row| byte | self.level(half + 32 * row + at) >> 4 << (2 * row));
            blocks.extend((0..32).map(four));
        }
        blocks.extend(self.scales.map(|scale| scale as i8 as u8)); // -128 to 127
        blocks.extend(self.d.to_le_bytes());
    }
}
