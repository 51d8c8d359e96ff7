//! References in the schemas of imported functions: other schemas replace them, or become definitions if they contain themselves.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value as Json, json};

use crate::error::{ErrorKind, Result, SdkError};
use crate::json_fields::{JsonFields, must_be};
use crate::schema::table::named_type;

/// How deep a schema may nest; [`SdkFunction::check`](crate::SdkFunction::check) has its own, lower limit.
pub(super) const MAX_DEPTH: usize = 64;
/// Approximate bytes of a function's parameters once definitions replace references to them. Otherwise a few references to
/// a long text could fill memory.
const MAX_BYTES: usize = 1 << 18;
/// Approximate bytes that a JSON value takes in addition to its text.
const VALUE_SIZE: usize = 64;
/// The start of a reference to a type of the [`table`](crate::schema::table), which the Kotlin layer writes.
const NAMED: &str = "causerie:";
/// The start of a reference to a definition.
const DEFINITIONS: &str = "#/$defs/";
/// The keywords of a schema, or schemas by name.
type Keywords = Map<String, Json>;

/// A schema with other schemas in place of the references to them, and the definitions of those that refer to themselves.
pub(super) fn inlined<'a>(schema: &JsonFields<'a>, place: &'a str) -> Result<(Cow<'a, Keywords>, Keywords)> {
    let schema = schema.entries();
    if !schema.values().any(has_reference) && !schema.contains_key("$ref") {
        return Ok((Cow::Borrowed(schema), Map::new()));
    }
    let mut references = References {
        root: schema,
        place,
        open: Vec::new(),
        names: Vec::new(),
        definitions: Map::new(),
        budget: MAX_BYTES,
    };
    let is_kept = |(keyword, _): &(&String, &Json)| !["$defs", "definitions"].contains(&keyword.as_str());
    let whole = references.schema(schema.iter().filter(is_kept), place, 0)?;
    let definitions = references.definitions;
    let Json::Object(mut whole) = whole else {
        return Err(SdkError::new(ErrorKind::Serialization, must_be(place, "an object", &whole)));
    };
    // Parameters have names, so their schema cannot be a reference.
    if let Some(Json::Object(definition)) = definition_of(&Json::Object(whole.clone()), &definitions) {
        whole.remove("$ref");
        whole = definition.clone().into_iter().chain(whole).collect();
    }
    Ok((Cow::Owned(whole), definitions))
}

/// The definition that a schema refers to.
pub(super) fn definition_of<'a>(schema: &Json, definitions: &'a Map<String, Json>) -> Option<&'a Json> {
    definitions.get(schema.get("$ref")?.as_str()?.strip_prefix(DEFINITIONS)?)
}

/// A schema with the definitions that it needs.
pub(super) fn with_definitions(schema: &Json, definitions: &Map<String, Json>) -> Json {
    let mut needed = Map::new();
    let mut open = vec![schema];
    while let Some(json) = open.pop() {
        let name = json.get("$ref").and_then(Json::as_str).and_then(|reference| reference.strip_prefix(DEFINITIONS));
        if let Some((name, definition)) = name.and_then(|name| definitions.get_key_value(name))
            && needed.insert(name.clone(), definition.clone()).is_none()
        {
            open.push(definition);
        }
        match json {
            Json::Object(entries) => open.extend(entries.values()),
            Json::Array(items) => open.extend(items),
            _ => {}
        }
    }
    let mut schema = schema.clone();
    if let (Json::Object(keywords), false) = (&mut schema, needed.is_empty()) {
        keywords.insert("$defs".to_owned(), Json::Object(needed));
    }
    schema
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
    /// The references that were found inside of themselves, and the names of their definitions.
    names: Vec<(&'a str, String)>,
    definitions: Map<String, Json>,
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

    /// Does the same for an object. Keywords beside a reference override the keywords of its target.
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

    /// Expands a reference. One inside of itself becomes a reference to a definition.
    fn target(&mut self, reference: &'a str, place: &str, depth: usize) -> Result<Json> {
        if let Some(schema) = reference.strip_prefix(NAMED).and_then(named_type) {
            self.spend(VALUE_SIZE)?;
            return Ok(serde_json::from_str(&schema.to_string()).unwrap_or_default());
        }
        let target = self.find(reference).ok_or_else(|| {
            let message = format!("{place}.$ref must refer to a place in the same schema, found {reference:?}");
            SdkError::new(ErrorKind::Serialization, message)
        })?;
        let part = match target {
            ReferenceTarget::Root => return Ok(json!({ "type": "object" })),
            ReferenceTarget::Part(part) => part,
        };
        if self.open.contains(&reference) {
            self.types(part, &mut vec![reference]).filter(|types| !types.is_empty()).ok_or_else(|| {
                let rule = "must refer to a schema that shows its type, because it is a part of that schema";
                SdkError::new(ErrorKind::Serialization, format!("{place}.$ref {rule}, found {reference:?}"))
            })?;
            self.name(reference);
        }
        if let Some(reference) = self.definition(reference) {
            return Ok(reference);
        }
        self.open.push(reference);
        let inlined = self.inline(part, place, depth + 1)?;
        self.open.pop();
        match self.names.iter().find(|(named, _)| *named == reference) {
            Some((_, name)) => {
                self.definitions.insert(name.clone(), inlined);
                Ok(self.definition(reference).unwrap_or_default())
            }
            None => Ok(inlined),
        }
    }

    /// The reference to the definition of a schema that refers to itself.
    fn definition(&self, reference: &str) -> Option<Json> {
        let (_, name) = self.names.iter().find(|(named, _)| *named == reference)?;
        Some(json!({ "$ref": format!("{DEFINITIONS}{name}") }))
    }

    /// Gives a definition the last word of the reference as its name, or another one if it is taken.
    fn name(&mut self, reference: &'a str) {
        if self.names.iter().any(|(named, _)| *named == reference) {
            return;
        }
        let last = percent_decoded(reference).unwrap_or_default();
        let last = last.rsplit('/').next().unwrap_or_default().replace("~1", "_");
        let is_plain = |character: char| character.is_alphanumeric() || "_-.".contains(character);
        let mut name: String = last.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
        while self.names.iter().any(|(_, taken)| *taken == name) {
            name.push('_');
        }
        self.names.push((reference, name));
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
    percent_decode_str(fragment).decode_utf8().ok().map(Cow::into_owned)
}
