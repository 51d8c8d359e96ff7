//! What a block and a call look like in each notation.

use crate::constrain::calls::{BlockPart, CallRules, Edge, GrammarWriter, Member, literal};
use crate::constrain::literals::LiteralSyntax;
use crate::constrain::{GrammarFault, xml};
use crate::function::SdkFunction;
use crate::options::FunctionCallParser;
use crate::parse::{MAX_CALLS, MISTRAL_ARGUMENTS, MISTRAL_CALL_ID, is_name};
use crate::schema::parameter_schema;

impl CallRules<'_> {
    /// The symbols for the calls of a block, without its markers.
    pub(super) fn body(&self, writer: &mut GrammarWriter) -> String {
        match self.notation {
            FunctionCallParser::JsonStyleFunctionCallParser => self.json_body(writer),
            FunctionCallParser::XmlFunctionCallParser | FunctionCallParser::GemmaFunctionCallParser => {
                "call".to_owned()
            }
            FunctionCallParser::MistralFunctionCallParser if writer.arguments.is_some() => {
                let start = self.edges.start.symbol();
                format!("call {}", self.more(writer, &start))
            }
            FunctionCallParser::MistralFunctionCallParser => format!("\" \"? {}", self.list(writer)),
            FunctionCallParser::LlamaFunctionCallParser if self.part == BlockPart::FromName => {
                format!("\"{{\" named {}", self.more(writer, "LLAMA_SEP"))
            }
            FunctionCallParser::LlamaFunctionCallParser => format!("call {}", self.more(writer, "LLAMA_SEP")),
            _ => self.list(writer),
        }
    }

    fn list(&self, writer: &mut GrammarWriter) -> String {
        format!("\"[\" call {} \"]\"", self.more(writer, "SEP"))
    }

    /// The symbol for further calls, each after a separator.
    fn more(&self, writer: &mut GrammarWriter, separator: &str) -> String {
        if self.is_single {
            return String::new();
        }
        let most = MAX_CALLS - 1;
        writer.text += &format!("more::_: \"\" | {separator} call more::incr(_) %if lt(_, {most})\n");
        "more::0x0".to_owned()
    }

    /// The calls of a block in JSON.
    fn json_body(&self, writer: &mut GrammarWriter) -> String {
        if self.part != BlockPart::FromName {
            return "LINE? call LINE?".to_owned();
        }
        let more = self.more(writer, "GAP? SEP");
        format!("(\"{{\" named | \"[\" named {more} GAP? \"]\")")
    }

    /// The rules of a call that is one of several.
    pub(super) fn call_rules(&self, writer: &GrammarWriter, calls: &str) -> String {
        if writer.names_first() {
            format!("named: {calls}\ncall: \"{{\" {} \"\\\"name\\\"\" COLON named", writer.gap)
        } else {
            format!("call: {calls}")
        }
    }

    /// How calls may write the name of a function. Without markers, a model may write the name itself where the prompt has an
    /// identifier.
    pub(super) fn spellings<'n>(&'n self, name: &'n str) -> Vec<&'n str> {
        let written = self.identifiers.written(name);
        match self.notation {
            FunctionCallParser::DefaultFunctionCallParser if self.part != BlockPart::FromName || written == name => {
                vec![written]
            }
            FunctionCallParser::DefaultFunctionCallParser => vec![written, name],
            _ => vec![name],
        }
    }

    /// The symbols of Mistral's control tokens before arguments, if the vocabulary has them.
    pub(super) fn arguments(&self) -> Option<String> {
        let inner = |spelling: &str| {
            let found = self.edges.inner.iter().find(|(known, _)| *known == spelling);
            found.map(|(_, edge)| edge.symbol())
        };
        let arguments = inner(MISTRAL_ARGUMENTS)?;
        let call_id = inner(MISTRAL_CALL_ID).map_or(String::new(), |call_id| format!("({call_id} CALL_ID)? "));
        Some(call_id + &arguments)
    }

    /// The symbol of the control token around strings.
    pub(super) fn quote(&self) -> String {
        self.edges.inner.first().map_or(String::new(), |(_, edge): &(_, Edge)| edge.symbol())
    }
}

