//! The grammar of a block of calls: calls of the offered functions, with arguments of the declared types in any order, each
//! once, the required ones always.

use std::collections::BTreeMap;

use crate::constrain::literals::{LiteralSyntax, rules, spellings};
use crate::constrain::{Grammar, GrammarFault, HEADER};
use crate::function::{FunctionNames, PythonNames, SdkFunction, Value};
use crate::options::FunctionCallParser;
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
    pub(crate) notation: FunctionCallParser,
    pub(crate) functions: &'a [SdkFunction],
    /// How Python writes the names of these functions among all that are offered.
    pub(crate) identifiers: &'a PythonNames,
    /// Whether the block contains exactly one call.
    pub(crate) is_single: bool,
    pub(crate) edges: &'a BlockEdges,
    pub(crate) part: BlockPart,
}

/// The part of a block that a grammar describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockPart {
    Whole,
    AfterStart,
    /// Calls in JSON without markers: the bracket that opens them (`{`, or `[` for a list), then what follows from the name
    /// of the first call on. White space between the parts of a call is free, as models indent calls that they write so.
    FromName,
}

impl CallRules<'_> {
    /// The grammar, with calls in the order of the functions. The first of two functions with the same name counts. Functions
    /// that no call can express are left out.
    ///
    /// # Errors
    /// A [`GrammarFault`] if no function is left: [`SdkFunction::check`] refuses it, or it has a required parameter with a
    /// name that Python calls cannot express.
    pub(crate) fn grammar(&self) -> Result<Grammar, GrammarFault> {
        let mut writer = self.writer(true);
        let text = self.text(&mut writer)?;
        let loose = if writer.has_limits { Some(self.text(&mut self.writer(false))?) } else { None };
        // Names are compared in quotes, and in these notations they have none.
        let has_quotes = !matches!(
            self.notation,
            FunctionCallParser::XmlFunctionCallParser | FunctionCallParser::GemmaFunctionCallParser
        );
        Ok(Grammar { text, loose, has_free_maps: writer.has_free_maps && has_quotes, answer: None })
    }

    fn writer(&self, keeps_limits: bool) -> GrammarWriter {
        let gap = if self.part == BlockPart::FromName { "GAP?" } else { "" };
        GrammarWriter {
            notation: self.notation,
            syntax: LiteralSyntax::of(self.notation),
            arguments: self.arguments(),
            keeps_limits,
            has_limits: false,
            gap,
            text: String::new(),
            n_rules: 0,
            schema_rules: BTreeMap::new(),
            definitions: Value::Null,
            definition_rules: BTreeMap::new(),
            has_free_maps: false,
        }
    }

    fn text(&self, writer: &mut GrammarWriter) -> Result<String, GrammarFault> {
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
        let body = self.body(writer);
        let (start, end) = (self.edges.start.symbol(), self.edges.end.symbol());
        let (start, end) = match self.part {
            // Llama's marker is optional, and the models leave it out.
            BlockPart::Whole if self.notation == FunctionCallParser::LlamaFunctionCallParser => (String::new(), end),
            BlockPart::Whole => (start, end),
            BlockPart::AfterStart => (String::new(), end),
            BlockPart::FromName => Default::default(),
        };
        let calls = self.call_rules(writer, &calls.join(" | "));
        let separator = if self.part == BlockPart::FromName { "[ \\n]{0,32}" } else { "[ ]?" };
        Ok(format!(
            "{HEADER}start: {start} {body} {end}\n{calls}\n{}LINE: /[ \\n]/\nGAP: /[ \\n]{{1,32}}/\nSEP: /,{separator}/\n{}",
            writer.text,
            rules(writer.syntax, &self.quote())
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
pub(super) struct GrammarWriter {
    pub(super) notation: FunctionCallParser,
    pub(super) syntax: LiteralSyntax,
    /// The symbols before arguments in Mistral's notation; `None` for its older form.
    pub(super) arguments: Option<String>,
    /// Whether the limits of schemas are enforced.
    pub(super) keeps_limits: bool,
    /// Whether the schemas have limits.
    pub(super) has_limits: bool,
    /// The symbol for white space within the brackets of a call in JSON.
    pub(super) gap: &'static str,
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

/// An argument of a call, or a property of an object.
pub(super) struct Member {
    /// The symbols for the name and the value.
    pub(super) symbols: String,
    pub(super) is_required: bool,
}

impl GrammarWriter {
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
    pub(super) fn key(&self, name: &str) -> String {
        let spellings: Vec<String> = spellings(self.syntax, name).iter().map(|name| literal(name)).collect();
        format!("({}) COLON", spellings.join(" | "))
    }

    /// Writes a terminal for one of several texts.
    pub(super) fn one_of(&mut self, texts: impl Iterator<Item = String>) -> String {
        let texts: Vec<String> = texts.map(|text| literal(&text)).collect();
        self.terminal(&texts.join(" | "))
    }

    /// Writes a terminal.
    pub(super) fn terminal(&mut self, body: &str) -> String {
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
        let body = self.value(&definition);
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

/// A string literal of the grammar: a JSON string, with one more control character escaped.
pub(super) fn literal(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}
