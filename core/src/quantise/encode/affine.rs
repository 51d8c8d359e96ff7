//! Types with offsets: Q4_K and Q5_K, super-blocks of eight groups, `x = d * scale * q - m * minimum` with scales and minima of
//! six bits; and Q5_1, groups with `x = scale * q + offset`.
//!
//! A search over candidate scales finds the two numbers of each group that give the smallest weighted squared error. Six bits
//! for each, and d and m, are then chosen in turn, each for the smallest error with the others given.

use std::array::from_fn;

use half::f16;

use super::lanes::{nearest, sum};
use super::plain::five_bits;
use crate::weights::{GROUP, SUPER};

const GROUPS: usize = SUPER / GROUP;
/// The largest scale or minimum of six bits.
const MAX_SCALE: f32 = 63.0;
/// Candidate scales of a group. They map the range of the values to levels from one fewer to one more than there are.
const CANDIDATES: usize = 21;

/// The values of a group, and how much each error counts.
struct WeightedGroup<'a> {
    values: &'a [f32; GROUP],
    weights: [f32; GROUP],
}

/// `x = scale * q + offset`, and its weighted squared error.
#[derive(Clone, Copy)]
struct AffineFit {
    scale: f32,
    offset: f32,
    error: f32,
}

/// A super-block before it is packed.
struct AffineBlock {
    d: f16,
    m: f16,
    scales: [f32; GROUPS],
    minima: [f32; GROUPS],
    levels: [[f32; GROUP]; GROUPS],
}

pub(super) fn q4_k(values: &[f32], blocks: &mut Vec<u8>) {
    for block in values.as_chunks::<SUPER>().0 {
        let block = encode(block, 15.0);
        block.pack_head(blocks);
        block.pack_nibbles(blocks);
    }
}

pub(super) fn q5_k(values: &[f32], blocks: &mut Vec<u8>) {
    for block in values.as_chunks::<SUPER>().0 {
        let block = encode(block, 31.0);
        block.pack_head(blocks);
        block.pack_fifth_bits(blocks);
        block.pack_nibbles(blocks);
    }
}

pub(super) fn q5_1(values: &[f32], blocks: &mut Vec<u8>) {
    for values in values.as_chunks::<GROUP>().0 {
        let group = WeightedGroup::new(values);
        let fit = group.fit(31.0, f32::INFINITY);
        let (scale, offset) = (f16::from_f32(fit.scale), f16::from_f32(fit.offset));
        blocks.extend(scale.to_le_bytes());
        blocks.extend(offset.to_le_bytes());
        five_bits(&group.levels(scale.to_f32(), offset.to_f32(), 31.0).map(|level| level as u8), blocks); // 0 to 31
    }
}

