//! `POST /v1/systemone`: the other form of decisions, with named questions.

use std::sync::Arc;

use causerie::{
    DecisionAnswer, DecisionCriteria, DecisionKind, DecisionLabel, DecisionOutcome, DecisionQuestion, DecisionState,
    Decisions, LabelProbability, Value,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use crate::serve::decisions::parts::indented;
use crate::serve::decisions::request::{DecisionRequest, ReadingFields};
use crate::serve::error::HttpError;
use crate::serve::models;
use crate::serve::request::fields::{RequestFields, read_value};
use crate::serve::request::{RequestNotes, must_be, schema};
use crate::serve::service::Service;

const MAX_QUESTIONS: usize = 400;
const MAX_CHOICES: usize = 255;
const MAX_LEVELS: usize = 10;

/// The fields of a request.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::serve) struct SystemOneFields {
    /// The id of the model served. Other ids are answered by the same model, unless the server is strict.
    model: Option<String>,
    /// What the questions are about: text, or JSON; null for questions that speak for themselves.
    #[schemars(with = "schema::SystemOneStateSchema")]
    state: Json,
    /// The questions by their names, which are answered in their order.
    #[schemars(with = "schema::SystemOneQuestionsSchema")]
    questions: Json,
}

#[derive(Debug, Deserialize)]
struct NamedQuestion {
    #[serde(rename = "type")]
    kind: String,
    /// Optional where criteria say what is asked.
    instructions: Option<Json>,
    criteria: Option<Json>,
}

/// Reads a request and prepares its answer.
pub(in crate::serve) fn read(service: &Arc<Service>, mut fields: RequestFields) -> Result<DecisionRequest, HttpError> {
    for name in ["assets", "images", "files", "audio"] {
        fields.refuse(name, |value| {
            value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(Map::is_empty)
        })?;
    }
    if fields.is_null("state") {
        fields.replace("state", Json::String(String::new()));
    }
    let reading: ReadingFields = fields.read()?;
    let read: SystemOneFields = fields.read()?;
    let is_other_model = models::check(service, read.model.as_deref())?;
    service.runner()?;
    if !(read.state.is_string() || read.state.is_object() || read.state.is_array()) {
        let message = format!("state {}", must_be("a string, an object or an array", &read.state));
        return Err(HttpError::value("state", message));
    }
    let Json::Object(questions) = read.questions else {
        let message = format!("questions {}", must_be("an object of questions by their names", &read.questions));
        return Err(HttpError::value("questions", message));
    };
    if !(1..=MAX_QUESTIONS).contains(&questions.len()) {
        let message = format!("questions must have 1 to {MAX_QUESTIONS} entries, found {}", questions.len());
        return Err(HttpError::value("questions", message));
    }
    let question = |(name, question): (String, Json)| -> Result<DecisionQuestion, HttpError> {
        Ok(read_question(&format!("questions.{name}"), question)?.named(name))
    };
    let questions = questions.into_iter().map(question);
    Ok(DecisionRequest {
        service: Arc::clone(service),
        state: DecisionState::from(Value::from(read.state)),
        questions: questions.collect::<Result<_, _>>()?,
        options: reading.options()?,
        notes: RequestNotes { is_other_model, ignored: fields.into_ignored(service.settings.strict_fields)? },
        write: Box::new(written),
    })
}

/// Reads a question in the form of `/v1/systemone`, for programs that have such questions from elsewhere. `place` names it in errors.
///
/// # Errors
/// A sentence that says what the question must have.
pub fn decision_question(place: &str, question: Json) -> Result<DecisionQuestion, String> {
    read_question(place, question).map_err(HttpError::into_message)
}

