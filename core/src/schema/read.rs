//! Reads functions from chat-completions `tools`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use crate::error::{ErrorKind, Result, SdkError};
use crate::function::{FunctionNames, SdkFunction, SdkFunctionParameter, SdkFunctionParameterType, Value};
use crate::json_fields::{JsonFields, must_be};
use crate::schema::derived::{self, wrapped};

/// How deep a schema may nest; [`SdkFunction::check`] has its own, lower limit.
const MAX_DEPTH: usize = 64;
/// Approximate bytes of a function's parameters once definitions replace references to them. Otherwise a few references to
/// a long text could fill memory.
const MAX_BYTES: usize = 1 << 18;
/// Approximate bytes that a JSON value takes in addition to its text.
const VALUE_SIZE: usize = 64;
/// Keywords that would determine the parameters of a function together with `properties`.
const COMBINING: [&str; 6] = ["anyOf", "oneOf", "allOf", "not", "enum", "const"];

/// Reads functions from JSON text: an array of chat-completions `tools`
/// (`{"type": "function", "function": {…}}`) or of plain `{"name", "description", "parameters"}` objects.
///
/// A parameter whose schema no type can express keeps it as [`schema`](SdkFunctionParameter::schema). Definitions in `$defs`
/// or `definitions`, and all other schemas that a `$ref` points to with `#/…`, replace the references to them. Where a schema
/// refers to itself, any value of its types is accepted. Keywords about all parameters together, such as `minProperties`, or
/// `anyOf` beside `properties`, are ignored. The model reads each function as the text has it, with all its members, unless the
/// chat template refuses that ([`definition`](SdkFunction::definition)).
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

fn read_parameters(schema: &Json, place: &str) -> Result<Vec<SdkFunctionParameter>> {
    let schema = inlined(&fields(schema, place)?, place)?;
    let schema = JsonFields::of(&schema, place, ErrorKind::Serialization);
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
        let description = entries.string("description")?.unwrap_or_default().to_owned();
        let (parameter_type, schema) = match read_type(property, &place, 0) {
            Ok(parameter_type) => (parameter_type, None),
            Err(_) if depth(property) <= MAX_DEPTH => (nearest(&entries), Some(Value::from(property.clone()))),
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

/// A schema with other schemas in place of the references to them.
fn inlined<'a>(schema: &JsonFields<'a>, place: &'a str) -> Result<Cow<'a, Map<String, Json>>> {
    let schema = schema.entries();
    if !schema.values().any(has_reference) && !schema.contains_key("$ref") {
        return Ok(Cow::Borrowed(schema));
    }
    let mut references = References { root: schema, place, open: Vec::new(), budget: MAX_BYTES };
    let is_kept = |(keyword, _): &(&String, &Json)| !["$defs", "definitions"].contains(&keyword.as_str());
    match references.schema(schema.iter().filter(is_kept), place, 0)? {
        Json::Object(whole) => Ok(Cow::Owned(whole)),
        other => Err(SdkError::new(ErrorKind::Serialization, must_be(place, "an object", &other))),
    }
}

fn has_reference(json: &Json) -> bool {
    match json {
        Json::Object(entries) => entries.contains_key("$ref") || entries.values().any(has_reference),
        Json::Array(items) => items.iter().any(has_reference),
        _ => false,
    }
}

/// What a reference points to.
#[derive(Clone, Copy)]
enum ReferenceTarget<'a> {
    Root,
    Part(&'a Json),
}

/// Resolves the references within a schema.
struct References<'a> {
    root: &'a Map<String, Json>,
    /// The place of the root.
    place: &'a str,
    /// The references that are being expanded.
    open: Vec<&'a str>,
    /// Bytes that may still be added.
    budget: usize,
}

impl<'a> References<'a> {
    fn find(&self, reference: &str) -> Option<ReferenceTarget<'a>> {
        let pointer = percent_decoded(reference.strip_prefix('#')?)?;
        if pointer.is_empty() {
            return Some(ReferenceTarget::Root);
        }
        let (name, rest) = pointer.strip_prefix('/')?.split_at(pointer[1..].find('/').unwrap_or(pointer.len() - 1));
        let name = name.replace("~1", "/").replace("~0", "~");
        self.root.get(&name)?.pointer(rest).map(ReferenceTarget::Part)
    }

    fn spend(&mut self, n_bytes: usize) -> Result<()> {
        self.budget = self.budget.checked_sub(n_bytes).ok_or_else(|| self.too_large())?;
        Ok(())
    }

    fn too_large(&self) -> SdkError {
        let message = format!("{} must not exceed {} KiB with its definitions", self.place, MAX_BYTES >> 10);
        SdkError::new(ErrorKind::Serialization, message)
    }

    /// Replaces the references in the value of a keyword.
    fn inline(&mut self, json: &'a Json, place: &str, depth: usize) -> Result<Json> {
        if MAX_DEPTH < depth {
            return Err(self.too_large());
        }
        self.spend(VALUE_SIZE + json.as_str().map_or(0, str::len))?;
        match json {
            Json::Object(entries) => self.schema(entries.iter(), place, depth),
            Json::Array(items) => {
                let items = items.iter().enumerate();
                let items = items.map(|(i, item)| self.inline(item, &format!("{place}[{i}]"), depth + 1));
                Ok(Json::Array(items.collect::<Result<_>>()?))
            }
            other => Ok(other.clone()),
        }
    }

    /// Does the same for an object. Keywords beside a reference override those of its target.
    fn schema(
        &mut self,
        entries: impl Iterator<Item = (&'a String, &'a Json)> + Clone,
        place: &str,
        depth: usize,
    ) -> Result<Json> {
        let reference = entries.clone().find(|(keyword, _)| *keyword == "$ref").and_then(|(_, json)| json.as_str());
        let mut whole = Map::new();
        if let Some(reference) = reference {
            match self.target(reference, place, depth)? {
                Json::Object(entries) => whole = entries,
                other => return Ok(other),
            }
        }
        for (keyword, json) in entries.filter(|(keyword, _)| reference.is_none() || *keyword != "$ref") {
            let place = format!("{place}.{keyword}");
            self.spend(keyword.len())?;
            let value = match keyword.as_str() {
                // Values, in which a reference is a member like any other.
                "default" | "const" | "enum" | "examples" if !json.is_object() => json.clone(),
                _ => self.inline(json, &place, depth + 1)?,
            };
            whole.insert(keyword.clone(), value);
        }
        Ok(Json::Object(whole))
    }

    /// Expands a reference. Inside of itself, it becomes a schema that any value of its types fits.
    fn target(&mut self, reference: &'a str, place: &str, depth: usize) -> Result<Json> {
        let target = self.find(reference).ok_or_else(|| {
            let message = format!("{place}.$ref must refer to a place in the same schema, found {reference:?}");
            SdkError::new(ErrorKind::Serialization, message)
        })?;
        let part = match target {
            ReferenceTarget::Root => return Ok(json!({ "type": "object" })),
            ReferenceTarget::Part(part) if self.open.contains(&reference) => {
                let types = self.types(part, &mut vec![reference]).filter(|types| !types.is_empty());
                let one_or_all = |types: Vec<&str>| if let [one] = types[..] { json!(one) } else { json!(types) };
                return types.map(|types| json!({ "type": one_or_all(types) })).ok_or_else(|| {
                    let rule = "must refer to a schema that shows its type, because it is a part of that schema";
                    SdkError::new(ErrorKind::Serialization, format!("{place}.$ref {rule}, found {reference:?}"))
                });
            }
            ReferenceTarget::Part(part) => part,
        };
        self.open.push(reference);
        let inlined = self.inline(part, place, depth + 1);
        self.open.pop();
        inlined
    }
}

