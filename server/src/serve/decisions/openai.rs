//! `POST /v1/decisions`, as the clients of OpenAI send it.

use std::collections::HashSet;
use std::sync::Arc;

use causerie::{
    DecisionAnswer, DecisionCriteria, DecisionKind, DecisionLabel, DecisionOutcome, DecisionQuestion, Decisions,
    LabelProbability,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::serve::decisions::input::read_input;
use crate::serve::decisions::parts::{PartKinds, read_content};
use crate::serve::decisions::request::{DecisionRequest, ReadingFields};
use crate::serve::error::HttpError;
use crate::serve::models;
use crate::serve::request::fields::{RequestFields, read_value};
use crate::serve::request::{RequestNotes, must_be, schema};
use crate::serve::service::Service;

const MAX_QUESTIONS: usize = 400;
const MAX_CHOICES: usize = 255;
const MAX_LEVELS: usize = 100;

/// The fields of a request.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::serve) struct OpenAiDecisionFields {
    /// The id of the model served. Other ids are answered by the same model, unless the server is strict.
    model: Option<String>,
    /// What the questions are about.
    #[schemars(with = "schema::DecisionInputSchema")]
    input: Json,
    /// 1 to 400 questions, which are answered in their order.
    #[schemars(with = "schema::DecisionQuestionsSchema")]
    questions: Vec<Json>,
    /// No effect: what requests have in common is always kept for later ones.
    #[serde(rename = "prompt_cache_key")]
    _prompt_cache_key: Option<String>,
    /// No effect.
    #[serde(rename = "prompt_cache_options")]
    #[schemars(with = "Option<schema::CacheOptionsSchema>")]
    prompt_cache_options: Option<Json>,
    /// No effect.
    #[serde(rename = "safety_identifier")]
    _safety_identifier: Option<String>,
}

