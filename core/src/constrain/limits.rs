//! What schemas say of texts, whole numbers and lists beside their types.
//!
//! Texts and whole numbers with limits are written as JSON has them, which both notations read. Other numbers are not: as
//! llguidance reads their limits, they may have digits without end.

use serde_json::json;

use crate::function::Value;
use crate::validate::is_pattern;

const OF_TEXTS: [&str; 4] = ["minLength", "maxLength", "pattern", "format"];
const OF_WHOLE_NUMBERS: [&str; 5] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];

/// The largest step whose multiples are kept to: what tells them apart has as many states.
const LARGEST_STEP: u32 = 10_000;

/// How far whole numbers go where a schema sets no limit: what 64 bits hold and floats have exactly.
const FARTHEST: f64 = 9e18;

/// A JSON Schema of the limits alone, for texts or whole numbers, as grammars take it; `None` where there are none.
pub(super) fn of(name: &str, schema: &Value) -> Option<String> {
    let keywords = if name == "string" { &OF_TEXTS[..] } else { &OF_WHOLE_NUMBERS };
    let said = keywords.iter().filter_map(|keyword| Some((*keyword, schema.get(keyword)?)));
    let mut limits: serde_json::Map<String, serde_json::Value> =
        said.filter_map(|(keyword, value)| Some((keyword.to_owned(), limit(keyword, value)?))).collect();
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
    // What llguidance does not know, as some formats, is left out; no escape is written that needs a second one.
    limits.insert("x-guidance".to_owned(), json!({ "lenient": true, "json_allowed_escapes": "nrbtf\\\"" }));
    Some(serde_json::Value::Object(limits).to_string())
}

/// The fewest and the most items of a list; `None` where nothing is said of them.
pub(super) fn of_list(schema: &Value) -> Option<(u32, Option<u32>)> {
    let count = |keyword| schema.get(keyword).and_then(count);
    let (least, most) = (count("minItems"), count("maxItems"));
    (least.is_some_and(|least| 0 < least) || most.is_some()).then_some((least.unwrap_or(0), most))
}

/// What a keyword sets, if llguidance can follow it. Of the whole, one that it cannot would take all limits along.
fn limit(keyword: &str, value: &Value) -> Option<serde_json::Value> {
    match keyword {
        "minLength" | "maxLength" => count(value).map(|count| json!(count)),
        "pattern" => value.as_str().filter(|pattern| can_be_followed(pattern)).map(|pattern| json!(pattern)),
        "format" => value.as_str().map(|format| json!(format)),
        "multipleOf" => count(value).filter(|step| (1..=LARGEST_STEP).contains(step)).map(|step| json!(step)),
        _ => value.as_f64().filter(|limit| limit.is_finite()).map(|limit| json!(limit)),
    }
}

/// A number of characters or items; JSON Schema lets it have a fraction of zero.
fn count(value: &Value) -> Option<u32> {
    let whole = value.as_f64().filter(|count| count.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(count));
    whole.map(|count| count as u32) // exact: whole, and in range
}

/// Whether a pattern can be followed byte by byte: it looks neither ahead nor back, and not at the ends of words.
fn can_be_followed(pattern: &str) -> bool {
    let looks = ["(?=", "(?!", "(?<=", "(?<!", "\\b", "\\B"].iter().any(|look| pattern.contains(look));
    let refers = pattern.as_bytes().windows(2).any(|pair| pair[0] == b'\\' && (b'1'..=b'9').contains(&pair[1]));
    !looks && !refers && is_pattern(pattern)
}
