//! Twins of the types of decisions.

use std::sync::Arc;

use causerie as core;
use futures_util::future::{AbortHandle, AbortRegistration, Abortable};
use parking_lot::Mutex;

use crate::error::{Result, SdkError};
use crate::message::{ChatMessage, ChatMessageContent, into_core};
use crate::number::{SdkCount, count};

/// What questions are about.
#[derive(Clone, Debug, PartialEq, uniffi::Enum)]
pub enum DecisionState {
    /// Text; nothing if it is empty.
    Text {
        /// The text.
        text: String,
    },
    /// A JSON value, which the model is shown over several lines.
    Json {
        /// The value, as JSON text.
        json: String,
    },
    /// Messages, which may have images. Of messages of users alone, the contents count; of others, each begins with its author.
    Messages {
        /// The messages, in order.
        messages: Vec<ChatMessage>,
    },
}

/// A question about a state.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct DecisionQuestion {
    /// The question itself: text, and images for a model that takes them.
    pub instructions: Vec<ChatMessageContent>,
    /// What can be answered.
    pub kind: DecisionKind,
    /// Names the question in its answer.
    #[uniffi(default)]
    pub name: Option<String>,
}

/// The answers that a question allows.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum DecisionKind {
    /// Yes or no.
    Predicate {
        /// When yes is right.
        #[uniffi(default)]
        yes: Option<String>,
        /// When no is right.
        #[uniffi(default)]
        no: Option<String>,
    },
    /// One of 1 to 255 labels.
    Choice {
        /// The labels.
        choices: Vec<DecisionLabel>,
    },
    /// A number from 0 on: one of 2 to 100 levels, the lowest first.
    Score {
        /// The levels.
        levels: Vec<DecisionLabel>,
    },
}

/// A choice, or a level of a score.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct DecisionLabel {
    /// Its name.
    pub label: String,
    /// What it means.
    #[uniffi(default)]
    pub description: Option<String>,
}

/// How decisions are read.
#[derive(Clone, Debug, Default, PartialEq, uniffi::Record)]
pub struct DecisionOptions {
    /// Divides the log-probabilities of answers: below 1, the answers are more certain. Default: 1 for each kind.
    #[uniffi(default)]
    pub temperature: Option<DecisionTemperatures>,
    /// The orders in which the labels of a choice are shown; their log-probabilities are averaged. Each costs as much as a question.
    /// Default: 2 for chat models, 1 for decision models.
    #[uniffi(default)]
    pub rotations: Option<SdkCount>,
    /// The least probability of all labels together. Below it, the model would have written something else, and the answer says that
    /// it is not answered. Default: 0.1 for chat models, 0 for decision models.
    #[uniffi(default)]
    pub min_label_probability: Option<f64>,
}

/// A temperature for each kind of question.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct DecisionTemperatures {
    /// For questions that are answered by yes or no.
    #[uniffi(default = 1.0)]
    pub predicate: f64,
    /// For choices.
    #[uniffi(default = 1.0)]
    pub choice: f64,
    /// For scores.
    #[uniffi(default = 1.0)]
    pub score: f64,
}

/// The answers to questions about one state.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct Decisions {
    /// One answer for each question, in the order of the questions.
    pub answers: Vec<DecisionAnswer>,
    /// The tokens that they took.
    pub usage: DecisionUsage,
}

/// The tokens of decisions.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct DecisionUsage {
    /// Tokens of all prompts; what they have in common counts once, except for decision models of types lfm2-d1-omni and lfm3-d1,
    /// which share nothing.
    pub input_tokens: SdkCount,
    /// The part of them that was computed for earlier requests.
    pub cached_tokens: SdkCount,
}

/// The answer to one question.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct DecisionAnswer {
    /// The name of the question.
    pub name: Option<String>,
    /// The answer.
    pub outcome: DecisionOutcome,
    /// The probability with which the model would have written one of the labels. The smaller it is, the less the answer says.
    pub label_probability: f64,
    /// Whether that reaches the option's limit. If not, the outcome says next to nothing.
    pub is_answered: bool,
}

/// What was decided. Probabilities are those among the labels: their sum is 1. `confidence` is 0 if all labels are equally probable,
/// and 1 if one is certain.
#[derive(Clone, Debug, PartialEq, uniffi::Enum)]
pub enum DecisionOutcome {
    /// The answer to a question that is answered by yes or no.
    Predicate {
        /// The probability of yes.
        probability: f64,
    },
    /// The answer to a choice.
    Choice {
        /// The most probable label; of equal ones, the first.
        choice: String,
        /// Its place among the labels.
        index: SdkCount,
        /// How certain the choice is, from 0 to 1.
        confidence: f64,
        /// The labels in the order of the question.
        probabilities: Vec<LabelProbability>,
    },
    /// The answer to a score.
    Score {
        /// The mean of the levels, each weighed by its probability: 0 is the first.
        score: f64,
        /// How certain the score is, from 0 to 1.
        confidence: f64,
        /// The levels in the order of the question.
        probabilities: Vec<LabelProbability>,
    },
}

