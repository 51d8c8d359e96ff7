//! String literals of Python: where one ends, and what it says.

use crate::function::{RejectionReason, Repair};
use crate::parse::escape::{hexadecimal, utf16};
use crate::parse::repairs::Repairs;
use crate::parse::work;

/// What stands before the text of a string: its prefix and its opening quote.
#[derive(Clone, Copy)]
pub(super) struct Opening {
    pub(super) quote: char,
    pub(super) is_triple: bool,
    /// Bytes of prefix and opening quote.
    pub(super) length: usize,
    is_raw: bool,
    is_format: bool,
    is_bytes: bool,
}

impl Opening {
    /// The opening that stands at the start of `rest`.
    pub(super) fn read(rest: &str) -> Option<Self> {
        let prefix_length = rest.bytes().take(3).position(|byte| byte == b'\'' || byte == b'"')?;
        let prefix = rest[..prefix_length].to_ascii_lowercase();
        let is_known = matches!(prefix.as_str(), "" | "u" | "r" | "f" | "b" | "rb" | "br" | "rf" | "fr");
        let quote = rest[prefix_length..].chars().next().filter(|_| is_known)?;
        let is_triple = is_triple(&rest[prefix_length..]);
        Some(Self {
            quote,
            is_triple,
            length: prefix_length + if is_triple { 3 } else { 1 },
            is_raw: prefix.contains('r'),
            is_format: prefix.contains('f'),
            is_bytes: prefix.contains('b'),
        })
    }

    pub(super) fn closing_length(&self) -> usize {
        if self.is_triple { 3 } else { 1 }
    }

    /// What the text between the quotes says; in JSON, `\\/` is an escape too.
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
        Ok(if self.is_raw { written.to_owned() } else { decode_escapes(written, is_json, repairs) })
    }
}

/// Behind the string whose opening quote stands at `open`; `None` if it never ends.
pub(in crate::parse) fn skip(text: &str, open: usize) -> Option<usize> {
    let rest = &text[open..];
    let quote = rest.chars().next()?;
    let length = if is_triple(rest) { 3 } else { 1 };
    Some(closing(text, open + length, quote, length == 3)? + length)
}

/// Where the first closing quote stands in `text` from `from` on.
pub(super) fn closing(text: &str, from: usize, quote: char, is_triple: bool) -> Option<usize> {
    let mut at = from;
    loop {
        let found = text[at..].find([quote, '\\']);
        work::count(found.unwrap_or(text.len() - at) + 1);
        at += found?;
        let rest = &text[at..];
        if let Some(escaped) = rest.strip_prefix('\\') {
            at += 1 + escaped.chars().next()?.len_utf8();
        } else if is_triple && !self::is_triple(rest) {
            at += 1;
        } else {
            return Some(at);
        }
    }
}

fn is_triple(rest: &str) -> bool {
    rest.starts_with("\"\"\"") || rest.starts_with("'''")
}

/// `{{` and `}}` as an f-string spells braces; `None` if there is a placeholder.
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

fn decode_escapes(written: &str, is_json: bool, repairs: &mut Repairs) -> String {
    let mut text = String::with_capacity(written.len());
    let mut rest = written;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        // An escape that Python does not know keeps its backslash, as in Python.
        let (character, length) = decode_escape(rest, is_json, repairs).unwrap_or(('\\', 0));
        text.push(character);
        rest = &rest[length..];
    }
    text.push_str(rest);
    text
}

/// The character that an escape stands for, and the length of the escape; `rest` starts behind the backslash.
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
