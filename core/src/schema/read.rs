//! Reads functions from chat-completions `tools`.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use crate::error::{ErrorKind, Result, SdkError};
use crate::function::{FunctionNames, SdkFunction, SdkFunctionParameter, SdkFunctionParameterType, Value};
use crate::json_fields::{JsonFields, must_be};
use crate::schema::definitions::definition;
use crate::schema::derived::{self, wrapped};
use crate::schema::references::{MAX_DEPTH, definition_of, inlined, with_definitions};

/// Keywords that would determine the parameters of a function together with `properties`.
const COMBINING: [&str; 6] = ["anyOf", "oneOf", "allOf", "not", "enum", "const"];

/// Reads functions from JSON text: an array of chat-completions `tools`
/// (`{"type": "function", "function": {…}}`) or of plain `{"name", "description", "parameters"}` objects.
///
/// A parameter whose schema no type can express keeps it as [`schema`](SdkFunctionParameter::schema). Definitions in `$defs`
/// or `definitions`, and all other schemas that a `$ref` points to with `#/…`, replace the references to them. A schema that
/// refers to itself becomes a definition in `$defs` of each parameter that uses it. A reference to the whole schema (`#`)
/// accepts any object. Keywords about all parameters together, such as `minProperties`, or `anyOf` beside `properties`, are
/// ignored. The model reads each function as the text has it, with all its members, unless the chat template refuses that
/// ([`definition`](SdkFunction::definition)).
///
/// # Errors
/// [`ErrorKind::Serialization`], naming the place, for text that is not such an array, for `anyOf` and similar keywords
/// without `properties`, for references to places outside of the schema, for schemas that refer to themselves and show no type,
/// and for parameters over 256 KiB once references are replaced; [`ErrorKind::InvalidFunction`], naming the place as
/// well, for a function that breaks a rule. Names may have dots here.
///
/// ```
/// let functions = causerie::functions_from_json(r#"[{"name": "ping", "description": "Answers."}]"#)?;
/// assert_eq!(functions[0].name, "ping");
/// # Ok::<(), causerie::SdkError>(())
/// ```
pub fn functions_from_json(text: &str) -> Result<Vec<SdkFunction>> {
    let json: Json = serde_json::from_str(text)
        .map_err(|err| SdkError::new(ErrorKind::Serialization, "functions must be valid JSON").caused_by(err))?;
    read_functions(&json, "functions")
}

/// Reads functions from JSON at a place.
pub(crate) fn read_functions(json: &Json, place: &str) -> Result<Vec<SdkFunction>> {
    let wrong = || SdkError::new(ErrorKind::Serialization, must_be(place, "an array of functions", json));
    let entries = json.as_array().ok_or_else(wrong)?;
    let functions = entries.iter().enumerate().map(|(i, entry)| read_function(entry, &format!("{place}[{i}]")));
    functions.collect()
}

fn read_function(entry: &Json, place: &str) -> Result<SdkFunction> {
    let mut function = read_members(entry, place)?;
    let given = Value::from(entry.clone());
    let shown = given.to_string();
    let bare = derived::function(&function);
    let is_shown = bare.to_string() == shown || wrapped(bare).to_string() == shown;
    function.definition = Some(given).filter(|_| !is_shown);
    Ok(function)
}

/// A function with the name, the description and the parameters of an entry.
pub(super) fn read_members(entry: &Json, place: &str) -> Result<SdkFunction> {
    let function = fields(entry.get("function").unwrap_or(entry), place)?;
    let name = function.required("name", function.string("name")?)?;
    let description = function.string("description")?.unwrap_or_default();
    let parameters = function.get("parameters").map(|schema| read_parameters(schema, &function.place_of("parameters")));
    let function = SdkFunction::new(name, description, parameters.transpose()?.unwrap_or_default());
    function.check_with(FunctionNames::Dotted).map_err(|err| err.at(place))?;
    Ok(function)
}

/// The parameters that the schema of an object describes, with its definitions in `$defs`.
pub(crate) fn parameters_of(schema: &Value) -> Vec<SdkFunctionParameter> {
    let json: Option<Json> = serde_json::from_str(&schema.to_string()).ok();
    let read = json.and_then(|json| read_parameters(&json, "parameters").ok());
    // A schema that would be too large with its definitions keeps the references to them.
    read.unwrap_or_else(|| with_references(schema))
}

