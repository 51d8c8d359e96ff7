//! The keywords of one schema of a reply, without those that exclude nothing: a keyword that llguidance does not know is no
//! reason to refuse a schema if every value passes it.

use std::borrow::Cow;

use serde_json::{Map, Value as Json, json};

use crate::constrain::formats;

/// Keywords that describe a schema and restrict nothing.
const ANNOTATIONS: [&str; 16] = [
    "$anchor",
    "$comment",
    "$defs",
    "$dynamicAnchor",
    "$id",
    "$schema",
    "contentEncoding",
    "contentMediaType",
    "default",
    "definitions",
    "deprecated",
    "description",
    "examples",
    "readOnly",
    "title",
    "writeOnly",
];

/// Keywords that restrict the values of some types only, and that llguidance refuses, or may refuse for their value.
const OF_TYPES: [(&[&str], &[&str]); 4] = [
    (&["array"], &["contains", "maxContains", "minContains", "unevaluatedItems", "uniqueItems"]),
    (&["object"], &["dependencies", "dependentRequired", "dependentSchemas", "propertyNames", "unevaluatedProperties"]),
    (&["string"], &["format", "pattern"]),
    (&["integer", "number"], &["exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"]),
];

/// The keywords without those that every value passes, and with rules for names of properties as `patternProperties`. `None`
/// if they exclude every value.
pub(super) fn simplified(keywords: &Map<String, Json>) -> Option<Cow<'_, Map<String, Json>>> {
    if keywords.get("not").is_some_and(excludes_nothing) {
        return None;
    }
    let idle: Vec<&str> = keywords.keys().map(String::as_str).filter(|keyword| is_idle(keyword, keywords)).collect();
    let mut simple = Cow::Borrowed(keywords);
    if !idle.is_empty() {
        simple.to_mut().retain(|keyword, _| !idle.contains(&keyword.as_str()));
    }
    if simple.get("contains").is_some_and(excludes_nothing) {
        count_all_items(simple.to_mut());
    }
    if simple.contains_key("format") {
        join_patterns(simple.to_mut());
    }
    if let Some(named) = with_names_as_patterns(&simple) {
        simple = Cow::Owned(named);
    }
    Some(simple)
}

/// Whether a schema accepts every value.
fn excludes_nothing(schema: &Json) -> bool {
    match schema {
        Json::Object(keywords) => {
            keywords.keys().all(|keyword| ANNOTATIONS.contains(&keyword.as_str()) || is_idle(keyword, keywords))
        }
        schema => *schema == Json::Bool(true),
    }
}

/// Whether a schema accepts no value.
fn excludes_everything(schema: &Json) -> bool {
    *schema == Json::Bool(false) || schema.get("not").is_some_and(excludes_nothing)
}

/// Whether a schema accepts every string.
fn accepts_all_strings(schema: &Json) -> bool {
    let Json::Object(keywords) = schema else { return *schema == Json::Bool(true) };
    let mut keywords = keywords.clone();
    let types = keywords.insert("type".to_owned(), json!("string"));
    let is_passed =
        |keyword: &String| keyword == "type" || ANNOTATIONS.contains(&keyword.as_str()) || is_idle(keyword, &keywords);
    types.is_none_or(|types| names_type(&types, &["string"])) && keywords.keys().all(is_passed)
}

/// Whether the value of `type` names one of these types.
fn names_type(types: &Json, names: &[&str]) -> bool {
    let is_named = |one: &Json| one.as_str().is_some_and(|one| names.contains(&one));
    types.as_array().map_or_else(|| is_named(types), |types| types.iter().any(is_named))
}

