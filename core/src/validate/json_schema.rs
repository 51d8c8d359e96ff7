//! Values compared with a JSON Schema that no parameter type expresses: types, values, limits, patterns, and what combines
//! them.
//!
//! Formats, references and what else has no check here pass: the app's own checks come behind these.

use crate::function::{Arguments, DiagnosticCode, Value};
use crate::validate::pattern;

/// What is to be said of a value, and where below it.
pub(super) struct Remark {
    pub(super) path: String,
    pub(super) code: DiagnosticCode,
    pub(super) message: String,
}

/// The types that a schema names; none where any will do.
pub(super) fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).collect(),
        Some(single) => single.as_str().into_iter().collect(),
        None => Vec::new(),
    }
}

/// The values that a schema lists, the only one where it has a `const`; `None` where it lists none.
pub(super) fn listed(schema: &Value) -> Option<&[Value]> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(only), _) => Some(std::slice::from_ref(only)),
        (None, Some(Value::Array(values))) => Some(values),
        _ => None,
    }
}

/// The schemas under a keyword that combines several.
pub(super) fn combined<'a>(schema: &'a Value, keyword: &str) -> &'a [Value] {
    match schema.get(keyword) {
        Some(Value::Array(schemas)) => schemas,
        _ => &[],
    }
}

/// The names that a schema wants to be there.
pub(super) fn required(schema: &Value) -> impl Iterator<Item = &str> {
    combined(schema, "required").iter().filter_map(Value::as_str)
}

/// Whether a value breaks nothing of a schema.
pub(super) fn fits(value: &Value, schema: &Value) -> bool {
    faults(value, schema).is_empty()
}

/// All that a value breaks of a schema.
pub(super) fn faults(value: &Value, schema: &Value) -> Vec<Remark> {
    let mut faults = Vec::new();
    compare(value, schema, "", &mut faults);
    faults
}

fn compare(value: &Value, schema: &Value, path: &str, faults: &mut Vec<Remark>) {
    let mut fault = |code, message: String| faults.push(Remark { path: path.to_owned(), code, message });
    if *schema == Value::Bool(false) {
        return fault(DiagnosticCode::UndeclaredArgument, "is not declared".to_owned());
    }
    let types = types(schema);
    if !types.is_empty() && !types.iter().any(|name| is_of_type(value, name)) {
        return fault(DiagnosticCode::WrongType, format!("is not of type {}", types.join(" or ")));
    }
    if let Some(allowed) = listed(schema)
        && !allowed.iter().any(|candidate| is_equal(candidate, value))
    {
        let allowed: Vec<String> = allowed.iter().map(Value::to_string).collect();
        fault(DiagnosticCode::NotInEnum, format!("is none of {}", allowed.join(", ")));
    }
    for rule in broken_limits(value, schema) {
        fault(DiagnosticCode::WrongType, rule);
    }
    if let Some(rule) = broken_combination(value, schema) {
        fault(DiagnosticCode::WrongType, rule.to_owned());
    }
    combined(schema, "allOf").iter().for_each(|schema| compare(value, schema, path, faults));
    match value {
        Value::Array(items) => compare_items(items, schema, path, faults),
        Value::Object(entries) => compare_entries(entries, schema, path, faults),
        _ => {}
    }
}

fn compare_items(items: &[Value], schema: &Value, path: &str, faults: &mut Vec<Remark>) {
    let firsts = combined(schema, "prefixItems");
    for (i, item) in items.iter().enumerate() {
        if let Some(schema) = firsts.get(i).or_else(|| schema.get("items")) {
            compare(item, schema, &format!("{path}[{i}]"), faults);
        }
    }
    let is_twice = |(i, item): (usize, &Value)| items[..i].iter().any(|other| is_equal(other, item));
    if schema.get("uniqueItems") == Some(&Value::Bool(true)) && items.iter().enumerate().any(is_twice) {
        let message = "holds a value twice".to_owned();
        faults.push(Remark { path: path.to_owned(), code: DiagnosticCode::WrongType, message });
    }
}

fn compare_entries(entries: &Arguments, schema: &Value, path: &str, faults: &mut Vec<Remark>) {
    for name in required(schema).filter(|name| !entries.contains_key(*name)) {
        let (path, message) = (format!("{path}.{name}"), "is missing".to_owned());
        faults.push(Remark { path, code: DiagnosticCode::MissingRequired, message });
    }
    for (name, value) in entries {
        let path = format!("{path}.{name}");
        for schema in schemas_of(name, schema) {
            compare(value, schema, &path, faults);
        }
        let names = schema.get("propertyNames");
        if names.is_some_and(|names| !fits(&Value::from(name.as_str()), names)) {
            faults.push(Remark {
                path,
                code: DiagnosticCode::UndeclaredArgument,
                message: "is no name here".to_owned(),
            });
        }
    }
}

