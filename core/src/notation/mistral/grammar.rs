//! The grammar of calls: of newer models if the vocabulary has the token before arguments, or else a list of objects.

use crate::notation::grammar::{
    CallSymbols, CallWriter, GrammarForm, LiteralSyntax, any_name, list, literal, member, plain_rules,
};
use crate::notation::json;
use crate::notation::mistral::tokens::{ARGUMENTS, CALL_ID};

pub(super) const GRAMMAR: GrammarForm = GrammarForm {
    literals: LiteralSyntax::Json,
    terminals: &["CALL_ID: /[a-zA-Z0-9]{9}/"],
    can_name: any_name,
    argument: member,
    separator: "SEP",
    call,
    rules,
    body,
};

/// The symbols of the tokens before arguments; `None` if the vocabulary lacks them.
fn arguments(writer: &dyn CallWriter) -> Option<String> {
    let arguments = writer.inner(ARGUMENTS)?;
    let call_id = writer.inner(CALL_ID).map_or(String::new(), |call_id| format!("({call_id} CALL_ID)? "));
    Some(call_id + &arguments)
}

fn call(writer: &dyn CallWriter, call: &CallSymbols<'_>) -> String {
    match arguments(writer) {
        Some(arguments) => format!("{} {arguments} \"{{\" {} \"}}\"", literal(call.name), call.members),
        None => json::grammar::object(writer, call, "arguments"),
    }
}

fn rules(writer: &dyn CallWriter, calls: &str) -> String {
    if arguments(writer).is_some() { plain_rules(writer, calls) } else { json::grammar::object_rules(writer, calls) }
}

fn body(writer: &mut dyn CallWriter) -> String {
    if arguments(writer).is_some() {
        let start = writer.start();
        return format!("call {}", writer.more(&start));
    }
    format!("\" \"? {}", list(writer))
}
