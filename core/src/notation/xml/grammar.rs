//! The grammar of calls, whose string values are raw text.

use crate::function::Value;
use crate::notation::grammar::{CallSymbols, CallWriter, GrammarForm, LiteralSyntax, literal, plain_rules};
use crate::schema::SchemaTypes;

/// What follows the last value of a call.
const CLOSING: &str = "</function>\n";
const VALUE_END: &str = "\n</parameter>\n";

/// Raw text that the parser reads as one value: without the tags of parameters that it would take for the end of the value, or
/// for the start of another inside of it.
const RAW_TEXT: &str = r"RAW_TEXT: /(.|\n)*/ & ~/(.|\n)*<\/parameter>(.|\n)*/ & ~/((.|\n)*\n)?<parameter=(.|\n)*/";

pub(super) const GRAMMAR: GrammarForm = GrammarForm {
    literals: LiteralSyntax::JsonInXml,
    terminals: &[RAW_TEXT],
    can_name,
    argument,
    separator: "",
    call,
    rules: plain_rules,
    body: |_| "call".to_owned(),
};

fn can_name(name: &str) -> bool {
    !name.is_empty() && name.trim() == name && name.len() <= 128 && !name.contains(['<', '>', '\n'])
}

fn call(_writer: &dyn CallWriter, call: &CallSymbols<'_>) -> String {
    let opening = literal(&format!("\n<function={}>\n", call.name));
    format!("{opening} {} {}", call.members, literal(CLOSING))
}

/// The symbols for a parameter with its tags.
fn argument(writer: &mut dyn CallWriter, name: &str, schema: &Value) -> String {
    let opening = literal(&format!("<parameter={name}>\n"));
    let is_raw = SchemaTypes::new(schema).without_null() == SchemaTypes::STRING;
    let is_listed = schema.get("enum").is_some() || schema.get("const").is_some();
    if is_raw && !is_listed {
        return format!("{opening} {}", raw_string(writer, schema));
    }
    let value = if is_raw { listed_strings(writer, schema) } else { writer.value(schema) };
    format!("{opening} {value} {}", literal(VALUE_END))
}

/// The symbol for a string with the tag after it, in one terminal: the string could contain the beginning of the tag.
fn raw_string(writer: &mut dyn CallWriter, schema: &Value) -> String {
    let limits = writer.text_limits(schema).map_or(String::new(), |limits| format!(" & {limits}"));
    writer.terminal(&format!("(RAW_TEXT{limits}) {}", literal(VALUE_END)))
}

/// The symbol for one of the strings that a schema lists, as they are.
fn listed_strings(writer: &mut dyn CallWriter, schema: &Value) -> String {
    let listed = match schema.get("enum") {
        Some(Value::Array(values)) => values.as_slice(),
        _ => schema.get("const").map_or(&[][..], std::slice::from_ref),
    };
    let text = |value: &Value| literal(&value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    let texts: Vec<String> = listed.iter().map(text).collect();
    writer.terminal(&texts.join(" | "))
}
