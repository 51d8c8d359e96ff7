//! The values of blocks, as ggml's `dequantize_row_*` defines them
//! (<https://github.com/ggml-org/ggml/blob/master/src/ggml-quants.c>).

use half::{bf16, f16};

use crate::weights::tensor_type::{GROUP, SUPER, TensorType};

/// ggml's `kvalues_iq4nl`: the values of four bits.
pub(crate) const IQ4_LEVELS: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// Appends the values of whole blocks. The bytes may have any alignment.
pub(crate) fn dequantise(tensor_type: TensorType, blocks: &[u8], values: &mut Vec<f32>) {
    let pairs = || blocks.as_chunks().0.iter().map(|pair| u16::from_le_bytes(*pair));
    let block: fn(&[u8], &mut Vec<f32>) = match tensor_type {
        TensorType::F32 => return values.extend(blocks.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four))),
        TensorType::F16 => return values.extend(pairs().map(|bits| f16::from_bits(bits).to_f32())),
        TensorType::Bf16 => return values.extend(pairs().map(|bits| bf16::from_bits(bits).to_f32())),
        TensorType::Q4_0 => q4_0,
        TensorType::Q4_1 => q4_1,
        TensorType::Q5_0 => q5_0,
        TensorType::Q5_1 => q5_1,
        TensorType::Q8_0 => q8_0,
        TensorType::Q2K => q2_k,
        TensorType::Q3K => q3_k,
        TensorType::Q4K => q4_k,
        TensorType::Q5K => q5_k,
        TensorType::Q6K => q6_k,
        TensorType::Iq4Nl => iq4_nl,
        TensorType::Iq4Xs => iq4_xs,
    };
    blocks.chunks_exact(tensor_type.block_bytes()).for_each(|bytes| block(bytes, values));
}

