//! The grammar of calls, in blocks with tags; and of objects, for all notations that contain them.

use crate::notation::grammar::{
    BlockPart, CallSymbols, CallWriter, GrammarForm, LiteralSyntax, any_name, gap, list, literal, member,
};

pub(super) const GRAMMAR: GrammarForm = GrammarForm { body, ..OBJECTS };

/// The grammar of objects with `arguments`, in a list.
pub(crate) const OBJECTS: GrammarForm = GrammarForm {
    literals: LiteralSyntax::Json,
    terminals: &[],
    can_name: any_name,
    argument: member,
    separator: "SEP",
    call: |writer, call| object(writer, call, "arguments"),
    rules: object_rules,
    body: list,
};

/// The symbols for a call as an object, from its name on, with its arguments under this key.
pub(crate) fn object(writer: &dyn CallWriter, call: &CallSymbols<'_>, arguments: &str) -> String {
    let (gap, members) = (gap(writer.part()), call.members);
    let (name, key) = (literal(&format!("\"{}\"", call.name)), literal(&format!("\"{arguments}\"")));
    format!("{name} SEP {key} COLON \"{{\" {gap} {members} {gap} \"}}\" {gap} \"}}\"")
}

/// The rules for a call as an object: `named` from its name on, and `call`.
pub(crate) fn object_rules(writer: &dyn CallWriter, calls: &str) -> String {
    format!("named: {calls}\ncall: \"{{\" {} \"\\\"name\\\"\" COLON named", gap(writer.part()))
}

fn body(writer: &mut dyn CallWriter) -> String {
    if writer.part() != BlockPart::FromName {
        return "LINE? call LINE?".to_owned();
    }
    let more = writer.more("GAP? SEP");
    format!("(\"{{\" named | \"[\" named {more} GAP? \"]\")")
}
