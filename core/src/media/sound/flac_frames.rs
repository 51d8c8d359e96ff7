//! Frames of FLAC (RFC 9639), written: one channel of 16 bits, each frame with the best of the fixed predictors.

use crate::media::sound::bit_writer::BitWriter;

/// Samples in a frame: 48 ms at 24 kHz, so that a listener waits little for the first one.
pub(super) const FRAME_SAMPLES: usize = 1152;
/// Samples that the fixed predictors look back at most.
const MAX_ORDER: usize = 4;
/// The largest parameter of a Rice code with 4 bits; one more is an escape.
const MAX_RICE: u32 = 14;

const BITS: u32 = 16;
/// 14 bits of synchronisation, a reserved one, and a zero: all frames but the last have the same number of samples.
const SYNC: u64 = 0xfff8;
/// The number of samples follows in 16 bits, and the rate is that of the header.
const SIZE_AND_RATE: u64 = 0x70;
/// One channel of 16 bits.
const CHANNEL: u64 = 0x08;

const CONSTANT: u64 = 0;
const VERBATIM: u64 = 1;
const FIXED: u64 = 8;

/// A frame with 1 to [`FRAME_SAMPLES`] samples. `number` counts the frames of the file.
pub(super) fn frame(number: u32, samples: &[i16]) -> Vec<u8> {
    let mut bits = BitWriter::default();
    bits.write(SYNC, 16);
    bits.write(SIZE_AND_RATE, 8);
    bits.write(CHANNEL, 8);
    coded_number(number).into_iter().for_each(|byte| bits.write(byte.into(), 8));
    bits.write(samples.len() as u64 - 1, 16); // at most FRAME_SAMPLES
    let header_check = checksum(bits.bytes(), 8, 0x07);
    bits.write(header_check.into(), 8);
    subframe(samples, &mut bits);
    bits.align();
    let check = checksum(bits.bytes(), 16, 0x8005);
    bits.write(check.into(), 16);
    bits.into_bytes()
}

/// A number as UTF-8 codes characters, up to 31 bits.
fn coded_number(number: u32) -> Vec<u8> {
    if number < 0x80 {
        return vec![number as u8];
    }
    // A sequence of n bytes has 5 n + 1 bits.
    let n = (2..6).find(|n| number >> (5 * n + 1) == 0).unwrap_or(6);
    let low_bits = |shift: u32| ((number >> shift) & 0x3f) as u8 | 0x80;
    let first = (0xff00u32 >> n) as u8 | (number >> (6 * (n - 1))) as u8;
    std::iter::once(first).chain((0..n - 1).rev().map(|at| low_bits(6 * at))).collect()
}

/// The samples in the form that takes the fewest bits.
fn subframe(samples: &[i16], bits: &mut BitWriter) {
    let kind = |kind: u64, bits: &mut BitWriter| bits.write(kind << 1, 8); // a zero before, and no wasted bits after it
    let sample = |value: i16, bits: &mut BitWriter| bits.write(value.cast_unsigned().into(), BITS);
    if samples.iter().all(|value| *value == samples[0]) {
        kind(CONSTANT, bits);
        return sample(samples[0], bits);
    }
    let prediction = (0..=MAX_ORDER.min(samples.len() - 1)).map(|order| Prediction::new(samples, order));
    let best = prediction.min_by_key(|prediction| prediction.n_bits);
    match best.filter(|best| best.n_bits < u64::from(BITS) * samples.len() as u64) {
        Some(best) => {
            kind(FIXED + best.order as u64, bits); // at most MAX_ORDER
            samples[..best.order].iter().for_each(|value| sample(*value, bits));
            best.write(bits);
        }
        None => {
            kind(VERBATIM, bits);
            samples.iter().for_each(|value| sample(*value, bits));
        }
    }
}

/// What a fixed predictor leaves, as numbers without a sign: 0, -1, 1, -2 are 0, 1, 2, 3.
struct Prediction {
    order: usize,
    residual: Vec<u32>,
    rice: u32,
    /// Bits of the subframe, without its first byte.
    n_bits: u64,
}

impl Prediction {
    /// The predictor of order n leaves the differences of order n.
    fn new(samples: &[i16], order: usize) -> Self {
        let mut residual: Vec<i32> = samples.iter().map(|value| i32::from(*value)).collect();
        for _ in 0..order {
            residual = residual.windows(2).map(|pair| pair[1] - pair[0]).collect(); // of at most 20 bits
        }
        let residual: Vec<u32> =
            residual.into_iter().map(|value| ((value << 1) ^ (value >> 31)).cast_unsigned()).collect();
        let code_bits =
            |rice: u32| -> u64 { residual.iter().map(|value| u64::from(value >> rice) + 1 + u64::from(rice)).sum() };
        let (n_bits, rice) = (0..=MAX_RICE).map(|rice| (code_bits(rice), rice)).min().unwrap_or_default();
        let n_bits = n_bits + order as u64 * u64::from(BITS) + 10;
        Self { order, residual, rice, n_bits }
    }

    /// One partition of Rice codes.
    fn write(&self, bits: &mut BitWriter) {
        bits.write(0, 6); // parameters of 4 bits, and 2⁰ partitions
        bits.write(self.rice.into(), 4);
        for value in &self.residual {
            bits.write_unary(value >> self.rice);
            bits.write(u64::from(*value) & ((1 << self.rice) - 1), self.rice);
        }
    }
}

/// A cyclic redundancy check of so many bits, the highest first.
fn checksum(bytes: &[u8], n_bits: u32, polynomial: u32) -> u16 {
    let (top, mask) = (1u32 << (n_bits - 1), (1u32 << n_bits) - 1);
    let rest = bytes.iter().fold(0u32, |rest, byte| {
        (0..8).fold(rest ^ (u32::from(*byte) << (n_bits - 8)), |rest, _| {
            let shifted = (rest << 1) & mask;
            if rest & top == 0 { shifted } else { shifted ^ polynomial }
        })
    });
    rest as u16 // of at most 16 bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_those_of_the_catalogue() {
        // CRC-8/SMBUS and CRC-16/UMTS of the catalogue of parametrised CRC algorithms.
        assert_eq!(checksum(b"123456789", 8, 0x07), 0xf4);
        assert_eq!(checksum(b"123456789", 16, 0x8005), 0xfee8);
    }

    #[test]
    fn numbers_are_coded_as_characters_are() {
        for number in [0, 0x7f, 0x80, 0x7ff, 0x800, 0xffff, 0x1_0000, 0x10_ffff] {
            let text = char::from_u32(number).unwrap().to_string();
            assert_eq!(coded_number(number), text.as_bytes(), "{number}");
        }
        assert_eq!(coded_number(0x7fff_ffff), [0xfd, 0xbf, 0xbf, 0xbf, 0xbf, 0xbf]);
    }
}
