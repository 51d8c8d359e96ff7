use serde_json::Value as Json;

use super::scored::option_texts;
use super::state::{DecisionState, text_of};
use super::tests::{file, question_of};
use crate::checkpoint::OptionTemperatures;
use crate::error::ErrorKind;
use crate::function::Value;
use crate::prompt::{OptionTexts, OptionTokens};

const TOKENS: OptionTokens = OptionTokens { begin: 1, mask: 12, delimiters: [7, 8, 9, 10, 11] };

/// Each byte is a token, as in the reference.
fn bytes(text: &str) -> crate::error::Result<Vec<u32>> {
    Ok(text.bytes().map(|byte| 256 + u32::from(byte)).collect())
}

#[test]
fn sequences_are_those_of_the_reference() {
    let golden: Json = serde_json::from_slice(&file("tests/golden/decisions.json")).unwrap();
    for case in golden["sequences"].as_array().unwrap() {
        let (name, question) = (&case["name"], question_of(&case["question"]));
        let state = DecisionState::from(Value::from(case["state"].clone())).one_line();
        let (type_name, options) = option_texts(&question);
        let instructions = text_of(&question.instructions);
        let texts = OptionTexts { state: &state, question: &instructions, options: &options };
        let context = case["context"].as_u64().unwrap() as usize;
        let sequence = TOKENS.sequence(&bytes, &texts, context).unwrap();
        assert_eq!(sequence.ids.len(), case["n_ids"].as_u64().unwrap() as usize, "{name}");
        assert_eq!(sequence.ids.iter().sum::<u32>(), case["ids_sum"].as_u64().unwrap() as u32, "{name}");
        let marks: Vec<usize> = serde_json::from_value(case["marks"].clone()).unwrap();
        assert_eq!(sequence.marks, marks, "{name}");
        assert!(case["temperature"].as_str().unwrap().starts_with(type_name), "{name}");
        assert_eq!(OptionTemperatures::default().of(type_name, marks.len()), 1.0);
    }
}

#[test]
fn options_that_do_not_fit_are_an_error() {
    let options: Vec<String> = (0..255).map(|n| n.to_string()).collect();
    let texts = OptionTexts { state: "", question: "Which?", options: &options };
    let err = TOKENS.sequence(&bytes, &texts, 512).unwrap_err();
    assert!(matches!(err.kind(), ErrorKind::PromptExceedsContext { available: 512, .. }), "{err}");
}
