//! The schema of a reply in the form that llguidance enforces: annotations are removed, objects are closed, numbers of digits
//! are limited, and what cannot be enforced is refused with its place.

use std::borrow::Cow;
use std::collections::HashSet;

use indexmap::IndexMap;
use serde_json::{Map, Value as Json, json};

use crate::constrain::fault::GrammarFault;
use crate::constrain::{keywords, numbers};
use crate::names::percent_decoded;

/// Keywords that restrict a value and that no grammar enforces.
const UNSUPPORTED: [&str; 16] = [
    "$dynamicRef",
    "$recursiveRef",
    "contains",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "if",
    "maxContains",
    "minContains",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
];
/// Keywords whose value is a schema.
pub(super) const SCHEMAS: [&str; 2] = ["items", "additionalProperties"];
/// Keywords whose value is an array of schemas.
pub(super) const LISTS: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];
/// Keywords whose value is an object of schemas by name.
pub(super) const MAPS: [&str; 4] = ["properties", "patternProperties", "$defs", "definitions"];

/// Keywords whose value is a number of characters, items or members.
const COUNTS: [&str; 6] = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"];

/// Limit in bytes on all schemas that become definitions. References into one another's schemas would repeat them without a limit.
const MAX_MOVED: usize = 16 << 20;

/// References that are followed from one that describes the names of properties.
const MAX_REFERENCES: usize = 16;

/// Prepares the schema of a reply.
///
/// # Errors
/// A [`GrammarFault`] that names the place and the keyword of what cannot be enforced.
pub(super) fn prepared(root: &Json) -> Result<Json, GrammarFault> {
    let mut combined = HashSet::new();
    collect_combined(root, false, &mut combined);
    let mut preparation = Preparation { root, combined, moved: IndexMap::new(), n_left: MAX_MOVED };
    let mut schema = preparation.schema(root, "schema", "#", false)?;
    let mut moved = Map::new();
    // In a loop, since a chain of references may be longer than any stack.
    while let Some((pointer, &(target, is_part))) = preparation.moved.get_index(moved.len()) {
        let (place, pointer) = (format!("schema{}", pointer.replace('/', ".")), format!("#{pointer}"));
        moved.insert(moved_name(moved.len()), preparation.schema(target, &place, &pointer, is_part)?);
    }
    if let Json::Object(keywords) = &mut schema {
        // It only selects how references and arrays are read, and these are in the newest form now.
        keywords.remove("$schema");
        if !moved.is_empty()
            && let Json::Object(definitions) = keywords.entry("$defs").or_insert(json!({}))
        {
            definitions.extend(moved);
        }
    }
    Ok(schema)
}

struct Preparation<'a> {
    root: &'a Json,
    /// References to schemas that are parts of other objects.
    combined: HashSet<&'a str>,
    /// Schemas that become definitions, by the pointers to their places, and whether each is a part of another object:
    /// llguidance finds definitions by name, and knows no escapes in pointers.
    moved: IndexMap<String, (&'a Json, bool)>,
    /// Bytes of schemas that may still become definitions.
    n_left: usize,
}

fn moved_name(i: usize) -> String {
    format!("causerie-{i}")
}