#[derive(Debug, Deserialize)]
struct CommonQuestion {
    #[serde(rename = "type")]
    kind: QuestionType,
    instructions: Json,
    name: Option<String>,
    choices: Option<Vec<ChoiceItem>>,
    levels: Option<Vec<LevelItem>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum QuestionType {
    Predicate,
    Choice,
    Score,
}

#[derive(Debug, Deserialize)]
struct ChoiceItem {
    value: Json,
    description: Option<String>,
}

#[derive(Debug, Deserialize)]
struct LevelItem {
    label: String,
    description: Option<String>,
}

/// Reads a request and prepares its answer.
pub(in crate::serve) fn read(service: &Arc<Service>, mut fields: RequestFields) -> Result<DecisionRequest, HttpError> {
    if fields.peek("state").is_some() {
        let message =
            "state must be left out: this path takes input and an array of questions; /v1/systemone takes state";
        return Err(HttpError::unsupported("state", message));
    }
    let reading: ReadingFields = fields.read()?;
    let read: OpenAiDecisionFields = fields.read()?;
    let is_other_model = models::check(service, read.model.as_deref())?;
    service.runner()?;
    if let Some(options) = read.prompt_cache_options.filter(|options| !options.is_object()) {
        let message = format!("prompt_cache_options {}", must_be("an object", &options));
        return Err(HttpError::value("prompt_cache_options", message));
    }
    let n_questions = read.questions.len();
    if !(1..=MAX_QUESTIONS).contains(&n_questions) {
        let message = format!("questions must have 1 to {MAX_QUESTIONS} entries, found {n_questions}");
        return Err(HttpError::value("questions", message));
    }
    let (mut questions, mut values) = (Vec::new(), Vec::new());
    for (at, question) in read.questions.into_iter().enumerate() {
        let (question, of_question) = read_question(&format!("questions[{at}]"), question)?;
        questions.push(question);
        values.push(of_question);
    }
    Ok(DecisionRequest {
        service: Arc::clone(service),
        state: read_input(read.input)?,
        questions,
        options: reading.options()?,
        notes: RequestNotes { is_other_model, ignored: fields.into_ignored(service.settings.strict_fields)? },
        write: Box::new(move |decisions, model| written(decisions, &values, model)),
    })
}

/// A question, and the values of its choices.
fn read_question(place: &str, question: Json) -> Result<(DecisionQuestion, Vec<Json>), HttpError> {
    let question: CommonQuestion = read_value(place, question)?;
    let instructions = read_content(&format!("{place}.instructions"), question.instructions, PartKinds::All)?;
    let (kind, values) = match question.kind {
        QuestionType::Predicate => (DecisionKind::Predicate(DecisionCriteria::default()), Vec::new()),
        QuestionType::Choice => {
            let choices = counted(place, "choices", question.choices, 2, MAX_CHOICES)?;
            let (labels, values) = read_choices(place, choices)?;
            (DecisionKind::Choice(labels), values)
        }
        QuestionType::Score => {
            let levels = counted(place, "levels", question.levels, 2, MAX_LEVELS)?;
            let label = |level: LevelItem| DecisionLabel { label: level.label, description: level.description };
            (DecisionKind::Score(levels.into_iter().map(label).collect()), Vec::new())
        }
    };
    Ok((DecisionQuestion { instructions, name: question.name, ..with_kind(kind) }, values))
}

fn with_kind(kind: DecisionKind) -> DecisionQuestion {
    DecisionQuestion { kind, ..DecisionQuestion::predicate("") }
}

fn counted<T>(place: &str, name: &str, items: Option<Vec<T>>, least: usize, most: usize) -> Result<Vec<T>, HttpError> {
    let Some(items) = items else { return Err(HttpError::value(place, format!("{place}.{name} is required"))) };
    if (least..=most).contains(&items.len()) {
        return Ok(items);
    }
    let message = format!("{place}.{name} must have {least} to {most} entries, found {}", items.len());
    Err(HttpError::value(place, message))
}

/// Choices are strings and booleans; `"true"` and `true` are two of them.
fn read_choices(place: &str, choices: Vec<ChoiceItem>) -> Result<(Vec<DecisionLabel>, Vec<Json>), HttpError> {
    let (mut labels, mut values, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    for (at, ChoiceItem { value, description }) in choices.into_iter().enumerate() {
        let place = format!("{place}.choices[{at}].value");
        let label = match &value {
            Json::String(text) => text.clone(),
            Json::Bool(flag) => flag.to_string(),
            other => {
                let message = format!("{place} {}", must_be("a string or a boolean", other));
                return Err(HttpError::value(&place, message));
            }
        };
        if !seen.insert(value.to_string()) {
            return Err(HttpError::value(&place, format!("{place} must differ from the other choices, found {value}")));
        }
        labels.push(DecisionLabel { label, description });
        values.push(value);
    }
    Ok((labels, values))
}

fn written(decisions: &Decisions, values: &[Vec<Json>], model: &str) -> Json {
    let answers = decisions.answers.iter().zip(values).map(|(answer, values)| write_answer(answer, values));
    let usage = decisions.usage;
    json!({
        "answers": answers.collect::<Vec<_>>(),
        "model": model,
        "usage": {
            "input_tokens": usage.input_tokens,
            "input_tokens_details": { "cached_tokens": usage.cached_tokens, "cache_write_tokens": 0 },
            "output_tokens": 0,
            "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": usage.input_tokens,
        },
    })
}

fn write_answer(answer: &DecisionAnswer, values: &[Json]) -> Json {
    let mut written = match &answer.outcome {
        _ if !answer.is_answered => json!({ "type": "refusal" }),
        DecisionOutcome::Predicate { probability } => json!({ "type": "predicate", "probability": probability }),
        DecisionOutcome::Choice { index, confidence, probabilities, .. } => {
            let with_value = |(value, label): (&Json, &LabelProbability)| json!({ "value": value, "probability": label.probability });
            let probabilities: Vec<Json> = values.iter().zip(probabilities).map(with_value).collect();
            json!({
                "type": "choice",
                "choice": values.get(*index),
                "confidence": confidence,
                "probabilities": probabilities,
            })
        }
        DecisionOutcome::Score { score, confidence, probabilities } => {
            let with_value = |(value, label): (usize, &LabelProbability)| json!({ "label": label.label, "value": value, "probability": label.probability });
            let probabilities: Vec<Json> = probabilities.iter().enumerate().map(with_value).collect();
            json!({ "type": "score", "score": score, "confidence": confidence, "probabilities": probabilities })
        }
    };
    written["name"] = json!(answer.name);
    written["label_probability"] = json!(answer.label_probability);
    written
}
