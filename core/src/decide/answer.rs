//! Answers from the log-probabilities of labels.

use crate::decide::question::{DecisionKind, DecisionQuestion};

/// The answers to questions about one state.
///
/// ```
/// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
/// use causerie::{DecisionQuestion, ModelRunner};
/// let runner = ModelRunner::load(model)?;
/// let decisions = runner.decide("The kettle boils.", &[DecisionQuestion::predicate("Is the water hot?")])?;
/// assert_eq!(decisions.answers.len(), 1);
/// println!("{} tokens from the cache", decisions.usage.cached_tokens);
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Decisions {
    /// One answer for each question, in the order of the questions.
    pub answers: Vec<DecisionAnswer>,
    /// The tokens that they took.
    pub usage: DecisionUsage,
}

/// The tokens of decisions.
///
/// ```
/// let usage = causerie::DecisionUsage::default();
/// assert!(usage.cached_tokens <= usage.input_tokens);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecisionUsage {
    /// Tokens of all prompts; what they have in common counts once. Decision models of types lfm2-d1-omni and lfm3-d1 share nothing, so
    /// that each prompt counts as a whole.
    pub input_tokens: usize,
    /// The part of them that was computed for earlier requests.
    pub cached_tokens: usize,
}

/// The answer to one question.
///
/// ```
/// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
/// # use causerie::{DecisionOutcome, DecisionQuestion, ModelRunner};
/// # let runner = ModelRunner::load(model)?;
/// # let decisions = runner.decide("The kettle boils.", &[DecisionQuestion::predicate("Is the water hot?")])?;
/// # let answer = &decisions.answers[0];
/// match &answer.outcome {
///     _ if !answer.is_answered => println!("the model did not answer"),
///     DecisionOutcome::Predicate { probability } => println!("yes: {:.0} %", probability * 100.0),
///     DecisionOutcome::Choice { choice, .. } => println!("{choice}"),
///     DecisionOutcome::Score { score, .. } => println!("{score:.1}"),
/// }
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionAnswer {
    /// The name of the question.
    pub name: Option<String>,
    /// The answer.
    pub outcome: DecisionOutcome,
    /// The probability with which the model would have written one of the labels. The smaller it is, the less the answer says.
    pub label_probability: f64,
    /// Whether that reaches [`min_label_probability`](crate::DecisionOptions::min_label_probability). If not, the outcome says next to
    /// nothing.
    pub is_answered: bool,
}

/// What was decided.
///
/// Probabilities are those among the labels: their sum is 1. `confidence` is 0 if all labels are equally probable, and 1 if one is
/// certain. For a choice of n it is `(p − 1/n) / (1 − 1/n)` with the largest probability p. For a score it is 1 minus the mean distance
/// from the most probable level, divided by the mean distance of all levels from the middle, and at least 0.
///
/// ```
/// let outcome = causerie::DecisionOutcome::Predicate { probability: 0.75 };
/// ```
#[derive(Clone, Debug, PartialEq)]
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
        index: usize,
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
///
/// ```
/// let kitchen = causerie::LabelProbability { label: "kitchen".into(), probability: 0.75 };
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LabelProbability {
    /// The label, as the question has it.
    pub label: String,
    /// Its probability among the labels.
    pub probability: f64,
}

impl DecisionOutcome {
    /// The probabilities in the order of the labels; of a predicate, the probabilities of yes and no.
    ///
    /// ```
    /// let outcome = causerie::DecisionOutcome::Predicate { probability: 0.75 };
    /// assert_eq!(outcome.probabilities(), [0.75, 0.25]);
    /// ```
    pub fn probabilities(&self) -> Vec<f64> {
        match self {
            Self::Predicate { probability } => vec![*probability, 1.0 - probability],
            Self::Choice { probabilities, .. } | Self::Score { probabilities, .. } => {
                probabilities.iter().map(|label| label.probability).collect()
            }
        }
    }

    /// The outcome for a question whose labels have these log-probabilities.
    pub(super) fn new(question: &DecisionQuestion, logprobs: &[f64], temperature: f64) -> Self {
        let probabilities = softmax(logprobs, temperature);
        let labelled = || {
            let labels = question.labels().into_iter().zip(&probabilities);
            labels.map(|(label, probability)| LabelProbability { label: label.to_owned(), probability: *probability })
        };
        match &question.kind {
            DecisionKind::Predicate(_) => Self::Predicate { probability: probabilities[0] },
            DecisionKind::Choice(_) => {
                let index = most_probable(&probabilities);
                Self::Choice {
                    choice: question.labels()[index].to_owned(),
                    index,
                    confidence: choice_confidence(&probabilities),
                    probabilities: labelled().collect(),
                }
            }
            DecisionKind::Score(_) => Self::Score {
                score: mean(&probabilities),
                confidence: score_confidence(&probabilities),
                probabilities: labelled().collect(),
            },
        }
    }
}

