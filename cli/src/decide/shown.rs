//! Decisions as text and as JSON.

use std::fmt::Write;

use causerie::{DecisionAnswer, DecisionOutcome, DecisionQuestion, Decisions, LabelProbability};
use serde_json::{Value as Json, json};

/// Characters of a bar for a probability of 1.
const WIDTH: usize = 24;
/// Characters of a label at most.
const MAX_LABEL: usize = 40;

/// The answers, each with a bar for every label.
pub(super) fn bars(questions: &[DecisionQuestion], decisions: &Decisions) -> String {
    let mut text = String::new();
    for (question, answer) in questions.iter().zip(&decisions.answers) {
        let name = question.name.as_deref().map(|name| format!("{name}: ")).unwrap_or_default();
        let _ = writeln!(text, "{name}{}", headline(answer)); // into a string
        let rows = rows(&answer.outcome);
        let width = rows.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
        for (label, probability) in rows {
            let _ = writeln!(text, "  {label:<width$}  {probability:.3}  {}", bar(probability)); // into a string
        }
    }
    text
}

fn headline(answer: &DecisionAnswer) -> String {
    let answered = match &answer.outcome {
        DecisionOutcome::Predicate { probability } => (if 0.5 <= *probability { "yes" } else { "no" }).to_owned(),
        DecisionOutcome::Choice { choice, confidence, .. } => format!("{choice} (confidence {confidence:.2})"),
        DecisionOutcome::Score { score, confidence, .. } => format!("{score:.2} (confidence {confidence:.2})"),
    };
    match answer.is_answered {
        true => answered,
        false => format!("not answered: all labels together have a probability of {:.1e}", answer.label_probability),
    }
}

fn rows(outcome: &DecisionOutcome) -> Vec<(String, f64)> {
    let row = |label: &LabelProbability| (shortened(&label.label), label.probability);
    match outcome {
        DecisionOutcome::Predicate { probability } => {
            vec![("yes".to_owned(), *probability), ("no".to_owned(), 1.0 - probability)]
        }
        DecisionOutcome::Choice { probabilities, .. } => probabilities.iter().map(row).collect(),
        DecisionOutcome::Score { probabilities, .. } => {
            let numbered = |(level, label): (usize, &LabelProbability)| {
                (format!("{level} {}", shortened(&label.label)), label.probability)
            };
            probabilities.iter().enumerate().map(numbered).collect()
        }
    }
}

fn shortened(label: &str) -> String {
    match label.char_indices().nth(MAX_LABEL) {
        Some((end, _)) => format!("{}…", &label[..end]),
        None => label.to_owned(),
    }
}

/// A bar, in eighths of a character.
fn bar(probability: f64) -> String {
    let eighths = (probability.clamp(0.0, 1.0) * 8.0 * WIDTH as f64).round() as usize; // at most 8 * WIDTH
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    format!("{}{rest}", "█".repeat(eighths / 8))
}

/// The answers as one object.
pub(super) fn json(decisions: &Decisions) -> Json {
    let usage = decisions.usage;
    json!({
        "answers": decisions.answers.iter().map(answer).collect::<Vec<_>>(),
        "usage": { "input_tokens": usage.input_tokens, "cached_tokens": usage.cached_tokens },
    })
}

fn answer(answer: &DecisionAnswer) -> Json {
    let labelled = |probabilities: &[LabelProbability]| -> Vec<Json> {
        let entry = |label: &LabelProbability| json!({ "label": label.label, "probability": label.probability });
        probabilities.iter().map(entry).collect()
    };
    let mut json = match &answer.outcome {
        DecisionOutcome::Predicate { probability } => json!({ "type": "predicate", "probability": probability }),
        DecisionOutcome::Choice { choice, confidence, probabilities, .. } => json!({
            "type": "choice",
            "choice": choice,
            "confidence": confidence,
            "probabilities": labelled(probabilities),
        }),
        DecisionOutcome::Score { score, confidence, probabilities } => json!({
            "type": "score",
            "score": score,
            "confidence": confidence,
            "probabilities": labelled(probabilities),
        }),
    };
    json["name"] = json!(answer.name);
    json["label_probability"] = json!(answer.label_probability);
    json["answered"] = json!(answer.is_answered);
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_probabilities() {
        assert_eq!([0.0, 0.5, 1.0].map(|probability| bar(probability).chars().count()), [0, 12, 24]);
        assert_eq!(bar(0.52), format!("{}▌", "█".repeat(12)));
    }
}
