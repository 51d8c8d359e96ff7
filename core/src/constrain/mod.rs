//! Constraints that make calls and replies correct by construction: which tokens may come next.
//!
//! [`calls`] writes the grammar of a block of calls for llguidance, from the offered functions and the [`values`] that their
//! schemas allow. A [`Constrainer`] compiles it to a [`Constraint`] over the [`vocabulary`] of one model. The constraint
//! follows the tokens of the reply. The parser reads whatever a grammar accepts without repairs, and validation accepts it
//! without diagnostics.

mod answer_schema;
mod block;
mod calls;
mod check;
mod constrainer;
mod constraint;
mod fault;
mod formats;
mod grammar;
mod keys;
mod keywords;
mod limits;
mod literals;
mod numbers;
mod refusal;
#[cfg(test)]
mod tests;
mod values;
mod vocabulary;
mod whole_values;
mod writer;

pub(crate) use block::{BlockEdges, CallRules, Edge};
pub use check::{CallGrammar, CallRefusal};
pub(crate) use constrainer::Constrainer;
pub(crate) use constraint::Constraint;
pub(crate) use fault::GrammarFault;
pub(crate) use grammar::Grammar;
pub(crate) use vocabulary::{Vocabulary, Word};

pub(crate) use crate::notation::grammar::BlockPart;