fn with_references(schema: &Value) -> Vec<SdkFunctionParameter> {
    let whole = definition(schema, schema).unwrap_or(schema);
    let (Some(Value::Object(properties)), required) = (whole.get("properties"), whole.get("required")) else {
        return Vec::new();
    };
    let parameter = |(name, property): (&String, &Value)| {
        let description = property.get("description").and_then(Value::as_str).unwrap_or_default();
        let mut parameter =
            SdkFunctionParameter::new(name.clone(), SdkFunctionParameterType::SdkNull, description.to_owned());
        let is_required =
            matches!(required, Some(Value::Array(names)) if names.iter().any(|one| one.as_str() == Some(name)));
        parameter.optional = !is_required;
        let definitions = schema.get("$defs").map(|definitions| ("$defs".to_owned(), definitions.clone()));
        parameter.schema = match property {
            Value::Object(keywords) => Some(Value::Object(keywords.clone().into_iter().chain(definitions).collect())),
            other => Some(other.clone()),
        };
        parameter
    };
    properties.iter().map(parameter).collect()
}

fn read_parameters(schema: &Json, place: &str) -> Result<Vec<SdkFunctionParameter>> {
    let (schema, definitions) = inlined(&fields(schema, place)?, place)?;
    let schema = JsonFields::from_entries(&schema, place, ErrorKind::Serialization);
    check_is_object(&schema)?;
    let required = strings(&schema, "required")?.unwrap_or_default();
    let any = Json::Object(Map::new());
    let none = Map::new();
    let declared = properties(&schema)?.unwrap_or(&none);
    let undeclared =
        required.iter().enumerate().filter(|(i, name)| !declared.contains_key(*name) && !required[..*i].contains(name));
    let allowed = declared.iter().filter(|(_, property)| **property != Json::Bool(false));
    let mut parameters = Vec::new();
    for (name, property) in allowed.chain(undeclared.map(|(_, name)| (name, &any))) {
        let place = format!("{place}.properties.{name}");
        let property = if *property == Json::Bool(true) { &any } else { property };
        let entries = fields(property, &place)?;
        let definition = definition_of(property, &definitions);
        let description = entries.string("description")?.unwrap_or_default().to_owned();
        let (parameter_type, schema) = match read_type(property, &place, 0) {
            Ok(parameter_type) => (parameter_type, None),
            Err(_) if depth(property) <= MAX_DEPTH => {
                let shown = definition.map(|definition| fields(definition, &place)).transpose()?;
                let schema = with_definitions(property, &definitions);
                (nearest(shown.as_ref().unwrap_or(&entries)), Some(Value::from(schema)))
            }
            Err(err) => return Err(err),
        };
        let optional = !required.contains(name);
        parameters.push(SdkFunctionParameter { name: name.clone(), parameter_type, description, optional, schema });
    }
    Ok(parameters)
}

/// Checks that the schema of all parameters describes an object with properties.
fn check_is_object(schema: &JsonFields<'_>) -> Result<()> {
    let is_object =
        |kind: &Json| kind == "object" || kind.as_array().is_some_and(|kinds| kinds.contains(&"object".into()));
    if let Some(kind) = schema.entries().get("type").filter(|kind| !is_object(kind)) {
        let message = must_be(&schema.place_of("type"), "\"object\"", kind);
        return Err(SdkError::new(ErrorKind::Serialization, message));
    }
    let combining = COMBINING.iter().find(|keyword| schema.entries().contains_key(**keyword));
    match combining.filter(|_| !schema.entries().contains_key("properties")) {
        Some(keyword) => Err(schema.error(&format!("must have properties, found the keyword {keyword:?} instead"))),
        None => Ok(()),
    }
}

/// The properties of a schema. They must not be null.
fn properties<'a>(schema: &JsonFields<'a>) -> Result<Option<&'a Map<String, Json>>> {
    let properties = schema.entries().get("properties");
    let properties = properties.map(|properties| fields(properties, &schema.place_of("properties")));
    Ok(properties.transpose()?.map(|properties| properties.entries()))
}

/// The type that expresses most of a schema that no type can express fully.
fn nearest(schema: &JsonFields<'_>) -> SdkFunctionParameterType {
    use SdkFunctionParameterType::{SdkNull, SdkObj};
    let of = |keywords: &[&str]| {
        let kept = schema.entries().iter().filter(|(keyword, _)| keywords.contains(&keyword.as_str()));
        let kept = kept.map(|(keyword, json)| (keyword.clone(), json.clone())).collect();
        read_type(&Json::Object(kept), "", 0)
    };
    match schema.entries().get("type").and_then(Json::as_str) {
        Some("string" | "number" | "integer" | "boolean") => {
            of(&["type", "enum"]).or_else(|_| of(&["type"])).unwrap_or(SdkNull)
        }
        Some("array") => SdkFunctionParameterType::array(SdkNull),
        Some("object") => SdkObj { properties: BTreeMap::new(), required: Vec::new(), description: None },
        _ => SdkNull,
    }
}

