//! Code points written in hexadecimal digits, as in `\u00e9`.

use crate::function::Repair;
use crate::notation::repairs::Repairs;

/// Reads `count` hexadecimal digits at the start of `text`.
pub(crate) fn hexadecimal(text: &str, count: usize) -> Option<u32> {
    let digits = text.get(..count)?;
    let are_digits = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    are_digits.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
}

/// Reads the code point after `\u` and returns it with the number of bytes read. The halves of a surrogate pair are
/// joined; half a pair becomes U+FFFD.
pub(crate) fn utf16(text: &str, repairs: &mut Repairs) -> Option<(char, usize)> {
    let first = hexadecimal(text, 4)?;
    if let Some(character) = char::from_u32(first) {
        return Some((character, 4));
    }
    let second = text[4..].strip_prefix("\\u").and_then(|rest| hexadecimal(rest, 4));
    if let (0xD800..0xDC00, Some(second @ 0xDC00..0xE000)) = (first, second) {
        let joined = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
        return char::from_u32(joined).map(|character| (character, 10));
    }
    repairs.add(Repair::LoneSurrogate);
    Some((char::REPLACEMENT_CHARACTER, 4))
}
