//! Schemas that refer to themselves, and arrays whose elements have schemas of their own.

use super::*;

#[track_caller]
fn check_argument(schema: &str, accepted: &[&str], refused: &[&str]) {
    let text = format!(r#"[{{"name": "f", "parameters": {{"properties": {{"a": {schema}}}, "required": ["a"]}}}}]"#);
    check_function(&text, accepted, refused);
}

#[track_caller]
fn check_function(text: &str, accepted: &[&str], refused: &[&str]) {
    let functions = functions_from_json(text).unwrap();
    let grammar = CallGrammar::new(DefaultFunctionCallParser, &functions, false).unwrap();
    for argument in accepted {
        let body = format!("[f(a={argument})]");
        assert_eq!(grammar.check(&body), Ok(()), "{body}");
        assert!(clean_calls(DefaultFunctionCallParser, &functions, &body).is_some(), "{body}");
    }
    for argument in refused {
        assert!(grammar.check(&format!("[f(a={argument})]")).is_err(), "{argument}");
    }
}

#[test]
fn a_definition_may_contain_itself() {
    check_function(
        r##"[{"name": "f", "parameters": {"$defs": {"n": {"type": "object", "properties": {"v": {"type": "integer"},
            "kids": {"type": "array", "items": {"$ref": "#/$defs/n"}}}, "required": ["v"]}},
            "properties": {"a": {"$ref": "#/$defs/n"}}, "required": ["a"]}}]"##,
        &[r#"{"v": 1}"#, r#"{"v": 1, "kids": []}"#, r#"{"kids": [{"v": 2, "kids": [{"v": 3}]}, {"v": 4}], "v": 1}"#],
        &[
            "{}",
            r#"{"v": 1, "kids": [{}]}"#,
            r#"{"v": 1, "kids": [1]}"#,
            r#"{"v": 1, "kids": [{"v": 1, "kids": [{"v": "x"}]}]}"#,
        ],
    );
    check_function(
        r##"[{"name": "f", "parameters": {"$defs": {"n": {"anyOf": [{"type": "integer"},
            {"type": "array", "items": {"$ref": "#/$defs/n"}}]}}, "properties": {"a": {"$ref": "#/$defs/n"}}, "required": ["a"]}}]"##,
        &["1", "[]", "[1, [2, [3]], []]"],
        &["null", "[1, ['x']]", "[[]"],
    );
}

#[test]
fn the_first_elements_have_their_own_schemas() {
    let pair = r#""prefixItems": [{"type": "integer"}, {"type": "boolean"}]"#;
    let accepted = ["[1, True]"];
    let refused = ["[]", "[1]", "[True, 1]", "[1, True, 2]"];
    check_argument(&format!(r#"{{"type": "array", {pair}, "minItems": 2, "maxItems": 2}}"#), &accepted, &refused);
    check_argument(&format!(r#"{{"type": "array", {pair}, "minItems": 2, "items": false}}"#), &accepted, &refused);
    check_argument(
        &format!(r#"{{"type": "array", {pair}, "minItems": 1, "maxItems": 3, "items": {{"type": "null"}}}}"#),
        &["[1]", "[1, False]", "[1, False, None]"],
        &["[]", "[1, None]", "[1, False, 2]", "[1, False, None, None]"],
    );
    check_argument(
        &format!(r#"{{"type": "array", {pair}, "items": {{"type": "null"}}}}"#),
        &["[]", "[1]", "[1, False]", "[1, False, None, None]"],
        &["[None]", "[1, False, 2]"],
    );
    check_argument(&format!(r#"{{"type": "array", {pair}, "maxItems": 1}}"#), &["[]", "[1]"], &["[True]", "[1, True]"]);
}

#[test]
fn integers_of_64_bits_have_limits() {
    let limits = r#""minimum": -9223372036854775808, "maximum": 18446744073709551615"#;
    let refused = ["1.5", "99999999999999999999", "-99999999999999999999"];
    check_argument(&format!(r#"{{"type": "integer", {limits}}}"#), &["-9000000000000000000", "0", "123"], &refused);
    let schema = format!(r#"{{"type": "integer", {limits}}}"#);
    assert!(Constrainer::new(Arc::new(ByteVocabulary)).constraint(Grammar::of_schema(&schema).unwrap()).is_ok());
}
