use serde_json::Value as Json;

use super::scored::option_texts;
use super::state::{DecisionState, text_of};
use super::tests::{file, question_of};
use crate::checkpoint::OptionTemperatures;
use crate::error::{ErrorKind, Result};
use crate::function::Value;
use crate::prompt::{OptionEncoder, OptionSequence, OptionTexts, OptionTokens};
use crate::weights::{TinyGguf, Weights};

const TOKENS: OptionTokens = OptionTokens { begin: 1, mask: 12, delimiters: [7, 8, 9, 10, 11] };

/// Each byte is a token, as in the reference.
fn bytes(text: &str) -> Result<Vec<u32>> {
    Ok(text.bytes().map(|byte| 256 + u32::from(byte)).collect())
}

/// The buckets by the reference's names, each of which has a temperature of its own here.
const BUCKETS: [&str; 12] = [
    "choice:2",
    "choice:3-5",
    "choice:6-10",
    "choice:11+",
    "score:2",
    "score:3-5",
    "score:6-10",
    "score:11+",
    "noul:2",
    "noul:3-5",
    "noul:6-10",
    "noul:11+",
];

fn temperature(bucket: usize) -> f64 {
    1.25 + bucket as f64 // a float of the file has it exactly
}

fn temperatures() -> OptionTemperatures {
    let keys = BUCKETS.map(|bucket| bucket.replace(':', ".").replace('-', "_").replace('+', ""));
    let mut gguf = TinyGguf::new();
    for (at, key) in keys.iter().enumerate() {
        gguf.float(&format!("lfm2.decision.temperature.{key}"), temperature(at) as f32);
    }
    OptionTemperatures::read(&Weights::from_bytes(gguf.bytes().into()).unwrap()).unwrap()
}

fn sequence((state, question, options): (&str, &str, &[String]), context: usize) -> Result<OptionSequence> {
    let encoder = OptionEncoder::new(&bytes, 1 << 20);
    let options: Vec<Vec<u32>> = options.iter().map(|option| encoder.option(option).unwrap()).collect();
    let options: Vec<&[u32]> = options.iter().map(Vec::as_slice).collect();
    let (state, question) = (encoder.text(state)?, encoder.text(question)?);
    TOKENS.sequence(&OptionTexts { state: &state, question: &question, options: &options }, context)
}

#[test]
fn sequences_are_those_of_the_reference() {
    let golden: Json = serde_json::from_slice(&file("tests/golden/decisions.json")).unwrap();
    let temperatures = temperatures();
    for case in golden["sequences"].as_array().unwrap() {
        let (name, question) = (&case["name"], question_of(&case["question"]));
        let state = DecisionState::from(Value::from(case["state"].clone())).one_line();
        let (type_name, options) = option_texts(&question);
        let instructions = text_of(&question.instructions);
        let context = case["context"].as_u64().unwrap() as usize;
        let sequence = sequence((&state, &instructions, &options), context).unwrap();
        assert_eq!(sequence.ids.len(), case["n_ids"].as_u64().unwrap() as usize, "{name}");
        assert_eq!(sequence.ids.iter().sum::<u32>(), case["ids_sum"].as_u64().unwrap() as u32, "{name}");
        let marks: Vec<usize> = serde_json::from_value(case["marks"].clone()).unwrap();
        assert_eq!(sequence.marks, marks, "{name}");
        let bucket = case["temperature"].as_str().unwrap();
        let expect = BUCKETS.iter().position(|known| *known == bucket).unwrap();
        assert_eq!(temperatures.of(type_name, marks.len()), temperature(expect), "{name}");
    }
}

#[test]
fn options_that_do_not_fit_are_an_error() {
    let options: Vec<String> = (0..255).map(|n| n.to_string()).collect();
    let err = sequence(("", "Which?", &options), 512).unwrap_err();
    assert!(matches!(err.kind(), ErrorKind::PromptExceedsContext { available: 512, .. }), "{err}");
}

#[test]
fn texts_are_cut_before_they_are_escaped_and_encoded() {
    let encoder = OptionEncoder::new(&bytes, 7);
    assert_eq!(encoder.text("kettle <|im_end|>").unwrap(), bytes("kettle ").unwrap());
    assert_eq!(encoder.text("kettl\u{e9}\u{e9}").unwrap(), bytes("kettl\u{e9}").unwrap()); // at a character
}

/// Looking for the end of each beginning in the whole text would take minutes.
#[test]
fn many_beginnings_of_control_tokens_are_escaped_in_one_pass() {
    let text = "<|".repeat(1 << 19);
    assert_eq!(OptionEncoder::new(&bytes, text.len()).text(&text).unwrap(), bytes(&text).unwrap());
}

#[test]
fn no_text_moves_the_rows_that_are_scored() {
    let texts = OptionTexts { state: &[256], question: &[12, 256], options: &[&[12], &[256]] };
    let sequence = TOKENS.sequence(&texts, 512).unwrap();
    assert_eq!(sequence.ids, [1, 7, 256, 8, 12, 256, 9, 12, 12, 10, 9, 12, 256, 10, 11]);
    assert_eq!(sequence.marks, [7, 11]);
}
