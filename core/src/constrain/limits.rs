//! What schemas say of texts, whole numbers and lists beside their types.
//!
//! Texts and whole numbers with limits are written as JSON has them, which both notations read. Other numbers are not: as
//! llguidance reads their limits, they may have digits without end.

use serde_json::json;

use crate::function::Value;

const OF_TEXTS: [&str; 4] = ["minLength", "maxLength", "pattern", "format"];
const OF_WHOLE_NUMBERS: [&str; 5] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];

/// How far whole numbers go where a schema sets no limit: what 64 bits hold and floats have exactly.
const FARTHEST: f64 = 9e18;

/// A JSON Schema of the limits alone, for texts or whole numbers, as grammars take it; `None` where there are none.
pub(super) fn of(name: &str, schema: &Value) -> Option<String> {
    let keywords = if name == "string" { &OF_TEXTS[..] } else { &OF_WHOLE_NUMBERS };
    let said = keywords.iter().filter_map(|keyword| Some((*keyword, schema.get(keyword)?)));
    let mut limits: serde_json::Map<String, serde_json::Value> = said
        .filter(|(keyword, value)| *keyword != "pattern" || value.as_str().is_some_and(can_be_followed))
        .filter_map(|(keyword, value)| Some((keyword.to_owned(), serde_json::from_str(&value.to_string()).ok()?)))
        .collect();
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
    let count = |keyword| match schema.get(keyword) {
        Some(Value::Integer(count)) => u32::try_from(*count).ok(),
        _ => None,
    };
    let (least, most) = (count("minItems"), count("maxItems"));
    (least.is_some_and(|least| 0 < least) || most.is_some()).then_some((least.unwrap_or(0), most))
}

/// Whether a pattern can be followed byte by byte: it looks neither ahead nor back.
fn can_be_followed(pattern: &str) -> bool {
    let looks = ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|look| pattern.contains(look));
    let refers = pattern.as_bytes().windows(2).any(|pair| pair[0] == b'\\' && (b'1'..=b'9').contains(&pair[1]));
    !looks && !refers
}
