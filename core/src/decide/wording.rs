//! The text of a question: for decision models as they were trained, for chat models as it was measured to work (docs/decisions.md).

use crate::decide::labels::Label;
use crate::decide::question::{DecisionCriteria, DecisionKind, DecisionLabel, DecisionQuestion};
use crate::decide::state::push_text;
use crate::message::ChatMessageContent;
use crate::prompt::DecisionOption;

/// What stands between a state and a question.
pub(super) const SEPARATOR: &str = "\n\n\nQUESTION:\n";

/// A question with the codes of its answers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WordedQuestion {
    /// The name of its type in templates of decision models.
    pub(super) type_name: &'static str,
    /// The question alone.
    pub(super) instructions: Vec<ChatMessageContent>,
    /// The question with all that says how to answer it.
    pub(super) content: Vec<ChatMessageContent>,
    /// The answers, as templates of decision models show them.
    pub(super) options: Vec<DecisionOption>,
}

impl WordedQuestion {
    /// A question whose labels are shown in this order, each with the code at its place.
    pub(super) fn new(question: &DecisionQuestion, labels: &[Label], order: &[usize], is_decision_model: bool) -> Self {
        let instructions = trimmed(&question.instructions);
        let mut content = instructions.clone();
        let (type_name, text, options) = match &question.kind {
            DecisionKind::Predicate(criteria) => {
                let request =
                    if is_decision_model { "Reply with yes or no only." } else { "Answer with yes or no only." };
                ("noul", format!("{}\n\n{request}", criteria_lines(criteria)), criteria_options(criteria))
            }
            DecisionKind::Choice(choices) => {
                let shown: Vec<(&str, &DecisionLabel)> =
                    labels.iter().zip(order).map(|(label, at)| (label.code.as_str(), &choices[*at])).collect();
                let text = if is_decision_model { trained_choices(&shown) } else { chat_choices(&shown) };
                ("choice", text, options(&shown))
            }
            DecisionKind::Score(levels) => {
                let shown: Vec<(&str, &DecisionLabel)> =
                    labels.iter().zip(levels).map(|(label, level)| (label.code.as_str(), level)).collect();
                ("score", levels_text(&shown, is_decision_model), options(&shown))
            }
        };
        // Criteria alone may say what is asked.
        let is_bare = content.iter().all(|part| matches!(part, ChatMessageContent::Text(text) if text.is_empty()));
        push_text(&mut content, if is_bare { text.trim_start() } else { &text });
        Self { type_name, instructions, content, options }
    }
}

/// The instructions without white space around them, which could merge with the text before them.
fn trimmed(instructions: &[ChatMessageContent]) -> Vec<ChatMessageContent> {
    let mut trimmed = instructions.to_vec();
    if let Some(ChatMessageContent::Text(text)) = trimmed.first_mut() {
        *text = text.trim_start().to_owned();
    }
    if let Some(ChatMessageContent::Text(text)) = trimmed.last_mut() {
        *text = text.trim_end().to_owned();
    }
    trimmed
}

fn criteria_lines(criteria: &DecisionCriteria) -> String {
    let line = |criterion: &Option<String>| criterion.clone().unwrap_or_else(|| "None".to_owned());
    match criteria {
        DecisionCriteria { yes: None, no: None } => String::new(),
        DecisionCriteria { yes, no } => format!("\nYes: {}\nNo: {}", line(yes), line(no)),
    }
}

fn criteria_options(criteria: &DecisionCriteria) -> Vec<DecisionOption> {
    let option = |key: &str, description: &Option<String>| DecisionOption {
        key: key.to_owned(),
        description: description.clone(),
        label: key.to_owned(),
    };
    vec![option("yes", &criteria.yes), option("no", &criteria.no)]
}

fn options(shown: &[(&str, &DecisionLabel)]) -> Vec<DecisionOption> {
    let option = |(code, label): &(&str, &DecisionLabel)| DecisionOption {
        key: (*code).to_owned(),
        description: label.description.clone(),
        label: label.label.clone(),
    };
    shown.iter().map(option).collect()
}

/// A label with its description.
fn described(label: &DecisionLabel) -> String {
    match &label.description {
        Some(description) => format!("{}: {description}", label.label),
        None => label.label.clone(),
    }
}

fn trained_choices(shown: &[(&str, &DecisionLabel)]) -> String {
    let text = |label: &DecisionLabel| label.description.clone().unwrap_or_else(|| label.label.replace('_', " "));
    let lines: Vec<String> = shown.iter().map(|(code, label)| format!("{code} {}", text(label))).collect();
    format!("\n\nOptions:\n{}\n\nReply with the option code only.", lines.join("\n"))
}

fn chat_choices(shown: &[(&str, &DecisionLabel)]) -> String {
    let lines: Vec<String> = shown.iter().map(|(code, label)| format!("{code}. {}", described(label))).collect();
    let code = if shown.iter().all(|(code, _)| code.len() == 1) { "letter" } else { "code" };
    format!("\n\n{}\n\nAnswer with the {code} of the right option only.", lines.join("\n"))
}

fn levels_text(shown: &[(&str, &DecisionLabel)], is_decision_model: bool) -> String {
    let lines: Vec<String> = shown.iter().map(|(code, level)| format!("{code} {}", described(level))).collect();
    let [first, last] = [shown.first(), shown.last()].map(|level| level.map_or("", |(code, _)| *code));
    let request = match is_decision_model {
        true if shown.len() <= 10 => format!("Reply with a single digit {first}-{last} only."),
        true => format!("Reply with a number {first}-{last} only."),
        false => format!("Answer with a number from {first} to {last} only."),
    };
    format!("\n\n{}\n\n{request}", lines.join("\n"))
}
