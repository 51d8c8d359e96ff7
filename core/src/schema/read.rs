//! Functions read from chat-completions `tools`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use crate::error::{ErrorKind, Result, SdkError};
use crate::function::{FunctionNames, SdkFunction, SdkFunctionParameter, SdkFunctionParameterType, Value};

/// How deep a schema may nest; [`SdkFunction::check`] has its own, lower rule.
const DEEPEST_SCHEMA: usize = 64;
/// Bytes of a function's parameters, about, once definitions stand in the place of what refers to them: few references to one
/// long text could fill memory otherwise.
const LARGEST_SCHEMA: usize = 1 << 18;
/// Bytes that a JSON value takes beside its text, about.
const VALUE_SIZE: usize = 64;
/// Keywords beside a function's parameters that say nothing of a call.
const ANNOTATIONS: [&str; 6] = ["$id", "$comment", "$defs", "definitions", "examples", "deprecated"];

/// Reads functions from JSON text: an array of chat-completions `tools`
/// (`{"type": "function", "function": {…}}`) or of bare `{"name", "description", "parameters"}` entries.
///
/// A parameter whose schema no type expresses keeps it as [`schema`](SdkFunctionParameter::schema). Definitions in `$defs`
/// or `definitions` take the place of what refers to them; nothing else that a schema refers to is fetched.
///
/// # Errors
/// [`ErrorKind::Serialization`] naming the place, for text that is no such array, for keywords beside `properties` and
/// `required`, which no parameter could keep, and for definitions that refer to themselves or make more than 256 KiB;
/// [`ErrorKind::InvalidFunction`] for a definition that breaks a rule. Names may have dots and hyphens here.
///
/// ```
/// let functions = causerie::functions_from_json(r#"[{"name": "ping", "description": "Answers."}]"#)?;
/// assert_eq!(functions[0].name, "ping");
/// # Ok::<(), causerie::SdkError>(())
/// ```
pub fn functions_from_json(text: &str) -> Result<Vec<SdkFunction>> {
    let json: Json = serde_json::from_str(text)
        .map_err(|err| SdkError::new(ErrorKind::Serialization, "functions are no valid JSON").caused_by(err))?;
    read_functions(&json, "functions")
}

/// Reads functions from JSON that stands at a place.
pub(crate) fn read_functions(json: &Json, place: &str) -> Result<Vec<SdkFunction>> {
    let entries = json.as_array().ok_or_else(|| wrong(place, "expected an array"))?;
    let functions = entries.iter().enumerate().map(|(i, entry)| read_function(entry, &format!("{place}[{i}]")));
    functions.collect()
}

fn read_function(entry: &Json, place: &str) -> Result<SdkFunction> {
    let entry = fields(entry.get("function").unwrap_or(entry), place)?;
    let name = entry.get("name").and_then(Json::as_str).ok_or_else(|| wrong(place, "expected a name"))?;
    let mut function = SdkFunction::new(name, text(entry, "description", place)?.unwrap_or_default(), Vec::new());
    if let Some(schema) = entry.get("parameters").filter(|schema| !schema.is_null()) {
        function.parameters = read_parameters(schema, &format!("{place}.parameters"))?;
    }
    function.check_with(FunctionNames::Dotted)?;
    Ok(function)
}

fn read_parameters(schema: &Json, place: &str) -> Result<Vec<SdkFunctionParameter>> {
    let schema = &inlined(fields(schema, place)?, place)?;
    if schema.get("type").is_some_and(|kind| kind != "object") {
        return Err(wrong(place, "expected an object"));
    }
    refuse_unknown(schema, "object", &ANNOTATIONS, place)?;
    let required = strings(schema, "required", place)?.unwrap_or_default();
    let empty = Json::Object(Map::new());
    let properties = fields(schema.get("properties").unwrap_or(&empty), &format!("{place}.properties"))?;
    let mut parameters = Vec::with_capacity(properties.len());
    for (name, property) in properties {
        let place = format!("{place}.properties.{name}");
        let entries = fields(property, &place)?;
        let description = text(entries, "description", &place)?.unwrap_or_default();
        let (parameter_type, schema) = match read_type(property, &place, 0) {
            Ok(parameter_type) => (parameter_type, None),
            Err(_) if depth(property) <= DEEPEST_SCHEMA => (nearest(entries), Some(Value::from(property.clone()))),
            Err(err) => return Err(err),
        };
        let optional = !required.contains(name);
        parameters.push(SdkFunctionParameter { name: name.clone(), parameter_type, description, optional, schema });
    }
    match required.iter().find(|name| !properties.contains_key(*name)) {
        Some(absent) => Err(wrong(place, &format!("required property {absent:?} does not exist"))),
        None => Ok(parameters),
    }
}

