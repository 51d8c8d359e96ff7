//! Files of questions, in the form of `POST /v1/systemone`.

use std::fs;
use std::path::Path;

use causerie::DecisionQuestion;
use causerie_server::serve::decision_question;
use serde_json::Value as Json;

use crate::failure::Failure;

/// Reads a file of questions by their names.
pub(super) fn read(file: &Path) -> Result<Vec<DecisionQuestion>, Failure> {
    let place = file.display();
    let text = fs::read_to_string(file).map_err(|err| Failure(format!("cannot read {place}: {err}")))?;
    let json: Json = serde_json::from_str(&text).map_err(|err| Failure(format!("{place} must be JSON: {err}")))?;
    let Json::Object(questions) = json else {
        return Err(Failure(format!("{place} must be an object of questions by their names")));
    };
    let question = |(name, json): (String, Json)| {
        let question = decision_question(&format!("{place}: question {name:?}"), json).map_err(Failure)?;
        Ok(question.named(name))
    };
    questions.into_iter().map(question).collect()
}
