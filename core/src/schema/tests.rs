use super::*;
use crate::error::ErrorKind;
use crate::function::{SdkFunctionParameter, SdkFunctionParameterType};

/// The schema of a function's parameters, as if the app had declared it.
fn derived(function: &SdkFunction) -> String {
    function_schema(&SdkFunction { definition: None, ..function.clone() }).to_string()
}

#[track_caller]
fn check(parameter_type: SdkFunctionParameterType, expect: &str) {
    let function = SdkFunction::new("f", "", vec![SdkFunctionParameter::new("a", parameter_type, "p").optional()]);
    let expect = format!(r#"{{"name": "f", "parameters": {{"type": "object", "properties": {{"a": {expect}}}}}}}"#);
    assert_eq!(function_schema(&function).to_string(), expect);
}

fn described(description: &str) -> SdkFunctionParameterType {
    SdkFunctionParameterType::SdkStr { enum_values: None, description: Some(description.into()) }
}

#[test]
fn the_parameters_description_overrides_the_types() {
    check(described("own"), r#"{"type": "string", "description": "p"}"#);
}

#[test]
fn an_empty_description_of_a_parameter_is_left_out() {
    let kept = r#"{"type": "string", "pattern": "x", "description": "own"}"#;
    for (parameter_type, schema) in [(described("own"), None), (SdkFunctionParameterType::string(), Some(kept))] {
        let mut parameter = SdkFunctionParameter::new("a", parameter_type, "");
        parameter.schema = schema.map(|text| Value::from(serde_json::from_str::<serde_json::Value>(text).unwrap()));
        assert!(!parameter_schema(&parameter).to_string().contains("description"), "{parameter:?}");
    }
}

#[test]
fn only_one_level_is_overridden() {
    let array = SdkFunctionParameterType::SdkArr { item_type: Box::new(described("x")), description: Some("y".into()) };
    check(array, r#"{"type": "array", "description": "p", "items": {"type": "string", "description": "x"}}"#);
}

#[test]
fn enum_values_keep_order_and_type() {
    let numbers = SdkFunctionParameterType::SdkNum { enum_values: Some(vec![2.0, 0.5]), description: None };
    check(numbers, r#"{"type": "number", "description": "p", "enum": [2.0, 0.5]}"#);
    let integers = SdkFunctionParameterType::SdkInt { enum_values: Some(vec![3, -1]), description: None };
    check(integers, r#"{"type": "integer", "description": "p", "enum": [3, -1]}"#);
}

#[test]
fn required_properties_come_first_as_listed() {
    let object = SdkFunctionParameterType::SdkObj {
        properties: ["b", "y", "c", "z"].map(|name| (name.into(), described(name))).into(),
        required: vec!["z".into(), "c".into()],
        description: None,
    };
    check(
        object,
        r#"{"type": "object", "description": "p", "properties": {"z": {"type": "string", "description": "z"}, "c": {"type": "string", "description": "c"}, "b": {"type": "string", "description": "b"}, "y": {"type": "string", "description": "y"}}, "required": ["z", "c"]}"#,
    );
}

#[test]
fn a_function_without_parameters_has_empty_properties() {
    assert_eq!(
        function_schema(&SdkFunction::new("f", "Does.", vec![])).to_string(),
        r#"{"name": "f", "description": "Does.", "parameters": {"type": "object", "properties": {}}}"#
    );
}

#[test]
fn written_functions_read_back_equal() {
    let text = r#"[{"name": "f", "description": "d", "parameters": {"type": "object", "properties": {"#.to_owned()
        + r#""a": {"type": "string", "description": "p", "enum": ["x", "y"]}, "#
        + r#""b": {"type": "array", "items": {"type": "object", "properties": {"#
        + r#""k": {"type": "integer", "description": "inner"}}, "required": ["k"]}}}, "required": ["a"]}}]"#;
    let functions = functions_from_json(&text).unwrap();
    assert_eq!(format!("[{}]", function_schema(&functions[0])), text);
}

#[test]
fn a_schema_that_no_type_expresses_is_kept() {
    let text = r#"[{"name": "f", "description": "", "parameters": {"type": "object", "properties": {"#.to_owned()
        + r#""a": {"pattern": "x", "type": "string"}, "b": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "#
        + r#""c": {"type": ["integer", "null"], "description": "How many.", "minimum": 0}, "d": {}, "#
        + r##""e": {"not": {"type": "null"}}, "f": {"type": "integer", "description": "Plain."}}}}]"##;
    let functions = functions_from_json(&text).unwrap();
    assert_eq!(format!("[{}]", function_schema(&functions[0])), text);
    let parameters = &functions[0].parameters;
    assert_eq!(parameters[0].parameter_type, SdkFunctionParameterType::string());
    let kept: Vec<bool> = parameters.iter().map(|parameter| parameter.schema.is_some()).collect();
    assert_eq!(kept, [true, true, true, true, true, false]);
    let mut function = functions[0].clone();
    function.parameters[2].description = "The number.".to_owned();
    assert!(function_schema(&function).to_string().contains(r#""description": "The number.", "minimum": 0"#));
}

#[test]
fn combining_keywords_without_properties_are_refused() {
    let text = r#"[{"name": "f", "parameters": {"type": "object", "oneOf": []}}]"#;
    let expect = r#"functions[0].parameters must have properties, found the keyword "oneOf" instead"#;
    assert_eq!(functions_from_json(text).unwrap_err().message(), expect);
}

#[test]
fn definitions_replace_references() {
    let text = r##"[{"name": "f", "parameters": {"type": "object", "$defs": {"Point": {"type": "object",
        "title": "Point", "properties": {"x": {"type": "integer"}, "name": {"$ref": "#/definitions/a~1b"}},
        "required": ["x"]}}, "definitions": {"a/b": {"type": "string"}}, "$comment": "from a generator",
        "properties": {"at": {"$ref": "#/$defs/Point", "description": "Where."},
                       "path": {"type": "array", "items": {"$ref": "#/$defs/Point"}}}}}]"##;
    let function = &functions_from_json(text).unwrap()[0];
    assert!(function.parameters.iter().all(|parameter| parameter.schema.is_none()), "{function:?}");
    let point = r#"{"type": "object", "properties": {"x": {"type": "integer"}, "name": {"type": "string"}}, "required": ["x"]}"#;
    let schema = derived(function);
    assert!(schema.contains(&format!(r#""path": {{"type": "array", "items": {point}}}"#)), "{schema}");
    assert!(schema.contains(r#""at": {"type": "object", "description": "Where.", "properties""#), "{schema}");
}

#[test]
fn a_definition_inside_itself_stays_a_definition() {
    let text = r##"[{"name": "f", "parameters": {"$ref": "#/definitions/Tree", "definitions": {"Tree": {"type": "object",
        "properties": {"name": {"type": "string"}, "left": {"$ref": "#/definitions/Tree"},
                       "right": {"$ref": "#/definitions/Tree", "description": "The other."}}, "required": ["name"]}}}}]"##;
    let function = &functions_from_json(text).unwrap()[0];
    let names: Vec<&str> = function.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    assert_eq!((names, function.parameters[0].optional), (vec!["name", "left", "right"], false));
    let tree = r##"{"type": "object", "properties": {"name": {"type": "string"}, "left": {"$ref": "#/$defs/Tree"}, "##
        .to_owned()
        + r##""right": {"$ref": "#/$defs/Tree", "description": "The other."}}, "required": ["name"]}"##;
    let schema = derived(function);
    assert!(schema.contains(r##""left": {"$ref": "#/$defs/Tree"}, "right""##), "{schema}");
    assert!(schema.ends_with(&format!(r#""required": ["name"], "$defs": {{"Tree": {tree}}}}}}}"#)), "{schema}");
    let again = functions_from_json(&functions_to_json(std::slice::from_ref(function))).unwrap();
    assert_eq!(again[0].parameters, function.parameters);
}

#[test]
fn definitions_of_parameters_with_the_same_name_are_told_apart() {
    let node = |kind: &str| {
        let schema = format!(
            r##"{{"$ref": "#/$defs/n", "$defs": {{"n": {{"type": "{kind}", "items": {{"$ref": "#/$defs/n"}}}}}}}}"##
        );
        Some(Value::from(serde_json::from_str::<serde_json::Value>(&schema).unwrap()))
    };
    let parameter = |name: &str, kind: &str| SdkFunctionParameter {
        schema: node(kind),
        ..SdkFunctionParameter::new(name, SdkFunctionParameterType::SdkNull, "")
    };
    let parameters = vec![parameter("a", "array"), parameter("b", "array"), parameter("c", "object")];
    let schema = function_schema(&SdkFunction::new("f", "", parameters)).to_string();
    assert!(schema.contains(r##""b": {"$ref": "#/$defs/n"}, "c": {"$ref": "#/$defs/n_"}"##), "{schema}");
    assert!(schema.contains(r##""n_": {"type": "object", "items": {"$ref": "#/$defs/n_"}}"##), "{schema}");
}

#[test]
fn types_of_the_table_replace_references_to_them() {
    let text = r#"[{"name": "f", "parameters": {"properties": {"a": {"$ref": "causerie:u8", "description": "x"}}}}]"#;
    let function = &functions_from_json(text).unwrap()[0];
    let schema = r#"{"type": "integer", "description": "x", "minimum": 0, "maximum": 255}"#;
    assert_eq!(parameter_schema(&function.parameters[0]).to_string().len(), schema.len());
    assert!(functions_from_json(&text.replace("u8", "u7")).is_err());
}

#[test]
fn a_definition_inside_itself_shows_its_type() {
    let function = |definitions: &str| {
        let text = format!(
            r##"[{{"name": "f", "parameters": {{"$defs": {definitions}, "properties": {{"a": {{"$ref": "#/$defs/n"}}}}}}}}]"##
        );
        functions_from_json(&text).map(|functions| derived(&functions[0]))
    };
    for definitions in [
        r##"{"n": {"properties": {"next": {"$ref": "#/$defs/n"}}}}"##,
        r##"{"n": {"items": {"$ref": "#/$defs/n"}}}"##,
        r##"{"n": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/n"}}]}}"##,
        r##"{"n": {"anyOf": [{"const": true}, {"$ref": "#/$defs/n"}]}}"##,
    ] {
        let (schema, definition) = (function(definitions).unwrap(), &definitions[6..definitions.len() - 1]);
        assert!(schema.contains(&format!(r#""$defs": {{"n": {definition}}}"#)), "{definitions}: {schema}");
    }
    let through_another =
        r##"{"n": {"oneOf": [{"enum": [1, null]}, {"$ref": "#/$defs/m"}]}, "m": {"items": {"$ref": "#/$defs/n"}}}"##;
    let schema = function(through_another).unwrap();
    assert!(
        schema.contains(r##""n": {"oneOf": [{"enum": [1, null]}, {"items": {"$ref": "#/$defs/n"}}]}"##),
        "{schema}"
    );
    for definitions in [
        r##"{"n": {"$ref": "#/$defs/n"}}"##,
        r##"{"n": {"anyOf": [{"$ref": "#/$defs/m"}, {"$ref": "#/$defs/n"}]}, "m": {"$ref": "#/$defs/n"}}"##,
        r##"{"n": {"not": {"$ref": "#/$defs/n"}}}"##,
        r##"{"n": {"anyOf": [{}, {"items": {"$ref": "#/$defs/n"}, "type": "array"}]}}"##,
    ] {
        let err = function(definitions).unwrap_err();
        let said =
            "$ref must refer to a schema that shows its type, because it is a part of that schema, found \"#/$defs/n\"";
        assert!(err.kind() == ErrorKind::Serialization && err.message().contains(said), "{definitions}: {err}");
    }
}

#[test]
fn any_place_of_the_schema_replaces_references() {
    let function = |end: &str| {
        let text = format!(
            r##"[{{"name": "f", "parameters": {{"$defs": {{"a b": {{"type": "boolean"}}}}, "properties": {{
                "start": {{"type": "object", "properties": {{"x": {{"type": "integer"}}}}}}, "end": {{"$ref": "{end}"}}}}}}}}]"##
        );
        functions_from_json(&text).map(|functions| derived(&functions[0]))
    };
    for (reference, expect) in [
        ("#/properties/start", r#""end": {"type": "object", "properties": {"x": {"type": "integer"}}"#),
        ("#/properties/start/properties/x", r#""end": {"type": "integer""#),
        ("#/$defs/a%20b", r#""end": {"type": "boolean""#),
        ("#/%24defs/a b", r#""end": {"type": "boolean""#),
        ("#", r#""end": {"type": "object""#),
    ] {
        let schema = function(reference).unwrap();
        assert!(schema.contains(expect), "{reference}: {schema}");
    }
    for reference in ["#/properties/none", "#none", "https://example.com/a", "", "other.json#/a"] {
        let err = function(reference).unwrap_err();
        let place = "functions[0].parameters.properties.end.$ref must refer to a place in the same schema";
        assert_eq!((err.kind(), err.message().starts_with(place)), (ErrorKind::Serialization, true), "{err}");
    }
}

#[test]
fn definitions_that_exceed_the_limit_are_refused() {
    let wide: Vec<String> = (0..60)
        .map(|i| format!(r##""d{i}": [{{"$ref": "#/$defs/d{0}"}}, {{"$ref": "#/$defs/d{0}"}}]"##, i + 1))
        .collect();
    let all: Vec<String> = (0..12).map(|i| format!(r##"{{"$ref": "#/$defs/d{i}"}}"##)).collect();
    let mutual = (0..12).map(|i| format!(r#""d{i}": {{"type": "array", "anyOf": [{}]}}"#, all.join(", ")));
    let mutual: Vec<String> = mutual.collect();
    let long = format!(
        r#""long": {{"description": "{}"}}, "many": [{}]"#,
        "x".repeat(10_000),
        [r##"{"$ref": "#/$defs/long"}"##; 100].join(", ")
    );
    for (definitions, start) in [(wide.join(", "), "d0"), (long, "many")] {
        let text = format!(
            r##"[{{"name": "f", "parameters": {{"$defs": {{{definitions}}}, "properties": {{"a": {{"$ref": "#/$defs/{start}"}}}}}}}}]"##
        );
        let err = functions_from_json(&text).unwrap_err();
        assert_eq!(err.message(), "functions[0].parameters must not exceed 256 KiB with its definitions");
    }
    let text = format!(
        r##"[{{"name": "f", "parameters": {{"$defs": {{{}}}, "properties": {{"a": {{"$ref": "#/$defs/d0"}}}}}}}}]"##,
        mutual.join(", ")
    );
    assert!(functions_from_json(&text).is_ok(), "each is a definition once");
}

#[test]
fn keywords_about_all_parameters_together_are_ignored() {
    let text = r#"[{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}, "b": true, "c": false},
        "required": ["a", "d"], "minProperties": 1, "if": {}, "anyOf": [{"required": ["b"]}], "patternProperties": {}, "x-source": "a generator"}},
        {"name": "g", "parameters": {"type": ["object"], "properties": {}, "required": null}}]"#;
    let functions = functions_from_json(text).unwrap();
    let expect = r#"{"name": "f", "parameters": {"type": "object", "properties": {"#.to_owned()
        + r#""a": {"type": "string"}, "b": {}, "d": {}}, "required": ["a", "d"]}}"#;
    assert_eq!(derived(&functions[0]), expect);
    assert!(functions[1].parameters.is_empty());
}

#[test]
fn the_nearest_type_keeps_the_enum() {
    let text = r#"[{"name": "f", "parameters": {"properties": {"a": {"type": "string", "enum": ["x", "y"], "examples": ["x"]}}}}]"#;
    let parameter = &functions_from_json(text).unwrap()[0].parameters[0];
    let choice = Some(vec!["x".to_owned(), "y".to_owned()]);
    assert_eq!(parameter.parameter_type, SdkFunctionParameterType::SdkStr { enum_values: choice, description: None });
    assert!(parameter.schema.is_some());
}

#[test]
fn an_object_with_values_of_one_type_keeps_its_schema() {
    let text = r#"[{"name": "f", "description": "", "parameters": {"type": "object", "properties": {"#.to_owned()
        + r#""a": {"type": "object", "additionalProperties": {"type": "integer"}}}}}]"#;
    let function = &functions_from_json(&text).unwrap()[0];
    assert_eq!(format!("[{}]", function_schema(function)), text);
    let open = text.replace(r#"{"type": "integer"}"#, "true");
    assert!(functions_from_json(&open).unwrap()[0].parameters[0].schema.is_none());
}

#[test]
fn additional_properties_keep_the_schema() {
    let keeps = |object: &str| {
        let text = format!(r#"[{{"name": "f", "parameters": {{"properties": {{"a": {object}}}}}}}]"#);
        functions_from_json(&text).unwrap()[0].parameters[0].schema.is_some()
    };
    assert!(keeps(r#"{"type": "object", "properties": {"k": {"type": "null"}}, "additionalProperties": true}"#));
    assert!(keeps(r#"{"type": "object", "properties": {"k": {"type": "null"}}, "additionalProperties": {}}"#));
    assert!(keeps(r#"{"type": "object", "properties": {}, "additionalProperties": false}"#));
    assert!(keeps(r#"{"type": "object", "properties": {}, "required": ["k"]}"#));
    assert!(!keeps(r#"{"type": "object", "properties": {"k": {"type": "null"}}, "additionalProperties": false}"#));
    assert!(!keeps(r#"{"type": "object", "additionalProperties": true}"#));
}

#[test]
fn deep_schemas_are_refused() {
    let depth = 100;
    let schema = r#"{"type": "array", "items": "#.repeat(depth) + r#"{"type": "null"}"# + &"}".repeat(depth);
    let text = format!(r#"[{{"name": "f", "parameters": {{"properties": {{"a": {schema}}}}}}}]"#);
    assert_eq!(functions_from_json(&text).unwrap_err().kind(), ErrorKind::Serialization);
}

#[test]
fn a_function_is_shown_as_it_was_given() {
    for (text, is_kept) in [
        (
            r#"{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}"#,
            false,
        ),
        (r#"{"name": "f", "description": "", "parameters": {"type": "object", "properties": {}}}"#, true),
        (r#"{"name": "f"}"#, true),
        (r#"{"parameters": {"properties": {}}, "name": "f", "strict": null}"#, true),
    ] {
        let functions = functions_from_json(&format!("[{text}]")).unwrap();
        assert_eq!(
            (function_schema(&functions[0]).to_string().as_str(), functions[0].definition.is_some()),
            (text, is_kept)
        );
        let wrapped = format!(r#"[{{"type": "function", "function": {text}}}]"#);
        assert_eq!(functions_to_json(&functions), wrapped);
        let again = functions_from_json(&wrapped).unwrap();
        assert_eq!(functions_to_json(&again), wrapped);
        assert_eq!(function_schema(&again[0]).to_string(), text);
    }
    let flat = functions_from_json(r#"[{"type": "function", "name": "f", "strict": true}]"#).unwrap();
    assert_eq!(functions_to_json(&flat), r#"[{"type": "function", "function": {"name": "f", "strict": true}}]"#);
}
