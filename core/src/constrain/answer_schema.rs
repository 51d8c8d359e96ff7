//! The schema of a reply in the form that llguidance enforces: annotations are removed, objects are closed, numbers of digits
//! are limited, and what cannot be enforced is refused with its place.

use std::collections::HashSet;

use serde_json::{Map, Value as Json, json};

use crate::constrain::GrammarFault;
use crate::constrain::formats::pattern_of;

/// Keywords that restrict a value and that no grammar enforces.
const UNSUPPORTED: [&str; 16] = [
    "$dynamicRef",
    "$recursiveRef",
    "contains",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "if",
    "maxContains",
    "minContains",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
];
/// Keywords whose value is a schema.
const SCHEMAS: [&str; 3] = ["items", "additionalItems", "additionalProperties"];
/// Keywords whose value is an array of schemas.
const LISTS: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];
/// Keywords whose value is an object of schemas by name.
const MAPS: [&str; 4] = ["properties", "patternProperties", "$defs", "definitions"];

/// Prepares the schema of a reply.
///
/// # Errors
/// A [`GrammarFault`] that names the place and the keyword of what cannot be enforced.
pub(super) fn prepared(root: &Json) -> Result<Json, GrammarFault> {
    let mut combined = HashSet::new();
    collect_combined(root, false, &mut combined);
    Preparation { root, combined }.schema(root, "schema", "#", false)
}

struct Preparation<'a> {
    root: &'a Json,
    /// References to schemas that are parts of other objects.
    combined: HashSet<&'a str>,
}

impl Preparation<'_> {
    /// Prepares a schema at a place and a pointer. `is_part` is whether it describes a part of an object only.
    fn schema(&self, schema: &Json, place: &str, pointer: &str, is_part: bool) -> Result<Json, GrammarFault> {
        let Json::Object(keywords) = schema else { return Ok(schema.clone()) };
        let is_part = is_part || self.combined.contains(pointer);
        let mut prepared = Map::new();
        for (keyword, value) in keywords {
            let (inner_place, inner) = (format!("{place}.{keyword}"), format!("{pointer}/{}", escaped(keyword)));
            let value = match (keyword.as_str(), value) {
                ("uniqueItems", Json::Bool(false)) => continue,
                ("unevaluatedProperties" | "unevaluatedItems", Json::Bool(true)) => continue,
                // Beside a pattern, llguidance enforces the format by its own rules.
                ("format", Json::String(format)) => match pattern_of(format) {
                    Some(_) if keywords.contains_key("pattern") => value.clone(),
                    Some(pattern) => {
                        prepared.insert("pattern".to_owned(), json!(pattern));
                        continue;
                    }
                    None => continue,
                },
                ("$ref", value) => {
                    let found = value.as_str().filter(|reference| self.exists(reference));
                    found.ok_or_else(|| {
                        GrammarFault::new(format!(
                            "{inner_place} must refer to a place in the same schema, found {value}"
                        ))
                    })?;
                    value.clone()
                }
                (keyword, _) if UNSUPPORTED.contains(&keyword) => {
                    let message = format!("{place} has the keyword {keyword:?}, which cannot be enforced");
                    return Err(GrammarFault::new(message));
                }
                (keyword, value) if SCHEMAS.contains(&keyword) => self.schema(value, &inner_place, &inner, false)?,
                (keyword, Json::Array(items)) if LISTS.contains(&keyword) => {
                    let is_part = is_part || keyword != "prefixItems" && combines(keywords, keyword, items);
                    let items = items.iter().enumerate().map(|(i, item)| {
                        self.schema(item, &format!("{inner_place}[{i}]"), &format!("{inner}/{i}"), is_part)
                    });
                    Json::Array(items.collect::<Result<_, _>>()?)
                }
                (keyword, Json::Object(entries)) if MAPS.contains(&keyword) => {
                    let entries = entries.iter().map(|(name, entry)| {
                        let inner = format!("{inner}/{}", escaped(name));
                        Ok((name.clone(), self.schema(entry, &format!("{inner_place}.{name}"), &inner, false)?))
                    });
                    Json::Object(entries.collect::<Result<_, GrammarFault>>()?)
                }
                (_, value) => value.clone(),
            };
            prepared.insert(keyword.clone(), value);
        }
        if !is_part {
            close(&mut prepared);
        }
        Ok(Json::Object(prepared))
    }

    fn exists(&self, reference: &str) -> bool {
        reference.strip_prefix('#').is_some_and(|pointer| self.root.pointer(pointer).is_some())
    }
}

