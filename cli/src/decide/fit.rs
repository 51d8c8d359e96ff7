//! How well a model decides on examples, and the temperatures that fit them.

use std::fs;
use std::path::Path;

use causerie::{DecisionKind, DecisionOptions, DecisionQuestion, DecisionState, ModelRunner, Value, fit_temperature};
use causerie_server::serve::decision_question;
use serde_json::{Value as Json, json};

use crate::failure::Failure;
use crate::output::{print_line, remark};

/// A question with the label that is right.
pub(super) struct LabelledExample {
    state: DecisionState,
    question: DecisionQuestion,
    right: usize,
}

/// The examples of one kind of question: their probabilities at temperature 1, and the label that is right.
type AnsweredExamples = Vec<(Vec<f64>, usize)>;

/// Reads a file of examples, one per line.
pub(super) fn read(file: &Path) -> Result<Vec<LabelledExample>, Failure> {
    let place = file.display();
    let text = fs::read_to_string(file).map_err(|err| Failure(format!("cannot read {place}: {err}")))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let examples: Vec<LabelledExample> = lines
        .map(|(at, line)| example(line).map_err(|rule| Failure(format!("{place}, line {}: {rule}", at + 1))))
        .collect::<Result<_, _>>()?;
    if examples.is_empty() {
        return Err(Failure(format!("{place} must have an example on each line, found none")));
    }
    Ok(examples)
}

fn example(line: &str) -> Result<LabelledExample, String> {
    let json: Json = serde_json::from_str(line).map_err(|err| format!("must be JSON: {err}"))?;
    let question = decision_question("question", json["question"].clone())?;
    let right = match (&question.kind, &json["answer"]) {
        (DecisionKind::Predicate(_), Json::Bool(answer)) => Some(usize::from(!answer)),
        (DecisionKind::Choice(choices), Json::String(answer)) => {
            choices.iter().position(|choice| choice.label == *answer)
        }
        (DecisionKind::Score(levels), Json::Number(answer)) => {
            answer.as_u64().and_then(|level| usize::try_from(level).ok()).filter(|level| *level < levels.len())
        }
        _ => None,
    };
    let right = right.ok_or("answer must be true or false, a label of the choice, or the number of a level")?;
    let state = DecisionState::from(Value::from(json["state"].clone()));
    Ok(LabelledExample { state, question, right })
}

pub(super) fn run(
    runner: &ModelRunner,
    examples: &[LabelledExample],
    options: DecisionOptions,
    as_json: bool,
) -> Result<(), Failure> {
    let mut kinds: [(&str, AnsweredExamples, usize); 3] =
        ["predicate", "choice", "score"].map(|name| (name, Vec::new(), 0));
    for (at, example) in examples.iter().enumerate() {
        let decisions = runner.decide_with(example.state.clone(), std::slice::from_ref(&example.question), options)?;
        let kind = match example.question.kind {
            DecisionKind::Predicate(_) => 0,
            DecisionKind::Choice(_) => 1,
            DecisionKind::Score(_) => 2,
        };
        let (_, answered, n_unanswered) = &mut kinds[kind];
        let answer = &decisions.answers[0];
        answered.push((answer.outcome.probabilities(), example.right));
        *n_unanswered += usize::from(!answer.is_answered);
        if (at + 1) % 20 == 0 {
            remark(format_args!("{} of {}", at + 1, examples.len()));
        }
    }
    let mut report = serde_json::Map::new();
    for (name, answered, n_unanswered) in kinds.iter().filter(|(_, answered, _)| !answered.is_empty()) {
        let temperature = fit_temperature(answered);
        let [plain, fitted] = [1.0, temperature].map(|temperature| measured(answered, temperature));
        if !as_json {
            print_line(format_args!(
                "{name}: {} examples, {n_unanswered} not answered, {:.1} % right, Brier {:.3}, loss {:.3}",
                answered.len(),
                100.0 * plain.accuracy,
                plain.brier,
                plain.loss
            ))?;
            print_line(format_args!(
                "  at temperature {temperature:.3}: Brier {:.3}, loss {:.3}",
                fitted.brier, fitted.loss
            ))?;
        }
        let quality = |quality: &DecisionQuality| json!({ "brier": quality.brier, "loss": quality.loss });
        let entry = json!({
            "examples": answered.len(),
            "unanswered": n_unanswered,
            "accuracy": plain.accuracy,
            "plain": quality(&plain),
            "temperature": temperature,
            "fitted": quality(&fitted),
        });
        report.insert((*name).to_owned(), entry);
    }
    if as_json {
        print_line(Json::Object(report))?;
    }
    Ok(())
}

/// How well probabilities fit what is right.
struct DecisionQuality {
    accuracy: f64,
    /// Mean over examples of the squared differences from what is right, summed over the labels.
    brier: f64,
    /// Mean negative logarithm of the probability of what is right.
    loss: f64,
}

fn measured(examples: &AnsweredExamples, temperature: f64) -> DecisionQuality {
    let mut quality = DecisionQuality { accuracy: 0.0, brier: 0.0, loss: 0.0 };
    for (probabilities, right) in examples {
        let powers: Vec<f64> = probabilities.iter().map(|probability| probability.powf(1.0 / temperature)).collect();
        let sum: f64 = powers.iter().sum();
        let scaled: Vec<f64> = powers.iter().map(|power| power / sum).collect();
        let is_best = scaled.iter().all(|probability| *probability <= scaled[*right]);
        quality.accuracy += if is_best { 1.0 } else { 0.0 };
        let difference =
            |(at, probability): (usize, &f64)| (probability - if at == *right { 1.0 } else { 0.0 }).powi(2);
        quality.brier += scaled.iter().enumerate().map(difference).sum::<f64>();
        quality.loss -= scaled[*right].max(1e-12).ln();
    }
    let n_examples = examples.len() as f64;
    DecisionQuality {
        accuracy: quality.accuracy / n_examples,
        brier: quality.brier / n_examples,
        loss: quality.loss / n_examples,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quality_is_measured_at_a_temperature() {
        let examples = vec![(vec![0.8, 0.2], 0), (vec![0.8, 0.2], 1)];
        let plain = measured(&examples, 1.0);
        assert!((plain.accuracy - 0.5).abs() < 1e-12 && (plain.brier - (0.08 + 1.28) / 2.0).abs() < 1e-12);
        let flat = measured(&examples, 1e6);
        assert!((flat.loss - 2f64.ln()).abs() < 1e-4);
    }

    #[test]
    fn an_example_names_what_is_right() {
        let line =
            |question: &str, answer: &str| format!(r#"{{"state": "x", "question": {question}, "answer": {answer}}}"#);
        let noul = r#"{"type": "noul", "instructions": "?"}"#;
        let choice = r#"{"type": "choice", "instructions": "?", "criteria": {"a": null, "b": null}}"#;
        assert_eq!(example(&line(noul, "false")).map(|example| example.right), Ok(1));
        assert_eq!(example(&line(choice, r#""b""#)).map(|example| example.right), Ok(1));
        assert!(example(&line(choice, r#""c""#)).is_err_and(|rule| rule.starts_with("answer must be")));
    }
}
