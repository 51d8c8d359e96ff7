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
/// Keywords beside a function's parameters that would say what these are.
const COMBINING: [&str; 6] = ["anyOf", "oneOf", "allOf", "not", "enum", "const"];

/// Reads functions from JSON text: an array of chat-completions `tools`
/// (`{"type": "function", "function": {…}}`) or of bare `{"name", "description", "parameters"}` entries.
///
/// A parameter whose schema no type expresses keeps it as [`schema`](SdkFunctionParameter::schema). Definitions in `$defs`
/// or `definitions` take the place of what refers to them, once: where a definition refers to itself, any value will do.
/// Nothing else that a schema refers to is fetched. What a schema says of all parameters together, as `minProperties` or
/// `anyOf` beside `properties` do, is left out.
///
/// # Errors
/// [`ErrorKind::Serialization`] naming the place, for text that is no such array, for `anyOf` and the like in the place of
/// `properties`, and for definitions that make more than 256 KiB; [`ErrorKind::InvalidFunction`] for a
/// definition that breaks a rule. Names may have dots and hyphens here.
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
    let is_object =
        |kind: &Json| kind == "object" || kind.as_array().is_some_and(|kinds| kinds.contains(&"object".into()));
    if schema.get("type").is_some_and(|kind| !is_object(kind)) {
        return Err(wrong(place, "expected an object"));
    }
    let combining = COMBINING.iter().find(|keyword| schema.contains_key(**keyword));
    if let Some(keyword) = combining.filter(|_| !schema.contains_key("properties")) {
        return Err(wrong(place, &format!("keyword {keyword:?} has no counterpart for parameters")));
    }
    let required = strings(schema, "required", place)?.unwrap_or_default();
    let any = Json::Object(Map::new());
    let properties = fields(schema.get("properties").unwrap_or(&any), &format!("{place}.properties"))?;
    let undeclared = required
        .iter()
        .enumerate()
        .filter(|(i, name)| !properties.contains_key(*name) && !required[..*i].contains(name));
    let properties = properties.iter().filter(|(_, property)| **property != Json::Bool(false));
    let mut parameters = Vec::new();
    for (name, property) in properties.chain(undeclared.map(|(_, name)| (name, &any))) {
        let place = format!("{place}.properties.{name}");
        let property = if *property == Json::Bool(true) { &any } else { property };
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
    Ok(parameters)
}

/// A schema with definitions in the place of what refers to them.
fn inlined<'a>(schema: &'a Map<String, Json>, place: &str) -> Result<Cow<'a, Map<String, Json>>> {
    let sections = ["$defs", "definitions"].map(|section| schema.get(section).and_then(Json::as_object));
    if sections == [None, None] {
        return Ok(Cow::Borrowed(schema));
    }
    let mut definitions = Definitions { sections, open: Vec::new(), room: LARGEST_SCHEMA };
    let is_kept = |(keyword, _): &(&String, &Json)| !["$defs", "definitions"].contains(&keyword.as_str());
    match definitions.object(schema.iter().filter(is_kept), 0) {
        Some(Json::Object(whole)) => Ok(Cow::Owned(whole)),
        Some(_) => Err(wrong(place, "expected an object")),
        None => Err(wrong(place, "its definitions make too much of it")),
    }
}

/// What a schema may refer to.
struct Definitions<'a> {
    sections: [Option<&'a Map<String, Json>>; 2],
    /// Those that are being written out.
    open: Vec<&'a Json>,
    /// Bytes that may still be written.
    room: usize,
}

