use std::ops::ControlFlow;
use std::path::Path;

use serde_json::Value as Json;

use super::answer::{DecisionAnswer, Decisions};
use super::labels::{Label, Slot, scores, wanted};
use super::prompts::PromptMaker;
use super::question::{DecisionCriteria, DecisionKind, DecisionLabel, DecisionQuestion};
use super::wording::WordedQuestion;
use super::{DecisionOptions, DecisionOutcome, DecisionState};
use crate::error::ErrorKind;
use crate::function::Value;
use crate::message::ChatMessage;
use crate::options::{GenerationOptions, LoadOptions};
use crate::plain_prompt::Prompt;
use crate::prompt::{Segment, joined};
use crate::response::MessageResponse;
use crate::runner::{EngineSettings, ModelRunner};
use crate::tokenizer::ModelTokenizer;
use crate::weights::{TinyGguf, Weights};

const STATE: &str = "The kettle boils, and steam fills the kitchen. Anna is in the garden.";

fn file(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)).unwrap()
}

fn runner_of(bytes: Vec<u8>, cache_entries: usize) -> ModelRunner {
    let weights = Weights::from_bytes(bytes.into()).unwrap();
    let settings = EngineSettings { cache_entries, ..EngineSettings::default() };
    ModelRunner::from_weights(weights, LoadOptions::default(), settings, &mut |_, _| ControlFlow::Continue(())).unwrap()
}

fn fixture(family: &str) -> ModelRunner {
    runner_of(file(&format!("tests/fixtures/models/{family}-f32.gguf")), 256)
}

/// The demo model as if it were a decision model, with these texts in its metadata as well.
fn decision_model(more: &[(&str, &str)]) -> ModelRunner {
    let texts = [&[("lfm2.decision.type", "lfm2-d1")], more].concat();
    runner_of(TinyGguf::with_texts(&file("models/demo.gguf"), &texts), 256)
}

fn questions() -> Vec<DecisionQuestion> {
    vec![
        DecisionQuestion::predicate("Is the water hot?"),
        DecisionQuestion::choice("Where is Anna?", ["kitchen", "garden", "hall", "cellar"]),
        DecisionQuestion::score("How warm is it?", ["cold", "mild", "hot"]),
        // Numbers of two digits, which are several tokens.
        DecisionQuestion::score("How many guests are there?", (0..12).map(|n| format!("{n} guests"))),
    ]
}

/// All numbers of answers, bit by bit.
fn bits(answers: &[DecisionAnswer]) -> Vec<Vec<u64>> {
    let of_answer = |answer: &DecisionAnswer| {
        let numbers = answer.outcome.probabilities().into_iter().chain([answer.label_probability]);
        numbers.map(f64::to_bits).collect()
    };
    answers.iter().map(of_answer).collect()
}

/// The same with convolutions, whose states cannot be cut, and without.
#[test]
fn answers_are_the_same_bits_alone_together_and_resumed() {
    for family in ["lfm2", "phi4-short"] {
        let runner = fixture(family);
        let together = runner.decide(STATE, &questions()).unwrap();
        assert_eq!(together.usage.cached_tokens, 0, "{family}");
        let resumed = runner.decide(STATE, &questions()).unwrap();
        assert_eq!(bits(&resumed.answers), bits(&together.answers), "{family}, resumed");
        assert!(0 < resumed.usage.cached_tokens, "{family}");
        for (at, question) in questions().iter().enumerate() {
            let alone = fixture(family).decide(STATE, std::slice::from_ref(question)).unwrap();
            assert_eq!(bits(&alone.answers)[0], bits(&together.answers)[at], "{family}, question {at} alone");
        }
    }
}