impl<'a> References<'a> {
    /// The types of the values that a schema accepts, by its keywords; `None` if they do not show all. References that are
    /// followed already add none.
    fn types(&self, schema: &'a Json, followed: &mut Vec<&'a str>) -> Option<Vec<&'a str>> {
        let has = |keywords: &[&str]| keywords.iter().any(|keyword| schema.get(keyword).is_some());
        let list = |keyword: &str| schema.get(keyword).and_then(Json::as_array);
        let branches = ["anyOf", "oneOf", "allOf"].iter().find_map(|keyword| list(keyword));
        let mut types = match (schema.get("type"), schema.get("$ref")) {
            (Some(Json::String(one)), _) => vec![one.as_str()],
            (Some(types), _) => types.as_array()?.iter().filter_map(Json::as_str).collect(),
            (None, Some(reference)) => {
                let reference = reference.as_str()?;
                if followed.contains(&reference) {
                    return Some(Vec::new());
                }
                followed.push(reference);
                match self.find(reference).filter(|_| followed.len() < MAX_DEPTH)? {
                    ReferenceTarget::Root => vec!["object"],
                    ReferenceTarget::Part(part) => self.types(part, followed)?,
                }
            }
            _ if has(&["properties", "patternProperties", "additionalProperties", "required"]) => vec!["object"],
            _ if has(&["items", "prefixItems"]) => vec!["array"],
            _ => match (list("enum"), schema.get("const"), branches) {
                (Some(values), ..) => values.iter().map(type_of).collect(),
                (_, Some(value), _) => vec![type_of(value)],
                (_, _, Some(branches)) => {
                    let types: Option<Vec<_>> = branches.iter().map(|branch| self.types(branch, followed)).collect();
                    types?.concat()
                }
                _ => return None,
            },
        };
        types.sort_unstable();
        types.dedup();
        Some(types)
    }
}

/// The type of a value, as schemas name it.
fn type_of(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

/// A fragment of a URI without its escapes.
fn percent_decoded(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        bytes.push(match (byte, after) {
            (b'%', [high, low, after @ ..]) => {
                rest = after;
                let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                digit(high)? * 16 + digit(low)?
            }
            _ => byte,
        });
    }
    String::from_utf8(bytes).ok()
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
