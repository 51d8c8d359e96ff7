//! The types that tensors have in files, and as what the values are kept.
//!
//! Kernels know a few types. Of the others, most become one that holds the very same values in somewhat more bits; what
//! a block's bytes mean is defined by ggml's `dequantize_row_*`
//! (<https://github.com/ggml-org/ggml/blob/master/src/ggml-quants.c>).

use std::borrow::Cow;

use causerie_backend::Format;
use half::f16;

/// Appends the blocks that a block of the file becomes.
type Recode = fn(&[u8], &mut Vec<u8>);

/// A type of tensors in files.
pub(crate) struct TensorType {
    /// In GGUF files.
    number: u32,
    /// llama.cpp's.
    pub(crate) name: &'static str,
    /// Values of a block.
    pub(crate) block: usize,
    /// Of a block, in the file.
    pub(crate) block_bytes: usize,
    /// As what the values are kept.
    pub(crate) kept_as: Format,
    recode: Option<Recode>,
}

pub(crate) static F32: TensorType = kept(0, "F32", Format::F32);
pub(crate) static F16: TensorType = kept(1, "F16", Format::F16);
pub(crate) static BF16: TensorType = kept(30, "BF16", Format::Bf16);
static QUANTISED: [TensorType; 12] = [
    kept(2, "Q4_0", Format::Q4_0),
    recoded(3, "Q4_1", (GROUP, 20), Format::Q5_1, q4_1),
    recoded(6, "Q5_0", (GROUP, 22), Format::Q5_1, q5_0),
    kept(7, "Q5_1", Format::Q5_1),
    kept(8, "Q8_0", Format::Q8_0),
    recoded(10, "Q2_K", (SUPER, 84), Format::Q8_0, q2_k),
    recoded(11, "Q3_K", (SUPER, 110), Format::Q6K, q3_k),
    kept(12, "Q4_K", Format::Q4K),
    kept(13, "Q5_K", Format::Q5K),
    kept(14, "Q6_K", Format::Q6K),
    recoded(20, "IQ4_NL", (GROUP, 18), Format::Q8_0, iq4_nl),
    recoded(23, "IQ4_XS", (SUPER, 136), Format::Q8_0, iq4_xs),
];

/// Types of the format that are not read, by number and name.
const UNREAD: [(u32, &str); 20] = [
    (9, "Q8_1"),
    (15, "Q8_K"),
    (16, "IQ2_XXS"),
    (17, "IQ2_XS"),
    (18, "IQ3_XXS"),
    (19, "IQ1_S"),
    (21, "IQ3_S"),
    (22, "IQ2_S"),
    (24, "I8"),
    (25, "I16"),
    (26, "I32"),
    (27, "I64"),
    (28, "F64"),
    (29, "IQ1_M"),
    (34, "TQ1_0"),
    (35, "TQ2_0"),
    (39, "MXFP4"),
    (40, "NVFP4"),
    (41, "Q1_0"),
    (42, "Q2_0"),
];

/// Values that share a scale.
const GROUP: usize = 32;
/// Values of a super-block.
const SUPER: usize = 256;

const fn kept(number: u32, name: &'static str, format: Format) -> TensorType {
    let block = format.block();
    TensorType { number, name, block, block_bytes: format.row_bytes(block), kept_as: format, recode: None }
}

const fn recoded(
    number: u32,
    name: &'static str,
    (block, block_bytes): (usize, usize),
    kept_as: Format,
    recode: Recode,
) -> TensorType {
    TensorType { number, name, block, block_bytes, kept_as, recode: Some(recode) }
}

impl TensorType {
    /// The type of this number in GGUF files.
    ///
    /// # Errors
    /// The name of a type that is not read.
    pub(crate) fn of_gguf(number: u32) -> Result<&'static Self, Cow<'static, str>> {
        let mut read = [&F32, &F16, &BF16].into_iter().chain(&QUANTISED);
        let unread = || UNREAD.iter().find(|(unread, _)| *unread == number);
        read.find(|read| read.number == number)
            .ok_or_else(|| unread().map_or(number.to_string().into(), |(_, name)| (*name).into()))
    }

    /// Bytes in the file of what has this many as it is kept.
    pub(crate) fn bytes_in_file(&self, n_bytes_kept: usize) -> usize {
        n_bytes_kept / self.kept_as.row_bytes(self.block) * self.block_bytes
    }

