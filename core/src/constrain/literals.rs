//! Grammars of literals, shared by several notations or specific to one. The parser reads all of them without repairs.

use crate::function::python_float;
use crate::notation::grammar::LiteralSyntax;

/// Nesting limit of arrays and objects in values without a declared type. The parser's limit for a whole call is 64.
const FREE_LEVELS: usize = 8;

/// An escaped code point. Excludes lone surrogates, which are not characters.
const CODE_POINT: &str = r"\\u([0-9a-cefA-CEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2}|[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})";

/// The rules that every grammar of a notation can use: `str`, `INT`, `NUM`, `BOOL`, `NULL`, `COLON`, `free`. They use `SEP`.
///
/// Numbers have too few digits to overflow, but enough for identifiers and times in nanoseconds. Models are trained on
/// calls with a space after commas and colons.
pub(super) fn rules(syntax: LiteralSyntax, quote: &str) -> String {
    let mut rules = vec![
        "COLON: /:[ ]?/".to_owned(),
        "INT: /-?(0|[1-9][0-9]{0,37})/".to_owned(),
        r"NUM: /-?(0|[1-9][0-9]{0,37})(\.[0-9]{1,17})?([eE][+-]?[0-9]{1,2})?/".to_owned(),
    ];
    match syntax {
        LiteralSyntax::Python => {
            // Models write line ends and tabs in strings without escapes.
            let string = |quote: char| {
                format!(
                    r#"/{quote}([^{quote}\\\x00-\x08\x0b\x0c\x0e-\x1f]|\\[nrtbf"'\\]|\\x[0-9a-fA-F]{{2}}|{CODE_POINT})*{quote}/"#
                )
            };
            rules.push(format!("DQ: {}", string('"')));
            rules.push(format!("SQ: {}", string('\'')));
            rules.push("str: DQ | SQ".to_owned());
            rules.push(r#"NAME: /"[^"\\\x00-\x1f]*"|'[^'\\\x00-\x1f]*'/"#.to_owned());
            rules.push("BOOL: /True|False|true|false/".to_owned());
            rules.push("NULL: /None|null/".to_owned());
        }
        LiteralSyntax::Gemma => {
            rules.push(r"TEXT: /(.|\n)+/".to_owned());
            rules.push(format!("quote: {quote}"));
            rules.push("str: quote TEXT? quote".to_owned());
            rules.push(r"NAME: /[a-zA-Z_][a-zA-Z0-9_]*/".to_owned());
            rules.push("BOOL: /true|false/".to_owned());
            rules.push("NULL: /null/".to_owned());
        }
        LiteralSyntax::Json | LiteralSyntax::JsonInXml => {
            let is_xml = syntax == LiteralSyntax::JsonInXml;
            let except = if is_xml { r" & ~/(.|\n)*<\/parameter>(.|\n)*/" } else { "" };
            rules.push(format!(r#"STR: /"([^"\\\x00-\x1f]|\\["\\\/nrtbf]|{CODE_POINT})*"/{except}"#));
            rules.push("str: STR".to_owned());
            rules.push(format!(r#"NAME: /"[^"\\\x00-\x1f]*"/{except}"#));
            rules.push("BOOL: /true|false/".to_owned());
            rules.push("NULL: /null/".to_owned());
        }
    }
    rules.push("free0: str | NUM | BOOL | NULL".to_owned());
    for level in 1..=FREE_LEVELS {
        let below = format!("free{}", level - 1);
        rules.push(format!(
            r#"free{level}: free0 | "[" "]" | "[" {below} (SEP {below})* "]" | "{{" "}}" | "{{" NAME COLON {below} (SEP NAME COLON {below})* "}}""#
        ));
    }
    rules.push(format!("free: free{FREE_LEVELS}"));
    rules.join("\n") + "\n"
}

/// The spellings of a string: with either quote, if the notation has both.
pub(super) fn spellings(syntax: LiteralSyntax, text: &str) -> Vec<String> {
    match syntax {
        LiteralSyntax::Python => vec![quoted(text, '"'), quoted(text, '\'')],
        LiteralSyntax::Json | LiteralSyntax::JsonInXml => vec![quoted(text, '"')],
        LiteralSyntax::Gemma => vec![text.to_owned()], // a key, which has no quotes
    }
}

/// A string literal that Python and JSON accept.
fn quoted(text: &str, quote: char) -> String {
    let mut written = String::from(quote);
    for character in text.chars() {
        match character {
            '\n' => written.push_str("\\n"),
            '\r' => written.push_str("\\r"),
            '\t' => written.push_str("\\t"),
            '\\' => written.push_str("\\\\"),
            character if character == quote => written.extend(['\\', quote]),
            control if control < ' ' => written.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => written.push(other),
        }
    }
    written.push(quote);
    written
}

/// The spellings of a number: an integral one with or without its zero fraction.
pub(super) fn number_spellings(number: f64) -> Vec<String> {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
    let mut spellings = vec![python_float(number)];
    if number.fract() == 0.0 && number.abs() < EXACT {
        spellings.push(format!("{}", number as i64)); // exact: integral, and below 2^53
    }
    spellings
}