#[test]
fn the_state_is_computed_once_and_stays_for_other_questions() {
    let runner = runner_of(file("tests/fixtures/models/lfm2-f32.gguf"), 4);
    let long = STATE.repeat(8);
    let many: Vec<DecisionQuestion> = (0..20).map(|n| DecisionQuestion::predicate(format!("Is it {n}?"))).collect();
    let first = runner.decide(long.as_str(), &many).unwrap();
    let other = DecisionQuestion::choice("Which room is warm?", ["kitchen", "hall"]);
    let second = runner.decide(long.as_str(), &[other]).unwrap();
    // Twenty questions have left no states that drive out the one of the text.
    let n_state = runner.tokenize(&long).unwrap().len();
    assert!(n_state - 8 < second.usage.cached_tokens, "{:?} of {n_state}", second.usage);
    assert!(first.usage.input_tokens < 2 * n_state + 20 * 200, "{:?}", first.usage);
}

/// The log-probabilities that replies report are computed by other code.
#[test]
fn a_predicate_is_what_the_next_token_says() {
    let runner = runner_of(file("models/demo.gguf"), 256);
    let answer = &runner.decide(STATE, &questions()[..1]).unwrap().answers[0];
    let text = format!("{STATE}\n\n\nQUESTION:\nIs the water hot?\n\nAnswer with yes or no only.");
    let prompt = runner.prompt_tokens(&[ChatMessage::user(text)], true).unwrap();
    let loaded = runner.loaded().unwrap();
    let probability = |spelling: &str| {
        let [id] = loaded.tokenizer.encode(&[Segment::Text(spelling.to_owned())]).unwrap()[..] else { return 0.0 };
        let logit_bias = [(id, 100.0)].into_iter().collect(); // the token is picked, and reported as computed
        let options = GenerationOptions {
            max_tokens: Some(1),
            temperature: Some(0.0),
            logprobs: Some(0),
            logit_bias,
            function_call_parser: None,
            ..Default::default()
        };
        let events = runner.complete(Prompt::Tokens(prompt.clone()), options).into_iter();
        let scored = events.filter_map(Result::ok).find_map(|event| match event {
            MessageResponse::Logprobs(scored) => Some(scored[0].token.clone()),
            _ => None,
        });
        let scored = scored.unwrap();
        assert_eq!(scored.id, id);
        scored.logprob.exp()
    };
    let [yes, no] = [["yes", "Yes", "YES"], ["no", "No", "NO"]].map(|spellings| spellings.map(probability));
    let best = |spellings: [f64; 3]| spellings.into_iter().fold(0.0, f64::max);
    assert!(0.0 < best(yes) && 0.0 < best(no));
    let DecisionOutcome::Predicate { probability } = answer.outcome else { panic!("it is a predicate") };
    assert!((probability - best(yes) / (best(yes) + best(no))).abs() < 1e-12);
    let all: f64 = yes.iter().chain(&no).sum();
    assert!(
        (answer.label_probability - all).abs() < 1e-12 && !answer.is_answered,
        "{} {all}",
        answer.label_probability
    );
}

#[test]
fn rotations_are_averaged() {
    let runner = fixture("lfm2");
    let labels = ["kitchen", "garden", "hall", "cellar"];
    let ask = |choices: [&str; 4], rotations| {
        let options = DecisionOptions { rotations: Some(rotations), ..Default::default() };
        let question = DecisionQuestion::choice("Where is Anna?", choices);
        runner.decide_with(STATE, &[question], options).unwrap().answers[0].outcome.probabilities()
    };
    let [plain, turned] = [ask(labels, 1), ask(["hall", "cellar", "kitchen", "garden"], 1)];
    let means: Vec<f64> = (0..4).map(|at| (plain[at].ln() + turned[(at + 2) % 4].ln()) / 2.0).map(f64::exp).collect();
    let sum: f64 = means.iter().sum();
    let averaged = ask(labels, 2);
    assert!(averaged.iter().zip(&means).all(|(a, b)| (a - b / sum).abs() < 1e-9), "{averaged:?} {means:?}");
    assert!((averaged.iter().sum::<f64>() - 1.0).abs() < 1e-12);
}

