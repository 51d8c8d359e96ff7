//! The grammar of calls.

use crate::notation::gemma::words::is_word;
use crate::notation::grammar::{CallSymbols, CallWriter, GrammarForm, LiteralSyntax, literal, member, plain_rules};

pub(super) const GRAMMAR: GrammarForm = GrammarForm {
    literals: LiteralSyntax::Gemma,
    terminals: &[],
    can_name: is_word,
    argument: member,
    separator: "SEP",
    call,
    rules: plain_rules,
    body: |_| "call".to_owned(),
};

fn call(_writer: &dyn CallWriter, call: &CallSymbols<'_>) -> String {
    format!("{} {} \"}}\"", literal(&format!("call:{}{{", call.name)), call.members)
}
