//! The grammar of a block of calls: calls of the offered functions, with arguments of the declared types in any order, each
//! once, the required ones always.

use crate::constrain::block::CallRules;
use crate::constrain::fault::GrammarFault;
use crate::constrain::grammar::{Grammar, HEADER};
use crate::constrain::limits;
use crate::constrain::literals::rules;
use crate::constrain::writer::GrammarWriter;
use crate::function::{FunctionNames, SdkFunction, Value};
use crate::notation::grammar::{BlockPart, CallSymbols, CallWriter, LiteralSyntax, Member};
use crate::notation::limits::MAX_CALLS;
use crate::notation::python;
use crate::schema::parameter_schema;

impl CallRules<'_> {
    /// The grammar, with calls in the order of the functions. The first of two functions with the same name counts. Functions
    /// that no call can express are left out.
    ///
    /// # Errors
    /// A [`GrammarFault`] if no function is left: [`SdkFunction::check`] refuses it, or it has a required parameter with a
    /// name that Python calls cannot express.
    pub(crate) fn grammar(&self) -> Result<Grammar, GrammarFault> {
        let grammar = |keeps_limits| {
            let mut writer = GrammarWriter::new(*self, keeps_limits);
            let text = self.text(&mut writer)?;
            Ok((format!("{HEADER}{text}"), writer))
        };
        let (text, writer) = grammar(true)?;
        let loose = if writer.has_limits { Some(grammar(false)?.0) } else { None };
        // Names are compared in quotes, and in other notations they have none.
        let has_quotes = matches!(self.notation.grammar.literals, LiteralSyntax::Python | LiteralSyntax::Json);
        Ok(Grammar { text, loose, has_free_maps: writer.has_free_maps && has_quotes, answer: None })
    }

    /// The rules of the grammar.
    fn text(&self, writer: &mut GrammarWriter<'_>) -> Result<String, GrammarFault> {
        let mut names: Vec<&str> = Vec::new();
        let (mut calls, mut fault) = (Vec::new(), GrammarFault::new("at least one function must be allowed"));
        for function in self.functions {
            if !names.contains(&function.name.as_str()) {
                names.push(&function.name);
                match writer.call(function, &self.spellings(&function.name)) {
                    Ok(call) => calls.push(call),
                    Err(refused) => fault = refused,
                }
            }
        }
        if calls.is_empty() {
            return Err(fault);
        }
        let grammar = &self.notation.grammar;
        let body = (grammar.body)(writer);
        let (start, end) = (self.edges.start.symbol(), self.edges.end.symbol());
        let (start, end) = match self.part {
            // Models leave optional markers out.
            BlockPart::Whole if self.notation.has_optional_markers => (String::new(), end),
            BlockPart::Whole => (start, end),
            BlockPart::AfterStart => (String::new(), end),
            BlockPart::FromName => Default::default(),
        };
        let calls = (grammar.rules)(writer, &calls.join(" | "));
        let terminals: String = grammar.terminals.iter().map(|terminal| format!("{terminal}\n")).collect();
        let quote = self.edges.inner.first().map_or(String::new(), |(_, edge)| edge.symbol());
        let separator = if self.part == BlockPart::FromName { "[ \\n]{0,32}" } else { "[ ]?" };
        Ok(format!(
            "start: {start} {body} {end}\n{calls}\n{}{terminals}LINE: /[ \\n]/\nGAP: /[ \\n]{{1,32}}/\nSEP: /,{separator}/\n{}",
            writer.text,
            rules(grammar.literals, &quote)
        ))
    }

    /// How calls may write the name of a function. Without markers, a model may write the name itself where the prompt has an
    /// identifier.
    fn spellings<'n>(&'n self, name: &'n str) -> Vec<&'n str> {
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
    /// Writes the rule for calls of a function.
    fn call(&mut self, function: &SdkFunction, names: &[&str]) -> Result<String, GrammarFault> {
        function.check_with(FunctionNames::Dotted).map_err(|err| GrammarFault::new(err.message()))?;
        let body = self.call_body(function, names)?;
        Ok(self.rule(&body))
    }

    /// The symbols for a call of a function with one of these names, without what all calls begin with.
    fn call_body(&mut self, function: &SdkFunction, names: &[&str]) -> Result<String, GrammarFault> {
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