#[test]
fn temperatures_sharpen_answers_and_bounds_mark_them() {
    let runner = fixture("lfm2");
    let ask = |options| runner.decide_with(STATE, &questions()[1..2], options).unwrap().answers.remove(0);
    let plain = ask(DecisionOptions::default());
    let mut options = DecisionOptions { min_label_probability: Some(0.0), ..Default::default() };
    options.temperature.choice = 0.5;
    let sharp = ask(options);
    let expect: Vec<f64> = plain.outcome.probabilities().iter().map(|p| p * p).collect();
    let sum: f64 = expect.iter().sum();
    assert!(sharp.outcome.probabilities().iter().zip(&expect).all(|(a, b)| (a - b / sum).abs() < 1e-9));
    assert!(sharp.is_answered && sharp.label_probability == plain.label_probability);
    let strict = ask(DecisionOptions { min_label_probability: Some(1.0), ..Default::default() });
    assert!(!strict.is_answered);
}

#[test]
fn labels_of_several_tokens_are_scored_along_their_paths() {
    let label =
        |paths: &[&[u32]]| Label { code: String::new(), paths: paths.iter().map(|path| path.to_vec()).collect() };
    let labels = [label(&[&[1, 2]]), label(&[&[1, 3], &[5]]), label(&[&[4]])];
    let wanted = wanted(&labels);
    assert_eq!(
        wanted.iter().map(|(begun, ids)| (&**begun, &**ids)).collect::<Vec<_>>(),
        [(&[][..], &[1, 5, 4][..]), (&[1], &[2, 3])]
    );
    let read = [[0.5f64, 0.125, 0.25].map(f64::ln).to_vec(), [0.75f64, 0.25].map(f64::ln).to_vec()];
    let (logprobs, probability) = scores(&labels, &wanted, &read);
    for (found, expect) in logprobs.iter().zip([0.375f64, 0.125, 0.25]) {
        assert!((found.exp() - expect).abs() < 1e-12, "{logprobs:?}");
    }
    assert!((probability - (0.375 + 0.125 + 0.125 + 0.25)).abs() < 1e-12);
}

/// A question in the form of /v1/systemone.
fn question_of(json: &Json) -> DecisionQuestion {
    let text = |json: &Json| json.as_str().map(str::to_owned);
    let criteria = &json["criteria"];
    let kind = match json["type"].as_str().unwrap() {
        "noul" => {
            DecisionKind::Predicate(DecisionCriteria { yes: text(&criteria["true"]), no: text(&criteria["false"]) })
        }
        "choice" => {
            let labels = criteria.as_object().unwrap().iter();
            DecisionKind::Choice(
                labels.map(|(label, json)| DecisionLabel { label: label.clone(), description: text(json) }).collect(),
            )
        }
        _ => DecisionKind::Score(
            criteria.as_array().unwrap().iter().map(|level| level.as_str().unwrap().into()).collect(),
        ),
    };
    DecisionQuestion { kind, ..DecisionQuestion::predicate(json["instructions"].as_str().unwrap()) }
}

#[test]
fn prompts_of_decision_models_are_those_of_the_reference() {
    let golden: Json = serde_json::from_slice(&file("tests/golden/decisions.json")).unwrap();
    let runner = decision_model(&[]);
    let loaded = runner.loaded().unwrap();
    // Each byte is a token, as it is for the reference's codes.
    let (bytes, _) = ModelTokenizer::scripted([]).unwrap();
    let slot = Slot::new(&bytes, &[Segment::Text("assistant\n".to_owned())]).unwrap();
    for case in golden["prompts"].as_array().unwrap() {
        let (name, question) = (&case["name"], question_of(&case["question"]));
        let labels = slot.labels(&question, true).unwrap();
        if let Some(codes) = case["codes"].as_array() {
            assert!(labels.iter().zip(codes).all(|(label, code)| label.code == *code), "{name}");
        }
        let order: Vec<usize> = (0..labels.len()).collect();
        let worded = WordedQuestion::new(&question, &labels, &order, true);
        let state = DecisionState::from(Value::from(case["state"].clone()));
        let segments = PromptMaker::new(state).segments(&loaded, &worded).unwrap();
        assert_eq!(joined(&segments), case["text"].as_str().unwrap(), "{name}");
    }
}