    /// Blocks of the file as they are kept.
    pub(crate) fn to_kept<'a>(&self, blocks: Cow<'a, [u8]>) -> Cow<'a, [u8]> {
        let Some(recode) = self.recode else { return blocks };
        let mut kept = Vec::with_capacity(blocks.len() / self.block_bytes * self.kept_as.row_bytes(self.block));
        blocks.chunks_exact(self.block_bytes).for_each(|block| recode(block, &mut kept));
        kept.into()
    }
}

/// `scale * q + minimum`, q of four bits: as Q5_1 without fifth bits.
fn q4_1(block: &[u8], kept: &mut Vec<u8>) {
    kept.extend_from_slice(&block[..4]);
    kept.extend_from_slice(&[0; 4]);
    kept.extend_from_slice(&block[4..]);
}

/// `scale * (q - 16)`: as Q5_1 with a minimum of -16 scales.
fn q5_0(block: &[u8], kept: &mut Vec<u8>) {
    let minimum = f16::from_f32(-16.0 * half_at(block, 0));
    kept.extend_from_slice(&block[..2]);
    kept.extend_from_slice(&minimum.to_le_bytes());
    kept.extend_from_slice(&block[2..]);
}

/// `scale * group_scale * q`, q from -4 to 3, groups of sixteen: as Q6_K, whose q has more bits.
///
/// In the file: the third bits, set where q is not negative; pairs of bits; group scales of six bits; the scale.
fn q3_k(block: &[u8], kept: &mut Vec<u8>) {
    let (third, pairs, scales) = (&block[..32], &block[32..96], &block[96..108]);
    /// What Q6_K subtracts, less what Q3_K does.
    const OFFSET: u8 = 32 - 4;
    let value = |at: usize| {
        let (half, quarter, column) = (at / 128, at / 32 % 4, at % 32);
        let pair = pairs[32 * half + column] >> (2 * quarter) & 3;
        OFFSET + (pair | (third[column] >> (4 * half + quarter) & 1) << 2)
    };
    // Q6_K: nibbles of values 64 apart share a byte, upper pairs of bits of four values 32 apart.
    kept.extend((0..128).map(|at| {
        let low = at / 64 * 128 + at % 64;
        value(low) & 15 | value(low + 64) << 4
    }));
    kept.extend((0..64).map(|at| {
        let first = at / 32 * 128 + at % 32;
        (0..4).fold(0, |bits, quarter| bits | value(first + 32 * quarter) >> 4 << (2 * quarter))
    }));
    kept.extend((0..16).map(|at| {
        let lower = if at < 8 { scales[at] & 15 } else { scales[at - 8] >> 4 };
        let upper = scales[8 + at % 4] >> (2 * (at / 4)) & 3;
        (lower | upper << 4).wrapping_sub(32)
    }));
    kept.extend_from_slice(&block[108..110]);
}

/// `scale * group_scale * q - minimum * group_minimum`, q of two bits, groups of sixteen. No kernel has the like: rounded
/// to eight bits, by half of a 127th of the largest value in 32 at most.
fn q2_k(block: &[u8], kept: &mut Vec<u8>) {
    let (scales, pairs) = (&block[..16], &block[16..80]);
    let (scale, minimum) = (half_at(block, 80), half_at(block, 82));
    let value = |at: usize| {
        let pair = pairs[at / 128 * 32 + at % 32] >> (2 * (at / 32 % 4)) & 3;
        let group = scales[at / 16];
        scale * f32::from(group & 15) * f32::from(pair) - minimum * f32::from(group >> 4)
    };
    for group in 0..SUPER / GROUP {
        let values: [f32; GROUP] = std::array::from_fn(|at| value(group * GROUP + at));
        // What is not a number must not be hidden.
        let largest =
            values.iter().fold(0f32, |largest, value| if value.abs() <= largest { largest } else { value.abs() });
        let scale = f16::from_f32(largest / 127.0);
        let inverse = if scale.to_f32() == 0.0 { 0.0 } else { scale.to_f32().recip() };
        kept.extend_from_slice(&scale.to_le_bytes());
        kept.extend(values.map(|value| (value * inverse).round().clamp(-127.0, 127.0) as i8 as u8));
    }
}

