//! Validates values against a JSON Schema that no parameter type can express: types, allowed values, limits, patterns and
//! combinations of schemas.
//!
//! References to definitions of the same schema are followed. Formats, other references and other keywords are not checked
//! here (docs/adr/0018): the app has its own checks. A keyword that is not checked never leads to an error.

use crate::function::{Arguments, DiagnosticCode, Value};
use crate::schema::DefinitionScope;
use crate::validate::{coerce, pattern};

/// Keywords that restrict a value but are not checked.
const UNCHECKED: [&str; 17] = [
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "additionalItems",
    "contains",
    "minContains",
    "maxContains",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "if",
    "then",
    "else",
    "format",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];

/// A remark about a value, or about a part of it at `path`.
pub(super) struct Remark {
    pub(super) path: String,
    pub(super) code: DiagnosticCode,
    pub(super) message: String,
}

/// The names of the types that a schema allows; empty if it allows any.
pub(super) fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).collect(),
        Some(single) => single.as_str().into_iter().collect(),
        None => Vec::new(),
    }
}

/// The values that a schema allows: the value of its `const`, or the values of its `enum`; `None` if it has neither.
pub(super) fn allowed(schema: &Value) -> Option<&[Value]> {
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

/// The names of the properties that a schema requires.
pub(super) fn required(schema: &Value) -> impl Iterator<Item = &str> {
    combined(schema, "required").iter().filter_map(Value::as_str)
}

/// Whether a value fits a schema in a scope.
pub(super) fn fits(value: &Value, schema: &Value, scope: DefinitionScope<'_>) -> bool {
    faults(value, schema, scope).is_empty()
}

/// Everything about a value that does not fit a schema in a scope.
pub(super) fn faults(value: &Value, schema: &Value, scope: DefinitionScope<'_>) -> Vec<Remark> {
    let mut faults = Vec::new();
    compare(value, schema, scope, "", &mut faults);
    faults
}

fn compare(value: &Value, schema: &Value, scope: DefinitionScope<'_>, path: &str, faults: &mut Vec<Remark>) {
    if let Some((definition, scope)) = scope.definition(schema) {
        compare(value, definition, scope, path, faults);
    }
    let mut fault = |code, message: String| faults.push(Remark { path: path.to_owned(), code, message });
    if *schema == Value::Bool(false) {
        return fault(DiagnosticCode::UndeclaredArgument, "is not declared".to_owned());
    }
    let types = types(schema);
    if !types.is_empty() && !types.iter().any(|name| is_of_type(value, name)) {
        let expected: Vec<&str> = types.into_iter().map(with_article).collect();
        let message = format!("must be {}, found {}", expected.join(" or "), value.described());
        return fault(DiagnosticCode::WrongType, message);
    }
    if let Some(allowed) = allowed(schema)
        && !allowed.iter().any(|candidate| is_equal(candidate, value))
    {
        let listed: Vec<String> = allowed.iter().map(Value::to_string).collect();
        let one_of = if listed.len() == 1 { "" } else { "one of " };
        let message = format!("must be {one_of}{}, found {}", listed.join(", "), value.described());
        fault(DiagnosticCode::NotInEnum, message);
    }
    for message in broken_limits(value, schema) {
        fault(DiagnosticCode::WrongType, message);
    }
    if let Some(message) = broken_combination(value, schema, scope) {
        fault(DiagnosticCode::WrongType, message.to_owned());
    }
    combined(schema, "allOf").iter().for_each(|schema| compare(value, schema, scope, path, faults));
    match value {
        Value::Array(elements) => compare_elements(elements, schema, scope.inner(), path, faults),
        Value::Object(entries) => compare_entries(entries, schema, scope.inner(), path, faults),
        _ => {}
    }
}

/// The name of a type in words, with its article.
fn with_article(name: &str) -> &str {
    coerce::type_of(name).map_or(name, |parameter_type| coerce::name(&parameter_type))
}

fn compare_elements(
    elements: &[Value],
    schema: &Value,
    scope: DefinitionScope<'_>,
    path: &str,
    faults: &mut Vec<Remark>,
) {
    let firsts = combined(schema, "prefixItems");
    for (i, element) in elements.iter().enumerate() {
        if let Some(schema) = firsts.get(i).or_else(|| schema.get("items")) {
            compare(element, schema, scope, &format!("{path}[{i}]"), faults);
        }
    }
    let is_repeated = |(i, element): (usize, &Value)| elements[..i].iter().any(|other| is_equal(other, element));
    if schema.get("uniqueItems") == Some(&Value::Bool(true)) && elements.iter().enumerate().any(is_repeated) {
        let message = "must not contain equal elements".to_owned();
        faults.push(Remark { path: path.to_owned(), code: DiagnosticCode::WrongType, message });
    }
}

fn compare_entries(
    entries: &Arguments,
    schema: &Value,
    scope: DefinitionScope<'_>,
    path: &str,
    faults: &mut Vec<Remark>,
) {
    for name in required(schema).filter(|name| !entries.contains_key(*name)) {
        let (path, message) = (format!("{path}.{name}"), "is missing".to_owned());
        faults.push(Remark { path, code: DiagnosticCode::MissingRequired, message });
    }
    for (name, value) in entries {
        let path = format!("{path}.{name}");
        for schema in schemas_of(name, schema) {
            compare(value, schema, scope, &path, faults);
        }
        let names = schema.get("propertyNames");
        if names.is_some_and(|names| !fits(&Value::from(name.as_str()), names, scope)) {
            let message = "must have a name that the schema allows".to_owned();
            faults.push(Remark { path, code: DiagnosticCode::UndeclaredArgument, message });
        }
    }
}

/// The schemas that the property of this name must fit.
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

/// The rule of `anyOf`, `oneOf` or `not` that a value breaks.
fn broken_combination(value: &Value, schema: &Value, scope: DefinitionScope<'_>) -> Option<&'static str> {
    let has = |keyword| !combined(schema, keyword).is_empty();
    let n_fitting = |keyword| combined(schema, keyword).iter().filter(|schema| fits(value, schema, scope)).count();
    if has("anyOf") && n_fitting("anyOf") == 0 || has("oneOf") && n_fitting("oneOf") == 0 {
        return Some("must fit one of the allowed schemas, but fits none");
    }
    // A value may fit a schema only because a keyword in it is not checked.
    let surely_fits = |schema: &&Value| is_checked(schema) && fits(value, schema, scope);
    if 1 < combined(schema, "oneOf").iter().filter(surely_fits).count() {
        return Some("must fit exactly one of the allowed schemas, but fits several");
    }
    schema.get("not").filter(surely_fits).map(|_| "must not fit the schema that is excluded")
}

/// Whether everything that a schema says of a value is checked.
fn is_checked(schema: &Value) -> bool {
    let Value::Object(keywords) = schema else { return true };
    keywords.iter().all(|(keyword, value)| match (keyword.as_str(), value) {
        ("properties" | "patternProperties", Value::Object(schemas)) => schemas.values().all(is_checked),
        ("items", Value::Array(_)) => false,
        ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(schemas)) => schemas.iter().all(is_checked),
        ("items" | "additionalProperties" | "propertyNames" | "not", schema) => is_checked(schema),
        ("pattern", Value::String(pattern)) => pattern::is_pattern(pattern),
        (keyword, _) => !UNCHECKED.contains(&keyword),
    })
}

/// The rules about its size, and about a string's pattern, that a value breaks.
fn broken_limits(value: &Value, schema: &Value) -> Vec<String> {
    let (size, least, most, unit) = match value {
        Value::Integer(_) | Value::BigInteger(_) | Value::Number(_) => return broken_number_limits(value, schema),
        Value::String(text) => (text.chars().count(), "minLength", "maxLength", "characters"),
        Value::Array(elements) => (elements.len(), "minItems", "maxItems", "elements"),
        Value::Object(entries) => (entries.len(), "minProperties", "maxProperties", "properties"),
        Value::Null | Value::Bool(_) => return Vec::new(),
    };
    let size = Value::Integer(i64::try_from(size).unwrap_or(i64::MAX));
    let rules: [(&str, Rule, &str); 2] =
        [(least, is_less, "at least"), (most, |size, most| is_less(most, size), "at most")];
    let mut broken = broken_rules(&size, schema, rules, |rule, limit| format!("must have {rule} {limit} {unit}"));
    if let (Value::String(text), Some(Value::String(pattern))) = (value, schema.get("pattern"))
        && !matches(text, pattern)
    {
        broken.push(format!("must match the pattern {pattern}, found {}", value.described()));
    }
    broken
}

fn broken_number_limits(value: &Value, schema: &Value) -> Vec<String> {
    if let (Some(least @ Value::Integer(_)), Some(most @ (Value::Integer(_) | Value::BigInteger(_)))) =
        (schema.get("minimum"), schema.get("maximum"))
        && types(schema) == ["integer"]
        && (is_less(value, least) || is_less(most, value))
    {
        return vec![format!("must be an integer from {least} to {most}, found {}", value.described())];
    }
    let rules: [(&str, Rule, &str); 5] = [
        ("minimum", is_less, "at least"),
        ("maximum", |value, most| is_less(most, value), "at most"),
        ("exclusiveMinimum", |value, limit| !is_less(limit, value), "greater than"),
        ("exclusiveMaximum", |value, limit| !is_less(value, limit), "less than"),
        ("multipleOf", |value, step| !is_multiple(value, step), "a multiple of"),
    ];
    broken_rules(value, schema, rules, |rule, limit| format!("must be {rule} {limit}"))
}

/// Whether a number breaks the rule that another one sets.
type Rule = fn(&Value, &Value) -> bool;

fn broken_rules<const N: usize>(
    value: &Value,
    schema: &Value,
    rules: [(&str, Rule, &str); N],
    state: impl Fn(&str, &Value) -> String,
) -> Vec<String> {
    let limits =
        rules.into_iter().filter_map(|(keyword, is_broken, rule)| Some((schema.get(keyword)?, is_broken, rule)));
    let broken = limits.filter(|(limit, is_broken, _)| limit.as_f64().is_some() && is_broken(value, limit));
    broken.map(|(limit, _, rule)| format!("{}, found {}", state(rule, limit), value.described())).collect()
}

/// Exact if both are integers of 128 bits.
fn is_less(a: &Value, b: &Value) -> bool {
    let integer = |value: &Value| match value {
        Value::Integer(number) => Some(i128::from(*number)),
        Value::BigInteger(number) => number.digits().parse().ok(),
        _ => None,
    };
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => a < b,
        _ => a.as_f64() < b.as_f64(),
    }
}

