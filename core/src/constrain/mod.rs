//! Constraints that make calls and replies correct by construction: which tokens may come next.
//!
//! [`calls`] writes the grammar of a block of calls for llguidance, from the offered functions and the [`values`] that their
//! schemas allow. A [`Constrainer`] compiles it to a [`Constraint`] over the [`vocabulary`] of one model. The constraint
//! follows the tokens of the reply. The parser reads whatever a grammar accepts without repairs, and validation accepts it
//! without diagnostics.

mod answer_schema;
mod calls;
mod check;
mod constrainer;
mod constraint;
mod formats;
mod keys;
mod keywords;
mod limits;
mod literals;
mod notations;
mod numbers;
mod refusal;
#[cfg(test)]
mod tests;
mod values;
mod vocabulary;
mod whole_values;

use crate::error::{ErrorKind, SdkError};

pub(crate) use calls::{BlockEdges, BlockPart, CallRules, Edge};
pub use check::{CallGrammar, CallRefusal};
pub(crate) use constrainer::Constrainer;
pub(crate) use constraint::Constraint;
pub(crate) use vocabulary::{Vocabulary, Word};

/// A grammar in llguidance's dialect of Lark.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Grammar {
    text: String,
    /// The same grammar without the limits of strings, integers and arrays, in case llguidance does not support one of them.
    /// `None` if there are no limits.
    loose: Option<String>,
    /// Whether objects may have undeclared names, which the constraint then prevents from occurring twice. Always true for a
    /// schema of a reply, which may allow them anywhere.
    has_free_maps: bool,
    /// The schema of a reply that is a part of the grammar, as JSON text.
    answer: Option<String>,
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

/// The first line of every grammar.
const HEADER: &str = "%llguidance {}\n";

/// The rule of a reply in JSON.
fn rule(answer: &str) -> String {
    format!("answer: %json {answer}\n")
}

/// The schema of a reply, prepared. White space is limited, because a small model could continue it without an end.
fn answer(schema: &str) -> Result<String, GrammarFault> {
    let invalid = |err: serde_json::Error| GrammarFault::new(format!("the schema must be valid JSON: {err}"));
    let schema: serde_json::Value = serde_json::from_str(schema).map_err(invalid)?;
    let mut schema = match schema {
        serde_json::Value::Bool(true) => serde_json::json!({}),
        schema => answer_schema::prepared(&schema)?,
    };
    let Some(keywords) = schema.as_object_mut() else {
        let message = if schema == false { "schema allows no value" } else { "the schema must be an object" };
        return Err(GrammarFault::new(message));
    };
    keywords.insert("x-guidance".to_owned(), serde_json::json!({ "whitespace_pattern": "[ \\n\\r\\t]{0,16}" }));
    Ok(schema.to_string())
}

/// The reason why a constraint cannot be created, or cannot continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GrammarFault {
    message: String,
}

impl GrammarFault {
    /// The fault of a grammar that exceeds its limits during generation.
    pub(crate) fn of_limit() -> Self {
        Self::new("the grammar exceeded its limits")
    }

    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }

    /// The fault for an error of llguidance. Only its first line is used; the rest is internal state.
    fn of_engine(err: impl std::fmt::Display) -> Self {
        let text = err.to_string();
        let line = text.lines().next().unwrap_or_default();
        Self::new(line.chars().take(200).collect::<String>())
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The error for an option that cannot be enforced.
    pub(crate) fn into_error(self, option: &'static str) -> SdkError {
        SdkError::new(ErrorKind::InvalidOption(option), format!("{option} cannot be enforced: {}", self.message))
    }
}
