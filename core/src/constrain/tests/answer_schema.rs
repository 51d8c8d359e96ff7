//! Tests of how the schema of a reply is prepared.

use serde_json::{Map, Value as Json, json};

use crate::constrain::answer_schema::prepared;

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
    let both = prepared(&json!({ "type": "string", "format": "time", "pattern": "^1" })).unwrap();
    assert_eq!(both["pattern"], "^1");
    assert!(both["allOf"][0]["pattern"].as_str().unwrap().contains("{1,9}") && both.get("format").is_none(), "{both}");
    let time = prepared(&json!({ "format": "time" })).unwrap();
    assert!(time["pattern"].as_str().unwrap().contains("{1,9}") && time.get("format").is_none(), "{time}");
    // A member of this name is not the keyword.
    let member = r#"{"properties": {"format": {}}, "additionalProperties": false}"#;
    check(member, member);
}

#[test]
fn numbers_of_members_that_every_object_has_are_left_out() {
    check(
        r#"{"properties": {"a": {}, "b": {}}, "required": ["a"], "minProperties": 1, "maxProperties": 2}"#,
        r#"{"properties": {"a": {}, "b": {}}, "required": ["a"], "additionalProperties": false}"#,
    );
    let counted = r#"{"properties": {"a": {}}, "minProperties": 1, "maxProperties": 2, "additionalProperties": true}"#;
    check(counted, counted);
}

#[test]
fn a_reference_may_describe_names() {
    check(
        r##"{"propertyNames": {"$ref": "#/$defs/x"}, "additionalProperties": {"type": "null"},
            "$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"enum": ["a", "b"]}}}"##,
        r##"{"patternProperties": {"^(?:a|b)$": {"type": "null"}}, "additionalProperties": false,
            "$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"enum": ["a", "b"]}}}"##,
    );
    // One that never ends.
    check(
        r##"{"propertyNames": {"$ref": "#/$defs/x"}, "$defs": {"x": {"$ref": "#/$defs/x"}}}"##,
        "schema has the keyword \"propertyNames\", which cannot be enforced",
    );
}

#[test]
fn a_reference_may_be_any_pointer() {
    for (pointer, name) in [("x~1y", "x/y"), ("x~0y", "x~y"), ("x%20y", "x y"), ("caf%C3%A9", "café"), ("x%25y", "x%y")]
    {
        check(
            &format!(r##"{{"items": {{"$ref": "#/$defs/{pointer}"}}, "$defs": {{"{name}": {{"type": "null"}}}}}}"##),
            &format!(
                r##"{{"items": {{"$ref": "#/$defs/causerie-0"}},
                     "$defs": {{"{name}": {{"type": "null"}}, "causerie-0": {{"type": "null"}}}}}}"##
            ),
        );
    }
    // A schema that refers to itself, from the place of a property.
    check(
        r##"{"properties": {"a": {"items": {"$ref": "#/properties/a"}}}}"##,
        r##"{"properties": {"a": {"items": {"$ref": "#/$defs/causerie-0"}}}, "additionalProperties": false,
            "$defs": {"causerie-0": {"items": {"$ref": "#/$defs/causerie-0"}}}}"##,
    );
    check(
        r##"{"items": {"$id": "https://e.com/inner", "prefixItems": [{"$ref": "#/$defs/x"}]}, "$defs": {"x": {}}}"##,
        "schema.items.prefixItems[0].$ref must refer to a place in the same schema, found \"#/$defs/x\"",
    );
}

