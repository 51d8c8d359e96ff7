//! What both forms of requests become, and how it is answered.

use std::sync::Arc;

use causerie::{
    DecisionOptions, DecisionQuestion, DecisionState, DecisionTemperatures, Decisions, ErrorKind, SdkError,
};
use hyper::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::serve::budget::BodyShare;
use crate::serve::error::HttpError;
use crate::serve::http::{ResponseBody, json_response};
use crate::serve::metrics::GenerationTimer;
use crate::serve::request::types::Integer;
use crate::serve::request::{RequestNotes, must_be, schema};
use crate::serve::service::Service;

/// How answers are read: fields of our own, which both forms have.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::serve) struct ReadingFields {
    /// Divides the log-probabilities of answers: below 1, they are more certain. A number, or one for each kind of question.
    #[schemars(with = "Option<schema::DecisionTemperatureSchema>")]
    temperature: Option<Json>,
    /// Orders in which the choices of a question are shown, and over which their log-probabilities are averaged. Default 2, and 1 for
    /// decision models.
    rotations: Option<Integer<1, 255>>,
    /// The least probability of all labels together; below it, the model did not answer. Default 0.1, and 0 for decision models.
    #[schemars(range(min = 0, max = 1))]
    min_label_probability: Option<f64>,
}

impl ReadingFields {
    pub(super) fn options(&self) -> Result<DecisionOptions, HttpError> {
        let options = DecisionOptions {
            temperature: self.temperature.as_ref().map_or_else(|| Ok(DecisionTemperatures::default()), temperatures)?,
            rotations: self.rotations.map(Integer::count),
            min_label_probability: self.min_label_probability,
        };
        options.check().map_err(|err| HttpError::from_engine(&err))?;
        Ok(options)
    }
}

/// A temperature for all questions, or an object of temperatures by the kinds of questions, as either form names them.
fn temperatures(json: &Json) -> Result<DecisionTemperatures, HttpError> {
    let number = |place: &str, json: &Json| {
        let wrong = || HttpError::value("temperature", format!("{place} {}", must_be("a number", json)));
        json.as_f64().ok_or_else(wrong)
    };
    let Json::Object(kinds) = json else {
        let one = number("temperature", json)?;
        return Ok(DecisionTemperatures { predicate: one, choice: one, score: one });
    };
    if kinds.contains_key("predicate") && kinds.contains_key("noul") {
        let message = "temperature must have predicate or noul, found both: they are the same kind";
        return Err(HttpError::value("temperature", message));
    }
    let mut temperatures = DecisionTemperatures::default();
    for (kind, json) in kinds {
        let place = format!("temperature.{kind}");
        let field = match kind.as_str() {
            "predicate" | "noul" => &mut temperatures.predicate,
            "choice" => &mut temperatures.choice,
            "score" => &mut temperatures.score,
            _ => {
                let message = format!("{place} must be left out: the kinds are predicate or noul, choice, and score");
                return Err(HttpError::value("temperature", message));
            }
        };
        *field = number(&place, json)?;
    }
    Ok(temperatures)
}

/// Writes the answers in the form of the request, with the name of the model.
pub(super) type AnswerWriter = Box<dyn FnOnce(&Decisions, &str) -> Json + Send>;

/// A request that has been read.
pub(in crate::serve) struct DecisionRequest {
    pub(super) service: Arc<Service>,
    pub(super) state: DecisionState,
    pub(super) questions: Vec<DecisionQuestion>,
    pub(super) options: DecisionOptions,
    pub(super) notes: RequestNotes,
    pub(super) write: AnswerWriter,
}

impl DecisionRequest {
    /// Waits for a permit, then decides. When the client disconnects, this future is dropped, which cancels the questions.
    pub(in crate::serve) async fn send(self, share: BodyShare) -> Result<Response<ResponseBody>, HttpError> {
        let Self { service, state, questions, options, notes, write } = self;
        let runner = service.runner()?;
        let mut wait = service.admission.enter()?;
        let mut timer = GenerationTimer::start(&service.metrics);
        let _permit = timer.wait(&mut wait).await?;
        drop(share);
        let decided = tokio::select! {
            biased;
            () = service.admission.replies_must_end() => Err(HttpError::draining()),
            decided = runner.decide_async(state, questions, options) => decided.map_err(|err| refused(&err)),
        };
        timer.end();
        let decisions = decided?;
        service.metrics.count_prompt(decisions.usage.input_tokens, decisions.usage.cached_tokens);
        let mut response = json_response(&write(&decisions, &service.model_id));
        response.headers_mut().extend(notes.headers(&service.model_id));
        Ok(response)
    }
}

/// An error of the engine about a request.
fn refused(err: &SdkError) -> HttpError {
    match err.kind() {
        ErrorKind::InvalidArgument => HttpError::value("questions", err.message()),
        ErrorKind::UnsupportedContent | ErrorKind::InvalidMessage => {
            // The engine names a place in the prompt, which the client does not know.
            let message = err.message();
            let rest = message.split_once("messages[").and_then(|(_, place)| place.split_once(": "));
            HttpError::from_engine(&SdkError::new(err.kind(), rest.map_or(message, |(_, rest)| rest)))
        }
        _ => HttpError::from_engine(err),
    }
}