/// A schema with definitions in the place of what refers to them.
fn inlined<'a>(schema: &'a Map<String, Json>, place: &str) -> Result<Cow<'a, Map<String, Json>>> {
    let kept = |keyword| schema.get(keyword).and_then(Json::as_object);
    let (Some(definitions), others) = (kept("$defs").or(kept("definitions")), kept("definitions")) else {
        return Ok(Cow::Borrowed(schema));
    };
    let find = |reference: &str| {
        let name = reference.strip_prefix("#/$defs/").or_else(|| reference.strip_prefix("#/definitions/"))?;
        let name = name.replace("~1", "/").replace("~0", "~");
        definitions.get(&name).or_else(|| others?.get(&name))
    };
    let mut whole = Map::new();
    let mut room = LARGEST_SCHEMA;
    for (keyword, json) in schema.iter().filter(|(keyword, _)| !ANNOTATIONS.contains(&keyword.as_str())) {
        let json = inline(json, &find, 0, &mut room);
        let json = json.ok_or_else(|| wrong(place, "its definitions refer to themselves, or make too much of it"))?;
        whole.insert(keyword.clone(), json);
    }
    Ok(Cow::Owned(whole))
}

/// The same JSON with what `find` gives for references, as long as there is `room`. What stands beside a reference counts
/// more than what the definition has.
fn inline<'a>(
    json: &'a Json,
    find: &impl Fn(&str) -> Option<&'a Json>,
    depth: usize,
    room: &mut usize,
) -> Option<Json> {
    if DEEPEST_SCHEMA < depth {
        return None;
    }
    *room = room.checked_sub(VALUE_SIZE + json.as_str().map_or(0, str::len))?;
    Some(match json {
        Json::Object(entries) => {
            let referred = entries.get("$ref").and_then(Json::as_str).and_then(find);
            let mut whole = match referred.map(|referred| inline(referred, find, depth + 1, room)) {
                Some(Some(Json::Object(definition))) => definition,
                Some(Some(other)) => return Some(other),
                Some(None) => return None,
                None => Map::new(),
            };
            for (keyword, json) in entries.iter().filter(|(keyword, _)| referred.is_none() || *keyword != "$ref") {
                *room = room.checked_sub(keyword.len())?;
                whole.insert(keyword.clone(), inline(json, find, depth + 1, room)?);
            }
            Json::Object(whole)
        }
        Json::Array(items) => {
            let items = items.iter().map(|item| inline(item, find, depth + 1, room));
            Json::Array(items.collect::<Option<_>>()?)
        }
        other => other.clone(),
    })
}

/// The type that says most of a schema that none says all of.
fn nearest(schema: &Map<String, Json>) -> SdkFunctionParameterType {
    use SdkFunctionParameterType::{SdkNull, SdkObj};
    let of = |keywords: &[&str]| {
        let kept = schema.iter().filter(|(keyword, _)| keywords.contains(&keyword.as_str()));
        let kept = kept.map(|(keyword, json)| (keyword.clone(), json.clone())).collect();
        read_type(&Json::Object(kept), "", 0)
    };
    match schema.get("type").and_then(Json::as_str) {
        Some("string" | "number" | "integer" | "boolean") => {
            of(&["type", "enum"]).or_else(|_| of(&["type"])).unwrap_or(SdkNull)
        }
        Some("array") => SdkFunctionParameterType::array(SdkNull),
        Some("object") => SdkObj { properties: BTreeMap::new(), required: Vec::new(), description: None },
        _ => SdkNull,
    }
}