/// A label and its probability.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct LabelProbability {
    /// The label, as the question has it.
    pub label: String,
    /// Its probability among the labels.
    pub probability: f64,
}

/// Cancels decisions, once.
#[derive(Debug, uniffi::Object)]
pub struct DecisionCancel {
    handle: AbortHandle,
    /// None once it limits a call.
    registration: Mutex<Option<AbortRegistration>>,
}

#[uniffi::export]
impl DecisionCancel {
    /// Creates a cancel for one call.
    #[uniffi::constructor]
    pub fn new() -> Arc<Self> {
        let (handle, registration) = AbortHandle::new_pair();
        Arc::new(Self { handle, registration: Mutex::new(Some(registration)) })
    }

    /// Ends the call, also one that has not begun.
    pub fn cancel(&self) {
        self.handle.abort();
    }
}

impl DecisionCancel {
    /// A call that ends when it is cancelled.
    pub(crate) async fn limit<T>(&self, call: impl Future<Output = Result<T>>) -> Result<T> {
        let registration = self.registration.lock().take();
        let registration =
            registration.ok_or_else(|| SdkError::Internal { reason: "a cancel is for one call".to_owned() })?;
        Abortable::new(call, registration)
            .await
            .map_err(|_| SdkError::Internal { reason: "the decisions were cancelled".to_owned() })?
    }
}

impl TryFrom<DecisionState> for core::DecisionState {
    type Error = SdkError;

    fn try_from(state: DecisionState) -> Result<Self> {
        match state {
            DecisionState::Text { text } => Ok(Self::from(text)),
            DecisionState::Json { json } => core::read_json(&json)
                .map(Self::from)
                .ok_or_else(|| SdkError::Serialization { reason: "the state must be a JSON value".to_owned() }),
            DecisionState::Messages { messages } => Ok(Self::from(into_core(messages))),
        }
    }
}

impl From<DecisionQuestion> for core::DecisionQuestion {
    fn from(question: DecisionQuestion) -> Self {
        Self {
            name: question.name,
            instructions: question.instructions.into_iter().map(Into::into).collect(),
            kind: match question.kind {
                DecisionKind::Predicate { yes, no } => {
                    core::DecisionKind::Predicate(core::DecisionCriteria { yes, no })
                }
                DecisionKind::Choice { choices } => core::DecisionKind::Choice(labels(choices)),
                DecisionKind::Score { levels } => core::DecisionKind::Score(labels(levels)),
            },
        }
    }
}

fn labels(labels: Vec<DecisionLabel>) -> Vec<core::DecisionLabel> {
    labels.into_iter().map(|label| core::DecisionLabel { label: label.label, description: label.description }).collect()
}

impl From<DecisionOptions> for core::DecisionOptions {
    fn from(options: DecisionOptions) -> Self {
        let temperature = options.temperature.map_or_else(Default::default, |of| core::DecisionTemperatures {
            predicate: of.predicate,
            choice: of.choice,
            score: of.score,
        });
        Self {
            temperature,
            rotations: options.rotations.map(SdkCount::size),
            min_label_probability: options.min_label_probability,
        }
    }
}

impl From<core::Decisions> for Decisions {
    fn from(decisions: core::Decisions) -> Self {
        let usage = decisions.usage;
        Self {
            answers: decisions.answers.into_iter().map(Into::into).collect(),
            usage: DecisionUsage { input_tokens: count(usage.input_tokens), cached_tokens: count(usage.cached_tokens) },
        }
    }
}

impl From<core::DecisionAnswer> for DecisionAnswer {
    fn from(answer: core::DecisionAnswer) -> Self {
        Self {
            name: answer.name,
            outcome: answer.outcome.into(),
            label_probability: answer.label_probability,
            is_answered: answer.is_answered,
        }
    }
}

impl From<core::DecisionOutcome> for DecisionOutcome {
    fn from(outcome: core::DecisionOutcome) -> Self {
        match outcome {
            core::DecisionOutcome::Predicate { probability } => Self::Predicate { probability },
            core::DecisionOutcome::Choice { choice, index, confidence, probabilities } => Self::Choice {
                choice,
                index: count(index),
                confidence,
                probabilities: probabilities.into_iter().map(Into::into).collect(),
            },
            core::DecisionOutcome::Score { score, confidence, probabilities } => {
                Self::Score { score, confidence, probabilities: probabilities.into_iter().map(Into::into).collect() }
            }
        }
    }
}

impl From<core::LabelProbability> for LabelProbability {
    fn from(label: core::LabelProbability) -> Self {
        Self { label: label.label, probability: label.probability }
    }
}
