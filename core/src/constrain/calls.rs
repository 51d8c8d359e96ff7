//! The grammar of a block of calls: calls of the offered functions, with arguments of the declared types in any order, each
//! once, the required ones always.

use std::collections::BTreeMap;

use crate::constrain::literals::{rules, spellings};
use crate::constrain::{Grammar, GrammarFault, HEADER};
use crate::function::{FunctionNames, PythonNames, SdkFunction, Value};
use crate::notation::Notation;
pub(crate) use crate::notation::grammar::BlockPart;
use crate::notation::grammar::{LiteralSyntax, Member, literal};
use crate::schema::definition;

/// The largest number of arguments or properties that may come in any order. llguidance tracks them in 64 bits.
const MOST_IN_ANY_ORDER: usize = 64;

/// The markers before and after a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockEdges {
    pub(crate) start: Edge,
    /// Empty text, if a block lasts until the next one or the end of the reply.
    pub(crate) end: Edge,
    /// Control tokens inside of blocks, as far as the vocabulary has them.
    pub(crate) inner: Vec<(&'static str, Edge)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    /// A control token, by its ids: some vocabularies have it several times.
    Control(Vec<u32>),
    Text(&'static str),
}

/// What a block of calls may contain.
#[derive(Clone, Copy)]
pub(crate) struct CallRules<'a> {
    pub(crate) notation: &'static Notation,
    pub(crate) functions: &'a [SdkFunction],
    /// How Python writes the names of these functions among all that are offered.
    pub(crate) identifiers: &'a PythonNames,
    /// Whether the block contains exactly one call.
    pub(crate) is_single: bool,
    pub(crate) edges: &'a BlockEdges,
    pub(crate) part: BlockPart,
}

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
    pub(super) fn text(&self, writer: &mut GrammarWriter<'_>) -> Result<String, GrammarFault> {
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
}

impl Edge {
    pub(super) fn symbol(&self) -> String {
        match self {
            Self::Control(ids) => {
                let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
                format!("<[{}]>", ids.join(","))
            }
            Self::Text(text) => literal(text),
        }
    }
}

/// Writes the rules of a grammar, and names them.
pub(super) struct GrammarWriter<'r> {
    pub(super) rules: CallRules<'r>,
    pub(super) syntax: LiteralSyntax,
    /// Whether the limits of schemas are enforced.
    pub(super) keeps_limits: bool,
    /// Whether the schemas have limits.
    pub(super) has_limits: bool,
    pub(super) text: String,
    n_rules: usize,
    /// The names of rules for JSON Schemas, by schema.
    schema_rules: BTreeMap<String, String>,
    /// The schema of the parameter that is written, which has the definitions.
    definitions: Value,
    /// The names of rules for its definitions, by name.
    definition_rules: BTreeMap<String, String>,
    pub(super) has_free_maps: bool,
}

impl<'r> GrammarWriter<'r> {
    pub(super) fn new(rules: CallRules<'r>, keeps_limits: bool) -> Self {
        Self {
            rules,
            syntax: rules.notation.grammar.literals,
            keeps_limits,
            has_limits: false,
            text: String::new(),
            n_rules: 0,
            schema_rules: BTreeMap::new(),
            definitions: Value::Null,
            definition_rules: BTreeMap::new(),
            has_free_maps: false,
        }
    }

    /// Writes the rule for calls of a function.
    fn call(&mut self, function: &SdkFunction, names: &[&str]) -> Result<String, GrammarFault> {
        function.check_with(FunctionNames::Dotted).map_err(|err| GrammarFault::new(err.message()))?;
        let body = self.call_body(function, names)?;
        Ok(self.rule(&body))
    }

    /// The symbol for members in any order, each at most once, the required ones always. If there are more than can be
    /// tracked together, each group comes before the next.
    pub(super) fn members(&mut self, mut members: Vec<Member>, separator: &str) -> String {
        // The symbols for what may follow: if no member comes before it, and if one does.
        let (mut first, mut more) = ("\"\"".to_owned(), "\"\"".to_owned());
        while !members.is_empty() {
            let n_before = (members.len() - 1) / MOST_IN_ANY_ORDER * MOST_IN_ANY_ORDER;
            (first, more) = self.counted(members.split_off(n_before), separator, &first, &more);
        }
        first
    }

    /// Symbols for members that are tracked together, followed by `first` or `more`.
    fn counted(&mut self, members: Vec<Member>, separator: &str, first: &str, more: &str) -> (String, String) {
        let (required, optional): (Vec<Member>, Vec<Member>) =
            members.into_iter().partition(|member| member.is_required);
        let (here_first, here_more) = (self.name("a"), self.name("m"));
        let (mut firsts, mut others) = (Vec::new(), Vec::new());
        match required.len() {
            0 => {
                firsts.push(first.to_owned());
                others.push(more.to_owned());
            }
            n_required => others.push(format!("{more} %if is_ones([0:{n_required}])")),
        }
        for (bit, member) in required.iter().chain(&optional).enumerate() {
            let taken = format!("{} {here_more}::set_bit({bit})", member.symbols);
            others.push(format!("{separator} {taken} %if bit_clear({bit})"));
            firsts.push(taken);
        }
        self.text += &format!("{here_first}::_: {}\n", firsts.join("\n  | "));
        self.text += &format!("{here_more}::_: {}\n", others.join("\n  | "));
        (format!("{here_first}::0x0"), format!("{here_more}::0x0"))
    }

    /// The name of a property, and the colon after it.
    pub(super) fn key_of(&self, name: &str) -> String {
        let spellings: Vec<String> = spellings(self.syntax, name).iter().map(|name| literal(name)).collect();
        format!("({}) COLON", spellings.join(" | "))
    }

    /// Writes a terminal for one of several texts.
    pub(super) fn one_of(&mut self, texts: impl Iterator<Item = String>) -> String {
        let texts: Vec<String> = texts.map(|text| literal(&text)).collect();
        self.write_terminal(&texts.join(" | "))
    }

    /// Writes a terminal.
    pub(super) fn write_terminal(&mut self, body: &str) -> String {
        let name = self.name("E");
        self.text += &format!("{name}: {body}\n");
        name
    }

    /// Writes a rule for JSON text that fits a schema, which llguidance interprets.
    pub(super) fn json(&mut self, schema: String) -> String {
        if let Some(known) = self.schema_rules.get(&schema) {
            return known.clone();
        }
        let name = self.rule(&format!("%json {schema}"));
        self.schema_rules.insert(schema, name.clone());
        name
    }

    /// Makes references refer to the definitions of a parameter's schema.
    pub(super) fn enter(&mut self, schema: &Value) {
        self.definition_rules.clear();
        self.definitions = schema.clone();
    }

    /// The symbol for values that fit the definition that a schema refers to. Its rule may contain itself.
    pub(super) fn defined(&mut self, schema: &Value) -> Option<String> {
        let definition = definition(schema, &self.definitions)?.clone();
        let reference = schema.get("$ref")?.as_str()?;
        if let Some(known) = self.definition_rules.get(reference) {
            return Some(known.clone());
        }
        let name = self.name("d");
        self.definition_rules.insert(reference.to_owned(), name.clone());
        let body = self.value_of(&definition);
        self.text += &format!("{name}: {body}\n");
        Some(name)
    }

    pub(super) fn rule(&mut self, body: &str) -> String {
        let name = self.name("r");
        self.text += &format!("{name}: {body}\n");
        name
    }

    fn name(&mut self, letter: &str) -> String {
        self.n_rules += 1;
        format!("{letter}{}", self.n_rules)
    }
}
