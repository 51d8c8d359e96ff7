//! The grammar of a reply: calls, JSON text that fits a schema, or either.

use serde_json::{Value as Json, json};

use crate::constrain::answer_schema;
use crate::constrain::block::Edge;
use crate::constrain::fault::GrammarFault;

/// The first line of every grammar.
pub(super) const HEADER: &str = "%llguidance {}\n";

/// A grammar in llguidance's dialect of Lark.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Grammar {
    pub(super) text: String,
    /// The same grammar without the limits of strings, integers and arrays, in case llguidance does not support one of them.
    /// `None` if there are no limits.
    pub(super) loose: Option<String>,
    /// Whether objects may have undeclared names, which the constraint then prevents from occurring twice. Always true for a
    /// schema of a reply, which may allow them anywhere.
    pub(super) has_free_maps: bool,
    /// The schema of a reply that is a part of the grammar, as JSON text.
    pub(super) answer: Option<String>,
}

impl Grammar {
    /// The grammar of JSON text that fits a schema.
    ///
    /// # Errors
    /// A [`GrammarFault`] if the schema is not valid JSON. The content of the schema is checked when the grammar is compiled.
    pub(crate) fn of_schema(schema: &str) -> Result<Self, GrammarFault> {
        let answer = answer(schema)?;
        let text = format!("{HEADER}start: answer\n{}", rule(&answer));
        Ok(Self { text, loose: None, has_free_maps: true, answer: Some(answer) })
    }

    /// This grammar, or JSON text that fits a schema.
    ///
    /// # Errors
    /// As [`of_schema`](Self::of_schema).
    pub(crate) fn or_schema(self, schema: &str) -> Result<Self, GrammarFault> {
        let answer = answer(schema)?;
        let grammar = self.map(|text| or(text, "answer", "block") + &rule(&answer));
        Ok(Self { has_free_maps: true, answer: Some(answer), ..grammar })
    }

    /// This grammar, or the opening marker of a block that the grammar does not constrain.
    pub(crate) fn or_edge(self, edge: &Edge) -> Self {
        self.map(|text| or(text, &edge.symbol(), "reply"))
    }

    fn map(self, change: impl Fn(&str) -> String) -> Self {
        Self { text: change(&self.text), loose: self.loose.as_deref().map(change), ..self }
    }
}

/// The grammar with a symbol as alternative. `name` becomes the name of the grammar's own start rule.
fn or(grammar: &str, symbol: &str, name: &str) -> String {
    let rules = grammar.strip_prefix(HEADER).unwrap_or(grammar).replacen("start:", &format!("{name}:"), 1);
    format!("{HEADER}start: {symbol} | {name}\n{rules}")
}

/// The rule of a reply in JSON.
fn rule(answer: &str) -> String {
    format!("answer: %json {answer}\n")
}

/// The schema of a reply, prepared. White space is limited, because a small model could continue it without an end.
fn answer(schema: &str) -> Result<String, GrammarFault> {
    let invalid = |err: serde_json::Error| GrammarFault::new(format!("the schema must be valid JSON: {err}"));
    let schema: Json = serde_json::from_str(schema).map_err(invalid)?;
    let mut schema = match schema {
        Json::Bool(true) => json!({}),
        schema => answer_schema::prepared(&schema)?,
    };
    let Some(keywords) = schema.as_object_mut() else {
        let message = if schema == false { "schema allows no value" } else { "the schema must be an object" };
        return Err(GrammarFault::new(message));
    };
    keywords.insert("x-guidance".to_owned(), json!({ "whitespace_pattern": "[ \\n\\r\\t]{0,16}" }));
    Ok(schema.to_string())
}
