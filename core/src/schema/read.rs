//! Functions read from chat-completions `tools`.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use crate::error::{ErrorKind, Result, SdkError};
use crate::function::{FunctionNames, SdkFunction, SdkFunctionParameter, SdkFunctionParameterType, Value};

/// How deep a schema may nest; [`SdkFunction::check`] has its own, lower rule.
const DEEPEST_SCHEMA: usize = 64;

/// Reads functions from JSON text: an array of chat-completions `tools`
/// (`{"type": "function", "function": {…}}`) or of bare `{"name", "description", "parameters"}` entries.
///
/// A parameter whose schema no type expresses keeps it as [`schema`](SdkFunctionParameter::schema). Nothing that a schema
/// refers to is fetched.
///
/// # Errors
/// [`ErrorKind::Serialization`] naming the place, for text that is no such array and for keywords beside `properties` and
/// `required`, which no parameter could keep; [`ErrorKind::InvalidFunction`] for a definition that breaks a rule. Names may have dots here.
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
    let schema = fields(schema, place)?;
    if schema.get("type").is_some_and(|kind| kind != "object") {
        return Err(wrong(place, "expected an object"));
    }
    refuse_unknown(schema, "object", place)?;
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

/// The type that says most of a schema that none says all of.
fn nearest(schema: &Map<String, Json>) -> SdkFunctionParameterType {
    use SdkFunctionParameterType::{SdkNull, SdkObj};
    match schema.get("type").and_then(Json::as_str) {
        Some("string") => SdkFunctionParameterType::string(),
        Some("number") => SdkFunctionParameterType::number(),
        Some("integer") => SdkFunctionParameterType::integer(),
        Some("boolean") => SdkFunctionParameterType::boolean(),
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
    refuse_unknown(schema, kind, place)?;
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
fn refuse_unknown(schema: &Map<String, Json>, kind: &str, place: &str) -> Result<()> {
    let known: &[&str] = match kind {
        "string" | "number" | "integer" => &["enum"],
        "array" => &["items"],
        "object" => &["properties", "required", "additionalProperties"],
        _ => &[],
    };
    // `title` and `default` say nothing that a call must keep to, and `$schema` names the dialect.
    let harmless = ["type", "description", "title", "default", "$schema"];
    let is_known = |key: &String| known.contains(&key.as_str()) || harmless.contains(&key.as_str());
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
    fn deep_schemas_are_refused() {
        let depth = 100;
        let schema = r#"{"type": "array", "items": "#.repeat(depth) + r#"{"type": "null"}"# + &"}".repeat(depth);
        let text = format!(r#"[{{"name": "f", "parameters": {{"properties": {{"a": {schema}}}}}}}]"#);
        assert_eq!(functions_from_json(&text).unwrap_err().kind(), ErrorKind::Serialization);
    }
}
