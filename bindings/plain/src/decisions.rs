//! Decisions as JSON.

use causerie::{
    Arguments, DecisionAnswer, DecisionCriteria, DecisionKind, DecisionLabel, DecisionOptions, DecisionOutcome,
    DecisionQuestion, DecisionState, DecisionTemperatures, Decisions, LabelProbability, Result, Value,
    messages_from_json,
};

use crate::requests::read_request;

/// What is asked, about what, and how.
#[derive(Clone, Debug)]
pub struct DecideRequest {
    /// What the questions are about.
    pub state: DecisionState,
    /// The questions, in the order of the answers.
    pub questions: Vec<DecisionQuestion>,
    /// How they are answered.
    pub options: DecisionOptions,
}

impl DecideRequest {
    /// Reads a request: an object with `questions` and, each if it is wanted, `state` (text or any other JSON) or `messages`, and
    /// `temperature`, `rotations` and `min_label_probability`.
    ///
    /// ```
    /// let request = causerie_plain::DecideRequest::from_json(
    ///     r#"{"state": "The kettle boils.", "questions": [{"type": "predicate", "instructions": "Is the water hot?"}]}"#,
    /// )?;
    /// assert_eq!(request.questions.len(), 1);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// `Serialization` for text that is not JSON, `InvalidOption` for an unknown member, and `InvalidArgument` with the place of what
    /// is wrong.
    pub fn from_json(text: &str) -> Result<Self> {
        let asked: Asked = read_request(text, "request")?;
        let state = match asked.messages {
            Some(messages) => messages_from_json(&messages.to_string())?.into(),
            None => asked.state.map_or_else(DecisionState::default, DecisionState::from),
        };
        let temperature = match asked.temperature {
            None => DecisionTemperatures::default(),
            Some(AskedTemperature::One(all)) => DecisionTemperatures { predicate: all, choice: all, score: all },
            Some(AskedTemperature::Each { predicate, choice, score }) => DecisionTemperatures {
                predicate: predicate.unwrap_or(1.0),
                choice: choice.unwrap_or(1.0),
                score: score.unwrap_or(1.0),
            },
        };
        let options = DecisionOptions {
            temperature,
            rotations: asked.rotations,
            min_label_probability: asked.min_label_probability,
        };
        Ok(Self { state, questions: asked.questions.into_iter().map(Into::into).collect(), options })
    }
}

/// A request.
#[derive(causerie::SdkFunctionParameterType)]
struct Asked {
    state: Option<Value>,
    messages: Option<Value>,
    questions: Vec<AskedQuestion>,
    temperature: Option<AskedTemperature>,
    rotations: Option<usize>,
    min_label_probability: Option<f64>,
}

/// A temperature for all kinds of questions, or for each.
#[derive(causerie::SdkFunctionParameterType)]
#[sdk(untagged)]
enum AskedTemperature {
    One(f64),
    Each { predicate: Option<f64>, choice: Option<f64>, score: Option<f64> },
}

/// A question.
#[derive(causerie::SdkFunctionParameterType)]
#[sdk(tag = "type")]
enum AskedQuestion {
    Predicate { instructions: String, name: Option<String>, yes: Option<String>, no: Option<String> },
    Choice { instructions: String, name: Option<String>, choices: Vec<AskedLabel> },
    Score { instructions: String, name: Option<String>, levels: Vec<AskedLabel> },
}

/// A label, with what it means if that is said.
#[derive(causerie::SdkFunctionParameterType)]
#[sdk(untagged)]
enum AskedLabel {
    Plain(String),
    Described { label: String, description: Option<String> },
}

impl From<AskedLabel> for DecisionLabel {
    fn from(asked: AskedLabel) -> Self {
        match asked {
            AskedLabel::Plain(label) => Self { label, description: None },
            AskedLabel::Described { label, description } => Self { label, description },
        }
    }
}

impl From<AskedQuestion> for DecisionQuestion {
    fn from(asked: AskedQuestion) -> Self {
        let labels = |asked: Vec<AskedLabel>| asked.into_iter().map(Into::into).collect();
        let (instructions, name, kind) = match asked {
            AskedQuestion::Predicate { instructions, name, yes, no } => {
                (instructions, name, DecisionKind::Predicate(DecisionCriteria { yes, no }))
            }
            AskedQuestion::Choice { instructions, name, choices } => {
                (instructions, name, DecisionKind::Choice(labels(choices)))
            }
            AskedQuestion::Score { instructions, name, levels } => {
                (instructions, name, DecisionKind::Score(labels(levels)))
            }
        };
        Self { name, kind, ..Self::predicate(instructions) }
    }
}

/// Returns answers as JSON: an object with `answers`, in the order of the questions, and `usage`.
#[must_use]
pub fn decisions_json(decisions: &Decisions) -> String {
    let usage = object([
        ("input_tokens", integer(decisions.usage.input_tokens)),
        ("cached_tokens", integer(decisions.usage.cached_tokens)),
    ]);
    object([("answers", decisions.answers.iter().map(answer).collect()), ("usage", usage)]).to_string()
}