fn read_question(place: &str, question: Json) -> Result<DecisionQuestion, HttpError> {
    let refused = |rule: String| HttpError::value("questions", format!("{place}: {rule}"));
    let question: NamedQuestion = read_value(place, question)?;
    let criteria = question.criteria.unwrap_or_default();
    let says_nothing = criteria.as_object().is_none_or(|criteria| criteria.values().all(Json::is_null));
    if question.instructions.is_none() && question.kind == "noul" && says_nothing {
        return Err(refused("instructions are required without criteria".to_owned()));
    }
    let kind = match (question.kind.as_str(), criteria) {
        ("noul", Json::Null) => DecisionKind::Predicate(DecisionCriteria::default()),
        ("noul", Json::Object(criteria)) => {
            if let Some(name) = criteria.keys().find(|name| !["true", "false"].contains(&name.as_str())) {
                return Err(refused(format!("criteria must be named true and false, found {name:?}")));
            }
            let criterion = |name: &str| criteria.get(name).and_then(text);
            DecisionKind::Predicate(DecisionCriteria { yes: criterion("true"), no: criterion("false") })
        }
        ("choice", Json::Object(criteria)) if (1..=MAX_CHOICES).contains(&criteria.len()) => {
            let label = |(label, description): (String, Json)| DecisionLabel { label, description: text(&description) };
            DecisionKind::Choice(criteria.into_iter().map(label).collect())
        }
        ("score", Json::Array(criteria)) if (2..=MAX_LEVELS).contains(&criteria.len()) => {
            DecisionKind::Score(criteria.iter().map(|level| text(level).unwrap_or_default().into()).collect())
        }
        ("noul", other) => return Err(refused(format!("criteria {}", must_be("an object", &other)))),
        ("choice", other) => {
            return Err(refused(format!("criteria {}", must_be("an object of 1 to 255 labels", &other))));
        }
        ("score", other) => {
            return Err(refused(format!("criteria {}", must_be("an array of 2 to 10 descriptions", &other))));
        }
        (other, _) => return Err(refused(format!("type must be noul, choice or score, found {other:?}"))),
    };
    let instructions = match question.instructions {
        None => String::new(),
        Some(Json::String(text)) => text,
        Some(json @ (Json::Object(_) | Json::Array(_))) => indented(&json),
        Some(other) => {
            return Err(refused(format!("instructions {}", must_be("a string, an object or an array", &other))));
        }
    };
    Ok(DecisionQuestion { kind, ..DecisionQuestion::predicate(instructions) })
}

/// A description: text, or JSON.
fn text(json: &Json) -> Option<String> {
    match json {
        Json::Null => None,
        Json::String(text) => Some(text.clone()),
        json => Some(Value::from(json.clone()).to_string()),
    }
}

/// A question that the model did not answer has no answer here: this form has no other way to say so.
fn written(decisions: &Decisions, model: &str) -> Json {
    let mut answers = Map::new();
    for answer in decisions.answers.iter().filter(|answer| answer.is_answered) {
        answers.insert(answer.name.clone().unwrap_or_default(), write_answer(answer));
    }
    let unanswered = decisions.answers.iter().filter(|answer| !answer.is_answered);
    let unanswered: Vec<&Option<String>> = unanswered.map(|answer| &answer.name).collect();
    json!({
        "model": model,
        "answers": answers,
        "unanswered": unanswered,
        "usage": { "input_tokens": decisions.usage.input_tokens, "output_tokens": 0 },
    })
}

fn write_answer(answer: &DecisionAnswer) -> Json {
    let by_label = |probabilities: &[LabelProbability]| -> Map<String, Json> {
        probabilities.iter().map(|label| (label.label.clone(), json!(label.probability))).collect()
    };
    let mut written = match &answer.outcome {
        DecisionOutcome::Predicate { probability } => json!({ "type": "noul", "noul": probability }),
        DecisionOutcome::Choice { choice, confidence, probabilities, .. } => json!({
            "type": "choice",
            "choice": choice,
            "confidence": confidence,
            "probabilities": by_label(probabilities),
        }),
        DecisionOutcome::Score { score, confidence, probabilities } => {
            let levels = || probabilities.iter().enumerate().map(|(value, level)| (value.to_string(), level));
            let legend: Map<String, Json> = levels().map(|(value, level)| (value, json!(level.label))).collect();
            let by_value: Map<String, Json> =
                levels().map(|(value, level)| (value, json!(level.probability))).collect();
            json!({
                "type": "score",
                "score": score,
                "confidence": confidence,
                "legend": legend,
                "probabilities": by_value,
            })
        }
    };
    written["label_probability"] = json!(answer.label_probability);
    written
}
