//! Writes the rules of a grammar, for calls and for values.

use std::collections::BTreeMap;

use crate::constrain::block::CallRules;
use crate::constrain::literals::spellings;
use crate::function::Value;
use crate::notation::grammar::{LiteralSyntax, Member, literal};

/// The largest number of arguments or properties that may come in any order. llguidance tracks them in 64 bits.
const MAX_IN_ANY_ORDER: usize = 64;

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
    pub(super) definitions: Value,
    /// The names of rules for its definitions, by name.
    pub(super) definition_rules: BTreeMap<String, String>,
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

    /// The symbol for members in any order, each at most once, the required ones always. If there are more than can be
    /// tracked together, each group comes before the next.
    pub(super) fn members(&mut self, mut members: Vec<Member>, separator: &str) -> String {
        // The symbols for what may follow: if no member comes before it, and if one does.
        let (mut first, mut more) = ("\"\"".to_owned(), "\"\"".to_owned());
        while !members.is_empty() {
            let n_before = (members.len() - 1) / MAX_IN_ANY_ORDER * MAX_IN_ANY_ORDER;
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

    /// The limits that a schema sets, if they are enforced.
    pub(super) fn limits<T>(&mut self, read: impl FnOnce() -> Option<T>) -> Option<T> {
        let limits = read();
        self.has_limits |= limits.is_some();
        limits.filter(|_| self.keeps_limits)
    }

    /// Writes a rule.
    pub(super) fn rule(&mut self, body: &str) -> String {
        let name = self.name("r");
        self.text += &format!("{name}: {body}\n");
        name
    }

    /// A new name that begins with this letter.
    pub(super) fn name(&mut self, letter: &str) -> String {
        self.n_rules += 1;
        format!("{letter}{}", self.n_rules)
    }
}