/// Lets an object with declared members have no others, as in function calls, unless it says so.
fn close(schema: &mut Map<String, Json>) {
    let is_open = ["additionalProperties", "patternProperties", "$ref", "anyOf", "oneOf", "allOf"]
        .iter()
        .any(|keyword| schema.contains_key(*keyword));
    let required = schema.get("required").and_then(Json::as_array).cloned().unwrap_or_default();
    let Some(Json::Object(properties)) = schema.get_mut("properties").filter(|_| !is_open) else { return };
    if properties.is_empty() {
        return;
    }
    for name in required.iter().filter_map(Json::as_str) {
        properties.entry(name).or_insert(json!({}));
    }
    schema.insert("additionalProperties".to_owned(), json!(false));
}

/// Whether the schemas of a combination describe parts of one object, together or with the keywords beside them.
fn combines(keywords: &Map<String, Json>, keyword: &str, items: &[Json]) -> bool {
    let has_members =
        ["properties", "required", "additionalProperties", "$ref"].iter().any(|name| keywords.contains_key(*name));
    let n_combinations = ["anyOf", "oneOf", "allOf"].iter().filter(|name| keywords.contains_key(**name)).count();
    has_members || 1 < n_combinations || keyword == "allOf" && 1 < items.len()
}

/// Collects the references from schemas that are combined with others.
fn collect_combined<'a>(schema: &'a Json, is_part: bool, found: &mut HashSet<&'a str>) {
    let Json::Object(keywords) = schema else { return };
    if let Some(Json::String(reference)) = keywords.get("$ref") {
        let has_members = ["properties", "anyOf", "oneOf", "allOf"].iter().any(|name| keywords.contains_key(*name));
        if is_part || has_members {
            found.insert(reference);
        }
    }
    for (keyword, value) in keywords {
        match value {
            Json::Array(items) if LISTS.contains(&keyword.as_str()) => {
                let is_part = is_part || keyword != "prefixItems" && combines(keywords, keyword, items);
                items.iter().for_each(|item| collect_combined(item, is_part, found));
            }
            Json::Object(entries) if MAPS.contains(&keyword.as_str()) => {
                entries.values().for_each(|entry| collect_combined(entry, false, found));
            }
            value if SCHEMAS.contains(&keyword.as_str()) => collect_combined(value, false, found),
            _ => {}
        }
    }
}

/// A name as part of a JSON pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schema: &str, expect: &str) {
        let read = |text: &str| serde_json::from_str::<Json>(text).unwrap();
        match prepared(&read(schema)) {
            Ok(found) => assert_eq!(found, read(expect), "{schema}"),
            Err(fault) => assert_eq!(fault.message(), expect, "{schema}"),
        }
    }

    #[test]
    fn objects_with_declared_members_are_closed() {
        check(
            r#"{"properties": {"a": {"type": "object", "properties": {"b": {}}}}, "required": ["a", "c"]}"#,
            r#"{"properties": {"a": {"type": "object", "properties": {"b": {}}, "additionalProperties": false}, "c": {}},
                "required": ["a", "c"], "additionalProperties": false}"#,
        );
        for open in [
            r#"{"type": "object"}"#,
            r#"{"type": "object", "properties": {}}"#,
            r#"{"properties": {"a": {}}, "additionalProperties": true}"#,
            r#"{"properties": {"a": {}}, "patternProperties": {"^x": {}}}"#,
            r#"{"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}"#,
            r#"{"properties": {"a": {}}, "anyOf": [{"properties": {"b": {}}}]}"#,
            r##"{"allOf": [{"$ref": "#/$defs/a"}, {"properties": {"b": {}}}], "$defs": {"a": {"properties": {"a": {}}}}}"##,
        ] {
            check(open, open);
        }
        check(
            r#"{"anyOf": [{"properties": {"a": {}}}, {"type": "null"}]}"#,
            r#"{"anyOf": [{"properties": {"a": {}}, "additionalProperties": false}, {"type": "null"}]}"#,
        );
    }

    #[test]
    fn unknown_formats_are_notes_and_times_have_limited_digits() {
        check(r#"{"type": "string", "format": "password"}"#, r#"{"type": "string"}"#);
        let both = r#"{"type": "string", "format": "uuid", "pattern": "^f"}"#;
        check(both, both);
        let time = prepared(&json!({ "format": "time" })).unwrap();
        assert!(time["pattern"].as_str().unwrap().contains("{1,9}") && time.get("format").is_none(), "{time}");
        // A member of this name is not the keyword.
        let member = r#"{"properties": {"format": {}}, "additionalProperties": false}"#;
        check(member, member);
    }

    #[test]
    fn a_refusal_names_the_place_and_the_keyword() {
        check(
            r#"{"properties": {"a": {"items": {"not": {}}}}}"#,
            "schema.properties.a.items has the keyword \"not\", which cannot be enforced",
        );
        check(
            r##"{"anyOf": [{"$ref": "#/$defs/none"}]}"##,
            "schema.anyOf[0].$ref must refer to a place in the same schema, found \"#/$defs/none\"",
        );
        check(
            r#"{"$ref": "https://example.com/a"}"#,
            "schema.$ref must refer to a place in the same schema, found \"https://example.com/a\"",
        );
    }
}