fn answer(answer: &DecisionAnswer) -> Value {
    let mut members = match &answer.outcome {
        DecisionOutcome::Predicate { probability } => {
            vec![("type", "predicate".into()), ("probability", Value::Number(*probability))]
        }
        DecisionOutcome::Choice { choice, index, confidence, probabilities } => vec![
            ("type", "choice".into()),
            ("choice", choice.as_str().into()),
            ("index", integer(*index)),
            ("confidence", Value::Number(*confidence)),
            ("probabilities", labelled(probabilities)),
        ],
        DecisionOutcome::Score { score, confidence, probabilities } => vec![
            ("type", "score".into()),
            ("score", Value::Number(*score)),
            ("confidence", Value::Number(*confidence)),
            ("probabilities", labelled(probabilities)),
        ],
    };
    members.push(("name", answer.name.as_deref().map_or(Value::Null, Value::from)));
    members.push(("label_probability", Value::Number(answer.label_probability)));
    members.push(("is_answered", answer.is_answered.into()));
    object(members)
}

fn labelled(probabilities: &[LabelProbability]) -> Value {
    let entry = |of: &LabelProbability| {
        object([("label", of.label.as_str().into()), ("probability", Value::Number(of.probability))])
    };
    probabilities.iter().map(entry).collect()
}

pub(crate) fn integer(count: usize) -> Value {
    Value::Integer(i64::try_from(count).unwrap_or(i64::MAX))
}

pub(crate) fn object<'a>(members: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Arguments>())
}

#[cfg(test)]
mod tests {
    use causerie::read_json;

    use super::*;

    #[test]
    fn every_kind_of_question_is_read() {
        let request = DecideRequest::from_json(
            r#"{"state": {"kettle": "boils"}, "temperature": 0.5, "rotations": 1, "min_label_probability": 0, "questions": [
                {"type": "predicate", "instructions": "Hot?", "name": "hot", "yes": "above 60 degrees"},
                {"type": "choice", "instructions": "Room?", "choices": ["kitchen", {"label": "hall", "description": "the entry"}]},
                {"type": "score", "instructions": "Urgent?", "levels": ["calm", "now"]}]}"#,
        )
        .unwrap();
        let criteria = DecisionCriteria { yes: Some("above 60 degrees".to_owned()), no: None };
        assert_eq!(request.state, DecisionState::from(read_json(r#"{"kettle": "boils"}"#).unwrap()));
        assert_eq!(
            request.questions,
            [
                DecisionQuestion {
                    kind: DecisionKind::Predicate(criteria),
                    ..DecisionQuestion::predicate("Hot?").named("hot")
                },
                DecisionQuestion::choice(
                    "Room?",
                    [DecisionLabel::new("kitchen"), DecisionLabel::new("hall").described("the entry")]
                ),
                DecisionQuestion::score("Urgent?", ["calm", "now"]),
            ]
        );
        let temperature = DecisionTemperatures { predicate: 0.5, choice: 0.5, score: 0.5 };
        let options = DecisionOptions { temperature, rotations: Some(1), min_label_probability: Some(0.0) };
        assert_eq!(request.options, options);
    }

    #[test]
    fn messages_and_nothing_are_states() {
        let thread = r#"{"messages": [{"role": "user", "content": "Tea?"}], "questions": []}"#;
        let expected = DecisionState::from(vec![causerie::ChatMessage::user("Tea?")]);
        assert_eq!(DecideRequest::from_json(thread).unwrap().state, expected);
        assert_eq!(DecideRequest::from_json(r#"{"questions": []}"#).unwrap().state, DecisionState::default());
    }

    #[test]
    fn a_wrong_request_is_refused_with_its_place() {
        for (text, place) in [
            ("nonsense", "JSON object"),
            ("{}", "questions"),
            (r#"{"questions": [{"type": "riddle", "instructions": "?"}]}"#, "questions[0]"),
            (r#"{"questions": [{"type": "choice", "instructions": "?", "choices": [3]}]}"#, "questions[0].choices[0]"),
            (r#"{"questions": [], "rotations": -1}"#, "rotations"),
        ] {
            let reason = DecideRequest::from_json(text).unwrap_err().to_string();
            assert!(reason.contains(place), "{reason}");
        }
    }

    #[test]
    fn answers_are_written_with_their_kind() {
        let answers = Decisions {
            answers: vec![DecisionAnswer {
                name: Some("room".to_owned()),
                outcome: DecisionOutcome::Choice {
                    choice: "hall".to_owned(),
                    index: 1,
                    confidence: 0.5,
                    probabilities: vec![LabelProbability { label: "hall".to_owned(), probability: 0.75 }],
                },
                label_probability: 0.25,
                is_answered: true,
            }],
            usage: causerie::DecisionUsage { input_tokens: 7, cached_tokens: 3 },
        };
        assert_eq!(
            decisions_json(&answers),
            concat!(
                r#"{"answers": [{"type": "choice", "choice": "hall", "index": 1, "confidence": 0.5, "#,
                r#""probabilities": [{"label": "hall", "probability": 0.75}], "name": "room", "label_probability": 0.25, "#,
                r#""is_answered": true}], "usage": {"input_tokens": 7, "cached_tokens": 3}}"#
            )
        );
    }
}