/// The f16 at a byte.
pub(crate) fn half_at(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

/// The four bits of a value: sixteen bytes hold 32 values, the first sixteen in their lower halves.
fn nibble(bytes: &[u8], at: usize) -> u8 {
    bytes[at % 16] >> (at / 16 * 4) & 15
}

/// The fifth bit of a value, in its place.
fn fifth_bit(bits: &[u8], at: usize) -> u8 {
    (bits[at / 8] >> (at % 8) & 1) << 4
}

/// `scale * (q - 8)`.
fn q4_0(block: &[u8], values: &mut Vec<f32>) {
    let scale = half_at(block, 0);
    values.extend((0..GROUP).map(|at| scale * (f32::from(nibble(&block[2..], at)) - 8.0)));
}

/// `scale * q + minimum`.
fn q4_1(block: &[u8], values: &mut Vec<f32>) {
    let (scale, minimum) = (half_at(block, 0), half_at(block, 2));
    values.extend((0..GROUP).map(|at| scale * f32::from(nibble(&block[4..], at)) + minimum));
}

/// `scale * (q - 16)`, q of five bits.
fn q5_0(block: &[u8], values: &mut Vec<f32>) {
    let scale = half_at(block, 0);
    let q = |at| nibble(&block[6..], at) | fifth_bit(&block[2..6], at);
    values.extend((0..GROUP).map(|at| scale * (f32::from(q(at)) - 16.0)));
}

/// `scale * q + minimum`, q of five bits.
fn q5_1(block: &[u8], values: &mut Vec<f32>) {
    let (scale, minimum) = (half_at(block, 0), half_at(block, 2));
    let q = |at| nibble(&block[8..], at) | fifth_bit(&block[4..8], at);
    values.extend((0..GROUP).map(|at| scale * f32::from(q(at)) + minimum));
}

/// `scale * q`.
fn q8_0(block: &[u8], values: &mut Vec<f32>) {
    let scale = half_at(block, 0);
    values.extend(block[2..].iter().map(|q| scale * f32::from(*q as i8)));
}

/// `scale * group_scale * q - minimum * group_minimum`, q of two bits, groups of sixteen.
fn q2_k(block: &[u8], values: &mut Vec<f32>) {
    let (scales, pairs) = (&block[..16], &block[16..80]);
    let (scale, minimum) = (half_at(block, 80), half_at(block, 82));
    values.extend((0..SUPER).map(|at| {
        let pair = pairs[at / 128 * 32 + at % 32] >> (2 * (at / 32 % 4)) & 3;
        let group = scales[at / 16];
        scale * f32::from(group & 15) * f32::from(pair) - minimum * f32::from(group >> 4)
    }));
}

/// `scale * group_scale * q`, q from -4 to 3, groups of sixteen.
fn q3_k(block: &[u8], values: &mut Vec<f32>) {
    let scale = half_at(block, 108);
    let value = |at| scale * f32::from(q3_k_scale(block, at / 16)) * f32::from(q3_k_value(block, at));
    values.extend((0..SUPER).map(value));
}

/// The q of a value of Q3_K. The third bits are set where q is not negative.
pub(crate) fn q3_k_value(block: &[u8], at: usize) -> i8 {
    let (third, pairs) = (&block[..32], &block[32..96]);
    let (half, quarter, column) = (at / 128, at / 32 % 4, at % 32);
    let pair = pairs[32 * half + column] >> (2 * quarter) & 3;
    let bits = pair | (third[column] >> (4 * half + quarter) & 1) << 2;
    bits as i8 - 4 // three bits
}

/// The scale of a group of Q3_K, of six bits.
pub(crate) fn q3_k_scale(block: &[u8], group: usize) -> i8 {
    let scales = &block[96..108];
    let lower = if group < 8 { scales[group] & 15 } else { scales[group - 8] >> 4 };
    let upper = scales[8 + group % 4] >> (2 * (group / 4)) & 3;
    (lower | upper << 4) as i8 - 32 // six bits
}

/// Scale and minimum of a group of Q4_K and Q5_K, of six bits each.
fn scale_and_minimum(scales: &[u8], group: usize) -> (f32, f32) {
    let (scale, minimum) = match group {
        0..4 => (scales[group] & 63, scales[group + 4] & 63),
        _ => (scales[group + 4] & 15 | scales[group - 4] >> 6 << 4, scales[group + 4] >> 4 | scales[group] >> 6 << 4),
    };
    (scale.into(), minimum.into())
}

/// `scale * group_scale * q - minimum * group_minimum`, q of four bits, groups of 32.
fn q4_k(block: &[u8], values: &mut Vec<f32>) {
    k_groups(block, &block[16..], |_, _| 0, values);
}

/// As Q4_K, with fifth bits.
fn q5_k(block: &[u8], values: &mut Vec<f32>) {
    k_groups(block, &block[48..], |group, at| (block[16 + at] >> group & 1) << 4, values);
}

/// The groups of Q4_K and Q5_K: two groups share 32 bytes, the first one in their lower halves.
fn k_groups(block: &[u8], nibbles: &[u8], upper: impl Fn(usize, usize) -> u8, values: &mut Vec<f32>) {
    let (scale, minimum) = (half_at(block, 0), half_at(block, 2));
    for group in 0..SUPER / GROUP {
        let (group_scale, group_minimum) = scale_and_minimum(&block[4..16], group);
        let (scale, minimum) = (scale * group_scale, minimum * group_minimum);
        let nibble = |at: usize| nibbles[group / 2 * GROUP + at] >> (group % 2 * 4) & 15;
        values.extend((0..GROUP).map(|at| scale * f32::from(nibble(at) | upper(group, at)) - minimum));
    }
}

/// `scale * group_scale * (q - 32)`, q of six bits, groups of sixteen.
fn q6_k(block: &[u8], values: &mut Vec<f32>) {
    let (lower, upper, scales) = (&block[..128], &block[128..192], &block[192..208]);
    let scale = half_at(block, 208);
    values.extend((0..SUPER).map(|at| {
        let (half, quarter, column) = (at / 128, at / 32 % 4, at % 32);
        let nibble = lower[64 * half + quarter % 2 * 32 + column] >> (quarter / 2 * 4) & 15;
        let pair = upper[32 * half + column] >> (2 * quarter) & 3;
        scale * f32::from(scales[at / 16] as i8) * (f32::from(nibble | pair << 4) - 32.0)
    }));
}

/// `scale * LEVELS[q]`.
fn iq4_nl(block: &[u8], values: &mut Vec<f32>) {
    let scale = half_at(block, 0);
    values.extend((0..GROUP).map(|at| scale * level(&block[2..], at)));
}

/// `scale * (group_scale - 32) * LEVELS[q]`, groups of 32.
fn iq4_xs(block: &[u8], values: &mut Vec<f32>) {
    for (group, nibbles) in block[8..].chunks_exact(16).enumerate() {
        let scale = half_at(block, 0) * f32::from(iq4_xs_scale(block, group));
        values.extend((0..GROUP).map(|at| scale * level(nibbles, at)));
    }
}

fn level(nibbles: &[u8], at: usize) -> f32 {
    IQ4_LEVELS[usize::from(nibble(nibbles, at))].into()
}

/// The scale of a group of IQ4_XS, of six bits.
pub(crate) fn iq4_xs_scale(block: &[u8], group: usize) -> i8 {
    let (upper, lower) = (u16::from_le_bytes([block[2], block[3]]), &block[4..8]);
    let lower = lower[group / 2] >> (4 * (group % 2)) & 15;
    (lower | ((upper >> (2 * group) & 3) << 4) as u8) as i8 - 32 // six bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weights::golden_blocks::golden_blocks;

    #[test]
    fn blocks_hold_the_values_that_gguf_py_reads() {
        for golden in golden_blocks() {
            let mut found = Vec::new();
            dequantise(golden.tensor_type, &golden.blocks, &mut found);
            assert_eq!(found.len(), golden.values.len());
            for (found, expect) in found.chunks(GROUP).zip(golden.values.chunks(GROUP)) {
                let largest = expect.iter().fold(0f32, |largest, value| largest.max(value.abs()));
                // The sums of f32 may be rounded in another order.
                for (found, expect) in found.iter().zip(expect) {
                    let name = golden.tensor_type.name();
                    assert!((found - expect).abs() <= 3e-7 * largest, "{name}: {found}, expected {expect}");
                }
            }
        }
    }
}
