//! The grammar of calls in XML, whose string values are raw text.

use crate::constrain::calls::{GrammarWriter, literal};
use crate::constrain::limits;
use crate::function::Value;
use crate::schema::SchemaTypes;

/// What follows the last value of a call.
pub(super) const CLOSING: &str = "</function>\n";
const VALUE_END: &str = "\n</parameter>\n";

/// Raw text that the parser reads as one value: without the tags of parameters that it would take for the end of the value, or
/// for the start of another inside of it.
pub(super) const RAW_TEXT: &str =
    r"RAW_TEXT: /(.|\n)*/ & ~/(.|\n)*<\/parameter>(.|\n)*/ & ~/((.|\n)*\n)?<parameter=(.|\n)*/";

/// What a call of a function begins with.
pub(super) fn opening(name: &str) -> String {
    format!("\n<function={name}>\n")
}

pub(super) fn can_name(name: &str) -> bool {
    !name.is_empty() && name.trim() == name && name.len() <= 128 && !name.contains(['<', '>', '\n'])
}

impl GrammarWriter {
    /// The symbols for a parameter with its tags.
    pub(super) fn tagged(&mut self, name: &str, schema: &Value) -> String {
        let opening = literal(&format!("<parameter={name}>\n"));
        let raw = SchemaTypes::of(schema).without_null() == SchemaTypes::STRING;
        let is_listed = schema.get("enum").is_some() || schema.get("const").is_some();
        if raw && !is_listed {
            return format!("{opening} {}", self.raw_string(schema));
        }
        let value = if raw { self.listed_strings(schema) } else { self.value(schema) };
        format!("{opening} {value} {}", literal(VALUE_END))
    }

    /// The symbol for a string with the tag after it, in one terminal: the string could contain the beginning of the tag.
    fn raw_string(&mut self, schema: &Value) -> String {
        let limits = self.limits(|| limits::of_text(schema));
        let limits = limits.map_or(String::new(), |limits| format!(" & {limits}"));
        self.terminal(&format!("(RAW_TEXT{limits}) {}", literal(VALUE_END)))
    }

    /// The symbol for one of the strings that a schema lists, as they are.
    fn listed_strings(&mut self, schema: &Value) -> String {
        let listed = match schema.get("enum") {
            Some(Value::Array(values)) => values.as_slice(),
            _ => schema.get("const").map_or(&[][..], std::slice::from_ref),
        };
        let texts = listed.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        let texts: Vec<String> = texts.collect();
        self.one_of(texts.into_iter())
    }
}
