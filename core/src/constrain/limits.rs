//! The limits that schemas set for strings, integers and arrays.
//!
//! Strings and integers with limits are written in JSON notation, which most call notations accept; strings without quotes are
//! limited by regular expressions. Limits of other numbers
//! are left out, because llguidance would allow such numbers to have any number of digits.

use llguidance::regex_to_lark;
use serde_json::json;

use crate::constrain::formats::{expression_of, pattern_of};
use crate::function::Value;
use crate::validate::is_pattern;

const STRING_KEYWORDS: [&str; 4] = ["minLength", "maxLength", "pattern", "format"];
const INTEGER_KEYWORDS: [&str; 5] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];

/// The largest enforced value of `multipleOf`. The automaton has as many states.
const LARGEST_STEP: u32 = 10_000;

/// The limit of integers for which the schema sets none: a value that fits 64 bits and is exact as a float.
const FARTHEST: f64 = 9e18;

/// A JSON Schema of the limits only, for strings or integers; `None` if there are no limits.
pub(super) fn of(name: &str, schema: &Value) -> Option<String> {
    let keywords = if name == "string" { &STRING_KEYWORDS[..] } else { &INTEGER_KEYWORDS };
    let found = keywords.iter().filter_map(|keyword| Some((*keyword, schema.get(keyword)?)));
    let mut limits: serde_json::Map<String, serde_json::Value> =
        found.filter_map(|(keyword, value)| Some((keyword.to_owned(), limit(keyword, value)?))).collect();
    // Beside a pattern, llguidance enforces the format by its own rules.
    if !limits.contains_key("pattern")
        && let Some(format) = limits.remove("format")
    {
        let pattern = format.as_str().and_then(pattern_of);
        limits.extend(pattern.map(|pattern| ("pattern".to_owned(), json!(pattern))));
    }
    if limits.is_empty() {
        return None;
    }
    if name != "string" {
        for (keyword, other, farthest) in
            [("minimum", "exclusiveMinimum", -FARTHEST), ("maximum", "exclusiveMaximum", FARTHEST)]
        {
            if !limits.contains_key(other) {
                limits.entry(keyword).or_insert(json!(farthest));
            }
        }
    }
    limits.insert("type".to_owned(), json!(name));
    // Lenient: llguidance ignores what it does not support, such as some formats. Escapes that come in pairs are excluded.
    limits.insert("x-guidance".to_owned(), json!({ "lenient": true, "json_allowed_escapes": "nrbtf\\\"" }));
    Some(serde_json::Value::Object(limits).to_string())
}

/// What a schema demands of strings without quotes, as regular expressions of a terminal; `None` if it allows all.
pub(super) fn of_text(schema: &Value) -> Option<String> {
    let count = |keyword| schema.get(keyword).and_then(count);
    let (least, most) = (count("minLength"), count("maxLength"));
    let is_limited = least.is_some_and(|least| 0 < least) || most.is_some();
    let most = most.map_or(String::new(), |most| most.to_string());
    let length = is_limited.then(|| format!("/(.|\\n){{{},{most}}}/", least.unwrap_or(0)));
    let text = |keyword| schema.get(keyword).and_then(Value::as_str);
    let pattern = text("pattern").and_then(of_pattern);
    let format = text("format").and_then(expression_of).map(|format| format!("/{}/", regex_to_lark(&format, "")));
    let all: Vec<String> = length.into_iter().chain(pattern).chain(format).collect();
    (!all.is_empty()).then(|| all.join(" & "))
}

/// The regular expression of whole texts in which a pattern matches somewhere; `None` if the grammar cannot follow it. Anchors
/// must be at its ends, and apply to all of it.
fn of_pattern(pattern: &str) -> Option<String> {
    if !is_supported(pattern) {
        return None;
    }
    let without_start = pattern.strip_prefix('^');
    let body = without_start.unwrap_or(pattern);
    let n_escapes = |text: &str| text.bytes().rev().take_while(|byte| *byte == b'\\').count();
    let without_end = body.strip_suffix('$').filter(|body| n_escapes(body).is_multiple_of(2));
    let (body, has_anchor) = (without_end.unwrap_or(body), without_start.or(without_end).is_some());
    let (mut in_class, mut is_escaped, mut depth) = (false, false, 0usize);
    for byte in body.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'[' => in_class = true,
            b']' => in_class = false,
            _ if in_class => {}
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b'^' | b'$' => return None,
            b'|' if depth == 0 && has_anchor => return None,
            _ => {}
        }
    }
    let around = |is_anchored: bool| if is_anchored { "" } else { "(.|\\n)*" };
    let (before, after) = (around(without_start.is_some()), around(without_end.is_some()));
    Some(format!("/{before}({}){after}/", regex_to_lark(body, "dw")))
}

/// The smallest and the largest number of items of an array; `None` if the schema limits neither.
pub(super) fn of_array(schema: &Value) -> Option<(u32, Option<u32>)> {
    let count = |keyword| schema.get(keyword).and_then(count);
    let (least, most) = (count("minItems"), count("maxItems"));
    (least.is_some_and(|least| 0 < least) || most.is_some()).then_some((least.unwrap_or(0), most))
}

/// The value of a keyword, if llguidance supports it. One unsupported value would make it refuse all limits.
fn limit(keyword: &str, value: &Value) -> Option<serde_json::Value> {
    match keyword {
        "minLength" | "maxLength" => count(value).map(|count| json!(count)),
        "pattern" => value.as_str().filter(|pattern| is_supported(pattern)).map(|pattern| json!(pattern)),
        "format" => value.as_str().map(|format| json!(format)),
        "multipleOf" => count(value).filter(|step| (1..=LARGEST_STEP).contains(step)).map(|step| json!(step)),
        _ => value.as_f64().filter(|limit| limit.is_finite()).map(|limit| json!(limit)),
    }
}

/// A number of characters or items. JSON Schema allows it to have a zero fraction.
fn count(value: &Value) -> Option<u32> {
    let whole = value.as_f64().filter(|count| count.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(count));
    whole.map(|count| count as u32) // exact: whole, and in range
}

/// Whether llguidance supports a pattern: it has no lookahead, lookbehind, word boundary or backreference.
fn is_supported(pattern: &str) -> bool {
    let looks = ["(?=", "(?!", "(?<=", "(?<!", "\\b", "\\B"].iter().any(|look| pattern.contains(look));
    let refers = pattern.as_bytes().windows(2).any(|pair| pair[0] == b'\\' && (b'1'..=b'9').contains(&pair[1]));
    !looks && !refers && is_pattern(pattern)
}
