//! Coerces values to a JSON Schema, if there is one obvious way, as [`coerce`] does for a type.

use crate::function::{Arguments, DiagnosticCode, Value};
use crate::schema::DefinitionScope;
use crate::validate::coerce;
use crate::validate::json_schema::{Remark, allowed, combined, fits, is_of_type, required, schemas_of, types};

/// Coerces a value as far as possible and adds a remark for each change. `written` is the value with numbers as strings,
/// exactly as the model wrote them, if that is known.
pub(super) fn to_schema(
    value: Value,
    schema: &Value,
    scope: DefinitionScope<'_>,
    (path, written): (&str, Option<&Value>),
    changes: &mut Vec<Remark>,
) -> Value {
    let value = match scope.definition(schema) {
        Some((definition, scope)) => to_schema(value, definition, scope, (path, written), changes),
        None => value,
    };
    let mut value = to_listed(to_types(value, schema, (path, written), changes), schema, path, changes);
    for schema in combined(schema, "allOf") {
        value = to_schema(value, schema, scope, (path, written), changes);
    }
    for keyword in ["anyOf", "oneOf"] {
        value = to_one_of(value, combined(schema, keyword), scope, (path, written), changes);
    }
    match value {
        Value::Array(items) => {
            let firsts = combined(schema, "prefixItems");
            let fit = |(i, item)| match firsts.get(i).or_else(|| schema.get("items")) {
                Some(schema) => {
                    let place = format!("{path}[{i}]");
                    to_schema(item, schema, scope.inner(), (&place, item_of(written, i)), changes)
                }
                None => item,
            };
            Value::Array(items.into_iter().enumerate().map(fit).collect())
        }
        Value::Object(entries) => Value::Object(to_entries(entries, schema, scope.inner(), (path, written), changes)),
        value => value,
    }
}

/// Coerces a value to the first of several schemas that it fits, or else to the first that it can be coerced to.
fn to_one_of(
    value: Value,
    schemas: &[Value],
    scope: DefinitionScope<'_>,
    place: (&str, Option<&Value>),
    changes: &mut Vec<Remark>,
) -> Value {
    let fitting = schemas.iter().find(|schema| fits(&value, schema, scope));
    for schema in fitting.map_or(schemas, std::slice::from_ref) {
        let mut more = Vec::new();
        let fitted = to_schema(value.clone(), schema, scope, place, &mut more);
        if fits(&fitted, schema, scope) {
            changes.extend(more);
            return fitted;
        }
    }
    value
}

fn to_types(value: Value, schema: &Value, (path, written): (&str, Option<&Value>), changes: &mut Vec<Remark>) -> Value {
    let types = types(schema);
    let fits = types.iter().any(|name| is_of_type(&value, name));
    // For JSON Schema, a float without a fraction is an integer, but apps expect one that is written as an integer.
    let is_whole = fits
        && matches!(value, Value::Number(_))
        && types.iter().all(|name| *name == "integer" || !is_of_type(&value, name));
    let wanted = if is_whole { vec!["integer"] } else { types };
    if fits && !is_whole {
        return value;
    }
    for wanted in wanted.into_iter().filter_map(coerce::type_of) {
        if let (fitting, Some(code)) = coerce::to_type(value.clone(), &wanted, written) {
            changes.push(Remark {
                path: path.to_owned(),
                code,
                message: format!("was converted to {}", coerce::name(&wanted)),
            });
            return fitting;
        }
    }
    value
}

fn to_listed(value: Value, schema: &Value, path: &str, changes: &mut Vec<Remark>) -> Value {
    match allowed(schema).and_then(|allowed| coerce::alike(allowed, &value)) {
        Some(only) => {
            let message = format!("was converted to {only}");
            changes.push(Remark { path: path.to_owned(), code: DiagnosticCode::EnumCase, message });
            only.clone()
        }
        None => value,
    }
}

fn to_entries(
    entries: Arguments,
    schema: &Value,
    scope: DefinitionScope<'_>,
    (path, written): (&str, Option<&Value>),
    changes: &mut Vec<Remark>,
) -> Arguments {
    let mut fitted = Arguments::new();
    for (name, mut value) in entries {
        let path = format!("{path}.{name}");
        let written = written.and_then(|written| written.get(&name));
        let schemas = schemas_of(&name, schema);
        let is_wrong_null = value == Value::Null && schemas.iter().any(|schema| !fits(&Value::Null, schema, scope));
        if is_wrong_null && !required(schema).any(|required| required == name) {
            let message = "is null and was left out".to_owned();
            changes.push(Remark { path, code: DiagnosticCode::NullDropped, message });
            continue;
        }
        for schema in schemas {
            value = to_schema(value, schema, scope, (&path, written), changes);
        }
        fitted.insert(name, value);
    }
    fitted
}

fn item_of(written: Option<&Value>, i: usize) -> Option<&Value> {
    match written {
        Some(Value::Array(items)) => items.get(i),
        _ => None,
    }
}