/// Exact for integers of 64 bits; for other numbers within the accuracy of floats, so that 0.3 is a multiple of 0.1.
fn is_multiple(value: &Value, step: &Value) -> bool {
    match (value, step) {
        (Value::Integer(value), Value::Integer(step)) => value.checked_rem(*step) == Some(0),
        _ => {
            let times = value.as_f64().unwrap_or(f64::NAN) / step.as_f64().unwrap_or(f64::NAN);
            (times - times.round()).abs() <= times.abs() * 4.0 * f64::EPSILON
        }
    }
}

/// Whether a pattern matches somewhere in a text; true for a pattern that is not valid or exceeds the limits.
fn matches(text: &str, pattern: &str) -> bool {
    pattern::matches(pattern, text).unwrap_or(true)
}

/// Whether a value has the type that JSON Schema calls by this name; true for names that are not types.
pub(super) fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => *value == Value::Null,
        "boolean" => matches!(value, Value::Bool(_)),
        "integer" => match value {
            Value::Integer(_) | Value::BigInteger(_) => true,
            Value::Number(number) => number.fract() == 0.0, // as JSON Schema defines it
            _ => false,
        },
        "number" => matches!(value, Value::Integer(_) | Value::BigInteger(_) | Value::Number(_)),
        "string" => matches!(value, Value::String(_)),
        "array" => matches!(value, Value::Array(_)),
        "object" => matches!(value, Value::Object(_)),
        _ => true,
    }
}

/// Whether two values are equal. Numbers are compared by value, as JSON Schema defines it, also inside arrays and objects.
fn is_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(number), integer @ (Value::Integer(_) | Value::BigInteger(_)))
        | (integer @ (Value::Integer(_) | Value::BigInteger(_)), Value::Number(number)) => {
            // All digits of the float, so that nothing is rounded. Adding zero makes -0.0 positive.
            number.fract() == 0.0 && format!("{:.0}", number + 0.0) == integer.to_string()
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| is_equal(a, b)))
        }
        _ => a == b,
    }
}
