//! The limits that schemas set for strings, integers and arrays.
//!
//! Strings and integers with limits are written in JSON notation, which most call notations accept; strings without quotes are
//! limited by regular expressions.

use llguidance::regex_to_lark;
use serde_json::{Value as Json, json};

use crate::constrain::formats::enforced_patterns;
use crate::constrain::refusal;
use crate::function::Value;

const STRING_KEYWORDS: [&str; 4] = ["minLength", "maxLength", "pattern", "format"];
const INTEGER_KEYWORDS: [&str; 5] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];

/// The largest enforced value of `multipleOf`. The automaton has as many states.
const MAX_STEP: u32 = 10_000;

/// The limit of integers for which the schema sets none: a value that fits 64 bits and is exact as a float.
const MAX_INTEGER: f64 = 9e18;

/// A JSON Schema of the limits only, for strings or integers; `None` if there are no limits.
pub(super) fn of(name: &str, schema: &Value) -> Option<String> {
    let keywords = if name == "string" { &STRING_KEYWORDS[..] } else { &INTEGER_KEYWORDS };
    let found = keywords.iter().filter_map(|keyword| Some((*keyword, schema.get(keyword)?)));
    let mut limits: serde_json::Map<String, Json> =
        found.filter_map(|(keyword, value)| Some((keyword.to_owned(), limit(keyword, value)?))).collect();
    let [pattern, format] = ["pattern", "format"].map(|keyword| limits.remove(keyword));
    let patterns = enforced_patterns(pattern.as_ref().and_then(Json::as_str), format.as_ref().and_then(Json::as_str));
    limits.extend(patterns.first().map(|first| ("pattern".to_owned(), json!(first))));
    limits.extend(patterns.get(1).map(|second| ("allOf".to_owned(), json!([{ "pattern": second }]))));
    if limits.is_empty() {
        return None;
    }
    if name != "string" {
        for (keyword, other, farthest) in
            [("minimum", "exclusiveMinimum", -MAX_INTEGER), ("maximum", "exclusiveMaximum", MAX_INTEGER)]
        {
            if !limits.contains_key(other) {
                let limit = limits.entry(keyword).or_insert(json!(farthest));
                // llguidance negates limits of 64 bits.
                if limit.as_f64().is_some_and(|limit| MAX_INTEGER < limit * farthest.signum()) {
                    *limit = json!(farthest);
                }
            }
        }
    }
    limits.insert("type".to_owned(), json!(name));
    if !refusal::is_accepted(&limits) {
        return None; // other values keep their limits
    }
    // Lenient: llguidance ignores what it does not support, such as some formats. Escapes that come in pairs are excluded.
    limits.insert("x-guidance".to_owned(), json!({ "lenient": true, "json_allowed_escapes": "nrbtf\\\"" }));
    Some(Json::Object(limits).to_string())
}

/// What a schema demands of strings without quotes, as regular expressions of a terminal; `None` if it allows all.
pub(super) fn of_text(schema: &Value) -> Option<String> {
    let count = |keyword| schema.get(keyword).and_then(count);
    let (least, most) = (count("minLength"), count("maxLength"));
    let is_limited = least.is_some_and(|least| 0 < least) || most.is_some();
    let most = most.map_or(String::new(), |most| most.to_string());
    let length = is_limited.then(|| format!("/(.|\\n){{{},{most}}}/", least.unwrap_or(0)));
    let text = |keyword| schema.get(keyword).and_then(Value::as_str);
    let (pattern, format) = (text("pattern"), text("format"));
    // The pattern of a format has anchors at its ends.
    let patterns = enforced_patterns(pattern, format).into_iter().filter_map(|pattern| of_pattern(&pattern));
    let all: Vec<String> = length.into_iter().chain(patterns).collect();
    (!all.is_empty()).then(|| all.join(" & "))
}

/// The regular expression of whole texts in which a pattern matches somewhere; `None` if the grammar cannot follow it. Anchors
/// must be at its ends, and apply to all of it.
fn of_pattern(pattern: &str) -> Option<String> {
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
fn limit(keyword: &str, value: &Value) -> Option<Json> {
    match keyword {
        "minLength" | "maxLength" => count(value).map(|count| json!(count)),
        "pattern" | "format" => value.as_str().map(|text| json!(text)),
        "multipleOf" => count(value).filter(|step| (1..=MAX_STEP).contains(step)).map(|step| json!(step)),
        // Beyond the last integers, a limit excludes either nothing or everything.
        _ => {
            let side = if keyword.ends_with("inimum") { -1.0 } else { 1.0 };
            let limit = value.as_f64().filter(|limit| -MAX_INTEGER <= limit * side)?;
            Some(json!(limit.clamp(-MAX_INTEGER, MAX_INTEGER)))
        }
    }
}

/// A number of characters or items. JSON Schema allows it to have a zero fraction.
fn count(value: &Value) -> Option<u32> {
    let whole = value.as_f64().filter(|count| count.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(count));
    whole.map(|count| count as u32) // exact: whole, and in range
}
