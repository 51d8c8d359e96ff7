use super::*;
use crate::function::SdkFunctionParameter;
use crate::notation::FunctionCallParser;
use crate::notation::read_json;
use crate::schema::functions_from_json;

/// Validates arguments against parameters with these schemas.
#[track_caller]
fn check(properties: &str, required: &str, arguments: &str, expect_arguments: &str, expect: &[&str]) {
    let functions = format!(
        r#"[{{"name": "f", "parameters": {{"type": "object", "properties": {properties}, "required": {required}}}}}]"#
    );
    let function = functions_from_json(&functions).unwrap().remove(0);
    let Some(Value::Object(arguments)) = read_json(arguments) else { panic!("arguments must be an object") };
    let call = SdkFunctionCall { name: "f".into(), arguments, ..Default::default() };
    let validation = validate(&call, &function);
    let found: Vec<String> =
        validation.diagnostics.iter().map(|found| format!("{} {}", found.path, found.code.code())).collect();
    assert_eq!(
        (Value::Object(validation.arguments).to_string().as_str(), found),
        (expect_arguments, expect.iter().map(|&e| e.to_owned()).collect())
    );
}

#[test]
fn fitting_arguments_stay_as_they_are() {
    check(
        r#"{"s": {"type": "string"}, "n": {"type": "number"}, "i": {"type": "integer"}, "b": {"type": "boolean"}, "z": {"type": "null"}}"#,
        r#"["s", "n", "i", "b", "z"]"#,
        r#"{"s": "x", "n": 3, "i": 123456789012345678901234567890, "b": true, "z": null}"#,
        r#"{"s": "x", "n": 3, "i": 123456789012345678901234567890, "b": true, "z": null}"#,
        &[],
    );
}

