//! Tests of the limits that schemas set.

use super::*;
use crate::notation::FunctionCallParser::GemmaFunctionCallParser;

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
fn limits_of_numbers_are_enforced() {
    check_values(
        r#"{"type": "number", "minimum": 0.5, "exclusiveMaximum": 2}"#,
        &["0.5", "1", "1.999"],
        &["0.4", "2", "-1", "\"1\""],
    );
    check_values(r#"{"type": "number", "multipleOf": 0.25}"#, &["0.75", "3", "-1.25"], &["0.3"]);
    check_values(
        r#"{"type": "number", "minimum": -1.7976931348623157e308, "maximum": 1.7976931348623157e308}"#,
        &["6.02e23", "-1"],
        &["\"1\""],
    );
    check_values(r#"{"type": "integer", "minimum": 0, "maximum": 18446744073709551615}"#, &["0", "7"], &["-1"]);
    check_values(
        r#"{"type": "integer", "minimum": -9223372036854775808, "maximum": 9223372036854775807}"#,
        &["-9000000000000000000", "7"],
        &["1.5"],
    );
}

/// The keywords that a reply's schema may have.
#[test]
fn schemas_are_enforced_as_those_of_replies() {
    check_values(
        r#"{"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": false, "minItems": 2}"#,
        &[r#"[1, "a"]"#],
        &["[1]", r#"["a", 1]"#, r#"[1, "a", 2]"#],
    );
    check_values(
        r#"{"type": "object", "propertyNames": {"enum": ["a", "b"]}, "additionalProperties": {"type": "integer"}}"#,
        &["{}", r#"{"b": 1}"#, r#"{"b": 1, "a": 2}"#],
        &[r#"{"c": 1}"#, r#"{"a": "x"}"#],
    );
    check_values(
        r#"{"type": "object", "propertyNames": {"type": "string"}, "additionalProperties": {"type": "number"}}"#,
        &["{}", r#"{"anything": 1.5}"#],
        &[r#"{"a": "x"}"#],
    );
    check_values(
        r#"{"type": "object", "patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": false}"#,
        &["{}", r#"{"x1": 1}"#],
        &[r#"{"y": 1}"#, r#"{"x": "a"}"#],
    );
    check_values(
        r#"{"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1, "maxProperties": 2}"#,
        &[r#"{"a": 1}"#, r#"{"a": 1, "b": 2}"#],
        &["{}", r#"{"a": 1, "b": 2, "c": 3}"#],
    );
    check_values(
        r#"{"allOf": [{"type": "string", "minLength": 2}, {"type": "string", "maxLength": 3}]}"#,
        &[r#""ab""#],
        &[r#""a""#, r#""abcd""#],
    );
    // What a reply's schema may not have leaves the types.
    check_values(r#"{"type": "array", "items": {"type": "integer"}, "uniqueItems": true}"#, &["[1, 2]"], &[r#"["a"]"#]);
}

#[test]
fn one_limit_that_cannot_be_met_leaves_the_others() {
    let schema = r#"{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "maximum": 3},
        "m": {"type": "integer", "minimum": 3, "maximum": 2}}}"#;
    check_values(schema, &[r#"{"n": 3}"#], &[r#"{"n": 4}"#]);
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

/// Formats with strings that have them, and strings that do not.
const FORMATS: [(&str, &[&str], &[&str]); 11] = [
    ("date", &["2026-11-25", "2024-02-29"], &["tomorrow", "2026-11-31", "2026-13-01", "26-11-25", " 2026-11-25"]),
    ("time", &["23:59:59Z", "12:00:00.123456789+01:00"], &["24:00:00Z", "12:00:00", "12:00:00.1234567890Z"]),
    ("date-time", &["2026-11-26T07:30:00.5Z"], &["2026-11-31T07:30:00Z", "2026-11-26", "2026-11-26T07:30:00"]),
    ("duration", &["P1Y2M", "PT36H", "P2W"], &["P", "PT", "P1234567890D", "1 day"]),
    ("uuid", &["f81d4fae-7dec-11d0-A765-00a0c91e6bf6"], &["f81d4fae7dec11d0a76500a0c91e6bf6", "f81d4fae-7dec"]),
    ("ipv4", &["192.168.0.1", "0.0.0.255"], &["256.0.0.1", "1.2.3", "01.2.3.4", "1.2.3.4.5"]),
    (
        "ipv6",
        &["::", "::1", "2001:db8::ff00:42:8329", "1:2:3:4:5:6:7:8", "::ffff:192.0.2.1", "fe80::", "1::3:4:5:6:7:8"],
        &["1:2:3", "1::2::3", "12345::", "1:2:3:4:5:6:7:8:9", "::g", "1:2:3:4:5:6:7:8::"],
    ),
    ("hostname", &["localhost", "www.example.com", "xn--bcher-kva.example"], &["-a.example", "a..b", "a_b", "a b", ""]),
    ("email", &["ada@example.org", "a.b+c@x.example", "a@[192.0.2.1]"], &["ada", "@x.org", "a b@x.org", "a.@x.org"]),
    (
        "uri",
        &["https://a.example:80/x?q=1#y", "urn:isbn:0451450523", "http://[2001:db8::7]/c", "file:///etc/hosts", "a:"],
        &["//a.example/x", "a.example", "http://a b", "http://x/%zz", "http://[::x]/", "1a:b", "a:#b#c"],
    ),
    ("password", &["anything at all"], &[]),
];

#[test]
fn formats_are_enforced_in_all_notations() {
    for (format, accepted, refused) in FORMATS {
        let schema = serde_json::json!({"type": "string", "format": format});
        let functions =
            format!(r#"[{{"name": "f", "parameters": {{"properties": {{"a": {schema}}}, "required": ["a"]}}}}]"#);
        for (notation, before, after) in [
            (DefaultFunctionCallParser, "[f(a=\"", "\")]"),
            (JsonStyleFunctionCallParser, r#"{"name": "f", "arguments": {"a": ""#, "\"}}"),
            (XmlFunctionCallParser, "\n<function=f>\n<parameter=a>\n", "\n</parameter>\n</function>\n"),
            (GemmaFunctionCallParser, "call:f{a:<escape>", "<escape>}"),
        ] {
            let [accepted, refused] = [accepted, refused]
                .map(|texts| texts.iter().map(|text| format!("{before}{text}{after}")).collect::<Vec<_>>());
            let [accepted, refused] =
                [&accepted, &refused].map(|bodies| bodies.iter().map(String::as_str).collect::<Vec<_>>());
            check(notation, &functions, &accepted, &refused);
        }
    }
}

#[test]
fn a_format_and_a_pattern_are_enforced_together() {
    let schema = r#"{"type": "string", "format": "date", "pattern": "^2026"}"#;
    check_values(schema, &[r#""2026-01-31""#], &[r#""2025-01-31""#, r#""2026""#]);
    // The format limits the digits, and stands for a pattern that no grammar can follow.
    let schema = r#"{"type": "string", "format": "time", "pattern": "^\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z$"}"#;
    check_values(schema, &[r#""12:00:00.123456789Z""#], &[r#""12:00:00.1234567890Z""#, r#""12:00:00+01:00""#]);
    let schema = r#"{"type": "string", "format": "duration", "pattern": "^P(?!$)(\\d+Y)?(\\d+M)?(\\d+W)?(\\d+D)?(T(?=\\d)(\\d+H)?(\\d+M)?(\\d+S)?)?$"}"#;
    check_values(schema, &[r#""P1Y2M""#, r#""PT36H""#], &[r#""P""#, r#""1 day""#]);
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