/// The schemas that what stands under a name has to fit.
pub(super) fn schemas_of<'a>(name: &str, schema: &'a Value) -> Vec<&'a Value> {
    let declared = schema.get("properties").and_then(|properties| properties.get(name));
    let mut schemas: Vec<&Value> = declared.into_iter().collect();
    if let Some(Value::Object(patterns)) = schema.get("patternProperties") {
        schemas.extend(patterns.iter().filter(|(pattern, _)| matches(name, pattern)).map(|(_, schema)| schema));
    }
    if schemas.is_empty() {
        schemas.extend(schema.get("additionalProperties"));
    }
    schemas
}

/// What a value breaks of `anyOf`, `oneOf` and `not`.
fn broken_combination(value: &Value, schema: &Value) -> Option<&'static str> {
    let n_fitting = |keyword| combined(schema, keyword).iter().filter(|schema| fits(value, schema)).count();
    let has = |keyword| !combined(schema, keyword).is_empty();
    if has("anyOf") && n_fitting("anyOf") == 0 {
        return Some("fits none of the forms that it may have");
    }
    match has("oneOf").then(|| n_fitting("oneOf")) {
        Some(0) => return Some("fits none of the forms that it may have"),
        Some(2..) => return Some("fits several forms of which it may have one"),
        _ => {}
    }
    schema.get("not").is_some_and(|not| fits(value, not)).then_some("has a form that it may not have")
}

/// What a value breaks of the limits of its size, and of a text's pattern.
fn broken_limits(value: &Value, schema: &Value) -> Vec<String> {
    let measured = match value {
        Value::Integer(_) | Value::BigInteger(_) | Value::Number(_) => return broken_limits_of_number(value, schema),
        Value::String(text) => (text.chars().count(), "minLength", "maxLength"),
        Value::Array(items) => (items.len(), "minItems", "maxItems"),
        Value::Object(entries) => (entries.len(), "minProperties", "maxProperties"),
        Value::Null | Value::Bool(_) => return Vec::new(),
    };
    let (size, least, most) = measured;
    let size = Value::Integer(i64::try_from(size).unwrap_or(i64::MAX));
    let mut broken = broken_rules(&size, schema, [(least, is_less as Rule), (most, |size, most| is_less(most, size))]);
    if let (Value::String(text), Some(Value::String(pattern))) = (value, schema.get("pattern"))
        && !matches(text, pattern)
    {
        broken.push(format!("does not match {pattern}"));
    }
    broken
}

fn broken_limits_of_number(value: &Value, schema: &Value) -> Vec<String> {
    let rules: [(&str, Rule); 5] = [
        ("minimum", is_less),
        ("maximum", |value, most| is_less(most, value)),
        ("exclusiveMinimum", |value, limit| !is_less(limit, value)),
        ("exclusiveMaximum", |value, limit| !is_less(value, limit)),
        ("multipleOf", |value, step| !is_multiple(value, step)),
    ];
    broken_rules(value, schema, rules)
}

/// Whether a number breaks the rule that another one sets.
type Rule = fn(&Value, &Value) -> bool;

fn broken_rules<const N: usize>(value: &Value, schema: &Value, rules: [(&str, Rule); N]) -> Vec<String> {
    let limits = rules.into_iter().filter_map(|(key, rule)| Some((key, rule, schema.get(key)?)));
    let broken = limits.filter(|(_, is_broken, limit)| limit.as_f64().is_some() && is_broken(value, limit));
    broken.map(|(key, _, limit)| format!("breaks its {key} of {limit}")).collect()
}

/// Exact where both are whole and have 64 bits.
fn is_less(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Integer(a), Value::Integer(b)) => a < b,
        _ => a.as_f64() < b.as_f64(),
    }
}

/// Of fractions, as near as floats come: 0.3 is three times 0.1.
fn is_multiple(value: &Value, step: &Value) -> bool {
    match (value, step) {
        (Value::Integer(value), Value::Integer(step)) => value.checked_rem(*step) == Some(0),
        _ => {
            let times = value.as_f64().unwrap_or(f64::NAN) / step.as_f64().unwrap_or(f64::NAN);
            (times - times.round()).abs() <= times.abs() * 4.0 * f64::EPSILON
        }
    }
}

/// Whether a pattern is found in a text; also where it is none that can be searched for.
fn matches(text: &str, pattern: &str) -> bool {
    pattern::matches(pattern, text).unwrap_or(true)
}

pub(super) fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => *value == Value::Null,
        "boolean" => matches!(value, Value::Bool(_)),
        "integer" => match value {
            Value::Integer(_) | Value::BigInteger(_) => true,
            Value::Number(number) => number.fract() == 0.0, // as JSON Schema has it
            _ => false,
        },
        "number" => matches!(value, Value::Integer(_) | Value::BigInteger(_) | Value::Number(_)),
        "string" => matches!(value, Value::String(_)),
        "array" => matches!(value, Value::Array(_)),
        "object" => matches!(value, Value::Object(_)),
        _ => true, // no type of JSON Schema
    }
}

/// Numbers are equal by value, as JSON Schema has it, also within lists and maps.
fn is_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Integer(_), Value::Number(_)) | (Value::Number(_), Value::Integer(_)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| is_equal(a, b)))
        }
        _ => a == b,
    }
}