/// Encodes with levels from 0 to `last`.
fn encode(values: &[f32; SUPER], last: f32) -> AffineBlock {
    let (groups, _) = values.as_chunks::<GROUP>();
    let groups: [WeightedGroup<'_>; GROUPS] = from_fn(|at| WeightedGroup::new(&groups[at]));
    let fits: [AffineFit; GROUPS] = from_fn(|at| groups[at].fit(last, 0.0));
    let largest = |value: fn(&AffineFit) -> f32| fits.iter().map(value).fold(0.0, f32::max);
    let mut block = AffineBlock {
        d: f16::from_f32(largest(|fit| fit.scale) / MAX_SCALE),
        m: f16::from_f32(largest(|fit| -fit.offset) / MAX_SCALE),
        scales: [0.0; GROUPS],
        minima: [0.0; GROUPS],
        levels: [[0.0; GROUP]; GROUPS],
    };
    for (at, fit) in fits.iter().enumerate() {
        block.scales[at] = nearest((fit.scale * inverse(block.d)).min(MAX_SCALE));
        block.minima[at] = nearest((-fit.offset * inverse(block.m)).min(MAX_SCALE));
    }
    block.choose(&groups, last);
    let refit = block.refit(&groups, last);
    if refit.error(&groups) < block.error(&groups) { refit } else { block }
}

impl<'a> WeightedGroup<'a> {
    /// Errors of large values count more: they matter more to the products that the values are factors of.
    fn new(values: &'a [f32; GROUP]) -> Self {
        let mean_square = sum::<GROUP>(|at| values[at] * values[at]) / GROUP as f32;
        Self { values, weights: values.map(|value| mean_square.sqrt() + value.abs()) }
    }

    /// The best of all candidates with an offset up to `highest`.
    fn fit(&self, last: f32, highest: f32) -> AffineFit {
        let low = self.values.iter().copied().fold(highest, f32::min);
        let range = self.values.iter().copied().fold(low, f32::max) - low;
        if range < f32::MIN_POSITIVE {
            return AffineFit { scale: 0.0, offset: low, error: 0.0 };
        }
        let start = AffineFit { scale: range / last, offset: low, error: f32::INFINITY };
        let candidates = (0..CANDIDATES).map(|at| range / (last - 1.0 + at as f32 / 10.0));
        let best = candidates
            .map(|scale| self.solve(&self.levels(scale, low, last), highest))
            .fold(start, |best, fit| if fit.error < best.error { fit } else { best });
        let again = self.solve(&self.levels(best.scale, best.offset, last), highest);
        if again.error < best.error { again } else { best }
    }

    /// The levels nearest to the values.
    fn levels(&self, scale: f32, offset: f32, last: f32) -> [f32; GROUP] {
        let inverse = if f32::MIN_POSITIVE <= scale { 1.0 / scale } else { 0.0 };
        self.values.map(|value| nearest(((value - offset) * inverse).max(0.0).min(last)))
    }

    /// The scale and the offset, up to `highest`, that are the least squares with these levels.
    fn solve(&self, levels: &[f32; GROUP], highest: f32) -> AffineFit {
        let Self { values: x, weights: w } = self;
        let (sum_w, sum_x) = (sum::<GROUP>(|at| w[at]), sum::<GROUP>(|at| w[at] * x[at]));
        let sum_l = sum::<GROUP>(|at| w[at] * levels[at]);
        let sum_ll = sum::<GROUP>(|at| w[at] * levels[at] * levels[at]);
        let sum_lx = sum::<GROUP>(|at| w[at] * levels[at] * x[at]);
        let determinant = sum_w * sum_ll - sum_l * sum_l;
        let (mut scale, mut offset) = (0.0, if 0.0 < sum_w { sum_x / sum_w } else { 0.0 });
        if 0.0 < determinant {
            scale = (sum_w * sum_lx - sum_x * sum_l) / determinant;
            offset = (sum_ll * sum_x - sum_l * sum_lx) / determinant;
        }
        if highest <= offset {
            (scale, offset) = (if 0.0 < sum_ll { (sum_lx - highest * sum_l) / sum_ll } else { 0.0 }, highest);
        }
        let scale = scale.max(0.0);
        AffineFit { scale, offset, error: self.error(levels, scale, offset) }
    }

    fn error(&self, levels: &[f32; GROUP], scale: f32, offset: f32) -> f32 {
        sum::<GROUP>(|at| {
            let difference = scale * levels[at] + offset - self.values[at];
            self.weights[at] * difference * difference
        })
    }
}

impl AffineBlock {
    /// Chooses scales and minima near the present ones, and levels, with the smallest error for this d and m.
    fn choose(&mut self, groups: &[WeightedGroup<'_>; GROUPS], last: f32) {
        let (d, m) = (self.d.to_f32(), self.m.to_f32());
        for (at, group) in groups.iter().enumerate() {
            let (scale, minimum) = (self.scales[at], self.minima[at]);
            let mut smallest = f32::INFINITY;
            for (scale, minimum) in neighbours(scale).flat_map(|scale| neighbours(minimum).map(move |min| (scale, min)))
            {
                let levels = group.levels(d * scale, -m * minimum, last);
                let error = group.error(&levels, d * scale, -m * minimum);
                if error < smallest {
                    smallest = error;
                    (self.scales[at], self.minima[at], self.levels[at]) = (scale, minimum, levels);
                }
            }
        }
    }

    /// The block with the d and m that are the least squares with its scales, minima and levels, and levels chosen again.
    fn refit(&self, groups: &[WeightedGroup<'_>; GROUPS], last: f32) -> Self {
        // x = d * a - m * b, with a = scale * level and b = minimum.
        let (mut aa, mut ab, mut bb, mut ax, mut bx) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (at, WeightedGroup { values: x, weights: w }) in groups.iter().enumerate() {
            let (scale, b, levels) = (self.scales[at], self.minima[at], &self.levels[at]);
            let sum_a = scale * sum::<GROUP>(|at| w[at] * levels[at]);
            aa += scale * scale * sum::<GROUP>(|at| w[at] * levels[at] * levels[at]);
            ax += scale * sum::<GROUP>(|at| w[at] * levels[at] * x[at]);
            ab += b * sum_a;
            bb += b * b * sum::<GROUP>(|at| w[at]);
            bx += b * sum::<GROUP>(|at| w[at] * x[at]);
        }
        let determinant = aa * bb - ab * ab;
        let (d, m) = match 1e-6 * aa * bb < determinant {
            true => ((ax * bb - bx * ab) / determinant, (ax * ab - bx * aa) / determinant),
            false if 0.0 < aa => ((ax + self.m.to_f32() * ab) / aa, self.m.to_f32()),
            false => (self.d.to_f32(), self.m.to_f32()),
        };
        let (d, m) = (f16::from_f32(d.max(0.0)), f16::from_f32(m.max(0.0)));
        let mut block = Self { d, m, ..*self };
        block.choose(groups, last);
        block
    }

    fn error(&self, groups: &[WeightedGroup<'_>; GROUPS]) -> f32 {
        let (d, m) = (self.d.to_f32(), self.m.to_f32());
        let error = |at: usize| groups[at].error(&self.levels[at], d * self.scales[at], -m * self.minima[at]);
        (0..GROUPS).map(error).sum()
    }

    /// d, m, and the scales and minima of six bits, in twelve bytes.
    fn pack_head(&self, blocks: &mut Vec<u8>) {
        blocks.extend(self.d.to_le_bytes());
        blocks.extend(self.m.to_le_bytes());
        let (scales, minima) = (self.scales.map(|scale| scale as u8), self.minima.map(|minimum| minimum as u8)); // 0 to 63
        let mut bytes = [0; 12];
        for at in 0..4 {
            bytes[at] = scales[at] | scales[at + 4] >> 4 << 6;
            bytes[at + 4] = minima[at] | minima[at + 4] >> 4 << 6;
            bytes[at + 8] = scales[at + 4] & 15 | minima[at + 4] << 4;
        }
        blocks.extend(bytes);
    }

    fn level(&self, group: usize, at: usize) -> u8 {
        self.levels[group][at] as u8 // 0 to 31
    }

    /// One byte for each place in a group, with one bit for each group.
    fn pack_fifth_bits(&self, blocks: &mut Vec<u8>) {
        let byte = |at: usize| (0..GROUPS).fold(0, |byte, group| byte | self.level(group, at) >> 4 << group);
        blocks.extend((0..GROUP).map(byte));
    }

    /// Two groups share 32 bytes, the first one in their lower halves.
    fn pack_nibbles(&self, blocks: &mut Vec<u8>) {
        for group in (0..GROUPS).step_by(2) {
            blocks.extend((0..GROUP).map(|at| self.level(group, at) & 15 | self.level(group + 1, at) << 4));
        }
    }
}

/// An integer of six bits and those beside it.
fn neighbours(number: f32) -> impl Iterator<Item = f32> {
    [number, number - 1.0, number + 1.0].into_iter().filter(|number| (0.0..=MAX_SCALE).contains(number))
}

fn inverse(number: f16) -> f32 {
    if number.to_f32() == 0.0 { 0.0 } else { 1.0 / number.to_f32() }
}