#[test]
fn a_type_without_a_meaning_in_json_schema_allows_any_value() {
    for value in ["1.0", "0.0", "2.5", "3", r#""1""#, "null", "[1.0]", r#"{"b": 1.0}"#] {
        let arguments = format!(r#"{{"a": {value}}}"#);
        check(r#"{"a": {"type": "float"}}"#, "[]", &arguments, &arguments, &[]);
        check(r#"{"a": {"type": ["date", "boolean"]}}"#, "[]", &arguments, &arguments, &[]);
    }
}

#[test]
fn obvious_coercions_are_made_and_reported() {
    let one = |schema: &str, argument: &str, expect: &str, code: &str| {
        let properties = format!(r#"{{"a": {schema}}}"#);
        check(
            &properties,
            r#"["a"]"#,
            &format!(r#"{{"a": {argument}}}"#),
            &format!(r#"{{"a": {expect}}}"#),
            &[&format!("a {code}")],
        );
    };
    one(r#"{"type": "number"}"#, r#"" 2.5 ""#, "2.5", "string_to_number");
    one(r#"{"type": "integer"}"#, r#""3.0""#, "3", "string_to_number");
    one(r#"{"type": "integer"}"#, "5.0", "5", "float_to_int");
    one(r#"{"type": "boolean"}"#, r#""True""#, "true", "string_to_bool");
    one(r#"{"type": "string"}"#, "42", r#""42""#, "number_to_string");
    one(r#"{"type": "array", "items": {"type": "integer"}}"#, r#""[1, 2]""#, "[1, 2]", "string_to_json");
    one(r#"{"type": "string", "enum": ["Low", "High"]}"#, r#""low""#, r#""Low""#, "enum_case");
    check(r#"{"a": {"type": "string"}}"#, "[]", r#"{"a": null}"#, "{}", &["a null_dropped"]);
    check(
        r#"{"a": {"type": "string"}}"#,
        r#"["a"]"#,
        r#"{"args": {"a": "x"}}"#,
        r#"{"a": "x"}"#,
        &["args unwrapped_arguments"],
    );
}

#[test]
fn an_argument_that_does_not_fit_is_kept_and_reported() {
    let one = |schema: &str, argument: &str, code: &str| {
        let properties = format!(r#"{{"a": {schema}}}"#);
        let arguments = format!(r#"{{"a": {argument}}}"#);
        check(&properties, r#"["a"]"#, &arguments, &arguments, &[&format!("a {code}")]);
    };
    one(r#"{"type": "integer"}"#, "5.5", "wrong_type");
    one(r#"{"type": "number"}"#, "true", "wrong_type");
    one(r#"{"type": "boolean"}"#, "1", "wrong_type");
    one(r#"{"type": "integer"}"#, r#""three""#, "wrong_type");
    one(r#"{"type": "string"}"#, "null", "null_for_required");
    one(r#"{"type": "string", "enum": ["a", "A"]}"#, r#""b""#, "not_in_enum");
    one(r#"{"type": "object", "properties": {"k": {"type": "null"}}}"#, "[]", "wrong_type");
    check(r#"{"a": {"type": "string"}}"#, r#"["a"]"#, "{}", "{}", &["a missing_required"]);
    check(
        r#"{"city": {"type": "string"}}"#,
        "[]",
        r#"{"ctiy": "x"}"#,
        r#"{"ctiy": "x"}"#,
        &["ctiy undeclared_argument"],
    );
}

#[test]
fn numbers_of_an_enum_are_compared_by_value() {
    check(r#"{"a": {"type": "number", "enum": [1, 2.5]}}"#, r#"["a"]"#, r#"{"a": 1}"#, r#"{"a": 1}"#, &[]);
}

#[test]
fn paths_lead_into_arrays_and_objects() {
    check(
        r#"{"config": {"type": "object", "properties": {"items": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}}}}}"#,
        r#"["config"]"#,
        r#"{"config": {"items": [{"id": 1}, {"id": "2"}, {}, {"id": "x", "y": 0}]}}"#,
        r#"{"config": {"items": [{"id": 1}, {"id": 2}, {}, {"id": "x", "y": 0}]}}"#,
        &[
            "config.items[1].id string_to_number",
            "config.items[2].id missing_required",
            "config.items[3].id wrong_type",
            "config.items[3].y undeclared_argument",
        ],
    );
}

#[test]
fn a_near_name_is_offered() {
    let city = SdkFunctionParameter::new("city", SdkFunctionParameterType::string(), "").optional();
    let function = SdkFunction::new("f", "", vec![city]);
    let arguments = [("citty".to_owned(), "x".into())].into_iter().collect();
    let call = SdkFunctionCall { name: "f".into(), arguments, ..Default::default() };
    assert_eq!(validate(&call, &function).diagnostics[0].message, "citty is not declared; did you mean city?");
}

#[test]
fn a_call_of_an_unknown_function_is_an_error() {
    let functions = [SdkFunction::new("get_weather", "", vec![]), SdkFunction::new("ping", "", vec![])];
    let of = |name: &str| {
        let arguments = [("a".to_owned(), Value::Integer(1))].into_iter().collect();
        validate_among(&SdkFunctionCall { name: name.into(), arguments, ..Default::default() }, &functions)
    };
    let unknown = of("nope");
    assert!(!unknown.is_ok());
    assert_eq!(unknown.errors_as_tool_text(), r#"{"error": "nope is not declared"}"#);
    assert!(!validate_among(&SdkFunctionCall::default(), &[]).is_ok(), "none is declared");
    let ping = SdkFunctionCall { name: "ping".into(), ..Default::default() };
    assert_eq!(validate_among(&ping, &functions).errors_as_tool_text(), "");
    assert_eq!(unknown.arguments["a"], Value::Integer(1));
    assert_eq!(unknown.diagnostics[0].code.code(), "undeclared_function");
    assert_eq!(unknown.diagnostics[0].message, "nope is not declared");
    assert_eq!(of("Ping").diagnostics[0].message, "Ping is not declared; did you mean ping?");
    assert_eq!(of("ping").diagnostics[0].code.code(), "undeclared_argument");
}

#[test]
fn every_code_is_unique() {
    let names: std::collections::HashSet<&str> = DiagnosticCode::ALL.iter().map(|code| code.code()).collect();
    assert_eq!(names.len(), DiagnosticCode::ALL.len());
}

#[test]
fn a_number_for_a_string_parameter_keeps_its_spelling() {
    let parameter = |name: &str| SdkFunctionParameter::new(name, SdkFunctionParameterType::string(), "");
    let list = SdkFunctionParameterType::array(SdkFunctionParameterType::string());
    let parameters = vec![parameter("zip"), parameter("price"), SdkFunctionParameter::new("tags", list, "")];
    let function = SdkFunction::new("f", "", parameters);
    let check = |parser, text: &str, expect: &str| {
        let mut calls = Vec::new();
        let (start, end) = parser_markers(parser);
        let mut parser = crate::parse::ReplyParser::new(Some(parser));
        let mut emit = |parsed| {
            if let crate::parse::Parsed::Calls(found) = parsed {
                calls.extend(found)
            }
        };
        for piece in [start, crate::parse::Piece::Text(text), end] {
            parser.push(piece, &mut emit);
        }
        let validation = validate(&calls[0], &function);
        assert_eq!(Value::Object(validation.arguments).to_string(), expect, "{text}");
        calls.remove(0)
    };
    let expect = r#"{"zip": "01234", "price": "5.10", "tags": ["0x1F", "1e3"]}"#;
    let python = FunctionCallParser::DefaultFunctionCallParser;
    let mut call = check(python, "[f(zip=01234, price=5.10, tags=[0x1F, 1e3])]", expect);
    check(python, "[f(args={'zip': 01234, 'price': 5.10, 'tags': [0x1F, 1e3]})]", expect);
    let json = FunctionCallParser::JsonStyleFunctionCallParser;
    let text = r#"{"name": "f", "arguments": {"zip": 100000000000000000000, "price": 5.10, "tags": [1E3]}}"#;
    check(json, text, r#"{"zip": "100000000000000000000", "price": "5.10", "tags": ["1E3"]}"#);
    // A value that the app has changed since is not reverted.
    call.arguments["zip"] = Value::Integer(7);
    assert_eq!(validate(&call, &function).arguments["zip"], "7".into());
}

fn parser_markers(parser: FunctionCallParser) -> (crate::parse::Piece<'static>, crate::parse::Piece<'static>) {
    let (start, end) = parser.markers();
    (crate::parse::Piece::Control(start), crate::parse::Piece::Control(end))
}

#[test]
fn arguments_are_validated_against_schemas_that_no_type_expresses() {
    let one = |schema: &str, argument: &str, expect: &[&str]| {
        let (properties, arguments) = (format!(r#"{{"a": {schema}}}"#), format!(r#"{{"a": {argument}}}"#));
        check(&properties, r#"["a"]"#, &arguments, &arguments, expect);
    };
    let nullable = r#"{"anyOf": [{"type": "string"}, {"type": "null"}]}"#;
    one(nullable, r#""x""#, &[]);
    one(nullable, "null", &[]);
    one(nullable, "[3]", &["a wrong_type"]);
    one(r#"{"type": ["integer", "null"], "minimum": 0, "exclusiveMaximum": 5}"#, "4", &[]);
    one(r#"{"type": ["integer", "null"], "minimum": 0, "exclusiveMaximum": 5}"#, "5", &["a wrong_type"]);
    one(r#"{"type": "string", "minLength": 2, "maxLength": 3}"#, r#""é""#, &["a wrong_type"]);
    one(r#"{"enum": [1, "x", null]}"#, "1.0", &[]);
    one(r#"{"enum": [1, "x", null]}"#, r#""y""#, &["a not_in_enum"]);
    one(r#"{"const": 3}"#, "4", &["a not_in_enum"]);
    one(r#"{"type": "string", "format": "date"}"#, "null", &["a null_for_required"]);
    let nested = r#"{"type": "object", "minProperties": 1, "required": ["k"],
        "properties": {"l": {"type": "array", "items": {"allOf": [{"type": "integer"}]}}}}"#;
    one(nested, r#"{"k": 1, "l": [1, 2]}"#, &[]);
    one(nested, r#"{"l": [1, "x"]}"#, &["a.k missing_required", "a.l[1] wrong_type"]);
    let counts =
        r#"{"type": "object", "properties": {"n": {"type": "string"}}, "additionalProperties": {"type": "integer"}}"#;
    one(counts, r#"{"n": "x", "k": 1}"#, &[]);
    one(counts, r#"{"k": "x"}"#, &["a.k wrong_type"]);
    let closed = r#"{"type": "object", "minProperties": 1, "properties": {"n": {}}, "additionalProperties": false}"#;
    one(closed, r#"{"n": [null]}"#, &[]);
    one(closed, r#"{"n": 1, "k": 2}"#, &["a.k undeclared_argument"]);
    // Obvious coercions are still made.
    let properties = r#"{"a": {"type": "integer", "minimum": 1}}"#;
    check(properties, r#"["a"]"#, r#"{"a": "3"}"#, r#"{"a": 3}"#, &["a string_to_number"]);
    check(properties, "[]", r#"{"a": null}"#, "{}", &["a null_dropped"]);
    check(properties, r#"["a"]"#, "{}", "{}", &["a missing_required"]);
}

#[test]
fn the_limits_of_a_schema_are_checked() {
    let one = |schema: &str, fitting: &[&str], wrong: &[&str]| {
        let properties = format!(r#"{{"a": {schema}}}"#);
        for (arguments, expect) in [(fitting, &[][..]), (wrong, &["a wrong_type"][..])] {
            for argument in arguments {
                let arguments = format!(r#"{{"a": {argument}}}"#);
                check(&properties, r#"["a"]"#, &arguments, &arguments, expect);
            }
        }
    };
    one(r#"{"type": "string", "pattern": "^[A-Z]{3}$"}"#, &[r#""ABC""#], &[r#""abc""#, r#""ABCD""#]);
    one(r#"{"type": "string", "pattern": "^(?!x)"}"#, &[r#""yx""#], &[r#""xy""#]);
    one(r#"{"type": "string", "pattern": "("}"#, &[r#""no pattern""#], &[]);
    one(r#"{"type": "integer", "multipleOf": 5}"#, &["10", "0"], &["12"]);
    one(r#"{"type": "number", "multipleOf": 0.1}"#, &["0.3", "7"], &["0.35"]);
    one(r#"{"type": "integer", "maximum": 9007199254740992}"#, &["9007199254740992"], &["9007199254740993"]);
    one(r#"{"type": "array", "items": {}, "uniqueItems": true}"#, &["[1, 2]"], &["[1, 2, 1]", "[1, 1.0]"]);
    one(r#"{"type": "object", "minProperties": 1, "maxProperties": 2}"#, &[r#"{"k": 1}"#], &["{}"]);
    one(r#"{"type": "number", "multipleOf": 0.01}"#, &["12.34"], &["5000000000.005"]);
    one(r#"{"type": "array", "uniqueItems": true}"#, &["[[1], [2]]"], &["[[1], [1.0]]", r#"[{"k": 1}, {"k": 1.0}]"#]);
    one(r#"{"not": {"type": "string"}}"#, &["1"], &[r#""x""#]);
    one(r#"{"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 3}]}"#, &["1", "3.5"], &["4", "2.5"]);
    let properties = r#"{"a": {"prefixItems": [{"type": "integer"}], "items": false}}"#;
    check(
        properties,
        "[]",
        r#"{"a": ["x", 1]}"#,
        r#"{"a": ["x", 1]}"#,
        &["a[0] wrong_type", "a[1] undeclared_argument"],
    );
    let patterns = r#"{"a": {"type": "object", "patternProperties": {"^n": {"type": "integer"}}, "additionalProperties": false, "propertyNames": {"maxLength": 2}}}"#;
    let arguments = r#"{"a": {"n1": 1, "n2": "x", "k": 1, "n33": 1}}"#;
    let expect = ["a.n2 wrong_type", "a.k undeclared_argument", "a.n33 undeclared_argument"];
    check(patterns, "[]", arguments, arguments, &expect);
}

#[test]
fn obvious_coercions_are_made_anywhere_in_a_schema() {
    let one = |schema: &str, argument: &str, expect: &str, codes: &[&str]| {
        let (argument, expect) = (format!(r#"{{"a": {argument}}}"#), format!(r#"{{"a": {expect}}}"#));
        check(&format!(r#"{{"a": {schema}}}"#), r#"["a"]"#, &argument, &expect, codes);
    };
    let optional = r#"{"anyOf": [{"type": "integer"}, {"type": "null"}]}"#;
    one(optional, r#""3""#, "3", &["a string_to_number"]);
    one(optional, "3.0", "3", &["a float_to_int"]);
    one(optional, "null", "null", &[]);
    one(r#"{"type": ["integer", "null"]}"#, r#""3""#, "3", &["a string_to_number"]);
    one(
        r#"{"enum": ["celsius", "kelvin"], "examples": ["celsius"]}"#,
        r#""Celsius""#,
        r#""celsius""#,
        &["a enum_case"],
    );
    one(r#"{"type": ["string", "integer"], "maxLength": 2}"#, "1.0", "1", &["a float_to_int"]);
    one(r#"{"type": ["string", "integer"]}"#, "1e300", "1e+300", &[]);
    let list = r#"{"type": "array", "minItems": 1, "items": {"type": "integer"}}"#;
    one(list, r#"["1", 2.0]"#, "[1, 2]", &["a[0] string_to_number", "a[1] float_to_int"]);
    let map = r#"{"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}, "l": {"type": "string"}}}"#;
    one(map, r#"{"n": "5", "l": null}"#, r#"{"n": 5}"#, &["a.n string_to_number", "a.l null_dropped"]);
    one(r#"{"allOf": [{"type": "boolean"}]}"#, r#""true""#, "true", &["a string_to_bool"]);
    // A value that fits no schema is not changed.
    let forms = r#"{"anyOf": [{"type": "object", "required": ["k"], "properties": {"n": {"type": "integer"}}}, {"type": "null"}]}"#;
    one(forms, r#"{"n": "5"}"#, r#"{"n": "5"}"#, &["a wrong_type"]);
    let either = r#"{"a": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}"#;
    check(either, "[]", r#"{"a": null}"#, "{}", &["a null_dropped"]);
}

#[test]
fn a_message_says_what_must_be_and_what_was_found() {
    let message = |schema: &str, argument: &str| {
        let functions =
            format!(r#"[{{"name": "f", "parameters": {{"properties": {{"a": {schema}}}, "required": ["a"]}}}}]"#);
        let arguments = [("a".to_owned(), read_json(argument).unwrap())].into();
        let call = SdkFunctionCall { name: "f".into(), arguments, ..Default::default() };
        let validation = validate(&call, &functions_from_json(&functions).unwrap()[0]);
        validation.diagnostics[0].message.clone()
    };
    for (schema, argument, expect) in [
        (r#"{"type": "integer"}"#, r#""three""#, r#"a must be an integer, found "three""#),
        (r#"{"type": "string"}"#, "[1, 2]", "a must be a string, found an array"),
        (r#"{"type": "string"}"#, "null", "a must not be null"),
        (r#"{"type": "boolean"}"#, r#""TRUE""#, "a was converted to a boolean"),
        (r#"{"type": "string", "enum": ["x", "y"]}"#, r#""z""#, r#"a must be one of "x", "y", found "z""#),
        (r#"{"type": ["integer", "null"]}"#, "{}", "a must be an integer or null, found an object"),
        (r#"{"const": 3}"#, "4", "a must be 3, found 4"),
        (r#"{"type": "integer", "minimum": 1}"#, "0", "a must be at least 1, found 0"),
        (r#"{"type": "number", "exclusiveMaximum": 0.5}"#, "2", "a must be less than 0.5, found 2"),
        (r#"{"type": "integer", "multipleOf": 5}"#, "12", "a must be a multiple of 5, found 12"),
        (r#"{"type": "string", "minLength": 2}"#, r#""x""#, "a must have at least 2 characters, found 1"),
        (r#"{"type": "string", "pattern": "^y"}"#, r#""x""#, r#"a must match the pattern ^y, found "x""#),
        (r#"{"type": "array", "uniqueItems": true}"#, "[1, 1]", "a must not contain equal elements"),
        (r#"{"anyOf": [{"type": "null"}]}"#, "1", "a must fit one of the allowed schemas, but fits none"),
        (r#"{"not": {"type": "integer"}}"#, "1", "a must not fit the schema that is excluded"),
    ] {
        assert_eq!(message(schema, argument), expect);
    }
}

#[test]
fn a_keyword_that_is_not_checked_never_makes_a_value_wrong() {
    let one = |schema: &str, argument: &str| {
        let (properties, arguments) = (format!(r#"{{"a": {schema}}}"#), format!(r#"{{"a": {argument}}}"#));
        check(&properties, r#"["a"]"#, &arguments, &arguments, &[]);
    };
    one(r#"{"not": {"contains": {"const": 1}}}"#, "[2]");
    one(r#"{"not": {"properties": {"k": {"if": {"const": 1}, "then": false}}}}"#, r#"{"k": 1}"#);
    one(r#"{"not": {"pattern": "("}}"#, r#""text""#);
    one(r#"{"oneOf": [{"if": {"const": 3}, "then": false}, {"not": {"contains": 1}}]}"#, "3");
    one(r#"{"oneOf": [{"type": "string", "format": "date"}, {"type": "string", "format": "email"}]}"#, r#""a@b""#);
}

#[test]
fn numbers_are_equal_only_if_all_digits_are() {
    let one = |allowed: &str, argument: &str, expect: &[&str]| {
        let properties = format!(r#"{{"a": {{"enum": [{allowed}, null]}}}}"#);
        let arguments = format!(r#"{{"a": {argument}}}"#);
        check(&properties, r#"["a"]"#, &arguments, &arguments, expect);
    };
    one("0", "-0.0", &[]);
    one("100000000000000000000.0", "100000000000000000000", &[]);
    one("9007199254740992.0", "9007199254740993", &["a not_in_enum"]);
}

#[test]
fn definitions_of_a_schema_are_followed() {
    let tree = r##"{"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "properties": {"v": {"type": "integer"},
        "kids": {"type": "array", "items": {"$ref": "#/$defs/n"}}}, "required": ["v"]}}}"##;
    let schema = Value::from(serde_json::from_str::<serde_json::Value>(tree).unwrap());
    let parameter = SdkFunctionParameter {
        schema: Some(schema),
        ..SdkFunctionParameter::new("a", SdkFunctionParameterType::SdkNull, "")
    };
    let function = SdkFunction::new("f", "", vec![parameter]);
    let read = |argument: &str| {
        let arguments = [("a".to_owned(), crate::notation::read_json(argument).unwrap())].into();
        validate(&SdkFunctionCall { arguments, ..Default::default() }, &function)
    };
    let validation = read(r#"{"v": "1", "kids": [{"v": 2.0, "kids": []}]}"#);
    assert!(validation.is_ok());
    assert_eq!(validation.arguments["a"].to_string(), r#"{"v": 1, "kids": [{"v": 2, "kids": []}]}"#);
    let validation = read(r#"{"v": 1, "kids": [{"v": 2, "kids": [{"kids": []}]}]}"#);
    assert_eq!(validation.errors_as_tool_text(), r#"{"error": "a.kids[0].kids[0].v is missing"}"#);
}

#[test]
fn definitions_that_refer_to_one_another_without_an_end_accept_anything() {
    for definition in [
        r##"{"$ref": "#/$defs/n"}"##,
        r##"{"anyOf": [{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n"}]}"##,
        r##"{"allOf": [{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n"}]}"##,
    ] {
        let schema = format!(r##"{{"$ref": "#/$defs/n", "$defs": {{"n": {definition}}}}}"##);
        let schema = Value::from(serde_json::from_str::<serde_json::Value>(&schema).unwrap());
        assert!(fits_schema(&Value::from(1), &schema), "{definition}");
        assert_eq!(as_passed_on(&Value::from(1), &schema), Value::from(1));
    }
}
