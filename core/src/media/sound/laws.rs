//! Samples of telephones: 8 bits on a curved scale (ITU-T G.711).

/// A sample on the European scale.
pub(super) fn a_law(code: u8) -> f32 {
    let code = code ^ 0x55; // every second bit is sent inverted
    let (exponent, mantissa) = (code >> 4 & 7, i32::from(code & 15));
    let level = match exponent {
        0 => (mantissa << 4) + 8,
        _ => ((mantissa << 4) + 0x108) << (exponent - 1),
    };
    signed(level, code & 0x80 != 0)
}

/// A sample on the scale of North America and Japan.
pub(super) fn mu_law(code: u8) -> f32 {
    let code = !code;
    let (exponent, mantissa) = (code >> 4 & 7, i32::from(code & 15));
    let level = (((mantissa << 3) + 0x84) << exponent) - 0x84;
    signed(level, code & 0x80 == 0)
}

fn signed(level: i32, is_positive: bool) -> f32 {
    (if is_positive { level } else { -level }) as f32 / 32_768.0 // fewer bits than f32 has
}