impl<'a> Definitions<'a> {
    fn find(&self, reference: &str) -> Option<&'a Json> {
        let name = reference.strip_prefix("#/$defs/").or_else(|| reference.strip_prefix("#/definitions/"))?;
        let name = name.replace("~1", "/").replace("~0", "~");
        self.sections.iter().flatten().find_map(|section| section.get(&name))
    }

    /// The same JSON with definitions for references, as long as there is room.
    fn inline(&mut self, json: &'a Json, depth: usize) -> Option<Json> {
        if DEEPEST_SCHEMA < depth {
            return None;
        }
        self.room = self.room.checked_sub(VALUE_SIZE + json.as_str().map_or(0, str::len))?;
        match json {
            Json::Object(entries) => self.object(entries.iter(), depth),
            Json::Array(items) => {
                let items = items.iter().map(|item| self.inline(item, depth + 1));
                Some(Json::Array(items.collect::<Option<_>>()?))
            }
            other => Some(other.clone()),
        }
    }

    /// The same for an object. What stands beside a reference counts more than what the definition has.
    fn object(&mut self, entries: impl Iterator<Item = (&'a String, &'a Json)> + Clone, depth: usize) -> Option<Json> {
        let reference = entries.clone().find(|(keyword, _)| *keyword == "$ref");
        let definition = reference.and_then(|(_, name)| self.find(name.as_str()?));
        let mut whole = Map::new();
        if let Some(definition) = definition {
            match self.definition(definition, depth)? {
                Json::Object(entries) => whole = entries,
                other => return Some(other),
            }
        }
        for (keyword, json) in entries.filter(|(keyword, _)| definition.is_none() || *keyword != "$ref") {
            self.room = self.room.checked_sub(keyword.len())?;
            whole.insert(keyword.clone(), self.inline(json, depth + 1)?);
        }
        Some(Json::Object(whole))
    }

    /// A definition, or, inside of itself, what any value fits.
    fn definition(&mut self, definition: &'a Json, depth: usize) -> Option<Json> {
        if self.open.iter().any(|open| std::ptr::eq(*open, definition)) {
            return Some(Json::Object(Map::new()));
        }
        self.open.push(definition);
        let inlined = self.inline(definition, depth + 1);
        self.open.pop();
        inlined
    }
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
            // Objects with properties are closed, others are open.
            let is_other = match schema.get("additionalProperties") {
                Some(Json::Object(values)) if !values.is_empty() => true,
                Some(Json::Object(_) | Json::Bool(true)) => !entries.is_empty(),
                Some(Json::Bool(false)) => entries.is_empty(),
                _ => false,
            };
            if is_other {
                return Err(wrong(place, "what may stand under other names has no counterpart"));
            }
            let read = |(name, property): (&String, &Json)| {
                Ok((name.clone(), read_type(property, &format!("{place}.properties.{name}"), depth + 1)?))
            };
            let properties = entries.iter().map(read).collect::<Result<BTreeMap<_, _>>>()?;
            let required = strings(schema, "required", place)?.unwrap_or_default();
            if let Some(absent) = required.iter().find(|name| !properties.contains_key(*name)) {
                return Err(wrong(place, &format!("required property {absent:?} has no type")));
            }
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
    let is_known = |key: &str| [known, &harmless].iter().any(|keywords| keywords.contains(&key));
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
    let Some(json) = entry.get(key).filter(|json| !json.is_null()) else { return Ok(None) };
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
        let expect = r#"functions[0].parameters: keyword "oneOf" has no counterpart for parameters"#;
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
        let point = r#"{"type": "object", "properties": {"x": {"type": "integer"}, "name": {"type": "string"}}, "required": ["x"]}"#;
        let told = function_schema(function).to_string();
        assert!(
            told.contains(&format!(r#""path": {{"type": "array", "description": "", "items": {point}}}"#)),
            "{told}"
        );
        assert!(told.contains(r#""at": {"type": "object", "description": "Where.", "properties""#), "{told}");
    }

    #[test]
    fn a_definition_in_itself_may_be_anything() {
        let text = r##"[{"name": "f", "parameters": {"$ref": "#/definitions/Tree", "definitions": {"Tree": {"type": "object",
            "properties": {"name": {"type": "string"}, "left": {"$ref": "#/definitions/Tree"},
                           "right": {"$ref": "#/definitions/Tree", "description": "The other."}}, "required": ["name"]}}}}]"##;
        let function = &functions_from_json(text).unwrap()[0];
        let names: Vec<&str> = function.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        assert_eq!((names, function.parameters[0].optional), (vec!["name", "left", "right"], false));
        let told = function_schema(function).to_string();
        assert!(told.contains(r#""left": {}"#) && told.contains(r#""right": {"description": "The other."}"#), "{told}");
        let list = text.replace("\"#/definitions/Tree\", \"definitions\"", "\"\", \"properties\": {\"roots\": {\"type\": \"array\", \"items\": {\"$ref\": \"#/definitions/Tree\"}}}, \"definitions\"");
        let told = function_schema(&functions_from_json(&list).unwrap()[0]).to_string();
        assert!(
            told.contains(r#""items": {"type": "object", "properties": {"name": {"type": "string"}, "left": {}"#),
            "{told}"
        );
    }

    #[test]
    fn definitions_that_make_too_much_are_refused() {
        let wide: Vec<String> = (0..60)
            .map(|i| format!(r##""d{i}": [{{"$ref": "#/$defs/d{0}"}}, {{"$ref": "#/$defs/d{0}"}}]"##, i + 1))
            .collect();
        let all: Vec<String> = (0..12).map(|i| format!(r##"{{"$ref": "#/$defs/d{i}"}}"##)).collect();
        let mutual: Vec<String> = (0..12).map(|i| format!(r#""d{i}": [{}]"#, all.join(", "))).collect();
        let long = format!(
            r#""long": {{"description": "{}"}}, "many": [{}]"#,
            "x".repeat(10_000),
            [r##"{"$ref": "#/$defs/long"}"##; 100].join(", ")
        );
        for (definitions, start) in [(wide.join(", "), "d0"), (mutual.join(", "), "d0"), (long, "many")] {
            let text = format!(
                r##"[{{"name": "f", "parameters": {{"$defs": {{{definitions}}}, "properties": {{"a": {{"$ref": "#/$defs/{start}"}}}}}}}}]"##
            );
            let err = functions_from_json(&text).unwrap_err();
            assert_eq!(err.message(), "functions[0].parameters: its definitions make too much of it");
        }
    }

    #[test]
    fn what_is_said_of_all_parameters_together_is_left_out() {
        let text = r#"[{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}, "b": true, "c": false},
            "required": ["a", "d"], "minProperties": 1, "if": {}, "anyOf": [{"required": ["b"]}], "patternProperties": {}, "x-source": "a generator"}},
            {"name": "g", "parameters": {"type": ["object"], "properties": {}, "required": null}}]"#;
        let functions = functions_from_json(text).unwrap();
        let expect = r#"{"name": "f", "description": "", "parameters": {"type": "object", "properties": {"#.to_owned()
            + r#""a": {"type": "string", "description": ""}, "b": {}, "d": {}}, "required": ["a", "d"]}}"#;
        assert_eq!(function_schema(&functions[0]).to_string(), expect);
        assert!(functions[1].parameters.is_empty());
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
    fn what_may_stand_under_other_names_is_kept() {
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
}
