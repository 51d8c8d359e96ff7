//! Strings and numbers as Python's json module prints them.

use std::fmt::{self, Write};

/// Writes a string as JSON, as Python's `json.dumps(ensure_ascii=False)` does.
///
/// # Errors
/// The errors of the writer.
pub fn write_json_string(out: &mut impl Write, text: &str) -> fmt::Result {
    out.write_char('"')?;
    for character in text.chars() {
        match character {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            '\u{8}' => out.write_str("\\b")?,
            '\u{c}' => out.write_str("\\f")?,
            control if control < ' ' => write!(out, "\\u{:04x}", u32::from(control))?,
            other => out.write_char(other)?,
        }
    }
    out.write_char('"')
}

/// Formats a float as Python's `repr` does: the shortest digits that read back equal, `1e16` as `1e+16`. Numbers that are
/// not finite are spelled as Python's json module spells them.
pub fn python_float(number: f64) -> String {
    if !number.is_finite() {
        // Never in arguments, but possible in templates; Python's json module uses these spellings.
        return if number.is_nan() {
            "NaN"
        } else if number > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }
        .to_owned();
    }
    let scientific = format!("{number:e}"); // shortest digits, as in 1.5e-7
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>().unwrap_or(0) {
        -4..16 => {
            let plain = format!("{number}");
            if plain.contains('.') { plain } else { plain + ".0" }
        }
        exponent => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
    }
}