impl<'a> Preparation<'a> {
    /// Prepares a schema at a place and a pointer. `is_part` is whether it describes a part of an object only.
    fn schema(&mut self, schema: &Json, place: &str, pointer: &str, is_part: bool) -> Result<Json, GrammarFault> {
        let Json::Object(keywords) = schema else { return Ok(schema.clone()) };
        let keywords = with_new_arrays(keywords);
        let keywords = self.with_known_names(&keywords, place)?;
        let Some(keywords) = keywords::simplified(&keywords) else { return Ok(Json::Bool(false)) };
        let keywords = &*numbers::clamped(&keywords);
        numbers::check(keywords, place)?;
        let is_part = is_part || self.combined.contains(pointer);
        let mut prepared = Map::new();
        for (keyword, value) in keywords {
            let (inner_place, inner) = (format!("{place}.{keyword}"), format!("{pointer}/{}", escaped(keyword)));
            let value = match (keyword.as_str(), value) {
                ("$ref", value) => {
                    let found = value.as_str().filter(|_| !self.has_own_base(pointer));
                    let found = found.and_then(|reference| Some((reference, self.target(reference)?)));
                    let Some((reference, (target_pointer, target))) = found else {
                        let message = format!("{inner_place} must refer to a place in the same schema, found {value}");
                        return Err(GrammarFault::new(message));
                    };
                    self.reference(reference, target_pointer, target, &inner_place)?.into()
                }
                ("exclusiveMinimum" | "exclusiveMaximum", _)
                    if let Some((other, limit)) = numbers::inside(keywords, keyword) =>
                {
                    prepared.insert(other.to_owned(), limit);
                    continue;
                }
                ("minimum" | "maximum", value) if keywords.get("type") == Some(&json!("integer")) => {
                    numbers::near(value)
                }
                (keyword, value) if COUNTS.contains(&keyword) => numbers::whole(value),
                (keyword, _) if UNSUPPORTED.contains(&keyword) => {
                    let message = format!("{place} has the keyword {keyword:?}, which cannot be enforced");
                    return Err(GrammarFault::new(message));
                }
                (keyword, value) if SCHEMAS.contains(&keyword) => self.schema(value, &inner_place, &inner, false)?,
                (keyword, Json::Array(items)) if LISTS.contains(&keyword) => {
                    let is_part = is_part || keyword != "prefixItems" && combines(keywords, keyword, items);
                    let items = items.iter().enumerate().map(|(i, item)| {
                        self.schema(item, &format!("{inner_place}[{i}]"), &format!("{inner}/{i}"), is_part)
                    });
                    Json::Array(items.collect::<Result<_, _>>()?)
                }
                (keyword, Json::Object(entries)) if MAPS.contains(&keyword) => {
                    let entries = entries.iter().map(|(name, entry)| {
                        let inner = format!("{inner}/{}", escaped(name));
                        Ok((name.clone(), self.schema(entry, &format!("{inner_place}.{name}"), &inner, false)?))
                    });
                    Json::Object(entries.collect::<Result<_, GrammarFault>>()?)
                }
                (_, value) => value.clone(),
            };
            prepared.insert(keyword.clone(), value);
        }
        if !is_part {
            close(&mut prepared);
            drop_idle_counts(&mut prepared);
        }
        Ok(Json::Object(prepared))
    }

    /// The keywords with the target of a reference as the schema of property names, which becomes a pattern.
    fn with_known_names<'k>(
        &mut self,
        keywords: &'k Map<String, Json>,
        place: &str,
    ) -> Result<Cow<'k, Map<String, Json>>, GrammarFault> {
        let reference = |names: &Json| names.get("$ref")?.as_str().map(str::to_owned);
        let (mut names, mut n_left) = (keywords.get("propertyNames"), MAX_REFERENCES);
        let mut target = None;
        while let Some(given) = names.and_then(reference).filter(|_| 0 < n_left) {
            target = self.target(&given).map(|(_, target)| target);
            (names, n_left) = (target, n_left - 1);
        }
        let Some(target) = target else { return Ok(Cow::Borrowed(keywords)) };
        self.spend(size(target), place)?;
        let mut keywords = keywords.clone();
        keywords.insert("propertyNames".to_owned(), target.clone());
        Ok(Cow::Owned(keywords))
    }

    /// Counts bytes of schemas that are repeated.
    fn spend(&mut self, n_bytes: usize, place: &str) -> Result<(), GrammarFault> {
        let n_left = self.n_left.checked_sub(n_bytes);
        self.n_left = n_left.ok_or_else(|| {
            let limit = "must not repeat more than 16 MiB of the schema, with the other references";
            GrammarFault::new(format!("{place} {limit}"))
        })?;
        Ok(())
    }

    /// The schema that a reference points to, and its place as a pointer without the escapes of addresses.
    fn target(&self, reference: &str) -> Option<(String, &'a Json)> {
        let pointer = percent_decoded(reference.strip_prefix('#')?)?;
        let target = self.root.pointer(&pointer)?;
        Some((pointer, target))
    }

    /// Whether a schema at a pointer, or one around it below the root, has an address of its own, which references start from.
    fn has_own_base(&self, pointer: &str) -> bool {
        let ends = pointer.match_indices('/').map(|(at, _)| at).skip(1).chain([pointer.len()]);
        let around = ends.filter(|end| 1 < *end).filter_map(|end| self.root.pointer(&pointer[1..end]));
        around.filter_map(|schema| schema.get("$id")?.as_str()).any(|id| !id.starts_with('#'))
    }

    /// A reference that llguidance finds.
    fn reference(
        &mut self,
        given: &str,
        pointer: String,
        target: &'a Json,
        place: &str,
    ) -> Result<String, GrammarFault> {
        let name = ["#/$defs/", "#/definitions/"].iter().find_map(|map| given.strip_prefix(map));
        if given == "#" || name.is_some_and(|name| !name.contains(['/', '~', '%'])) {
            return Ok(given.to_owned());
        }
        let i = match self.moved.get_index_of(&pointer) {
            Some(i) => i,
            None => {
                self.spend(size(target), place)?;
                self.moved.insert_full(pointer, (target, self.combined.contains(given))).0
            }
        };
        Ok(format!("#/$defs/{}", moved_name(i)))
    }
}

