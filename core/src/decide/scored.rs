//! Decisions of models that score options: each question is read with the whole state in both directions, so that nothing is shared.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::decide::answer::{DecisionAnswer, DecisionOutcome, DecisionUsage, Decisions};
use crate::decide::options::DecisionOptions;
use crate::decide::question::{DecisionKind, DecisionLabel, DecisionQuestion};
use crate::decide::rotations::{orders, rotations};
use crate::decide::state::{DecisionState, text_of};
use crate::engine::{LoadedModel, OptionDecider};
use crate::error::{ErrorKind, Result, SdkError};
use crate::message::ChatMessageContent;
use crate::prompt::{OptionSequence, OptionTexts};

/// Decides questions, until `is_cancelled` is set.
pub(super) fn decide(
    loaded: &LoadedModel,
    decider: &OptionDecider,
    (state, questions): (&DecisionState, &[DecisionQuestion]),
    options: &DecisionOptions,
    is_cancelled: &AtomicBool,
) -> Result<Decisions> {
    check_text(&state.content)?;
    let state = state.one_line();
    let mut answers = Vec::new();
    let mut usage = DecisionUsage::default();
    for (at, question) in questions.iter().enumerate() {
        if is_cancelled.load(Ordering::Relaxed) {
            return Err(SdkError::new(ErrorKind::Generation, "the decision was cancelled"));
        }
        let scores = scores(loaded, decider, (&state, question), options.n_rotations(true), &mut usage);
        let scores = scores.map_err(|err| err.at(&format!("questions[{at}]")))?;
        let outcome = DecisionOutcome::new(question, &scores, options.temperature.of(&question.kind));
        // The model has no other answers than these.
        answers.push(DecisionAnswer {
            name: question.name.clone(),
            outcome,
            label_probability: 1.0,
            is_answered: true,
        });
    }
    Ok(Decisions { answers, usage })
}

/// The scores of a question's answers in their order, divided by the temperature of the files.
fn scores(
    loaded: &LoadedModel,
    decider: &OptionDecider,
    (state, question): (&str, &DecisionQuestion),
    n_rotations: usize,
    usage: &mut DecisionUsage,
) -> Result<Vec<f64>> {
    check_text(&question.instructions)?;
    let (type_name, texts) = option_texts(question);
    let instructions = text_of(&question.instructions);
    let n_orders = rotations(question, n_rotations);
    let mut sums = vec![0.0; texts.len()];
    for order in orders(texts.len(), n_orders) {
        let options: Vec<String> = order.iter().map(|at| texts[*at].clone()).collect();
        let texts = OptionTexts { state, question: &instructions, options: &options };
        let OptionSequence { ids, marks } =
            decider.tokens.sequence(&|text| loaded.tokenizer.encode_plain(text), &texts, loaded.context_size)?;
        usage.input_tokens += ids.len();
        let scores = decider.scores(&ids, type_name, &marks)?;
        order.iter().zip(scores).for_each(|(at, score)| sums[*at] += f64::from(score));
    }
    let divisor = decider.temperatures.of(type_name, texts.len()) * n_orders as f64;
    sums.iter_mut().for_each(|sum| *sum /= divisor);
    if matches!(question.kind, DecisionKind::Predicate(_)) {
        sums.reverse(); // the sequence has no before yes
    }
    Ok(sums)
}

/// The type of a question and the texts of its options, in the order and the words that the models were trained on.
pub(super) fn option_texts(question: &DecisionQuestion) -> (&'static str, Vec<String>) {
    let described = |label: &DecisionLabel| match &label.description {
        Some(description) => format!("{}: {description}", label.label),
        None => label.label.clone(),
    };
    match &question.kind {
        DecisionKind::Predicate(criteria) => {
            let option = |name: &str, criterion: &Option<String>, default: &str| {
                format!("{name}: {}", criterion.as_deref().unwrap_or(default))
            };
            let no = option("false", &criteria.no, "no, the statement does not hold");
            ("noul", vec![no, option("true", &criteria.yes, "yes, the statement holds")])
        }
        DecisionKind::Choice(choices) => ("choice", choices.iter().map(described).collect()),
        DecisionKind::Score(levels) => {
            let numbered = |(at, level)| format!("level {at}: {}", described(level));
            ("score", levels.iter().enumerate().map(numbered).collect())
        }
    }
}

/// # Errors
/// [`ErrorKind::UnsupportedContent`] for images and sound.
fn check_text(content: &[ChatMessageContent]) -> Result<()> {
    match content.iter().all(|part| matches!(part, ChatMessageContent::Text(_))) {
        true => Ok(()),
        false => Err(SdkError::new(
            ErrorKind::UnsupportedContent,
            "images and sound are not supported with decision models of this type",
        )),
    }
}