/// How deep JSON nests; serde_json limits it.
fn depth(json: &Json) -> usize {
    match json {
        Json::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Json::Object(entries) => 1 + entries.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn read_type(schema: &Json, place: &str, depth: usize) -> Result<SdkFunctionParameterType> {
    let schema = fields(schema, place)?;
    if MAX_DEPTH < depth {
        return Err(schema.error(&format!("must not nest deeper than {MAX_DEPTH}")));
    }
    let kind = schema.required("type", schema.string("type")?)?;
    reject_unknown(&schema, kind)?;
    // Directly under a parameter, the description belongs to the parameter.
    let description = if depth == 0 { None } else { schema.string("description")?.map(str::to_owned) };
    Ok(match kind {
        "string" => SdkFunctionParameterType::SdkStr { enum_values: strings(&schema, "enum")?, description },
        "number" => {
            let enum_values = schema.elements("enum", "a number", Json::as_f64)?;
            SdkFunctionParameterType::SdkNum { enum_values, description }
        }
        "integer" => {
            let enum_values = schema.elements("enum", "an integer", Json::as_i64)?;
            SdkFunctionParameterType::SdkInt { enum_values, description }
        }
        "boolean" => SdkFunctionParameterType::SdkBool { description },
        "null" => SdkFunctionParameterType::SdkNull,
        "array" => {
            let items = schema.required("items", schema.get("items"))?;
            let item_type = Box::new(read_type(items, &schema.place_of("items"), depth + 1)?);
            SdkFunctionParameterType::SdkArr { item_type, description }
        }
        "object" => read_object(&schema, description, depth)?,
        other => return Err(schema.error(&format!("must have a known type, found {other:?}"))),
    })
}

fn read_object(schema: &JsonFields<'_>, description: Option<String>, depth: usize) -> Result<SdkFunctionParameterType> {
    let none = Map::new();
    let entries = properties(schema)?.unwrap_or(&none);
    // Objects with properties are closed, others are open.
    let is_other = match schema.entries().get("additionalProperties") {
        Some(Json::Object(values)) if !values.is_empty() => true,
        Some(Json::Object(_) | Json::Bool(true)) => !entries.is_empty(),
        Some(Json::Bool(false)) => entries.is_empty(),
        _ => false,
    };
    if is_other {
        return Err(schema.error("has additionalProperties that no type can express"));
    }
    let place = schema.place_of("properties");
    let read = |(name, property): (&String, &Json)| {
        Ok((name.clone(), read_type(property, &format!("{place}.{name}"), depth + 1)?))
    };
    let properties = entries.iter().map(read).collect::<Result<BTreeMap<_, _>>>()?;
    let required = strings(schema, "required")?.unwrap_or_default();
    match required.iter().find(|name| !properties.contains_key(*name)) {
        Some(absent) => Err(schema.error(&format!("must declare the required property {absent:?}"))),
        None => Ok(SdkFunctionParameterType::SdkObj { properties, required, description }),
    }
}

/// Rejects keywords that no parameter type can express.
fn reject_unknown(schema: &JsonFields<'_>, kind: &str) -> Result<()> {
    let known: &[&str] = match kind {
        "string" | "number" | "integer" => &["enum"],
        "array" => &["items"],
        "object" => &["properties", "required", "additionalProperties"],
        _ => &[],
    };
    // `title` and `default` do not restrict a call, and `$schema` names the dialect.
    let harmless = ["type", "description", "title", "default", "$schema"];
    let is_known = |key: &str| [known, &harmless].iter().any(|keywords| keywords.contains(&key));
    match schema.entries().keys().find(|key| !is_known(key)) {
        Some(key) => Err(schema.error(&format!("has the keyword {key:?}, which type {kind:?} cannot express"))),
        None => Ok(()),
    }
}

fn fields<'a>(json: &'a Json, place: &str) -> Result<JsonFields<'a>> {
    JsonFields::new(json, place, ErrorKind::Serialization)
}

fn strings(fields: &JsonFields<'_>, key: &str) -> Result<Option<Vec<String>>> {
    fields.elements(key, "a string", |value| value.as_str().map(str::to_owned))
}
