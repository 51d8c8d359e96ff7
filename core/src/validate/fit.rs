//! Values made to fit a JSON Schema where there is one obvious way, as [`coerce`] makes them fit a type.

use crate::function::{Arguments, DiagnosticCode, SdkFunctionParameterType, Value};
use crate::validate::coerce;
use crate::validate::json_schema::{Remark, combined, fits, is_of_type, listed, required, schemas_of, types};

/// Makes a value fit, as far as that goes, and notes what was changed. `written` is the value with numbers as texts, as the
/// model wrote them, where that is known.
pub(super) fn to_schema(
    value: Value,
    schema: &Value,
    (path, written): (&str, Option<&Value>),
    changes: &mut Vec<Remark>,
) -> Value {
    let mut value = to_listed(to_types(value, schema, (path, written), changes), schema, path, changes);
    for schema in combined(schema, "allOf") {
        value = to_schema(value, schema, (path, written), changes);
    }
    for keyword in ["anyOf", "oneOf"] {
        value = to_one_of(value, combined(schema, keyword), (path, written), changes);
    }
    match value {
        Value::Array(items) => {
            let firsts = combined(schema, "prefixItems");
            let fit = |(i, item)| match firsts.get(i).or_else(|| schema.get("items")) {
                Some(schema) => to_schema(item, schema, (&format!("{path}[{i}]"), item_of(written, i)), changes),
                None => item,
            };
            Value::Array(items.into_iter().enumerate().map(fit).collect())
        }
        Value::Object(entries) => Value::Object(to_entries(entries, schema, (path, written), changes)),
        value => value,
    }
}

/// Makes a value fit the first of several schemas that it fits, or can be made to fit.
fn to_one_of(value: Value, schemas: &[Value], place: (&str, Option<&Value>), changes: &mut Vec<Remark>) -> Value {
    let fitting = schemas.iter().find(|schema| fits(&value, schema));
    for schema in fitting.map_or(schemas, std::slice::from_ref) {
        let mut more = Vec::new();
        let fitted = to_schema(value.clone(), schema, place, &mut more);
        if fits(&fitted, schema) {
            changes.extend(more);
            return fitted;
        }
    }
    value
}

fn to_types(value: Value, schema: &Value, (path, written): (&str, Option<&Value>), changes: &mut Vec<Remark>) -> Value {
    let types = types(schema);
    let fits = types.iter().any(|name| is_of_type(&value, name));
    // A float is a whole number where it has no fraction, but apps want one that looks it.
    let is_whole = fits && matches!(value, Value::Number(_)) && !types.contains(&"number");
    let wanted = if is_whole { vec!["integer"] } else { types };
    if fits && !is_whole {
        return value;
    }
    for wanted in wanted.into_iter().filter_map(type_of) {
        if let (fitting, Some(code)) = coerce::to_type(value.clone(), &wanted, written) {
            changes.push(Remark {
                path: path.to_owned(),
                code,
                message: format!("was read as {}", coerce::name(&wanted)),
            });
            return fitting;
        }
    }
    value
}

fn to_listed(value: Value, schema: &Value, path: &str, changes: &mut Vec<Remark>) -> Value {
    match listed(schema).and_then(|allowed| coerce::alike(allowed, &value)) {
        Some(only) => {
            let message = format!("was read as {only}");
            changes.push(Remark { path: path.to_owned(), code: DiagnosticCode::EnumCase, message });
            only.clone()
        }
        None => value,
    }
}

fn to_entries(
    entries: Arguments,
    schema: &Value,
    (path, written): (&str, Option<&Value>),
    changes: &mut Vec<Remark>,
) -> Arguments {
    let mut fitted = Arguments::new();
    for (name, mut value) in entries {
        let path = format!("{path}.{name}");
        let written = written.and_then(|written| written.get(&name));
        let schemas = schemas_of(&name, schema);
        let is_wrong_null = value == Value::Null && schemas.iter().any(|schema| !fits(&Value::Null, schema));
        if is_wrong_null && !required(schema).any(|required| required == name) {
            let message = "is null and was left out".to_owned();
            changes.push(Remark { path, code: DiagnosticCode::NullDropped, message });
            continue;
        }
        for schema in schemas {
            value = to_schema(value, schema, (&path, written), changes);
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

fn type_of(name: &str) -> Option<SdkFunctionParameterType> {
    use SdkFunctionParameterType::{SdkBool, SdkNull, SdkObj};
    Some(match name {
        "string" => SdkFunctionParameterType::string(),
        "integer" => SdkFunctionParameterType::integer(),
        "number" => SdkFunctionParameterType::number(),
        "boolean" => SdkBool { description: None },
        "array" => SdkFunctionParameterType::array(SdkNull),
        "object" => SdkObj { properties: Default::default(), required: Vec::new(), description: None },
        _ => return None,
    })
}
