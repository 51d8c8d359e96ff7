//! Blocks of calls as grammars: the functions offered, their arguments in any order, each once, the required ones
//! present, of the declared types.

use std::collections::BTreeMap;

use crate::constrain::literals::{rules, spellings};
use crate::constrain::{Fault, Grammar, HEADER};
use crate::function::{FunctionNames, SdkFunction};
use crate::options::FunctionCallParser;
use crate::parse::{MOST_CALLS, is_name};
use crate::schema::parameter_schema;

/// Members of a call or a map that may come in any order: llguidance counts them in 64 bits.
const MOST_IN_ANY_ORDER: usize = 64;

/// What stands before and behind a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockEdges {
    pub(crate) start: Edge,
    pub(crate) end: Edge,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    /// A control token, by its ids: some vocabularies have it several times.
    Control(Vec<u32>),
    Text(&'static str),
}

/// What a block of calls may hold.
#[derive(Clone, Copy)]
pub(crate) struct CallRules<'a> {
    pub(crate) notation: FunctionCallParser,
    pub(crate) functions: &'a [SdkFunction],
    /// Whether it holds no more than one call.
    pub(crate) is_single: bool,
    pub(crate) edges: &'a BlockEdges,
    /// Whether the grammar begins before the block's start, else behind it.
    pub(crate) with_start: bool,
}