#[test]
fn spelled_control_tokens_of_a_state_are_text() {
    let runner = decision_model(&[]);
    let loaded = runner.loaded().unwrap();
    let question = WordedQuestion::new(&DecisionQuestion::predicate("Ok? <|im_end|>"), &[], &[], true);
    let segments = PromptMaker::new("x <|im_start|>".into()).segments(&loaded, &question).unwrap();
    let controls = segments.iter().filter(|segment| matches!(segment, Segment::Control(_))).count();
    assert_eq!(controls, 4, "{segments:?}");
}

#[test]
fn a_template_in_the_files_is_used() {
    let template = "{{ bos_token }}<|im_start|>user\n[{{ type }}] {{ state }} / {{ instructions }}\
                    {% for option in options %} ({{ option.key }}={{ option.label }}:{{ option.description }}){% endfor %}\
                    <|im_end|>\n<|im_start|>assistant\n\n"; // templates lose one line feed at their end
    let runner = decision_model(&[("tokenizer.chat_template.systemone", template)]);
    let loaded = runner.loaded().unwrap();
    let question = DecisionQuestion::choice("Which?", [DecisionLabel::new("hall").described("<|im_end|>")]);
    let labels = [Label { code: "A".to_owned(), paths: vec![vec![1]] }];
    let worded = WordedQuestion::new(&question, &labels, &[0], true);
    let segments = PromptMaker::new("It boils.".into()).segments(&loaded, &worded).unwrap();
    let text = "<|startoftext|><|im_start|>user\n[choice] It boils. / Which? (A=hall:<|im_end|>)<|im_end|>\n<|im_start|>assistant\n";
    assert_eq!(joined(&segments), text);
    assert_eq!(segments.iter().filter(|segment| matches!(segment, Segment::Control(_))).count(), 4);
    assert!(runner.decide("It boils.", &[question]).unwrap().answers[0].is_answered);
}

#[test]
fn a_thread_names_its_authors() {
    let thread = [ChatMessage::system("Be kind."), ChatMessage::user("Tea?"), ChatMessage::assistant("Gladly!")];
    let state = DecisionState::from(&thread[..]);
    assert_eq!(state.system.as_deref(), Some("Be kind."));
    let text = |state: DecisionState| ChatMessage { content: state.content, ..ChatMessage::user("") }.text();
    assert_eq!(text(state), "User: Tea?\n\nAssistant: Gladly!");
    assert_eq!(text(DecisionState::from(&thread[1..2])), "Tea?");
}

#[test]
fn questions_that_cannot_be_read_are_refused() {
    let runner = fixture("lfm2");
    let choice = |n: usize| DecisionQuestion::choice("Which?", (0..n).map(|n| n.to_string()));
    for (questions, expect) in [
        (vec![], "questions must have 1 to 400 entries, found 0"),
        (vec![choice(2), choice(0)], "questions[1].choices must have 1 to 255 entries, found 0"),
        (vec![choice(256)], "questions[0].choices must have 1 to 255 entries, found 256"),
        (vec![DecisionQuestion::score("?", ["a"])], "questions[0].levels must have 2 to 100 entries, found 1"),
    ] {
        let err = runner.decide(STATE, &questions).unwrap_err();
        assert_eq!((err.kind(), err.message()), (ErrorKind::InvalidArgument, expect));
    }
    let long = STATE.repeat(10_000);
    let err = runner.decide(long.as_str(), &questions()).unwrap_err();
    assert!(matches!(err.kind(), ErrorKind::PromptExceedsContext { .. }), "{err}");
}

#[test]
fn an_unloaded_model_decides_nothing() {
    let runner = fixture("lfm2");
    pollster::block_on(runner.unload());
    let decided: Result<Decisions, _> = runner.decide(STATE, &questions());
    assert_eq!(decided.unwrap_err().kind(), ErrorKind::ModelUnloaded);
}

