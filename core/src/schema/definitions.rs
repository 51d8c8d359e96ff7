//! Definitions of schemas that refer to themselves: `{"$ref": "#/$defs/Node"}` in the schema of a parameter refers to its own
//! `$defs`, and in the schema of a function to the `$defs` of all parameters.

use std::cell::Cell;

use crate::function::{Arguments, Value};

const DEFINITIONS: &str = "#/$defs/";
/// How many references may follow one another without an element or a member between them.
const MAX_CHAIN: u8 = 16;
/// How many references are followed in all. Alternatives that refer to alternatives could take exponential time.
const MAX_FOLLOWED: u32 = 1 << 16;

/// The name of the definition that a schema refers to.
fn name_of(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix(DEFINITIONS)
}

/// The definition that a schema in `root` refers to.
pub(crate) fn definition<'a>(schema: &Value, root: &'a Value) -> Option<&'a Value> {
    root.get("$defs")?.get(name_of(schema)?)
}

/// Follows the references in the schema of a parameter, as often as limits allow.
#[derive(Clone, Copy)]
pub(crate) struct DefinitionScope<'a> {
    root: &'a Value,
    n_in_chain: u8,
    n_followed: &'a Cell<u32>,
}

impl<'a> DefinitionScope<'a> {
    /// The scope of a whole schema. `n_followed` starts at zero.
    pub(crate) fn new(root: &'a Value, n_followed: &'a Cell<u32>) -> Self {
        Self { root, n_in_chain: 0, n_followed }
    }

    /// The scope for elements and members.
    pub(crate) fn inner(self) -> Self {
        Self { n_in_chain: 0, ..self }
    }

    /// The definition that a schema refers to, and the scope for it; `None` beyond the limits.
    pub(crate) fn definition(self, schema: &Value) -> Option<(&'a Value, Self)> {
        let definition = definition(schema, self.root)?;
        let is_within = self.n_in_chain < MAX_CHAIN && self.n_followed.get() < MAX_FOLLOWED;
        self.n_followed.set(self.n_followed.get().saturating_add(1));
        is_within.then_some((definition, Self { n_in_chain: self.n_in_chain + 1, ..self }))
    }
}

/// Moves the definitions of a parameter's schema to the definitions of its function, under another name if a different one has it.
pub(super) fn moved_out(mut schema: Value, definitions: &mut Arguments) -> Value {
    let Value::Object(keywords) = &mut schema else { return schema };
    let Some(Value::Object(mut own)) = keywords.shift_remove("$defs") else { return schema };
    let names: Vec<String> = own.keys().cloned().collect();
    for name in names {
        let mut free = name.clone();
        while definitions.get(&free).is_some_and(|other| *other != own[&name]) {
            free.push('_');
        }
        if free != name {
            rename(&mut schema, &name, &free);
            own.values_mut().for_each(|definition| rename(definition, &name, &free));
        }
        if let Some(definition) = own.get(&name) {
            definitions.insert(free.clone(), definition.clone());
        }
    }
    schema
}

/// Makes references to a definition refer to another name.
fn rename(schema: &mut Value, from: &str, to: &str) {
    let is_reference = name_of(schema) == Some(from);
    match schema {
        Value::Object(keywords) => {
            if is_reference {
                keywords.insert("$ref".to_owned(), format!("{DEFINITIONS}{to}").into());
            }
            keywords.values_mut().for_each(|value| rename(value, from, to));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, from, to)),
        _ => {}
    }
}
