//! Tests of the limits that schemas set.

use super::*;

/// Checks values of one required parameter, in either notation.
#[track_caller]
fn check_values(schema: &str, accepted: &[&str], refused: &[&str]) {
    let functions =
        format!(r#"[{{"name": "f", "parameters": {{"properties": {{"a": {schema}}}, "required": ["a"]}}}}]"#);
    for (notation, before, after) in [
        (DefaultFunctionCallParser, "[f(a=", ")]"),
        (JsonStyleFunctionCallParser, r#"{"name": "f", "arguments": {"a": "#, "}}"),
    ] {
        let write = |value: &&str| format!("{before}{value}{after}");
        let [accepted, refused] = [accepted, refused].map(|values| values.iter().map(write).collect::<Vec<_>>());
        let [accepted, refused] =
            [&accepted, &refused].map(|bodies| bodies.iter().map(String::as_str).collect::<Vec<_>>());
        check(notation, &functions, &accepted, &refused);
    }
}

#[test]
fn limits_of_strings_integers_and_arrays_are_enforced() {
    check_values(
        r#"{"type": "integer", "minimum": 1, "maximum": 50}"#,
        &["1", "50", "7"],
        &["0", "51", "-1", "1.5", "\"3\"", "007"],
    );
    check_values(
        r#"{"type": "integer", "exclusiveMinimum": 0}"#,
        &["1", "1764000000000000000"],
        &["0", "99999999999999999999"],
    );
    check_values(r#"{"type": "integer", "multipleOf": 5, "format": "int32"}"#, &["0", "-15"], &["12"]);
    check_values(r#"{"type": "string", "pattern": "^[A-Z]{3}$"}"#, &[r#""ABC""#], &[r#""abc""#, r#""ABCD""#, r#""""#]);
    check_values(
        r#"{"type": "string", "minLength": 2, "maxLength": 3}"#,
        &[r#""ab""#, r#""é\n""#],
        &[r#""a""#, r#""abcd""#],
    );
    check_values(r#"{"type": "string", "format": "date"}"#, &[r#""2026-11-25""#], &[r#""tomorrow""#]);
    check_values(
        r#"{"type": "array", "items": {"type": "integer"}, "maxItems": 2}"#,
        &["[]", "[1]", "[1, 2]"],
        &["[1, 2, 3]"],
    );
    check_values(
        r#"{"type": "array", "items": {"type": "integer"}, "minItems": 2}"#,
        &["[1, 2]", "[1, 2, 3, 4]"],
        &["[]", "[1]"],
    );
    check_values(r#"{"type": "array", "minItems": 0, "maxItems": 0}"#, &["[]"], &["[1]"]);
    check_values(r#"{"type": "object", "properties": {}, "additionalProperties": false}"#, &["{}"], &[r#"{"k": 1}"#]);
    let nested =
        r#"{"type": "object", "properties": {"n": {"anyOf": [{"type": "integer", "maximum": 3}, {"type": "null"}]}}}"#;
    check_values(nested, &[r#"{"n": 3}"#, r#"{"n": null}"#, "{}"], &[r#"{"n": 4}"#]);
}

#[test]
fn types_are_enforced_if_limits_are_not_supported() {
    check_values(r#"{"type": "string", "pattern": "^(?!x)y"}"#, &[r#""y""#], &["1"]);
    check_values(r#"{"type": "string", "pattern": "^(?!x)", "maxLength": 2}"#, &[r#""yy""#], &[r#""yyy""#]);
    check_values(r#"{"type": "string", "pattern": "^(a)\\1"}"#, &[r#""aa""#], &["1"]);
    check_values(r#"{"type": "string", "pattern": "("}"#, &[r#""y""#], &["1"]);
    check_values(r#"{"type": "string", "format": "of our own"}"#, &[r#""y""#], &["1"]);
    // One unsupported limit does not disable the others.
    for other in [
        r#""maxLength": "3""#,
        r#""minLength": -1"#,
        r#""pattern": "\\bab""#,
        r#""pattern": "[a""#,
        r#""multipleOf": 999979"#,
    ] {
        let kind = if other.contains("multiple") { "integer" } else { "string" };
        let schema = format!(
            r#"{{"type": "object", "required": ["q"], "properties": {{"q": {{"type": "integer", "minimum": 5}}, "o": {{"type": "{kind}", {other}}}}}}}"#
        );
        check_values(&schema, &[r#"{"q": 5}"#], &[r#"{"q": 1}"#]);
    }
    check_values(r#"{"type": "string", "maxLength": 3.0}"#, &[r#""abc""#], &[r#""abcd""#]);
    check_values(r#"{"type": "number", "minimum": 0.5}"#, &["0.75"], &[r#""1""#]);
    let impossible = r#"{"type": "object", "properties": {"n": {"type": "integer", "minimum": 3, "maximum": 2}}}"#;
    check_values(impossible, &["{}"], &[r#"{"n": "x"}"#]);
}

#[test]
fn a_reference_to_another_property_has_its_schema() {
    let functions = r##"[{"name": "move", "parameters": {"properties": {"start": {"type": "object", "properties": {
        "x": {"type": "integer"}, "y": {"type": "integer"}}, "required": ["x", "y"], "additionalProperties": false},
        "end": {"$ref": "#/properties/start"}}, "required": ["start", "end"]}}]"##;
    check(
        DefaultFunctionCallParser,
        functions,
        &["[move(start={'x': 1, 'y': 2}, end={'x': 3, 'y': 4})]"],
        &["[move(start={'x': 1, 'y': 2}, end='there')]", "[move(start={'x': 1, 'y': 2}, end={'x': 3})]"],
    );
}

#[test]
fn times_have_nine_digits_of_a_second_at_most() {
    let functions = r#"[{"name": "f", "parameters": {"properties": {"t": {"type": "string", "format": "time"},
        "d": {"type": "string", "format": "date-time"}, "n": {"type": "string", "format": "duration"},
        "p": {"type": "string", "format": "password"}}}}]"#;
    check(
        DefaultFunctionCallParser,
        functions,
        &[
            r#"[f(t="23:59:59Z")]"#,
            r#"[f(t="12:00:00.123456789+01:00")]"#,
            r#"[f(d="2026-11-26T07:30:00.5Z")]"#,
            r#"[f(n="P1Y2M")]"#,
            r#"[f(n="PT36H")]"#,
            r#"[f(p="anything")]"#,
        ],
        &[
            r#"[f(t="24:00:00Z")]"#,
            r#"[f(t="12:00:00.1234567890Z")]"#,
            r#"[f(d="2026-11-31T07:30:00Z")]"#,
            r#"[f(n="P")]"#,
            r#"[f(n="P1234567890D")]"#,
        ],
    );
}

#[test]
fn patterns_of_strings_without_quotes_are_enforced() {
    for (pattern, accepted, refused) in [
        (r"^[A-Z]{3}$", &["ABC"][..], &["AB", "ABCD", "xABC", "ABC\nx"][..]),
        (r"\d", &["1", "a1b", "x\n2\ny"], &["a", "one"]),
        (r"^a/b|c", &["x", ""], &[]), // the anchor is only that of one alternative
        (r"^(a|b)\/[$^.]", &["a/.", "b/$ c"], &["c/.", "a.", " a/."]),
        (r"x\$$", &["x$", "yx$"], &["x", "x$y"]),
        (r"^(?=a)b", &["x"], &[]), // not supported
    ] {
        let schema = serde_json::json!({"type": "string", "pattern": pattern});
        let functions =
            format!(r#"[{{"name": "f", "parameters": {{"properties": {{"a": {schema}}}, "required": ["a"]}}}}]"#);
        let functions = functions_from_json(&functions).unwrap();
        let grammar = rules(XmlFunctionCallParser, &functions).grammar().unwrap();
        let accepts = |text: &str| {
            let mut constraint = Constrainer::new(Arc::new(ByteVocabulary)).constraint(grammar.clone()).unwrap();
            constraint.take_text(&format!("\n<function=f>\n<parameter=a>\n{text}\n</parameter>\n</function>\n"))
        };
        assert!(accepted.iter().all(|text| accepts(text)), "{pattern}: {accepted:?}");
        assert!(!refused.iter().any(|text| accepts(text)), "{pattern}: {refused:?}");
    }
}