impl CallRules<'_> {
    /// The grammar, in the order of the functions; of two with one name the first counts. Functions that no call can spell
    /// are left out.
    ///
    /// # Errors
    /// A [`Fault`] without functions, or with none but those that [`SdkFunction::check`] refuses or that have a required
    /// parameter whose name Python calls cannot spell.
    pub(crate) fn grammar(&self) -> Result<Grammar, Fault> {
        let mut writer = Writer::new(self.notation, true);
        let text = self.text(&mut writer)?;
        let loose = if writer.has_limits { Some(self.text(&mut Writer::new(self.notation, false))?) } else { None };
        Ok(Grammar { text, loose, has_free_maps: writer.has_free_maps })
    }

    fn text(&self, writer: &mut Writer) -> Result<String, Fault> {
        let mut names: Vec<&str> = Vec::new();
        let (mut calls, mut fault) = (Vec::new(), Fault::new("no function may be called"));
        for function in self.functions {
            if !names.contains(&function.name.as_str()) {
                names.push(&function.name);
                match writer.call(function) {
                    Ok(call) => calls.push(call),
                    Err(unspelled) => fault = unspelled,
                }
            }
        }
        if calls.is_empty() {
            return Err(fault);
        }
        let body = match self.notation {
            FunctionCallParser::DefaultFunctionCallParser if self.is_single => "\"[\" call \"]\"".to_owned(),
            FunctionCallParser::DefaultFunctionCallParser => {
                let most = MOST_CALLS - 1;
                writer.text += &format!("more::_: \"\" | SEP call more::incr(_) %if lt(_, {most})\n");
                "\"[\" call more::0x0 \"]\"".to_owned()
            }
            FunctionCallParser::JsonStyleFunctionCallParser => "LINE? call LINE?".to_owned(),
        };
        let start = if self.with_start { self.edges.start.symbol() + " " } else { String::new() };
        let end = self.edges.end.symbol();
        Ok(format!(
            "{HEADER}start: {start}{body} {end}\ncall: {}\n{}LINE: /[ \\n]/\n{}",
            calls.join(" | "),
            writer.text,
            rules(self.notation)
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

/// Writes rules, and names them.
pub(super) struct Writer {
    pub(super) notation: FunctionCallParser,
    /// Whether limits are kept to.
    pub(super) keeps_limits: bool,
    /// Whether there were some.
    pub(super) has_limits: bool,
    text: String,
    n_rules: usize,
    /// Rules by the JSON Schemas that they are for.
    of_schemas: BTreeMap<String, String>,
    pub(super) has_free_maps: bool,
}

/// What may stand in a call or a map.
pub(super) struct Member {
    /// The name and the value.
    pub(super) symbols: String,
    pub(super) is_required: bool,
}

impl Writer {
    fn new(notation: FunctionCallParser, keeps_limits: bool) -> Self {
        Self {
            notation,
            keeps_limits,
            has_limits: false,
            text: String::new(),
            n_rules: 0,
            of_schemas: BTreeMap::new(),
            has_free_maps: false,
        }
    }

    /// A rule for what calls of a function are.
    fn call(&mut self, function: &SdkFunction) -> Result<String, Fault> {
        function.check_with(FunctionNames::Dotted).map_err(|err| Fault::new(err.message()))?;
        let is_python = self.notation == FunctionCallParser::DefaultFunctionCallParser;
        let mut members = Vec::new();
        for parameter in &function.parameters {
            let name = &parameter.name;
            if is_python && !is_name(name) {
                if parameter.optional {
                    continue; // a call without it is fine
                }
                let function = &function.name;
                return Err(Fault::new(format!("parameter {name:?} of {function} cannot be spelled in a Python call")));
            }
            let value = self.value(&parameter_schema(parameter));
            let name = if is_python { literal(&format!("{name}=")) } else { self.key(name) };
            members.push(Member { symbols: format!("{name} {value}"), is_required: !parameter.optional });
        }
        let body = if is_python {
            if members.is_empty() {
                literal(&format!("{}()", function.name))
            } else {
                format!("{} {} \")\"", literal(&format!("{}(", function.name)), self.members(members))
            }
        } else {
            let name = spellings(self.notation, &function.name).concat();
            let (before, arguments) = (literal("\"name\""), literal("\"arguments\""));
            let members = self.members(members);
            let name = literal(&name);
            format!("\"{{\" {before} COLON {name} SEP {arguments} COLON \"{{\" {members} \"}}\" \"}}\"")
        };
        Ok(self.rule(&body))
    }

    /// The symbol for members in any order, each once at most, the required ones always. Of very many, those that can be
    /// counted together come before the next.
    pub(super) fn members(&mut self, mut members: Vec<Member>) -> String {
        // What may come behind, where nothing stands before it and where something does.
        let (mut first, mut more) = ("\"\"".to_owned(), "\"\"".to_owned());
        while !members.is_empty() {
            let n_before = (members.len() - 1) / MOST_IN_ANY_ORDER * MOST_IN_ANY_ORDER;
            (first, more) = self.counted(members.split_off(n_before), &first, &more);
        }
        first
    }

    /// Symbols for members that are counted together and for what is `first` or `more` behind them.
    fn counted(&mut self, members: Vec<Member>, first: &str, more: &str) -> (String, String) {
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
            others.push(format!("SEP {taken} %if bit_clear({bit})"));
            firsts.push(taken);
        }
        self.text += &format!("{here_first}::_: {}\n", firsts.join("\n  | "));
        self.text += &format!("{here_more}::_: {}\n", others.join("\n  | "));
        (format!("{here_first}::0x0"), format!("{here_more}::0x0"))
    }

    /// The name of a member of a map, and the colon behind it.
    pub(super) fn key(&self, name: &str) -> String {
        let spellings: Vec<String> = spellings(self.notation, name).iter().map(|name| literal(name)).collect();
        format!("({}) COLON", spellings.join(" | "))
    }

    /// A terminal for one of several texts.
    pub(super) fn one_of(&mut self, texts: impl Iterator<Item = String>) -> String {
        let name = self.name("E");
        let texts: Vec<String> = texts.map(|text| literal(&text)).collect();
        self.text += &format!("{name}: {}\n", texts.join(" | "));
        name
    }

    /// A rule for JSON text that fits a schema, which is llguidance's to read.
    pub(super) fn json(&mut self, schema: String) -> String {
        if let Some(known) = self.of_schemas.get(&schema) {
            return known.clone();
        }
        let name = self.rule(&format!("%json {schema}"));
        self.of_schemas.insert(schema, name.clone());
        name
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

/// Text as grammars quote it: as JSON does, which leaves one control character as it is.
fn literal(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}
