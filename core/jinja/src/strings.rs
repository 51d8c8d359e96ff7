//! Strings in the tags of a chat template, with the escapes of Python's strings in those that the template engine reads.

use std::borrow::Cow;
use std::ops::Range;

/// A tag with the characters in place of their escapes, except for those that the template engine needs.
pub(super) fn with_plain_strings<'a>(tag: &'a str, tokens: &[Range<usize>]) -> Result<Cow<'a, str>, &'static str> {
    let mut out = String::new();
    let mut copied = 0;
    for token in tokens {
        let text = &tag[token.clone()];
        if !text.starts_with(['"', '\'']) || !text.contains('\\') {
            continue;
        }
        let (quote, inside) = text.split_at(1);
        let Some(content) = inside.strip_suffix(quote) else { continue };
        out.push_str(&tag[copied..token.start]);
        out.push_str(quote);
        for character in unescaped(content)?.chars() {
            match character {
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\\' | '"' | '\'' => out.extend(['\\', character]),
                _ => out.push(character),
            }
        }
        out.push_str(quote);
        copied = token.end;
    }
    Ok(if copied == 0 { tag.into() } else { (out + &tag[copied..]).into() })
}

/// The string that Python reads. A backslash before any other character stands for itself.
fn unescaped(content: &str) -> Result<String, &'static str> {
    let mut out = String::with_capacity(content.len());
    let mut rest = content;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let escape = &rest[at + 1..];
        let Some(kind) = escape.chars().next() else { break };
        rest = &escape[kind.len_utf8()..];
        match kind {
            '\n' => {}
            '\\' | '\'' | '"' => out.push(kind),
            'a' => out.push('\x07'),
            'b' => out.push('\x08'),
            'f' => out.push('\x0c'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'v' => out.push('\x0b'),
            '0'..='7' => {
                let n_digits = escape.bytes().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
                out.extend(u32::from_str_radix(&escape[..n_digits], 8).ok().and_then(char::from_u32));
                rest = &escape[n_digits..];
            }
            'x' => out.push(code(&mut rest, 2)?),
            'u' => {
                let unit = number(&mut rest, 4)?;
                out.push(match char::from_u32(unit) {
                    Some(character) => character,
                    None => surrogates(unit, &mut rest)?,
                });
            }
            'U' => out.push(code(&mut rest, 8)?),
            'N' => return Err("names of characters in strings (\\N{…}) are not supported"),
            other => out.extend(['\\', other]),
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// Takes this many hexadecimal digits.
fn number(rest: &mut &str, n_digits: usize) -> Result<u32, &'static str> {
    let wrong = "an escape in a string must have all its hexadecimal digits";
    let digits =
        rest.get(..n_digits).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit())).ok_or(wrong)?;
    *rest = &rest[n_digits..];
    u32::from_str_radix(digits, 16).map_err(|_| wrong)
}

fn code(rest: &mut &str, n_digits: usize) -> Result<char, &'static str> {
    char::from_u32(number(rest, n_digits)?).ok_or("an escape in a string must be a character")
}

/// The character of two surrogates, the second of which follows.
fn surrogates(high: u32, rest: &mut &str) -> Result<char, &'static str> {
    let lone = "an escape in a string must not be half of a surrogate pair";
    *rest = rest.strip_prefix("\\u").ok_or(lone)?;
    let units = [high, number(rest, 4)?].map(|unit| unit as u16); // both have four digits
    char::decode_utf16(units).next().and_then(Result::ok).ok_or(lone)
}

/// The position after the string that starts at `open`.
pub(super) fn string_end(source: &str, open: usize) -> Option<usize> {
    let quote = source.as_bytes()[open];
    let mut is_escaped = false;
    // Quotes and backslashes are ASCII, and so never part of another character.
    let inside = |byte: &u8| {
        let is_end = *byte == quote && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    };
    source.as_bytes()[open + 1..].iter().position(inside).map(|at| open + 1 + at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected strings come from Jinja2.
    #[test]
    fn escapes_are_those_of_python() {
        for (content, expect) in [
            (r"\a\b\f\n\r\t\v", "\x07\x08\x0c\n\r\t\x0b"),
            (r#"\\\'\""#, "\\'\""),
            (r"\0\18\1012\377\400", "\0\u{1}8A2\u{ff}\u{100}"),
            (r"\x41\u00e9\U0001F600\ud83d\ude00", "Aé😀😀"),
            (r"\d\/\é\ ", "\\d\\/\\é\\ "),
            ("a\\\nb", "ab"),
        ] {
            assert_eq!(unescaped(content).as_deref(), Ok(expect), "{content}");
        }
        for content in [r"\x4", r"\xg0", r"\u12", r"\U00110000", r"\ud83d", r"\ud83d\n", r"\N{BULLET}", r"\uＡＢＣＤ"]
        {
            assert!(unescaped(content).is_err(), "{content}");
        }
    }
}
