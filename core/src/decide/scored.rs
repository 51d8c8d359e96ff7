//! Decisions of models that score options: each question is read with the whole state in both directions, so that nothing is shared.

use crate::decide::answer::{DecisionAnswer, DecisionOutcome, DecisionUsage, Decisions};
use crate::decide::beside::WantedModel;
use crate::decide::options::DecisionOptions;
use crate::decide::question::{DecisionKind, DecisionLabel, DecisionQuestion};
use crate::decide::reading::unread;
use crate::decide::rotations::{orders, rotations};
use crate::decide::state::{DecisionState, text_of};
use crate::engine::LoadedModel;
use crate::error::{ErrorKind, Result, SdkError};
use crate::message::ChatMessageContent;
use crate::prompt::{OptionEncoder, OptionTexts};

/// A question whose texts are encoded.
struct EncodedQuestion {
    /// Its place among the questions, for errors.
    place: String,
    type_name: &'static str,
    instructions: Vec<u32>,
    options: Vec<Vec<u32>>,
}

/// Decides questions.
///
/// # Errors
/// Errors of `model`, before each sequence; [`ErrorKind::UnsupportedContent`], [`ErrorKind::PromptExceedsContext`], and errors of
/// the network.
pub(crate) fn decide(
    model: WantedModel<'_>,
    (state, questions): (&DecisionState, &[DecisionQuestion]),
    options: &DecisionOptions,
) -> Result<Decisions> {
    check_text(&state.content)?;
    let state = encoded(&*model()?, |encoder| encoder.text(&state.one_line()))?;
    let mut answers = Vec::new();
    let mut usage = DecisionUsage::default();
    for (at, question) in questions.iter().enumerate() {
        let place = format!("questions[{at}]");
        let encoded = EncodedQuestion::new(&*model()?, question, &place).map_err(|err| err.at(&place))?;
        let n_orders = rotations(question, options.n_rotations(true));
        let mut scores = scores(model, (&state, &encoded), n_orders, &mut usage)?;
        if matches!(question.kind, DecisionKind::Predicate(_)) {
            scores.reverse(); // the sequence has no before yes
        }
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
    model: WantedModel<'_>,
    (state, question): (&[u32], &EncodedQuestion),
    n_orders: usize,
    usage: &mut DecisionUsage,
) -> Result<Vec<f64>> {
    let EncodedQuestion { place, type_name, instructions, options } = question;
    let mut sums = vec![0.0; options.len()];
    let mut temperature = 1.0;
    for order in orders(options.len(), n_orders) {
        let loaded = model()?;
        let decider = loaded.decider.as_ref().ok_or_else(unread)?;
        let options: Vec<&[u32]> = order.iter().map(|at| &options[*at][..]).collect();
        let texts = OptionTexts { state, question: instructions, options: &options };
        let sequence = decider.tokens.sequence(&texts, loaded.context_size).map_err(|err| err.at(place))?;
        usage.input_tokens += sequence.ids.len();
        let scores = decider.scores(&sequence.ids, type_name, &sequence.marks)?;
        order.iter().zip(scores).for_each(|(at, score)| sums[*at] += f64::from(score));
        temperature = decider.temperatures.of(type_name, sums.len());
    }
    let divisor = temperature * n_orders as f64;
    sums.iter_mut().for_each(|sum| *sum /= divisor);
    Ok(sums)
}

impl EncodedQuestion {
    fn new(loaded: &LoadedModel, question: &DecisionQuestion, place: &str) -> Result<Self> {
        check_text(&question.instructions)?;
        let (type_name, options) = option_texts(question);
        let instructions = encoded(loaded, |encoder| encoder.text(&text_of(&question.instructions)))?;
        let options = encoded(loaded, |encoder| options.iter().map(|option| encoder.option(option)).collect())?;
        Ok(Self { place: place.to_owned(), type_name, instructions, options })
    }
}

/// What an encoder gives that takes no more of a text than a sequence can hold.
fn encoded<T>(loaded: &LoadedModel, encode: impl FnOnce(&OptionEncoder<'_>) -> Result<T>) -> Result<T> {
    let encode_plain = |text: &str| loaded.tokenizer.encode_plain(text);
    encode(&OptionEncoder::new(&encode_plain, loaded.tokenizer.most_bytes(loaded.context_size + 1)))
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
