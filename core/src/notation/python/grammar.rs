//! The grammar of calls.

use crate::function::Value;
use crate::notation::grammar::{CallSymbols, CallWriter, GrammarForm, LiteralSyntax, list, literal, plain_rules};
use crate::notation::python::calls::is_name;

pub(crate) const GRAMMAR: GrammarForm = GrammarForm {
    literals: LiteralSyntax::Python,
    terminals: &[],
    can_name: is_name,
    argument,
    separator: "SEP",
    call,
    rules: plain_rules,
    body: list,
};

fn argument(writer: &mut dyn CallWriter, name: &str, schema: &Value) -> String {
    format!("{} {}", literal(&format!("{name}=")), writer.value(schema))
}

fn call(_writer: &dyn CallWriter, call: &CallSymbols<'_>) -> String {
    let arguments = if call.is_empty { String::new() } else { format!(" {} \")\"", call.members) };
    let opening = if call.is_empty { "()" } else { "(" };
    let calls = call.names.iter().map(|name| literal(&format!("{name}{opening}")) + &arguments);
    calls.collect::<Vec<_>>().join(" | ")
}