/// Probabilities that add up to 1. If nothing is possible, all are equal.
fn softmax(logprobs: &[f64], temperature: f64) -> Vec<f64> {
    let most = logprobs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return vec![1.0 / logprobs.len() as f64; logprobs.len()];
    }
    let powers: Vec<f64> = logprobs.iter().map(|logprob| ((logprob - most) / temperature).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}

/// The index of the largest probability; of equal ones, the first.
fn most_probable(probabilities: &[f64]) -> usize {
    let better = |best: usize, at: usize| if probabilities[best] < probabilities[at] { at } else { best };
    (0..probabilities.len()).reduce(better).unwrap_or_default()
}

fn mean(probabilities: &[f64]) -> f64 {
    let most = (probabilities.len() - 1) as f64;
    let mean: f64 = probabilities.iter().enumerate().map(|(level, probability)| level as f64 * probability).sum();
    mean.min(most)
}

fn choice_confidence(probabilities: &[f64]) -> f64 {
    let chance = 1.0 / probabilities.len() as f64;
    let most = probabilities[most_probable(probabilities)];
    if probabilities.len() == 1 { 1.0 } else { ((most - chance) / (1.0 - chance)).clamp(0.0, 1.0) }
}

fn score_confidence(probabilities: &[f64]) -> f64 {
    let mode = most_probable(probabilities) as f64;
    let middle = (probabilities.len() - 1) as f64 / 2.0;
    let levels = || probabilities.iter().enumerate().map(|(level, probability)| (level as f64, probability));
    let spread: f64 = levels().map(|(level, probability)| probability * (level - mode).abs()).sum();
    let of_all: f64 = levels().map(|(level, _)| (level - middle).abs()).sum::<f64>() / probabilities.len() as f64;
    (1.0 - spread / of_all).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of another implementation of both formulas.
    #[test]
    fn confidences_are_those_of_the_reference() {
        for (probabilities, choice, score, mean_level) in [
            (&[1.0, 0.0][..], 1.0, 1.0, 0.0),
            (&[0.5, 0.5], 0.0, 0.0, 0.5),
            (&[0.7, 0.2, 0.1], 0.55, 0.4, 0.4),
            (&[0.25, 0.25, 0.25, 0.25], 0.0, 0.0, 1.5),
            (&[0.1, 0.2, 0.4, 0.2, 0.1], 0.25, 0.333_333_333, 2.0),
            (&[0.9, 0.0, 0.1], 0.85, 0.7, 0.2),
            (&[0.5, 0.0, 0.0, 0.0, 0.5], 0.375, 0.0, 2.0),
            (&[0.1; 10], 0.0, 0.0, 4.5),
        ] {
            let found = [choice_confidence(probabilities), score_confidence(probabilities), mean(probabilities)];
            let expect = [choice, score, mean_level];
            assert!(found.iter().zip(expect).all(|(a, b)| (a - b).abs() < 1e-8), "{probabilities:?}: {found:?}");
        }
    }

    #[test]
    fn probabilities_are_those_of_the_reference_at_a_temperature() {
        for (scores, temperature, expect) in [
            (
                &[-0.188_511_987, -0.231_979_913, -0.502_938_072][..],
                1.5,
                &[0.359_410_78, 0.349_145_015, 0.291_444_204][..],
            ),
            (&[0.875_135_014, 0.915_104_091], 0.75, &[0.486_680_126, 0.513_319_874]),
        ] {
            let found = softmax(scores, temperature);
            assert!(found.iter().zip(expect).all(|(a, b)| (a - b).abs() < 1e-7), "{found:?}");
        }
    }

    #[test]
    fn impossible_labels_make_an_answer_without_certainty() {
        let question = DecisionQuestion::choice("Which?", ["a", "b"]);
        let outcome = DecisionOutcome::new(&question, &[f64::NEG_INFINITY; 2], 1.0);
        assert_eq!(outcome.probabilities(), [0.5, 0.5]);
    }
}