#[test]
fn a_picture_is_part_of_the_state_and_is_computed_once() {
    let load = || {
        let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/models/lfm2vl-hf");
        ModelRunner::load(model.to_str().unwrap()).unwrap()
    };
    let [circles, note] = ["circles", "note"].map(|name| file(&format!("tests/fixtures/pictures/{name}.png")));
    let of = |picture: &[u8]| DecisionState::from("The door at noon:").with_image(picture);
    let runner = load();
    let together = runner.decide(of(&circles), &questions()[..3]).unwrap();
    let resumed = runner.decide(of(&circles), &questions()[1..2]).unwrap();
    assert_eq!(bits(&resumed.answers)[0], bits(&together.answers)[1]);
    let other = runner.decide(of(&note), &questions()[1..2]).unwrap();
    assert_ne!(bits(&other.answers), bits(&resumed.answers));
    let alone = load().decide(of(&circles), &questions()[1..2]).unwrap();
    assert_eq!(bits(&alone.answers), bits(&resumed.answers));
    // The state with the picture was cached, and not with the other one.
    assert!(other.usage.cached_tokens < resumed.usage.cached_tokens, "{:?} {:?}", other.usage, resumed.usage);
    let err = fixture("lfm2").decide(of(&circles), &questions()).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::UnsupportedContent);
}

#[test]
fn reasoning_that_a_template_opens_is_closed() {
    for (end, expect) in [("<think>\n", "<think>\n\n</think>\n\n"), ("<think>", "<think>\n\n</think>\n\n"), ("", "")] {
        let template = format!(
            "{{% for m in messages %}}<|im_start|>{{{{ m.role }}}}\n{{{{ m.content }}}}<|im_end|>\n{{% endfor %}}\
             {{% if add_generation_prompt %}}<|im_start|>assistant\n{end}{{% endif %}}"
        );
        let weights = Weights::from_bytes(file("tests/fixtures/models/lfm2-f32.gguf").into()).unwrap();
        let options = LoadOptions { chat_template: Some(template), ..Default::default() };
        let go_on = &mut |_, _| ControlFlow::Continue(());
        let runner = ModelRunner::from_weights(weights, options, EngineSettings::default(), go_on).unwrap();
        let question = WordedQuestion::new(&questions()[0], &[], &[], false);
        let segments = PromptMaker::new(STATE.into()).segments(&runner.loaded().unwrap(), &question).unwrap();
        let text = joined(&segments);
        assert!(text.ends_with(&format!("<|im_start|>assistant\n{expect}")), "{text:?}");
    }
}

#[test]
fn codes_are_single_tokens_and_numbers_where_the_vocabulary_has_too_few() {
    let runner = runner_of(file("models/demo.gguf"), 1);
    let loaded = runner.loaded().unwrap();
    let slot =
        Slot::new(&loaded.tokenizer, &[Segment::Control("<|im_start|>".into()), Segment::Text("assistant\n".into())]);
    let slot = slot.unwrap();
    let labels = |n: usize| slot.labels(&DecisionQuestion::choice("?", (0..n).map(|n| n.to_string())), false).unwrap();
    let few = labels(26);
    assert_eq!(few.iter().map(|label| label.code.as_str()).collect::<String>(), "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    assert!(few.iter().flat_map(|label| &label.paths).all(|path| path.len() == 1));
    let many = labels(255);
    assert_eq!((many[7].code.as_str(), many[7].paths.len(), many[7].paths[0].len()), ("007", 1, 3));
    let ids: std::collections::HashSet<_> = many.iter().map(|label| &label.paths[0]).collect();
    assert_eq!(ids.len(), 255);
}

#[test]
fn questions_in_all_rotations_are_limited_before_their_texts_are_made() {
    let runner = runner_of(file("models/demo.gguf"), 1);
    let choice = DecisionQuestion::choice("?", (0..50).map(|n| n.to_string()));
    let options = DecisionOptions { rotations: Some(50), ..Default::default() };
    let err = runner.decide_with("", &vec![choice; 21], options).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::InvalidArgument);
    assert!(err.to_string().contains("at most 1024, found 1050"), "{err}");
}
