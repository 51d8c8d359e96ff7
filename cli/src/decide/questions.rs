//! Questions in JSON, as `POST /v1/systemone` takes them.

use std::fs;
use std::path::Path;

use causerie::{DecisionCriteria, DecisionKind, DecisionLabel, DecisionQuestion};
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
        let question = question(&json).map_err(|rule| Failure(format!("{place}: question {name:?} {rule}")))?;
        Ok(question.named(name))
    };
    questions.into_iter().map(question).collect()
}

/// Reads a question; an error says what it must have.
pub(super) fn question(json: &Json) -> Result<DecisionQuestion, String> {
    let instructions = json["instructions"].as_str().ok_or("must have a string of instructions")?;
    let text = |json: &Json| json.as_str().map(str::to_owned);
    let kind = match (json["type"].as_str(), &json["criteria"]) {
        (Some("noul" | "predicate"), criteria @ (Json::Null | Json::Object(_))) => {
            DecisionKind::Predicate(DecisionCriteria { yes: text(&criteria["true"]), no: text(&criteria["false"]) })
        }
        (Some("choice"), Json::Object(labels)) => {
            let label =
                |(label, json): (&String, &Json)| DecisionLabel { label: label.clone(), description: text(json) };
            DecisionKind::Choice(labels.iter().map(label).collect())
        }
        (Some("score"), Json::Array(levels)) => {
            let label = |json: &Json| text(json).map(DecisionLabel::new).ok_or("must have strings as levels");
            DecisionKind::Score(levels.iter().map(label).collect::<Result<_, _>>()?)
        }
        (Some("noul" | "predicate" | "choice" | "score"), _) => {
            return Err(
                "must have criteria: an object of labels for a choice, an array of levels for a score".to_owned()
            );
        }
        _ => return Err("must have the type noul, choice or score".to_owned()),
    };
    Ok(DecisionQuestion { kind, ..DecisionQuestion::predicate(instructions) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn questions_have_a_type_and_what_it_needs() {
        let choice = json!({ "type": "choice", "instructions": "Which?", "criteria": { "b": "second", "a": null } });
        let labels = [DecisionLabel::new("b").described("second"), "a".into()];
        assert_eq!(question(&choice), Ok(DecisionQuestion::choice("Which?", labels)));
        for (json, expect) in [
            (json!({ "type": "noul" }), "must have a string of instructions"),
            (json!({ "type": "box", "instructions": "?" }), "must have the type noul, choice or score"),
            (json!({ "type": "score", "instructions": "?", "criteria": [1] }), "must have strings as levels"),
        ] {
            assert_eq!(question(&json), Err(expect.to_owned()));
        }
        assert!(question(&json!({ "type": "choice", "instructions": "?" })).unwrap_err().contains("criteria"));
    }
}
