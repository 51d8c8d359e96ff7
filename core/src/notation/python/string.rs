//! String literals of Python: how one starts, and the text that it stands for.

use crate::function::{RejectionReason, Repair};
use crate::notation::escape::{hexadecimal, utf16};
use crate::notation::quoted::QuoteStyle;
use crate::notation::repairs::Repairs;

/// The prefix and the opening quotes of a string.
#[derive(Clone, Copy)]
pub(super) struct StringOpening {
    pub(super) style: QuoteStyle,
    /// Bytes of the prefix and the opening quotes.
    pub(super) length: usize,
    is_raw: bool,
    is_format: bool,
    is_bytes: bool,
}

impl StringOpening {
    /// The opening at the start of `rest`.
    pub(super) fn read(rest: &str) -> Option<Self> {
        let prefix_length = rest.bytes().take(3).position(|byte| byte == b'\'' || byte == b'"')?;
        let prefix = rest[..prefix_length].to_ascii_lowercase();
        let is_known = matches!(prefix.as_str(), "" | "u" | "r" | "f" | "b" | "rb" | "br" | "rf" | "fr");
        let style = QuoteStyle::python(&rest[prefix_length..]).filter(|_| is_known)?;
        Some(Self {
            style,
            length: prefix_length + style.length(),
            is_raw: prefix.contains('r'),
            is_format: prefix.contains('f'),
            is_bytes: prefix.contains('b'),
        })
    }

    /// Where a path of Windows ends whose last backslash stands before the quote: after an escape that does not exist, at a quote
    /// that something follows which may follow a value. `close` is where the string ends if this backslash is an escape.
    pub(super) fn path_end(&self, text: &str, from: usize, close: Option<usize>) -> Option<usize> {
        let inside = text.get(from..close.unwrap_or(text.len())).filter(|_| !self.style.is_triple)?;
        let mut is_path = self.is_raw;
        let mut backslashes = inside.match_indices('\\').map(|(at, _)| at);
        while let Some(at) = backslashes.next() {
            let after = &inside[at + 1..];
            if is_path && after.starts_with(self.style.quote()) {
                let mut next = text[from + at + 2..].chars();
                if next.find(|next| !next.is_whitespace()).is_some_and(|next| ",)]}:".contains(next)) {
                    return Some(from + at + 1);
                }
            }
            match decode_escape(after, false, &mut Repairs::default()) {
                None => is_path = true,
                Some(('\\', _)) => {
                    backslashes.next();
                }
                Some(_) => {}
            }
        }
        None
    }

    /// Decodes the text between the quotes; in JSON, `\/` is an escape as well.
    pub(super) fn decode(
        &self,
        written: &str,
        is_json: bool,
        repairs: &mut Repairs,
    ) -> Result<String, RejectionReason> {
        if self.is_bytes {
            return Err(RejectionReason::UnsupportedExpression);
        }
        let unbraced = if self.is_format {
            repairs.add(Repair::PlainFstring);
            Some(without_double_braces(written).ok_or(RejectionReason::UnsupportedExpression)?)
        } else {
            None
        };
        let written = unbraced.as_deref().unwrap_or(written);
        Ok(if self.is_raw { written.to_owned() } else { decode_escapes(written, self.style.quote(), is_json, repairs) })
    }
}

/// Replaces `{{` and `}}`, an f-string's spelling of braces; returns `None` if there is a placeholder.
fn without_double_braces(written: &str) -> Option<String> {
    let mut text = String::with_capacity(written.len());
    let mut rest = written;
    while let Some(at) = rest.find(['{', '}']) {
        let brace = rest[at..].chars().next()?;
        text.push_str(&rest[..at]);
        text.push(brace);
        rest = rest[at + 1..].strip_prefix(brace)?;
    }
    text.push_str(rest);
    Some(text)
}

/// Decodes escapes. A string with an escape that does not exist has none that was meant, except before a quote: it may be a
/// path of Windows.
fn decode_escapes(written: &str, quote: char, is_json: bool, repairs: &mut Repairs) -> String {
    let mut text = String::with_capacity(written.len());
    let mut rest = written;
    let mut has_unknown = false;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let decoded = decode_escape(rest, is_json, repairs);
        // A line end keeps its backslash.
        has_unknown |= decoded.is_none() && !rest.starts_with(['\n', '\r']);
        let (character, length) = decoded.unwrap_or(('\\', 0));
        text.push(character);
        rest = &rest[length..];
    }
    text.push_str(rest);
    let plain = || written.replace(&format!("\\{quote}"), &quote.to_string());
    match has_unknown.then(plain).filter(|plain| *plain != text) {
        Some(plain) => {
            repairs.add(Repair::PlainBackslashes);
            plain
        }
        None => text,
    }
}

/// The character that an escape stands for, and the length of the escape; `rest` starts after the backslash.
fn decode_escape(rest: &str, is_json: bool, repairs: &mut Repairs) -> Option<(char, usize)> {
    let simple = |character| Some((character, 1));
    match rest.chars().next()? {
        'n' => simple('\n'),
        't' => simple('\t'),
        'r' => simple('\r'),
        'a' => simple('\u{7}'),
        'b' => simple('\u{8}'),
        'f' => simple('\u{c}'),
        'v' => simple('\u{b}'),
        plain @ ('\\' | '\'' | '"') => simple(plain),
        '/' if is_json => simple('/'),
        '0'..='7' => {
            let length = rest.bytes().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
            let code = u32::from_str_radix(&rest[..length], 8).ok()?;
            Some((char::from_u32(code)?, length))
        }
        'x' => Some((char::from_u32(hexadecimal(&rest[1..], 2)?)?, 3)),
        'u' => utf16(&rest[1..], repairs).map(|(character, length)| (character, length + 1)),
        'U' => match hexadecimal(&rest[1..], 8)? {
            0xD800..0xE000 => {
                repairs.add(Repair::LoneSurrogate);
                Some((char::REPLACEMENT_CHARACTER, 9))
            }
            code => Some((char::from_u32(code)?, 9)),
        },
        _ => None,
    }
}