#[test]
fn references_are_followed_within_a_limit() {
    // Each refers to the next one.
    let link = |i: usize| (format!("x/{i}"), json!({ "items": { "$ref": format!("#/$defs/x~1{}", i + 1) } }));
    let mut links: Map<String, Json> = (0..20_000).map(link).collect();
    links.insert("x/20000".to_owned(), json!({}));
    assert!(prepared(&json!({ "$defs": links, "$ref": "#/$defs/x~10" })).is_ok());
    // Each contains the next one, and all of them a large one.
    let large: Map<String, Json> = (0..10_000).map(|i| (format!("p{i}"), json!({ "type": "null" }))).collect();
    let nested = (0..60).fold(json!({ "properties": large }), |inner, _| json!({ "items": inner }));
    let pointers = (0..60).map(|depth| json!({ "$ref": format!("#{}", "/items".repeat(depth + 1)) }));
    let schema = json!({ "items": nested, "prefixItems": pointers.collect::<Json>() });
    let fault = prepared(&schema).unwrap_err();
    assert!(fault.message().contains("must not repeat more than 16 MiB"), "{}", fault.message());
}

#[test]
fn arrays_and_counts_are_read_in_all_forms() {
    check(
        r#"{"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"format": "color"}], "additionalItems": false}"#,
        r#"{"prefixItems": [{}], "items": false}"#,
    );
    check(r#"{"prefixItems": [{}], "additionalItems": false}"#, r#"{"prefixItems": [{}]}"#);
    check(r#"{"minLength": 1.0, "maxItems": 2}"#, r#"{"minLength": 1, "maxItems": 2}"#);
    check(
        r#"{"items": [{"not": {"type": "null"}}]}"#,
        "schema.prefixItems[0] has the keyword \"not\", which cannot be enforced",
    );
}

#[test]
fn numbers_that_would_become_others_are_refused() {
    for (schema, keyword) in [
        (r#"{"const": 9007199254740993}"#, "const"),
        (r#"{"enum": [1, {"a": [12345678901234567890]}]}"#, "enum"),
        (r#"{"const": 888888888888888888888888888888888888881}"#, "const"),
        (r#"{"enum": [-9300000000000000001]}"#, "enum"),
        (r#"{"type": "integer", "minimum": 1e30}"#, "minimum"),
        (r#"{"type": "integer", "minimum": 9007199254740993}"#, "minimum"),
        (r#"{"type": "integer", "exclusiveMaximum": -1e30}"#, "exclusiveMaximum"),
    ] {
        check(schema, &format!("schema has the keyword {keyword:?}, which cannot be enforced for this value"));
    }
    let exact = r#"{"const": 9007199254740992, "enum": [-3, 1e18, 0.5], "maximum": 9007199254740992}"#;
    check(exact, exact);
}

#[test]
fn limits_beyond_what_numbers_can_be_are_clamped_or_left_out() {
    check(r#"{"type": "integer", "maximum": 9223372036854775807}"#, r#"{"type": "integer", "maximum": 9e18}"#);
    check(
        r#"{"type": "integer", "minimum": -9223372036854775808, "exclusiveMaximum": 18446744073709551616}"#,
        r#"{"type": "integer", "minimum": -9e18, "exclusiveMaximum": 9e18}"#,
    );
    check(
        r#"{"type": "number", "minimum": -3.4028234663852886e38, "maximum": 3.4028234663852886e38}"#,
        r#"{"type": "number", "minimum": -9e18, "maximum": 9e18}"#,
    );
    check(
        r#"{"type": "number", "minimum": -1.7976931348623157e308, "maximum": 1.7976931348623157e308}"#,
        r#"{"type": "number"}"#,
    );
}

#[test]
fn excluded_limits_are_moved_inside() {
    check(
        r#"{"type": "number", "exclusiveMinimum": 0, "maximum": 0.5}"#,
        r#"{"type": "number", "minimum": 5e-7, "maximum": 0.5}"#,
    );
    check(
        r#"{"type": "number", "minimum": -0.5, "exclusiveMaximum": 0}"#,
        r#"{"type": "number", "minimum": -0.5, "maximum": -5e-7}"#,
    );
    let exact = r#"{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}"#;
    check(exact, exact);
}

#[test]
fn a_refusal_names_the_place_and_the_keyword() {
    check(
        r#"{"properties": {"a": {"items": {"not": {"type": "null"}}}}}"#,
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
