//! Reads the text of a value as the type that its parameter declares.

use crate::function::{Repair, Value};
use crate::notation::json::reader as json;
use crate::notation::limits::MAX_DEPTH;
use crate::notation::python::literal::read_literal;
use crate::notation::python::number;
use crate::notation::repairs::Repairs;
use crate::notation::xml::tags::Parameters;
use crate::schema::{SchemaTypes, parameter_schema};

/// Reads a value. What does not fit the declared type stays a string, as does the value of an undeclared parameter.
pub(super) fn read(text: &str, parameters: Parameters<'_>, name: &str, repairs: &mut Repairs) -> Value {
    let declared = parameters.0.and_then(|function| function.parameters.iter().find(|found| found.name == name));
    let Some(types) = declared.map(|parameter| SchemaTypes::new(&parameter_schema(parameter))) else {
        return Value::from(text);
    };
    if types == SchemaTypes::STRING {
        return Value::from(text);
    }
    literal(text.trim(), types, repairs).unwrap_or_else(|| Value::from(text))
}

fn literal(text: &str, types: SchemaTypes, repairs: &mut Repairs) -> Option<Value> {
    let is_word = |words: [&str; 2]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is_word(["null", "None"]) {
        return Some(Value::Null);
    }
    if types.contain(SchemaTypes::BOOLEAN) && is_word(["true", "false"]) {
        return Some(Value::Bool(text.eq_ignore_ascii_case("true")));
    }
    let (value, found) = match json::read_lenient(text, MAX_DEPTH) {
        Some(read) => read,
        None => python_number(text, types).or_else(|| structure(text, types))?,
    };
    if !may_be(&value, types) {
        return None;
    }
    repairs.add_all(&found);
    Some(value)
}

/// Whether text of these types would be read as this value. A string may be in quotes, which is then
/// converted as the strings of other notations are.
fn may_be(value: &Value, types: SchemaTypes) -> bool {
    match value {
        Value::String(_) => true,
        Value::Number(number) if types.contain(SchemaTypes::INTEGER) => {
            number.fract() == 0.0 || types.contain(SchemaTypes::NUMBER)
        }
        // Validation says what is wrong with an object in place of an array.
        Value::Array(_) | Value::Object(_) if !types.contain(SchemaTypes::STRING) => types.have_structure(),
        value => types.contain(SchemaTypes::of_value(value)),
    }
}

/// A number in Python's spelling, such as `+7` or `.5`, unless the parameter may be a string.
fn python_number(text: &str, types: SchemaTypes) -> Option<(Value, Repairs)> {
    let mut repairs = Repairs::default();
    let may_be_number = types.contain(SchemaTypes::INTEGER) || types.contain(SchemaTypes::NUMBER);
    let is_read = may_be_number && !types.contain(SchemaTypes::STRING);
    let number = is_read.then(|| number::read(text, &mut repairs).ok()).flatten()?;
    Some((number, repairs))
}

/// An array or an object in Python's spelling.
fn structure(text: &str, types: SchemaTypes) -> Option<(Value, Repairs)> {
    let is_structure = types.have_structure() && text.starts_with(['[', '{', '(']);
    let (value, mut repairs) = is_structure.then(|| read_literal(text)).flatten()?;
    repairs.add(Repair::PythonLiterals);
    Some((value, repairs))
}