/// How deep JSON nests; serde_json bounds it.
fn depth(json: &Json) -> usize {
    match json {
        Json::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Json::Object(entries) => 1 + entries.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn read_type(schema: &Json, place: &str, depth: usize) -> Result<SdkFunctionParameterType> {
    if DEEPEST_SCHEMA < depth {
        return Err(wrong(place, "the schema nests too deep"));
    }
    let schema = fields(schema, place)?;
    let kind = schema.get("type").and_then(Json::as_str).ok_or_else(|| wrong(place, "expected one type"))?;
    refuse_unknown(schema, kind, &[], place)?;
    // Directly under a parameter, the description is the parameter's.
    let description = if depth == 0 { None } else { text(schema, "description", place)? };
    Ok(match kind {
        "string" => {
            let enum_values = enumeration(schema, place, |value| value.as_str().map(str::to_owned))?;
            SdkFunctionParameterType::SdkStr { enum_values, description }
        }
        "number" => {
            SdkFunctionParameterType::SdkNum { enum_values: enumeration(schema, place, Json::as_f64)?, description }
        }
        "integer" => {
            SdkFunctionParameterType::SdkInt { enum_values: enumeration(schema, place, Json::as_i64)?, description }
        }
        "boolean" => SdkFunctionParameterType::SdkBool { description },
        "null" => SdkFunctionParameterType::SdkNull,
        "array" => {
            let items = schema.get("items").ok_or_else(|| wrong(place, "an array needs items"))?;
            let item_type = Box::new(read_type(items, &format!("{place}.items"), depth + 1)?);
            SdkFunctionParameterType::SdkArr { item_type, description }
        }
        "object" => {
            if let Some(Json::Object(values)) = schema.get("additionalProperties")
                && !values.is_empty()
            {
                return Err(wrong(place, "what stands under any name has a type of its own"));
            }
            let empty = Json::Object(Map::new());
            let entries = fields(schema.get("properties").unwrap_or(&empty), &format!("{place}.properties"))?;
            let read = |(name, property): (&String, &Json)| {
                Ok((name.clone(), read_type(property, &format!("{place}.properties.{name}"), depth + 1)?))
            };
            let properties = entries.iter().map(read).collect::<Result<_>>()?;
            let required = strings(schema, "required", place)?.unwrap_or_default();
            SdkFunctionParameterType::SdkObj { properties, required, description }
        }
        other => return Err(wrong(place, &format!("type {other:?} is unknown"))),
    })
}

/// Refuses keywords that the parameter types have no counterpart for.
fn refuse_unknown(schema: &Map<String, Json>, kind: &str, annotations: &[&str], place: &str) -> Result<()> {
    let known: &[&str] = match kind {
        "string" | "number" | "integer" => &["enum"],
        "array" => &["items"],
        "object" => &["properties", "required", "additionalProperties"],
        _ => &[],
    };
    // `title` and `default` say nothing that a call must keep to, and `$schema` names the dialect.
    let harmless = ["type", "description", "title", "default", "$schema"];
    let is_known = |key: &str| [known, &harmless, annotations].iter().any(|keywords| keywords.contains(&key));
    match schema.keys().find(|key| !is_known(key)) {
        Some(key) => Err(wrong(place, &format!("keyword {key:?} has no counterpart for type {kind:?}"))),
        None => Ok(()),
    }
}

fn fields<'a>(json: &'a Json, place: &str) -> Result<&'a Map<String, Json>> {
    json.as_object().ok_or_else(|| wrong(place, "expected an object"))
}

fn text(entry: &Map<String, Json>, key: &str, place: &str) -> Result<Option<String>> {
    match entry.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(wrong(place, &format!("{key} is no text"))),
    }
}

fn strings(entry: &Map<String, Json>, key: &str, place: &str) -> Result<Option<Vec<String>>> {
    list(entry, key, place, |value| value.as_str().map(str::to_owned))
}

fn enumeration<T>(entry: &Map<String, Json>, place: &str, read: impl Fn(&Json) -> Option<T>) -> Result<Option<Vec<T>>> {
    list(entry, "enum", place, read)
}

fn list<T>(
    entry: &Map<String, Json>,
    key: &str,
    place: &str,
    read: impl Fn(&Json) -> Option<T>,
) -> Result<Option<Vec<T>>> {
    let Some(json) = entry.get(key) else { return Ok(None) };
    let items = json.as_array().ok_or_else(|| wrong(place, &format!("{key} is no array")))?;
    let items: Option<Vec<T>> = items.iter().map(read).collect();
    items.map(Some).ok_or_else(|| wrong(place, &format!("{key} holds a value of another type")))
}

