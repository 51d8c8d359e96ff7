//! Values of calls whose schema is enforced as that of a reply is: llguidance follows the whole schema, in JSON.

use serde_json::{Value as Json, json};

use crate::constrain::{answer_schema, refusal};
use crate::function::Value;

/// Keywords of arrays and objects that the grammar of a notation does not express.
const OF_WHOLES: [&str; 10] = [
    "contains",
    "dependentRequired",
    "dependentSchemas",
    "maxProperties",
    "minProperties",
    "not",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
    "uniqueItems",
];
const OF_NUMBERS: [&str; 5] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];

/// A JSON Schema that llguidance enforces for values of a schema that the grammar of a notation cannot express; `None` if
/// there is no need, or if llguidance refuses the schema.
pub(super) fn of(schema: &Value) -> Option<String> {
    let has = |keyword: &str| schema.get(keyword).is_some();
    let combines = ["anyOf", "oneOf", "allOf"].iter().filter(|keyword| has(keyword)).count();
    let is_combined = match schema.get("allOf") {
        Some(Value::Array(schemas)) => 1 < schemas.len() || has("type") || has("properties"),
        _ => 0 < combines && (has("type") || has("properties") || has("required")),
    };
    if !is_combined && combines < 2 && !OF_WHOLES.iter().any(|keyword| has(keyword)) {
        return None;
    }
    enforced(&as_json(schema)?)
}

/// The same for the limits of numbers.
pub(super) fn of_number(schema: &Value) -> Option<String> {
    let limits = OF_NUMBERS.iter().filter_map(|keyword| Some((*keyword, as_json(schema.get(keyword)?)?)));
    let limits: serde_json::Map<String, Json> = limits.map(|(keyword, limit)| (keyword.to_owned(), limit)).collect();
    if limits.is_empty() {
        return None;
    }
    let mut schema = json!({ "type": "number" });
    schema.as_object_mut()?.extend(limits);
    enforced(&schema)
}

/// A schema, prepared for the grammar of calls: with the separators that models write in calls, and without escapes that come
/// in pairs.
fn enforced(schema: &Json) -> Option<String> {
    let mut prepared = answer_schema::prepared(schema).ok()?;
    let keywords = prepared.as_object_mut()?;
    let is_type_alone = keywords.keys().all(|keyword| keyword == "type");
    if is_type_alone || !refusal::is_accepted(keywords) {
        return None;
    }
    let style = json!({
        "item_separator": ",[ ]?",
        "key_separator": ":[ ]?",
        "whitespace_flexible": false,
        "json_allowed_escapes": "nrbtf\\\"",
    });
    keywords.insert("x-guidance".to_owned(), style);
    Some(prepared.to_string())
}

fn as_json(value: &Value) -> Option<Json> {
    serde_json::from_str(&value.to_string()).ok()
}
