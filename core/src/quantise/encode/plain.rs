//! Types whose scales follow from the largest value of a group: the same formulas, and so the same bits, as in ggml's
//! `quantize_row_*_ref` and in gguf-py.

use half::f16;

use crate::weights::GROUP;

pub(super) fn f32(values: &[f32], blocks: &mut Vec<u8>) {
    blocks.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

pub(super) fn f16(values: &[f32], blocks: &mut Vec<u8>) {
    blocks.extend(values.iter().flat_map(|value| f16::from_f32(*value).to_le_bytes()));
}

/// The largest magnitude becomes 127.
pub(super) fn q8_0(values: &[f32], blocks: &mut Vec<u8>) {
    for group in values.as_chunks::<GROUP>().0 {
        let scale = largest(group).abs() / 127.0;
        let inverse = inverse(scale);
        half(scale, blocks);
        blocks.extend(group.iter().map(|value| (value * inverse).round() as i8 as u8)); // `as` saturates
    }
}

/// The value of the largest magnitude becomes -8.
pub(super) fn q4_0(values: &[f32], blocks: &mut Vec<u8>) {
    for group in values.as_chunks::<GROUP>().0 {
        let scale = largest(group) / -8.0;
        half(scale, blocks);
        let inverse = f64::from(inverse(scale));
        // The sum is exact, as with the fused operation that the reference is compiled to; `as` saturates.
        nibbles(&group.map(|value| ((f64::from(value) * inverse + 8.5) as u8).min(15)), blocks);
    }
}

/// The first value of the largest magnitude.
fn largest(group: &[f32; GROUP]) -> f32 {
    group.iter().fold(0.0, |largest: f32, value| if largest.abs() < value.abs() { *value } else { largest })
}

fn inverse(scale: f32) -> f32 {
    if scale == 0.0 { 0.0 } else { 1.0 / scale }
}

fn half(value: f32, blocks: &mut Vec<u8>) {
    blocks.extend(f16::from_f32(value).to_le_bytes());
}

/// Sixteen bytes: the lower halves hold the first sixteen values.
fn nibbles(levels: &[u8; GROUP], blocks: &mut Vec<u8>) {
    blocks.extend((0..GROUP / 2).map(|at| levels[at] & 15 | levels[at + GROUP / 2] << 4));
}

/// The fifth bits of all values, then their lower four.
pub(super) fn five_bits(levels: &[u8; GROUP], blocks: &mut Vec<u8>) {
    let upper = levels.iter().zip(0..).fold(0u32, |upper, (level, at)| upper | u32::from(level >> 4) << at);
    blocks.extend(upper.to_le_bytes());
    nibbles(levels, blocks);
}
