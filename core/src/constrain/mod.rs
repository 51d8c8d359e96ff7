//! Calls, and replies, that are correct by construction: which tokens may come next.
//!
//! [`calls`] writes what a block of calls may hold, for the functions offered, as a grammar of llguidance, with the
//! [`values`] that their schemas take. A [`Constrainer`] makes a [`Constraint`] of it, over the [`vocabulary`] of one
//! model; the constraint follows the tokens as they are written. What a grammar accepts, the parser reads without repair
//! and validation passes without remark.

mod calls;
mod check;
mod constrainer;
mod constraint;
mod keys;
mod limits;
mod literals;
#[cfg(test)]
mod tests;
mod values;
mod vocabulary;

use crate::error::{ErrorKind, SdkError};

pub(crate) use calls::{BlockEdges, CallRules, Edge};
pub use check::{CallGrammar, CallRefusal};
pub(crate) use constrainer::Constrainer;
pub(crate) use constraint::Constraint;
pub(crate) use vocabulary::{Vocabulary, Word};

/// A grammar of llguidance, in its dialect of Lark.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Grammar {
    text: String,
    /// The same without what is said of texts, whole numbers and lists beside their types, for what llguidance does not
    /// know; none where nothing is said.
    loose: Option<String>,
    /// Whether maps may hold names that no declaration gives, which the constraint then keeps from standing twice. Of a
    /// schema, which may say so anywhere, it is taken for granted.
    has_free_maps: bool,
}

impl Grammar {
    /// What JSON text has to look like.
    ///
    /// # Errors
    /// A [`Fault`] for text that is no JSON. What the schema asks for is looked at when the grammar is compiled.
    pub(crate) fn of_schema(schema: &str) -> Result<Self, Fault> {
        Ok(Self { text: format!("{HEADER}start: answer\n{}", answer(schema)?), loose: None, has_free_maps: true })
    }

    /// The same, or JSON text that fits a schema.
    ///
    /// # Errors
    /// As [`of_schema`](Self::of_schema).
    pub(crate) fn or_schema(self, schema: &str) -> Result<Self, Fault> {
        let answer = answer(schema)?;
        Ok(Self { has_free_maps: true, ..self.map(|text| or(text, "answer", "block") + &answer) })
    }

    /// The same, or what begins something else, in which the grammar has no say.
    pub(crate) fn or_edge(self, edge: &Edge) -> Self {
        self.map(|text| or(text, &edge.symbol(), "reply"))
    }

    fn map(self, change: impl Fn(&str) -> String) -> Self {
        Self { text: change(&self.text), loose: self.loose.as_deref().map(change), ..self }
    }
}

/// What a grammar says, or a symbol; `name` is given to what the grammar starts with.
fn or(grammar: &str, symbol: &str, name: &str) -> String {
    let rules = grammar.strip_prefix(HEADER).unwrap_or(grammar).replacen("start:", &format!("{name}:"), 1);
    format!("{HEADER}start: {symbol} | {name}\n{rules}")
}

/// What every grammar begins with.
const HEADER: &str = "%llguidance {}\n";

/// The rule of a reply in JSON. Space between its parts is held short: a small model could go on with it for ever.
fn answer(schema: &str) -> Result<String, Fault> {
    let invalid = |err: serde_json::Error| Fault::new(format!("the schema is no valid JSON: {err}"));
    let mut schema: serde_json::Value = serde_json::from_str(schema).map_err(invalid)?;
    if schema == serde_json::Value::Bool(true) {
        schema = serde_json::json!({});
    }
    let Some(keywords) = schema.as_object_mut() else { return Err(Fault::new("the schema is no object")) };
    keywords.insert("x-guidance".to_owned(), serde_json::json!({ "whitespace_pattern": "[ \\n\\r\\t]{0,16}" }));
    Ok(format!("answer: %json {schema}\n"))
}

/// Why a constraint cannot be made, or kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    message: String,
}

impl Fault {
    /// What a token that was allowed has met.
    pub(crate) fn of_limit() -> Self {
        Self::new("the grammar became too much to follow")
    }

    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }

    /// The first line of what llguidance says; the rest is its state.
    fn of_engine(err: impl std::fmt::Display) -> Self {
        let text = err.to_string();
        let line = text.lines().next().unwrap_or_default();
        Self::new(line.chars().take(200).collect::<String>())
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The error for an option that cannot be kept.
    pub(crate) fn into_error(self, option: &'static str) -> SdkError {
        SdkError::new(ErrorKind::InvalidOption(option), format!("{option} cannot be enforced: {}", self.message))
    }
}