/// The memory of a value, roughly, in bytes.
fn size(value: &Json) -> usize {
    16 + match value {
        Json::String(text) => text.len(),
        Json::Array(items) => items.iter().map(size).sum(),
        Json::Object(entries) => entries.iter().map(|(key, value)| key.len() + size(value)).sum(),
        _ => 0,
    }
}

/// The keywords with arrays in the form of the newest draft: `prefixItems` are the schemas of the first items, `items` is that of
/// the others. Earlier drafts have them in `items` and `additionalItems`.
fn with_new_arrays(keywords: &Map<String, Json>) -> Cow<'_, Map<String, Json>> {
    if !keywords.contains_key("additionalItems") && !keywords.get("items").is_some_and(Json::is_array) {
        return Cow::Borrowed(keywords);
    }
    let mut keywords = keywords.clone();
    let others = keywords.remove("additionalItems");
    if keywords.get("items").is_some_and(Json::is_array)
        && let Some(first) = keywords.remove("items")
    {
        keywords.insert("prefixItems".to_owned(), first);
        keywords.extend(others.map(|others| ("items".to_owned(), others)));
    }
    Cow::Owned(keywords)
}

/// Lets an object with declared members have no others, as in function calls, unless it says so.
fn close(schema: &mut Map<String, Json>) {
    let is_open = ["additionalProperties", "patternProperties", "$ref", "anyOf", "oneOf", "allOf"]
        .iter()
        .any(|keyword| schema.contains_key(*keyword));
    let required = schema.get("required").and_then(Json::as_array).cloned().unwrap_or_default();
    let Some(Json::Object(properties)) = schema.get_mut("properties").filter(|_| !is_open) else { return };
    if properties.is_empty() {
        return;
    }
    for name in required.iter().filter_map(Json::as_str) {
        properties.entry(name).or_insert(json!({}));
    }
    schema.insert("additionalProperties".to_owned(), json!(false));
}

/// Removes limits on the number of members that every object meets, as far as its members are known.
fn drop_idle_counts(schema: &mut Map<String, Json>) {
    let is_closed =
        schema.get("additionalProperties") == Some(&json!(false)) && !schema.contains_key("patternProperties");
    let n_members = schema.get("properties").and_then(Json::as_object).map_or(0, Map::len);
    let n_required = schema.get("required").and_then(Json::as_array).map_or(0, Vec::len);
    let count =
        |keyword: &str| schema.get(keyword).and_then(Json::as_u64).and_then(|count| usize::try_from(count).ok());
    let (least, most) = (count("minProperties"), count("maxProperties"));
    if least.is_some_and(|least| least <= n_required) {
        schema.shift_remove("minProperties");
    }
    if is_closed && most.is_some_and(|most| n_members <= most) {
        schema.shift_remove("maxProperties");
    }
}

/// Whether the schemas of a combination describe parts of one object, together or with the keywords beside them.
fn combines(keywords: &Map<String, Json>, keyword: &str, items: &[Json]) -> bool {
    let has_members =
        ["properties", "required", "additionalProperties", "$ref"].iter().any(|name| keywords.contains_key(*name));
    let n_combinations = ["anyOf", "oneOf", "allOf"].iter().filter(|name| keywords.contains_key(**name)).count();
    has_members || 1 < n_combinations || keyword == "allOf" && 1 < items.len()
}

/// Collects the references from schemas that are combined with others.
fn collect_combined<'a>(schema: &'a Json, is_part: bool, found: &mut HashSet<&'a str>) {
    let Json::Object(keywords) = schema else { return };
    if let Some(Json::String(reference)) = keywords.get("$ref") {
        let has_members = ["properties", "anyOf", "oneOf", "allOf"].iter().any(|name| keywords.contains_key(*name));
        if is_part || has_members {
            found.insert(reference);
        }
    }
    for (keyword, value) in keywords {
        match value {
            Json::Array(items) if LISTS.contains(&keyword.as_str()) => {
                let is_part = is_part || keyword != "prefixItems" && combines(keywords, keyword, items);
                items.iter().for_each(|item| collect_combined(item, is_part, found));
            }
            Json::Array(items) if keyword == "items" => {
                items.iter().for_each(|item| collect_combined(item, false, found));
            }
            Json::Object(entries) if MAPS.contains(&keyword.as_str()) => {
                entries.values().for_each(|entry| collect_combined(entry, false, found));
            }
            value if SCHEMAS.contains(&keyword.as_str()) => collect_combined(value, false, found),
            _ => {}
        }
    }
}

/// A name as part of a JSON pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
