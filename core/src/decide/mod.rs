//! Decisions: yes or no, a choice, or a score about a text, with probabilities, read from the logits after a prompt.
//!
//! [`wording`] makes the text of a question, [`labels`] finds the tokens that answer it, [`prompts`] makes a prompt of both for a chat
//! model or a decision model, [`reading`] has the engine compute what follows each prompt, and [`answer`] makes answers of that.
//! [`scored`] asks decision models that score options, which the engine does not run.
//! [`fit`] finds temperatures from examples, and [`functions`] chooses among many functions.

mod answer;
mod beside;
mod fit;
mod functions;
mod labels;
mod options;
mod prompts;
mod question;
mod reading;
mod rotations;
mod run;
mod scored;
#[cfg(test)]
mod scored_tests;
mod state;
#[cfg(test)]
mod tests;
mod wording;

pub use answer::{DecisionAnswer, DecisionOutcome, DecisionUsage, Decisions, LabelProbability};
pub use fit::fit_temperature;
pub use options::{DecisionOptions, DecisionTemperatures};
pub use question::{DecisionCriteria, DecisionKind, DecisionLabel, DecisionQuestion};
#[cfg(test)]
pub(crate) use scored::decide as decide_scored;
pub use state::DecisionState;
