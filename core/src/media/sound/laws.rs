//! Samples of telephones: 8 bits on a curved scale.

/// The scale of a telephone's samples, which have 8 bits each, 8,000 times per second (ITU-T G.711).
///
/// ```
/// use causerie::TelephoneLaw;
/// assert_eq!(TelephoneLaw::Mu.code(0.0), 0xff);
/// assert_eq!(TelephoneLaw::A.code(0.0), 0xd5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TelephoneLaw {
    /// The scale of North America and Japan.
    Mu,
    /// The scale of the other countries.
    A,
}

impl TelephoneLaw {
    /// Samples per second.
    ///
    /// ```
    /// assert_eq!(causerie::TelephoneLaw::RATE, 8_000);
    /// ```
    pub const RATE: u32 = 8_000;

    /// The sample that a code stands for, between -1 and 1.
    ///
    /// ```
    /// assert_eq!(causerie::TelephoneLaw::Mu.sample(0xff), 0.0);
    /// ```
    pub fn sample(self, code: u8) -> f32 {
        let (level, is_positive) = match self {
            Self::Mu => {
                let code = !code;
                let (exponent, mantissa) = (code >> 4 & 7, i32::from(code & 15));
                ((((mantissa << 3) + 0x84) << exponent) - 0x84, code & 0x80 == 0)
            }
            Self::A => {
                let code = code ^ EVEN_BITS;
                let (exponent, mantissa) = (code >> 4 & 7, i32::from(code & 15));
                let level = match exponent {
                    0 => (mantissa << 4) + 8,
                    _ => ((mantissa << 4) + 0x108) << (exponent - 1),
                };
                (level, code & 0x80 != 0)
            }
        };
        (if is_positive { level } else { -level }) as f32 / 32_768.0 // fewer bits than f32 has
    }

    /// The code of a sample. Samples beyond -1 and 1 are limited, and NaN becomes 0.
    ///
    /// ```
    /// use causerie::TelephoneLaw;
    /// assert_eq!(TelephoneLaw::A.code(1.5), TelephoneLaw::A.code(1.0));
    /// ```
    pub fn code(self, sample: f32) -> u8 {
        let sample = (sample * 32_768.0).round() as i16;
        // The complement of a negative sample, so that 0 and -1 are the smallest on their sides.
        let level = u32::from(if sample < 0 { !sample } else { sample }.unsigned_abs());
        match self {
            Self::Mu => {
                let level = (level + 0x84).min(0x7fff);
                let exponent = level.ilog2() - 7;
                let code = exponent << 4 | level >> (exponent + 3) & 15;
                !(code as u8 | if sample < 0 { 0x80 } else { 0 }) // 7 bits
            }
            Self::A => {
                let level = level >> 4;
                let code = match level {
                    0..32 => level,
                    _ => {
                        let exponent = level.ilog2() - 3;
                        exponent << 4 | level >> (exponent - 1) & 15
                    }
                };
                (code as u8 | if sample < 0 { 0 } else { 0x80 }) ^ EVEN_BITS // 7 bits
            }
        }
    }
}

/// Every second bit of a code on the scale of the other countries is sent inverted.
const EVEN_BITS: u8 = 0x55;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_another_encoder() {
        // Python 3.11's audioop: lin2ulaw, lin2alaw.
        let codes = [
            (0, 255, 213),
            (7, 254, 213),
            (8, 254, 213),
            (100, 242, 211),
            (1000, 206, 250),
            (8158, 159, 138),
            (12_345, 151, 189),
            (16_384, 143, 165),
            (32_635, 128, 170),
            (32_767, 128, 170),
            (-5, 126, 85),
            (-101, 114, 83),
            (-1000, 78, 122),
            (-12_345, 23, 61),
            (-32_768, 0, 42),
        ];
        for (sample, mu, a) in codes {
            let found = [TelephoneLaw::Mu, TelephoneLaw::A].map(|law| law.code(sample as f32 / 32_768.0));
            assert_eq!(found, [mu, a], "{sample}");
        }
    }

    #[test]
    fn each_code_is_that_of_its_sample() {
        for law in [TelephoneLaw::Mu, TelephoneLaw::A] {
            for code in 0..=u8::MAX {
                // There are two codes of 0 on one of the scales.
                let again = law.code(law.sample(code));
                assert!(again == code || law.sample(again) == law.sample(code), "{law:?} {code}");
            }
        }
        assert_eq!((TelephoneLaw::Mu.code(f32::NAN), TelephoneLaw::Mu.code(-2.0)), (255, 0));
    }
}