/// Whether every value passes a keyword, given the other keywords.
fn is_idle(keyword: &str, keywords: &Map<String, Json>) -> bool {
    let Some(value) = keywords.get(keyword) else { return false };
    let has = |other: &str| keywords.contains_key(other);
    let types = keywords.get("type");
    let is_foreign = |(names, of_types): &(&[&str], &[&str])| {
        of_types.contains(&keyword) && types.is_some_and(|types| !names_type(types, names))
    };
    if OF_TYPES.iter().any(is_foreign) {
        return true;
    }
    let all_entries = |is_idle: fn(&Json) -> bool| value.as_object().is_some_and(|all| all.values().all(is_idle));
    let is_empty_list = |value: &Json| value.as_array().is_some_and(Vec::is_empty);
    match keyword {
        "minLength" | "minItems" | "minProperties" => value.as_f64() == Some(0.0),
        // No reply is that long. Generators write the largest integer of their language where there is no limit.
        "maxLength" | "maxItems" | "maxProperties" => value.as_f64().is_some_and(|most| f64::from(u32::MAX) <= most),
        "pattern" => value.as_str().is_some_and(formats::matches_everything),
        "format" => value.as_str().is_some_and(|format| formats::pattern_of(format).is_none()),
        "contentSchema" => true, // an annotation of the text, which it does not restrict
        "uniqueItems" => *value == Json::Bool(false) || count(keywords.get("maxItems")).is_some_and(|most| most <= 1),
        "contains" => count(keywords.get("minContains")) == Some(0) && !has("maxContains"),
        "minContains" => !has("contains") || count(Some(value)) == Some(0) && !has("maxContains"),
        "maxContains" => !has("contains"),
        "multipleOf" => has_only_integers(keywords) && divides_integers(value),
        "not" => excludes_everything(value),
        "if" => ["then", "else"].iter().all(|branch| keywords.get(*branch).is_none_or(excludes_nothing)),
        "then" | "else" => !has("if") || excludes_nothing(value),
        "dependentRequired" => all_entries(|names| names.as_array().is_some_and(Vec::is_empty)),
        "dependentSchemas" => all_entries(excludes_nothing),
        "dependencies" => {
            value.as_object().is_some_and(|all| all.values().all(|each| is_empty_list(each) || excludes_nothing(each)))
        }
        "propertyNames" => accepts_all_strings(value),
        "unevaluatedProperties" => has("additionalProperties") || excludes_nothing(value),
        "unevaluatedItems" => keywords.get("items").is_some_and(|items| !items.is_array()) || excludes_nothing(value),
        _ => false,
    }
}

/// Whether every number that a schema accepts is an integer.
fn has_only_integers(keywords: &Map<String, Json>) -> bool {
    keywords.get("type").is_some_and(|types| !names_type(types, &["number"]))
}

/// Whether every integer is a multiple of a number, such as 1 and 0.5.
fn divides_integers(step: &Json) -> bool {
    step.as_f64().is_some_and(|step| 0.0 < step && step <= 1.0 && (1.0 / step).fract() == 0.0)
}

/// A number of items. JSON Schema allows it to have a zero fraction.
fn count(value: Option<&Json>) -> Option<u32> {
    let whole = value?.as_f64().filter(|count| count.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(count));
    whole.map(|count| count as u32) // exact: whole, and in range
}

/// Counts items where `contains` counts those that fit a schema which all fit.
fn count_all_items(keywords: &mut Map<String, Json>) {
    keywords.remove("contains");
    let least = keywords.remove("minContains");
    let least = count(least.as_ref()).unwrap_or(1).max(count(keywords.get("minItems")).unwrap_or(0));
    keywords.insert("minItems".to_owned(), json!(least));
    if let Some(most) = keywords.remove("maxContains") {
        let most = [count(Some(&most)), count(keywords.get("maxItems"))].into_iter().flatten().min();
        keywords.extend(most.map(|most| ("maxItems".to_owned(), json!(most))));
    }
}

/// Writes a format as a pattern, which has limits that llguidance's own formats do not have.
fn join_patterns(keywords: &mut Map<String, Json>) {
    let format = keywords.shift_remove("format");
    let text = |value: Option<&Json>| value.and_then(Json::as_str).map(str::to_owned);
    let patterns = formats::patterns(text(keywords.get("pattern")).as_deref(), text(format.as_ref()).as_deref());
    let mut patterns = patterns.into_iter().map(Json::String);
    keywords.extend(patterns.next().map(|pattern| ("pattern".to_owned(), pattern)));
    if let Some(second) = patterns.next()
        && let Json::Array(all) = keywords.entry("allOf").or_insert(json!([]))
    {
        all.push(json!({ "pattern": second }));
    }
}

/// The same object with `patternProperties` in place of `propertyNames`, which llguidance does not know; `None` if one pattern
/// cannot express it.
fn with_names_as_patterns(keywords: &Map<String, Json>) -> Option<Map<String, Json>> {
    let names = keywords.get("propertyNames")?;
    if keywords.contains_key("patternProperties") {
        return None;
    }
    let none = Map::new();
    let declared = keywords.get("properties").and_then(Json::as_object).unwrap_or(&none);
    let pattern = match listed(names) {
        Some(listed) => {
            let others = listed.iter().filter(|name| !declared.contains_key(**name));
            let others: Vec<String> = others.map(|name| regex_syntax::escape(name)).collect();
            format!("^(?:{})$", others.join("|"))
        }
        None if declared.is_empty() => name_pattern(names)?,
        None => return None,
    };
    let is_refused = |name: &str| listed(names).is_some_and(|listed| !listed.contains(&name));
    let mut named = keywords.clone();
    named.remove("propertyNames");
    if let Some(Json::Object(properties)) = named.get_mut("properties") {
        for (_, property) in properties.iter_mut().filter(|(name, _)| is_refused(name)) {
            *property = Json::Bool(false);
        }
    }
    // An object that declares properties has no others, unless it says so.
    let is_open = declared.is_empty();
    let others = named.insert("additionalProperties".to_owned(), json!(false)).unwrap_or(json!(is_open));
    if others != json!(false) && pattern != "^(?:)$" {
        named.insert("patternProperties".to_owned(), json!({ pattern: others }));
    }
    Some(named)
}

