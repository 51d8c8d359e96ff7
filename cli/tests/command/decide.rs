//! `causerie decide`, with the demo model, which does not decide: its answers say nothing, and say so.

use std::path::Path;

use causerie::{DecisionOptions, DecisionQuestion, ModelRunner};
use serde_json::Value as Json;

use crate::{causerie, check_failure, text, typed};

const STATE: &str = "The kettle boils, and Anna is in the garden.";

fn model() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/demo.gguf").to_str().unwrap().to_owned()
}

fn decide(arguments: &[&str], input: &str) -> (String, String) {
    let output = typed(causerie("decide").args(["decide", "--model", &model()]).args(arguments), input);
    assert!(output.status.success(), "{}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn answers_are_bars_and_say_whether_the_model_answered() {
    let (bars, _) = decide(&[STATE, "Where is Anna?", "--choice", "kitchen", "--choice", "garden"], "");
    let lines: Vec<&str> = bars.lines().collect();
    assert!(lines[0].starts_with("not answered: all labels together have a probability of "), "{bars}");
    assert!(lines[1].starts_with("  kitchen  0.") && lines[2].starts_with("  garden   0."), "{bars}");
    let (bars, _) = decide(&["-", "Is the water hot?", "--min-label-probability", "0"], STATE);
    assert!(["yes\n", "no\n"].iter().any(|answer| bars.starts_with(answer)), "{bars}");
}

#[test]
fn json_has_what_the_library_decides() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("questions.json");
    let questions = r#"{"hot": {"type": "noul", "instructions": "Is the water hot?"},
                        "warmth": {"type": "score", "instructions": "How warm is it?", "criteria": ["cold", "hot"]}}"#;
    std::fs::write(&file, questions).unwrap();
    let arguments = [STATE, "--questions", file.to_str().unwrap(), "--json", "--temperature", "0.5"];
    let json: Json = serde_json::from_str(&decide(&arguments, "").0).unwrap();
    let mut options = DecisionOptions::default();
    (options.temperature.predicate, options.temperature.score) = (0.5, 0.5);
    let asked =
        [DecisionQuestion::predicate("Is the water hot?"), DecisionQuestion::score("How warm is it?", ["cold", "hot"])];
    let expect = ModelRunner::load(model()).unwrap().decide_with(STATE, &asked, options).unwrap();
    let (hot, warmth) = (&json["answers"][0], &json["answers"][1]);
    assert_eq!((&hot["name"], &hot["answered"]), (&Json::from("hot"), &Json::from(false)));
    assert_eq!(hot["probability"], expect.answers[0].outcome.probabilities()[0]);
    assert_eq!(warmth["probabilities"][1]["probability"], expect.answers[1].outcome.probabilities()[1]);
}

#[test]
fn temperatures_are_fitted_to_examples() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("examples.jsonl");
    let examples = r#"{"state": "It is late.", "question": {"type": "noul", "instructions": "Is it late?"}, "answer": true}
{"state": "It is late.", "question": {"type": "noul", "instructions": "Is it early?"}, "answer": false}
"#;
    std::fs::write(&file, examples).unwrap();
    let json: Json = serde_json::from_str(&decide(&["--fit", file.to_str().unwrap(), "--json"], "").0).unwrap();
    let found = &json["predicate"];
    assert_eq!((&found["examples"], &found["unanswered"]), (&Json::from(2), &Json::from(2)));
    assert!(found["fitted"]["loss"].as_f64().unwrap() <= found["plain"]["loss"].as_f64().unwrap() + 1e-9);
    std::fs::write(&file, "{\"state\": 1}\n").unwrap();
    let mut command = causerie("decide");
    command.args(["decide", "--model", &model(), "--fit", file.to_str().unwrap()]);
    check_failure(&mut command, 1, "line 1: question must be an object, found null");
}

#[test]
fn a_question_is_needed() {
    check_failure(causerie("decide").args(["decide", "--model", "m", "The kettle boils."]), 2, "required");
}
