//! Why llguidance refuses the schema of a reply: the place in the schema and the keyword, which its own errors do not name.

use std::cell::Cell;

use llguidance::api::ParserLimits;
use llguidance::{GrammarBuilder, JsonCompileOptions};
use serde_json::{Map, Value as Json};

use crate::constrain::answer_schema::{LISTS, MAPS, SCHEMAS};
use crate::constrain::fault::GrammarFault;

/// Bytes of schemas that may be compiled to find a place. Without a limit, this would take quadratic time.
const MAX_WORK: usize = 16 << 20;

/// The fault of a prepared schema, as JSON text; `None` if the schema itself is not refused.
pub(super) fn of(schema: &str) -> Option<GrammarFault> {
    let root: Json = serde_json::from_str(schema).ok()?;
    let n_left = Cell::new(MAX_WORK / schema.len().max(1));
    let compile = |schema: &Json| match n_left.replace(n_left.get().saturating_sub(1)) {
        0 => Ok(()),
        _ => compile(schema),
    };
    let mut fault = compile(&root).err()?;
    let (mut place, mut schema) = ("schema".to_owned(), &root);
    while let Some((inner_place, inner, inner_fault)) = parts(&place, schema).into_iter().find_map(|(place, part)| {
        let fault = compile(&alone(part, &root)).err()?;
        // A part cannot refer to what is outside of it, other than definitions.
        (!fault.contains("Reference segment")).then_some((place, part, fault))
    }) {
        (place, schema, fault) = (inner_place, inner, inner_fault);
    }
    let is_cause = |keyword: &&String| {
        let mut without = schema.clone();
        without.as_object_mut().is_some_and(|keywords| keywords.shift_remove(*keyword).is_some())
            && compile(&alone(&without, &root)).is_ok()
    };
    let causes: Vec<&String> = schema.as_object()?.keys().filter(is_cause).collect();
    let quoted = |keyword: &&String| format!("{keyword:?}");
    let message = match &causes[..] {
        [] if fault.contains("Unsatisfiable") => format!("{place} allows no value"),
        [] => format!("{place} cannot be enforced"),
        causes if fault.contains("Unsatisfiable") => {
            format!("{place} allows no value with {}", causes.iter().map(quoted).collect::<Vec<_>>().join(" and "))
        }
        causes => {
            let keyword = causes.iter().find(|keyword| keyword.as_str() != "type").unwrap_or(&causes[0]);
            format!("{place} has the keyword {keyword:?}, which cannot be enforced")
        }
    };
    Some(GrammarFault::new(message))
}

/// The schemas in a schema, with their places. Definitions come first: other parts refer to them.
fn parts<'a>(place: &str, schema: &'a Json) -> Vec<(String, &'a Json)> {
    let Some(keywords) = schema.as_object() else { return Vec::new() };
    let maps = MAPS.iter().rev().filter_map(|keyword| Some((keyword, keywords.get(*keyword)?.as_object()?)));
    let maps = maps.flat_map(|(keyword, entries)| {
        entries.iter().map(move |(name, part)| (format!("{place}.{keyword}.{name}"), part))
    });
    let lists = LISTS.iter().filter_map(|keyword| Some((keyword, keywords.get(*keyword)?.as_array()?)));
    let lists = lists.flat_map(|(keyword, items)| {
        items.iter().enumerate().map(move |(i, part)| (format!("{place}.{keyword}[{i}]"), part))
    });
    let single = SCHEMAS.iter().filter_map(|keyword| Some((format!("{place}.{keyword}"), keywords.get(*keyword)?)));
    maps.chain(lists).chain(single).filter(|(_, part)| part.is_object()).collect()
}

/// A part with the definitions of the whole.
fn alone(part: &Json, root: &Json) -> Json {
    let mut part = part.clone();
    if let Json::Object(keywords) = &mut part {
        for name in ["$defs", "definitions"] {
            if let Some(definitions) = root.get(name).filter(|_| !keywords.contains_key(name)) {
                keywords.insert(name.to_owned(), definitions.clone());
            }
        }
    }
    part
}

/// Whether llguidance follows a prepared schema.
pub(super) fn is_accepted(schema: &Map<String, Json>) -> bool {
    compile(&Json::Object(schema.clone())).is_ok()
}

/// Compiles a schema without a vocabulary.
fn compile(schema: &Json) -> Result<(), String> {
    let builder = GrammarBuilder::new(None, ParserLimits::default());
    let compiled = JsonCompileOptions::default().json_to_llg_no_validate(builder, schema.clone());
    compiled.map(drop).map_err(|err| format!("{err:#}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_place_and_the_keyword() {
        for (schema, expect) in [
            (
                r#"{"properties": {"a": {"items": {"oneOf": [{"type": "integer"}, {"type": "number"}]}}}}"#,
                "schema.properties.a.items has the keyword \"oneOf\", which cannot be enforced",
            ),
            (
                r##"{"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "string", "pattern": "(?=a)"}}}"##,
                "schema.$defs.x has the keyword \"pattern\", which cannot be enforced",
            ),
        ] {
            assert_eq!(of(schema).as_ref().map(GrammarFault::message), Some(expect), "{schema}");
        }
        // Other values than objects fit.
        assert_eq!(
            of(r#"{"anyOf": [{"properties": {"a": {}}, "required": ["b"], "additionalProperties": false}]}"#),
            None
        );
    }
}