impl GrammarWriter {
    /// Whether calls are JSON objects that begin with the name.
    fn names_first(&self) -> bool {
        match self.notation {
            FunctionCallParser::JsonStyleFunctionCallParser
            | FunctionCallParser::LlamaFunctionCallParser
            | FunctionCallParser::PhiFunctionCallParser => true,
            FunctionCallParser::MistralFunctionCallParser => self.arguments.is_none(),
            _ => false,
        }
    }

    /// The symbols for a call of a function with one of these names, without what all calls begin with.
    pub(super) fn call_body(&mut self, function: &SdkFunction, names: &[&str]) -> Result<String, GrammarFault> {
        let name = &function.name;
        let members = self.parameters(function)?;
        let is_empty = members.is_empty();
        if self.notation == FunctionCallParser::XmlFunctionCallParser {
            let members = self.members(members, "");
            return Ok(format!("{} {members} {}", literal(&xml::opening(name)), literal(xml::CLOSING)));
        }
        let members = self.members(members, "SEP");
        let gap = self.gap;
        Ok(match self.notation {
            FunctionCallParser::GemmaFunctionCallParser => {
                format!("{} {members} \"}}\"", literal(&format!("call:{name}{{")))
            }
            FunctionCallParser::MistralFunctionCallParser if let Some(arguments) = &self.arguments => {
                format!("{} {arguments} \"{{\" {members} \"}}\"", literal(name))
            }
            _ if self.names_first() => {
                let key = if self.notation == FunctionCallParser::LlamaFunctionCallParser {
                    "parameters"
                } else {
                    "arguments"
                };
                let (name, key) = (literal(&format!("\"{name}\"")), literal(&format!("\"{key}\"")));
                format!("{name} SEP {key} COLON \"{{\" {gap} {members} {gap} \"}}\" {gap} \"}}\"")
            }
            _ => {
                let arguments = if is_empty { String::new() } else { format!(" {members} \")\"") };
                let opening = if is_empty { "()" } else { "(" };
                let calls = names.iter().map(|name| literal(&format!("{name}{opening}")) + &arguments);
                calls.collect::<Vec<_>>().join(" | ")
            }
        })
    }

    fn parameters(&mut self, function: &SdkFunction) -> Result<Vec<Member>, GrammarFault> {
        let mut members = Vec::new();
        for parameter in &function.parameters {
            let (name, is_required) = (&parameter.name, !parameter.optional);
            if self.can_name(name) {
                let schema = parameter_schema(parameter);
                self.enter(&schema);
                let symbols = match self.notation {
                    FunctionCallParser::XmlFunctionCallParser => self.tagged(name, &schema),
                    _ if self.syntax == LiteralSyntax::Python => {
                        format!("{} {}", literal(&format!("{name}=")), self.value(&schema))
                    }
                    _ => format!("{} {}", self.key(name), self.value(&schema)),
                };
                members.push(Member { symbols, is_required });
            } else if is_required {
                let kind = if self.syntax == LiteralSyntax::Python {
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

    /// Whether a call can name this parameter.
    fn can_name(&self, name: &str) -> bool {
        match self.notation {
            FunctionCallParser::XmlFunctionCallParser => xml::can_name(name),
            _ => match self.syntax {
                LiteralSyntax::Python => is_name(name),
                LiteralSyntax::Gemma => is_word(name),
                LiteralSyntax::Json | LiteralSyntax::JsonInXml => true,
            },
        }
    }
}

/// Whether a key needs no quotes in Gemma's notation.
pub(super) fn is_word(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|character| character.is_alphanumeric() || "_.-".contains(character))
}
