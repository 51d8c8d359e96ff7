//! Which types of JSON a schema allows.

use crate::function::Value;
use crate::schema::definitions::definition;

/// How deep alternatives within alternatives are read.
const MAX_LEVELS: usize = 8;

/// Types of JSON. An integer is also a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SchemaTypes(u8);

impl SchemaTypes {
    pub(crate) const STRING: Self = Self(1);
    pub(crate) const NUMBER: Self = Self(2);
    pub(crate) const INTEGER: Self = Self(4);
    pub(crate) const BOOLEAN: Self = Self(8);
    pub(crate) const NULL: Self = Self(16);
    pub(crate) const ARRAY: Self = Self(32);
    pub(crate) const OBJECT: Self = Self(64);
    const ANY: Self = Self(127);

    /// The types that a schema allows, as far as `type`, `enum`, `const`, `anyOf`, `oneOf`, a single `allOf` and its
    /// definitions say.
    pub(crate) fn new(schema: &Value) -> Self {
        Self::within(schema, schema, MAX_LEVELS)
    }

    /// The types of a value.
    pub(crate) fn of_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Integer(_) | Value::BigInteger(_) => Self(Self::INTEGER.0 | Self::NUMBER.0),
            Value::Number(_) => Self::NUMBER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    /// Whether these and other types have one in common.
    pub(crate) fn contain(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    /// These types except null.
    pub(crate) fn without_null(self) -> Self {
        Self(self.0 & !Self::NULL.0)
    }

    /// Whether arrays or objects are among the types.
    pub(crate) fn have_structure(self) -> bool {
        self.contain(Self(Self::ARRAY.0 | Self::OBJECT.0))
    }

    fn within(schema: &Value, root: &Value, levels: usize) -> Self {
        let listed = |values: &[Value], types: fn(&Value) -> Self| Self::union(values.iter().map(types));
        match (schema.get("type"), schema.get("enum"), schema.get("const")) {
            (Some(Value::String(name)), _, _) => Self::named(name),
            (Some(Value::Array(names)), _, _) => listed(names, |name| name.as_str().map_or(Self::ANY, Self::named)),
            (_, Some(Value::Array(values)), _) => listed(values, Self::of_value),
            (_, _, Some(value)) => Self::of_value(value),
            _ => match definition(schema, root) {
                Some(definition) if 0 < levels => Self::within(definition, root, levels - 1),
                _ => Self::of_combination(schema, root, levels),
            },
        }
    }

    fn of_combination(schema: &Value, root: &Value, levels: usize) -> Self {
        let alternatives = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| match schema.get(key) {
            Some(Value::Array(schemas)) if *key != "allOf" || schemas.len() == 1 => Some(schemas),
            _ => None,
        });
        match alternatives {
            Some(schemas) if 0 < levels => Self::union(schemas.iter().map(|one| Self::within(one, root, levels - 1))),
            _ if schema.get("properties").is_some() => Self::OBJECT,
            _ if schema.get("items").is_some() => Self::ARRAY,
            _ => Self::ANY,
        }
    }

    fn named(name: &str) -> Self {
        match name {
            "string" => Self::STRING,
            "number" => Self::NUMBER,
            "integer" => Self::INTEGER,
            "boolean" => Self::BOOLEAN,
            "null" => Self::NULL,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => Self::ANY,
        }
    }

    /// All of several types; any type if there are none.
    fn union(each: impl Iterator<Item = Self>) -> Self {
        let types = each.fold(0, |types, one| types | one.0);
        if types == 0 { Self::ANY } else { Self(types) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_come_from_every_form_of_schema() {
        for (schema, expect) in [
            (r#"{"type": "string"}"#, SchemaTypes::STRING),
            (r#"{"type": ["integer", "null"]}"#, SchemaTypes(4 | 16)),
            (r#"{"enum": ["a", 2, null]}"#, SchemaTypes(1 | 4 | 2 | 16)),
            (r#"{"const": [1]}"#, SchemaTypes::ARRAY),
            (r#"{"anyOf": [{"type": "string"}, {"oneOf": [{"type": "null"}]}]}"#, SchemaTypes(1 | 16)),
            (r#"{"allOf": [{"type": "boolean"}]}"#, SchemaTypes::BOOLEAN),
            (r#"{"properties": {}}"#, SchemaTypes::OBJECT),
            (r#"{"items": {}}"#, SchemaTypes::ARRAY),
            (r#"{"description": "x"}"#, SchemaTypes::ANY),
            (r#"{"enum": []}"#, SchemaTypes::ANY),
            (
                r##"{"$ref": "#/$defs/n", "$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n"}}}}}"##,
                SchemaTypes::OBJECT,
            ),
            (r##"{"$ref": "#/$defs/n", "$defs": {"n": {"$ref": "#/$defs/n"}}}"##, SchemaTypes::ANY),
        ] {
            assert_eq!(
                SchemaTypes::new(&Value::from(serde_json::from_str::<serde_json::Value>(schema).unwrap())),
                expect,
                "{schema}"
            );
        }
    }
}
