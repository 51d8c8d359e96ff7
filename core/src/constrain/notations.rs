//! What notations write their grammars with.

use crate::constrain::GrammarFault;
use crate::constrain::calls::{BlockPart, CallRules, GrammarWriter};
use crate::constrain::limits;
use crate::function::{SdkFunction, Value};
use crate::notation::grammar::{CallSymbols, CallWriter, LiteralSyntax, Member};
use crate::notation::limits::MAX_CALLS;
use crate::notation::python;
use crate::schema::parameter_schema;

impl CallRules<'_> {
    /// How calls may write the name of a function. Without markers, a model may write the name itself where the prompt has an
    /// identifier.
    pub(super) fn spellings<'n>(&'n self, name: &'n str) -> Vec<&'n str> {
        let written = self.identifiers.written(name);
        if self.notation.grammar.literals != LiteralSyntax::Python {
            vec![name]
        } else if self.part != BlockPart::FromName || written == name {
            vec![written]
        } else {
            vec![written, name]
        }
    }
}

impl GrammarWriter<'_> {
    /// The symbols for a call of a function with one of these names, without what all calls begin with.
    pub(super) fn call_body(&mut self, function: &SdkFunction, names: &[&str]) -> Result<String, GrammarFault> {
        let grammar = &self.rules.notation.grammar;
        let members = self.parameters(function)?;
        let is_empty = members.is_empty();
        let members = self.members(members, grammar.separator);
        Ok((grammar.call)(self, &CallSymbols { name: &function.name, names, members: &members, is_empty }))
    }

    fn parameters(&mut self, function: &SdkFunction) -> Result<Vec<Member>, GrammarFault> {
        let grammar = &self.rules.notation.grammar;
        let mut members = Vec::new();
        for parameter in &function.parameters {
            let (name, is_required) = (&parameter.name, !parameter.optional);
            if (grammar.can_name)(name) {
                let schema = parameter_schema(parameter);
                self.enter(&schema);
                members.push(Member { symbols: (grammar.argument)(self, name, &schema), is_required });
            } else if is_required {
                let kind = if grammar.literals == LiteralSyntax::Python {
                    "is valid in Python"
                } else {
                    "the notation can express"
                };
                let function = &function.name;
                return Err(GrammarFault::new(format!(
                    "parameter {name:?} of {function} must have a name that {kind}"
                )));
            }
        }
        Ok(members)
    }
}

impl CallWriter for GrammarWriter<'_> {
    fn part(&self) -> BlockPart {
        self.rules.part
    }

    fn start(&self) -> String {
        self.rules.edges.start.symbol()
    }

    fn inner(&self, spelling: &str) -> Option<String> {
        let found = self.rules.edges.inner.iter().find(|(known, _)| *known == spelling);
        found.map(|(_, edge)| edge.symbol())
    }

    fn more(&mut self, separator: &str) -> String {
        if self.rules.is_single {
            return String::new();
        }
        let most = MAX_CALLS - 1;
        self.text += &format!("more::_: \"\" | {separator} call more::incr(_) %if lt(_, {most})\n");
        "more::0x0".to_owned()
    }

    fn key(&self, name: &str) -> String {
        self.key_of(name)
    }

    fn value(&mut self, schema: &Value) -> String {
        self.value_of(schema)
    }

    fn terminal(&mut self, body: &str) -> String {
        self.write_terminal(body)
    }

    fn text_limits(&mut self, schema: &Value) -> Option<String> {
        self.limits(|| limits::of_text(schema))
    }

    fn python_list(&mut self) -> Option<String> {
        let rules = CallRules { notation: &python::NOTATION, part: BlockPart::FromName, ..self.rules };
        let mut writer = GrammarWriter::new(rules, self.keeps_limits);
        let text = rules.text(&mut writer).ok()?;
        self.has_limits |= writer.has_limits;
        self.has_free_maps |= writer.has_free_maps;
        Some(self.rule(&format!("%lark {{\n{text}}}")))
    }
}