fn wrong(place: &str, rule: &str) -> SdkError {
    SdkError::new(ErrorKind::Serialization, format!("{place}: {rule}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::function_schema;

    #[test]
    fn what_is_written_reads_back_equal() {
        let text = r#"[{"name": "f", "description": "d", "parameters": {"type": "object", "properties": {"#.to_owned()
            + r#""a": {"type": "string", "description": "p", "enum": ["x", "y"]}, "#
            + r#""b": {"type": "array", "description": "", "items": {"type": "object", "properties": {"#
            + r#""k": {"type": "integer", "description": "inner"}}, "required": ["k"]}}}, "required": ["a"]}}]"#;
        let functions = functions_from_json(&text).unwrap();
        assert_eq!(format!("[{}]", function_schema(&functions[0])), text);
    }

    #[test]
    fn what_the_types_cannot_express_is_kept_as_it_is() {
        let text = r#"[{"name": "f", "description": "", "parameters": {"type": "object", "properties": {"#.to_owned()
            + r#""a": {"pattern": "x", "type": "string"}, "b": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "#
            + r#""c": {"type": ["integer", "null"], "description": "How many.", "minimum": 0}, "d": {}, "#
            + r##""e": {"$ref": "#/$defs/none"}, "f": {"type": "integer", "description": "Plain."}}}}]"##;
        let functions = functions_from_json(&text).unwrap();
        assert_eq!(format!("[{}]", function_schema(&functions[0])), text);
        let parameters = &functions[0].parameters;
        assert_eq!(parameters[0].parameter_type, SdkFunctionParameterType::string());
        let kept: Vec<bool> = parameters.iter().map(|parameter| parameter.schema.is_some()).collect();
        assert_eq!(kept, [true, true, true, true, true, false]);
        let mut function = functions[0].clone();
        function.parameters[2].description = "So many.".to_owned();
        assert!(function_schema(&function).to_string().contains(r#""description": "So many.", "minimum": 0"#));
    }

    #[test]
    fn keywords_of_the_whole_are_checked_too() {
        let text = r#"[{"name": "f", "parameters": {"type": "object", "oneOf": []}}]"#;
        let expect = r#"functions[0].parameters: keyword "oneOf" has no counterpart for type "object""#;
        assert_eq!(functions_from_json(text).unwrap_err().message(), expect);
    }

    #[test]
    fn definitions_take_the_place_of_what_refers_to_them() {
        let text = r##"[{"name": "f", "parameters": {"type": "object", "$defs": {"Point": {"type": "object",
            "title": "Point", "properties": {"x": {"type": "integer"}, "name": {"$ref": "#/definitions/a~1b"}},
            "required": ["x"]}}, "definitions": {"a/b": {"type": "string"}}, "$comment": "from a generator",
            "properties": {"at": {"$ref": "#/$defs/Point", "description": "Where."},
                           "path": {"type": "array", "items": {"$ref": "#/$defs/Point"}}}}}]"##;
        let function = &functions_from_json(text).unwrap()[0];
        assert!(function.parameters.iter().all(|parameter| parameter.schema.is_none()), "{function:?}");
        let point = r#"{"type": "object", "properties": {"name": {"type": "string"}, "x": {"type": "integer"}}, "required": ["x"]}"#;
        let told = function_schema(function).to_string();
        assert!(
            told.contains(&format!(r#""path": {{"type": "array", "description": "", "items": {point}}}"#)),
            "{told}"
        );
        assert!(told.contains(r#""at": {"type": "object", "description": "Where.", "properties""#), "{told}");
    }

    #[test]
    fn definitions_without_end_are_refused() {
        let tree =
            r##"{"type": "object", "properties": {"left": {"$ref": "#/$defs/T"}, "right": {"$ref": "#/$defs/T"}}}"##;
        let wide: Vec<String> = (0..60)
            .map(|i| format!(r##""d{i}": [{{"$ref": "#/$defs/d{0}"}}, {{"$ref": "#/$defs/d{0}"}}]"##, i + 1))
            .collect();
        let long = format!(
            r#""long": {{"description": "{}"}}, "many": [{}]"#,
            "x".repeat(10_000),
            [r##"{"$ref": "#/$defs/long"}"##; 100].join(", ")
        );
        for (definitions, start) in [(format!(r#""T": {tree}"#), "T"), (wide.join(", "), "d0"), (long, "many")] {
            let text = format!(
                r##"[{{"name": "f", "parameters": {{"$defs": {{{definitions}}}, "properties": {{"a": {{"$ref": "#/$defs/{start}"}}}}}}}}]"##
            );
            let err = functions_from_json(&text).unwrap_err();
            assert!(err.message().contains("refer to themselves"), "{err:?}");
        }
    }

    #[test]
    fn the_nearest_type_keeps_the_choice() {
        let text = r#"[{"name": "f", "parameters": {"properties": {"a": {"type": "string", "enum": ["x", "y"], "examples": ["x"]}}}}]"#;
        let parameter = &functions_from_json(text).unwrap()[0].parameters[0];
        let choice = Some(vec!["x".to_owned(), "y".to_owned()]);
        assert_eq!(
            parameter.parameter_type,
            SdkFunctionParameterType::SdkStr { enum_values: choice, description: None }
        );
        assert!(parameter.schema.is_some());
    }

    #[test]
    fn a_map_of_one_type_keeps_it() {
        let text = r#"[{"name": "f", "description": "", "parameters": {"type": "object", "properties": {"#.to_owned()
            + r#""a": {"type": "object", "additionalProperties": {"type": "integer"}}}}}]"#;
        let function = &functions_from_json(&text).unwrap()[0];
        assert_eq!(format!("[{}]", function_schema(function)), text);
        let open = text.replace(r#"{"type": "integer"}"#, "true");
        assert!(functions_from_json(&open).unwrap()[0].parameters[0].schema.is_none());
    }

    #[test]
    fn deep_schemas_are_refused() {
        let depth = 100;
        let schema = r#"{"type": "array", "items": "#.repeat(depth) + r#"{"type": "null"}"# + &"}".repeat(depth);
        let text = format!(r#"[{{"name": "f", "parameters": {{"properties": {{"a": {schema}}}}}}}]"#);
        assert_eq!(functions_from_json(&text).unwrap_err().kind(), ErrorKind::Serialization);
    }
}