/// The strings that a schema lists, if it only does that.
fn listed(schema: &Json) -> Option<Vec<&str>> {
    let keywords = schema.as_object()?;
    let is_part = |keyword: &String| keyword == "type" || ANNOTATIONS.contains(&keyword.as_str());
    let mut others = keywords.iter().filter(|(keyword, _)| !is_part(keyword));
    let (keyword, value) = others.next()?;
    if others.next().is_some() {
        return None;
    }
    match (keyword.as_str(), value) {
        ("const", Json::String(name)) => Some(vec![name]),
        ("enum", Json::Array(names)) => names.iter().map(Json::as_str).collect(),
        ("anyOf" | "oneOf", Json::Array(schemas)) => {
            Some(schemas.iter().map(listed).collect::<Option<Vec<_>>>()?.concat())
        }
        _ => None,
    }
}

/// The pattern of the strings that a schema accepts, if one pattern expresses them.
fn name_pattern(schema: &Json) -> Option<String> {
    let keywords = schema.as_object()?;
    let known = ["type", "pattern", "format", "minLength", "maxLength"];
    if keywords.keys().any(|keyword| !known.contains(&keyword.as_str()) && !ANNOTATIONS.contains(&keyword.as_str())) {
        return None;
    }
    let text = |keyword: &str| keywords.get(keyword).and_then(Json::as_str);
    let pattern = formats::patterns(text("pattern"), text("format")).into_iter().next();
    let has_length = ["minLength", "maxLength"].iter().any(|keyword| keywords.contains_key(*keyword));
    match (pattern, has_length) {
        (Some(pattern), false) => Some(pattern),
        (None, true) => {
            let most = count(keywords.get("maxLength")).map_or(String::new(), |most| most.to_string());
            Some(format!("^[\\s\\S]{{{},{most}}}$", count(keywords.get("minLength")).unwrap_or(0)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schema: &str, expect: &str) {
        let read = |text: &str| serde_json::from_str::<Json>(text).unwrap();
        let schema = read(schema);
        let found = simplified(schema.as_object().unwrap());
        let found = found.map_or(Json::Bool(false), |keywords| Json::Object(keywords.into_owned()));
        assert_eq!(found, read(expect), "{schema}");
    }

    #[test]
    fn keywords_that_exclude_nothing_are_removed() {
        for idle in [
            r#""minLength": 0"#,
            r#""minItems": 0.0"#,
            r#""minProperties": 0"#,
            r#""maxLength": 9007199254740991"#,
            r#""maxItems": 4294967296"#,
            r#""maxProperties": 1e20"#,
            r#""uniqueItems": false"#,
            r#""uniqueItems": true, "maxItems": 1"#,
            r#""pattern": """#,
            r#""pattern": ".*", "format": "password""#,
            r#""pattern": "^[\\s\\S]*$""#,
            r#""propertyNames": true"#,
            r#""propertyNames": {}"#,
            r#""propertyNames": {"type": "string"}"#,
            r#""propertyNames": {"type": ["null", "string"], "minLength": 0, "pattern": "", "title": "name"}"#,
            r#""propertyNames": {"minimum": 3, "uniqueItems": true, "format": "of our own"}"#,
            r#""contains": {"type": "null"}, "minContains": 0"#,
            r#""minContains": 2, "maxContains": 3"#,
            r#""not": false"#,
            r#""not": {"not": {}}"#,
            r#""if": {"type": "null"}"#,
            r#""if": {"type": "null"}, "then": true, "else": {"description": "anything"}"#,
            r#""then": false, "else": {"type": "null"}"#,
            r#""dependentRequired": {"a": []}"#,
            r#""dependentSchemas": {"a": {}}"#,
            r#""dependencies": {"a": [], "b": true}"#,
            r#""unevaluatedProperties": {}"#,
            r#""unevaluatedItems": true"#,
            r#""contentSchema": {"type": "integer"}"#,
        ] {
            let kept = if idle.ends_with(r#""maxItems": 1"#) { r#"{"maxItems": 1}"# } else { "{}" };
            check(&format!("{{{idle}}}"), kept);
        }
        check(r#"{"type": "integer", "multipleOf": 1}"#, r#"{"type": "integer"}"#);
        check(r#"{"type": ["integer", "null"], "multipleOf": 0.25}"#, r#"{"type": ["integer", "null"]}"#);
        check(
            r#"{"additionalProperties": {"type": "null"}, "unevaluatedProperties": false}"#,
            r#"{"additionalProperties": {"type": "null"}}"#,
        );
    }

    #[test]
    fn keywords_of_other_types_are_removed() {
        check(
            r#"{"type": "string", "uniqueItems": true, "contains": false, "dependentRequired": {"a": ["b"]}, "minimum": 1e30}"#,
            r#"{"type": "string"}"#,
        );
        check(
            r#"{"type": ["integer", "null"], "pattern": "(?=a)", "format": "date"}"#,
            r#"{"type": ["integer", "null"]}"#,
        );
    }

    #[test]
    fn keywords_that_exclude_something_stay() {
        for schema in [
            r#"{"uniqueItems": true}"#,
            r#"{"contains": {"type": "null"}}"#,
            r#"{"contains": {"type": "null"}, "minContains": 0, "maxContains": 3}"#,
            r#"{"not": {"type": "null"}}"#,
            r#"{"if": true, "then": {"type": "null"}}"#,
            r#"{"dependentRequired": {"a": ["b"]}}"#,
            r#"{"unevaluatedProperties": false}"#,
            r#"{"type": "number", "multipleOf": 1}"#,
            r#"{"type": "integer", "multipleOf": 0.4}"#,
            r#"{"propertyNames": {"type": "integer"}}"#,
            r#"{"propertyNames": {"pattern": "^a", "minLength": 2}}"#,
            r#"{"propertyNames": {"not": {"const": "a"}}}"#,
            r#"{"propertyNames": {"pattern": "^a"}, "properties": {"b": {}}}"#,
            r#"{"propertyNames": {"enum": ["a"]}, "patternProperties": {"b": {}}}"#,
        ] {
            check(schema, schema);
        }
    }

    #[test]
    fn names_of_properties_become_patterns() {
        let object =
            |names: &str| format!(r#"{{"propertyNames": {names}, "additionalProperties": {{"type": "null"}}}}"#);
        for (names, pattern) in [
            (r#"{"enum": ["a.b", "c"]}"#, r"^(?:a\\.b|c)$"),
            (r#"{"type": "string", "const": "ä"}"#, "^(?:ä)$"),
            (r#"{"anyOf": [{"const": "a"}, {"enum": ["b"]}]}"#, "^(?:a|b)$"),
            (r#"{"type": "string", "pattern": "^[a-z]+$"}"#, "^[a-z]+$"),
            (r#"{"minLength": 2}"#, r"^[\\s\\S]{2,}$"),
            (r#"{"minLength": 1, "maxLength": 3}"#, r"^[\\s\\S]{1,3}$"),
        ] {
            let expect = format!(
                r#"{{"patternProperties": {{"{pattern}": {{"type": "null"}}}}, "additionalProperties": false}}"#
            );
            check(&object(names), &expect);
        }
        check(
            r#"{"propertyNames": {"enum": ["a", "b"]}, "properties": {"a": {"type": "null"}, "c": {}}, "additionalProperties": true}"#,
            r#"{"properties": {"a": {"type": "null"}, "c": false}, "additionalProperties": false, "patternProperties": {"^(?:b)$": true}}"#,
        );
        // Declared properties close an object.
        check(
            r#"{"propertyNames": {"enum": ["a", "b"]}, "properties": {"a": {"type": "null"}}}"#,
            r#"{"properties": {"a": {"type": "null"}}, "additionalProperties": false}"#,
        );
    }

    #[test]
    fn a_schema_that_nothing_fits_is_false() {
        check(r#"{"not": {}}"#, "false");
        check(r#"{"type": "string", "not": {"title": "anything"}}"#, "false");
    }

    #[test]
    fn all_items_are_counted_where_all_fit() {
        check(r#"{"contains": true, "minItems": 3}"#, r#"{"minItems": 3}"#);
        check(
            r#"{"contains": {}, "minContains": 2, "maxContains": 5, "maxItems": 9}"#,
            r#"{"minItems": 2, "maxItems": 5}"#,
        );
    }
}
