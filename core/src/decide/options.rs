//! Options of decisions.

use crate::decide::question::DecisionKind;
use crate::error::{ErrorKind, Result, SdkError};

/// Rotations of a choice, unless the options say how many.
const ROTATIONS: usize = 2;
/// Rotations, at most: as many as choices.
const MAX_ROTATIONS: usize = 255;

/// How decisions are read.
///
/// ```
/// use causerie::{DecisionOptions, DecisionTemperatures};
/// let temperature = DecisionTemperatures { choice: 0.5, ..Default::default() };
/// let options = DecisionOptions { temperature, rotations: Some(1), ..Default::default() };
/// # assert!(options.check().is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DecisionOptions {
    /// Divides the log-probabilities of answers: below 1, the answers are more certain. Default 1.
    pub temperature: DecisionTemperatures,
    /// The orders in which the labels of a choice are shown; their log-probabilities are averaged, because models prefer some places of a
    /// list. Each costs as much as a question. Default 2 for chat models, 1 for decision models.
    pub rotations: Option<usize>,
    /// The least probability of all labels together. Below it, the model would have written something else, and the answer says that it
    /// is [not answered](crate::DecisionAnswer::is_answered). Default 0.1 for chat models, 0 for decision models.
    pub min_label_probability: Option<f64>,
}

/// A temperature for each kind of question.
///
/// ```
/// assert_eq!(causerie::DecisionTemperatures::default().score, 1.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecisionTemperatures {
    /// For questions that are answered by yes or no.
    pub predicate: f64,
    /// For choices.
    pub choice: f64,
    /// For scores.
    pub score: f64,
}

impl Default for DecisionTemperatures {
    fn default() -> Self {
        Self { predicate: 1.0, choice: 1.0, score: 1.0 }
    }
}

impl DecisionTemperatures {
    pub(super) fn of(&self, kind: &DecisionKind) -> f64 {
        match kind {
            DecisionKind::Predicate(_) => self.predicate,
            DecisionKind::Choice(_) => self.choice,
            DecisionKind::Score(_) => self.score,
        }
    }
}

impl DecisionOptions {
    /// Checks the ranges.
    ///
    /// ```
    /// use causerie::{DecisionOptions, ErrorKind};
    /// let options = DecisionOptions { rotations: Some(0), ..Default::default() };
    /// assert_eq!(options.check().unwrap_err().kind(), ErrorKind::InvalidOption("rotations"));
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidOption`] with the name of the field that is out of range.
    pub fn check(&self) -> Result<()> {
        let temperatures = [self.temperature.predicate, self.temperature.choice, self.temperature.score];
        if let Some(value) = temperatures.into_iter().find(|value| !(0.01..=100.0).contains(value)) {
            return Err(out_of_range("temperature", &value.to_string(), "between 0.01 and 100"));
        }
        if let Some(n) = self.rotations.filter(|n| !(1..=MAX_ROTATIONS).contains(n)) {
            return Err(out_of_range("rotations", &n.to_string(), "between 1 and 255"));
        }
        match self.min_label_probability.filter(|least| !(0.0..=1.0).contains(least)) {
            Some(value) => Err(out_of_range("min_label_probability", &value.to_string(), "between 0 and 1")),
            None => Ok(()),
        }
    }

    pub(super) fn n_rotations(&self, is_decision_model: bool) -> usize {
        self.rotations.unwrap_or(if is_decision_model { 1 } else { ROTATIONS })
    }

    pub(super) fn least_probability(&self, is_decision_model: bool) -> f64 {
        self.min_label_probability.unwrap_or(if is_decision_model { 0.0 } else { 0.1 })
    }
}

fn out_of_range(field: &'static str, value: &str, range: &str) -> SdkError {
    SdkError::new(ErrorKind::InvalidOption(field), format!("{field} must be {range}, found {value}"))
}