/// `scale * LEVELS[q]`.
fn iq4_nl(block: &[u8], kept: &mut Vec<u8>) {
    kept.extend_from_slice(&block[..2]);
    extend_with_levels(&block[2..], kept);
}

/// `scale * (group_scale - 32) * LEVELS[q]`, groups of 32: the product of both scales as an f16.
fn iq4_xs(block: &[u8], kept: &mut Vec<u8>) {
    let (upper, lower) = (u16::from_le_bytes([block[2], block[3]]), &block[4..8]);
    for (group, nibbles) in block[8..].chunks_exact(16).enumerate() {
        let lower = lower[group / 2] >> (4 * (group % 2)) & 15;
        let scale = i16::from(lower) | ((upper >> (2 * group) & 3) << 4) as i16;
        kept.extend_from_slice(&f16::from_f32(half_at(block, 0) * f32::from(scale - 32)).to_le_bytes());
        extend_with_levels(nibbles, kept);
    }
}

/// The bytes that sixteen bytes of nibbles stand for: first the lower ones, then the upper ones.
fn extend_with_levels(nibbles: &[u8], kept: &mut Vec<u8>) {
    /// ggml's `kvalues_iq4nl`.
    const LEVELS: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];
    let level = |nibble: u8| LEVELS[usize::from(nibble)] as u8;
    kept.extend(nibbles.iter().map(|byte| level(byte & 15)));
    kept.extend(nibbles.iter().map(|byte| level(byte >> 4)));
}

fn half_at(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

#[cfg(test)]
mod tests {
    use causerie_backend::Cpu;

    use super::*;
    use crate::weights::tensors::{Content, MatrixPlace, Part};

    #[derive(serde::Deserialize)]
    struct Case {
        number: u32,
        blocks: String,
        values: String,
    }

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    fn rows(tensor_type: &'static TensorType, blocks: Vec<u8>) -> Vec<Vec<f32>> {
        let (n_rows, bytes) = (blocks.len() / tensor_type.block_bytes, 0..blocks.len());
        let part = Part { tensor_type, bytes, content: &Content::InMemory(blocks.into()) };
        let place = MatrixPlace { name: "blocks", shape: (n_rows, tensor_type.block), of_stack: None };
        let matrix = part.packed(&place, &Cpu::new(1)).unwrap();
        let mut row = vec![0.0; tensor_type.block];
        let read = |at| {
            matrix.read_row(at, &mut row);
            row.clone()
        };
        (0..n_rows).map(read).collect()
    }

    #[test]
    fn blocks_hold_the_values_that_gguf_py_reads() {
        let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/tensor_types.json");
        let golden = std::fs::read_to_string(golden).unwrap();
        let cases: std::collections::BTreeMap<String, Case> = serde_json::from_str(&golden).unwrap();
        assert!(QUANTISED.iter().all(|quantised| cases.contains_key(quantised.name)));
        for (name, case) in cases {
            let tensor_type = TensorType::of_gguf(case.number).unwrap();
            assert_eq!(tensor_type.name, name);
            let found = rows(tensor_type, bytes(&case.blocks)).concat();
            let expect: Vec<f32> =
                bytes(&case.values).as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
            assert_eq!(found.len(), expect.len());
            // By the largest value of a group: of an f16's rounding, of half of one of 127 steps, of sums in f32.
            let tolerance = match name.as_str() {
                "IQ4_XS" => 6e-4,
                "Q2_K" => 4.5e-3,
                _ => 3e-7,
            };
            for (found, expect) in found.chunks(GROUP).zip(expect.chunks(GROUP)) {
                let largest = expect.iter().fold(0f32, |largest, value| largest.max(value.abs()));
                for (found, expect) in found.iter().zip(expect) {
                    assert!((found - expect).abs() <= tolerance * largest, "{name}: {found}, expected {expect}");
                }
            }
        }
    }

    #[test]
    fn what_is_not_a_number_is_not_hidden() {
        for tensor_type in &QUANTISED {
            for wrong in [f16::NAN, f16::INFINITY] {
                // All halves of the block, its scales among them.
                let block = wrong.to_le_bytes().repeat(tensor_type.block_bytes / 2);
                assert!(
                    rows(tensor_type, block).concat().iter().all(|value| !value.is_finite()),
                    "{}",
                    tensor_type.name
                );
            }
        }
    }
}
