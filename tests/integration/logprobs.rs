//! How likely the tokens of a reply are said to be, and that they come in step with its text.

use causerie::testing::{ScriptedModel, ScriptedReply};
use causerie::{
    CacheType, ChatMessage, Completion, FunctionCallParser, GenerationOptions, LoadOptions, MessageResponse,
    ModelRunner, Prompt, ReplySection, ResponseStream, SdkFunction, TokenLogprob, ToolChoice,
};
use serde::Deserialize;

/// What transformers computed for a model: logits behind the tokens of a prompt and its greedy reply.
#[derive(Deserialize)]
struct Golden {
    prompt: Vec<u32>,
    greedy: Vec<u32>,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    position: usize,
    logits: Vec<f32>,
}

impl Row {
    /// By the definition, and in another order than the library sums.
    fn logprob(&self, id: u32) -> f64 {
        let sum: f64 = self.logits.iter().rev().map(|logit| f64::from(*logit).exp()).sum();
        (f64::from(self.logits[id as usize]).exp() / sum).ln()
    }

    fn best(&self, n: usize) -> Vec<u32> {
        let mut ids: Vec<u32> = (0..self.logits.len() as u32).collect();
        ids.sort_by(|a, b| self.logits[*b as usize].total_cmp(&self.logits[*a as usize]));
        ids[..n].to_vec()
    }
}

fn golden() -> (Golden, ModelRunner) {
    let record = include_str!("../golden/logits/lfm2-f32.json");
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/models/lfm2-f32.gguf");
    let options = LoadOptions { cache_type: CacheType::F32, ..Default::default() };
    (serde_json::from_str(record).unwrap(), ModelRunner::load_with(model, options).unwrap())
}

fn greedy(max_tokens: usize) -> GenerationOptions {
    GenerationOptions {
        temperature: Some(0.0),
        max_tokens: Some(max_tokens),
        ignore_end: true,
        logprobs: Some(3),
        ..Default::default()
    }
}

fn read(stream: ResponseStream) -> (Vec<TokenLogprob>, String, Completion) {
    let (mut told, mut text) = (Vec::new(), String::new());
    for event in stream {
        match event.unwrap() {
            MessageResponse::Logprobs(tokens) => told.extend(tokens),
            MessageResponse::Chunk(chunk) => {
                text += &chunk;
                assert!(text.len() <= spelt(&told).len(), "{text:?} comes before its tokens");
            }
            MessageResponse::Complete(completion) => return (told, text, *completion),
            _ => {}
        }
    }
    panic!("a reply ends")
}

/// What the tokens of the text spell.
fn spelt(told: &[TokenLogprob]) -> String {
    let of_text = told.iter().filter(|told| told.place == ReplySection::Text);
    let bytes: Vec<u8> = of_text.flat_map(|told| &told.token.bytes).copied().collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Logits differ by 1e-4 at most (`model::tests`), and the logarithm of their sum by no more.
const TOLERANCE: f64 = 2e-4;

#[test]
fn log_probabilities_are_those_of_transformers() {
    let (golden, runner) = golden();
    let stream = runner.complete(Prompt::Tokens(golden.prompt.clone()), greedy(golden.greedy.len()));
    let (told, ..) = read(stream);
    assert_eq!(told.iter().map(|told| told.token.id).collect::<Vec<_>>(), golden.greedy);
    let mut n_compared = 0;
    for (i, told) in told.iter().enumerate() {
        let Some(row) = golden.rows.iter().find(|row| row.position == golden.prompt.len() - 1 + i) else { continue };
        n_compared += 1;
        assert_eq!(told.alternatives.iter().map(|token| token.id).collect::<Vec<_>>(), row.best(3));
        for token in told.alternatives.iter().chain([&told.token]) {
            let expect = row.logprob(token.id);
            assert!((token.logprob - expect).abs() <= TOLERANCE, "{} and {expect}", token.logprob);
        }
    }
    assert!(0 < n_compared, "some recorded row is reached");
}

#[test]
fn nothing_that_is_done_to_logits_shows_in_what_is_told() {
    let (golden, runner) = golden();
    let row = golden.rows.iter().find(|row| row.position == golden.prompt.len() - 1).unwrap();
    let unlikely = row.best(row.logits.len()).pop().unwrap();
    let options = GenerationOptions {
        logit_bias: [(unlikely, 100.0)].into(),
        temperature: Some(2.0),
        top_k: Some(1),
        repetition_penalty: Some(1.5),
        ..greedy(1)
    };
    let (told, ..) = read(runner.complete(Prompt::Tokens(golden.prompt.clone()), options));
    assert_eq!(told[0].token.id, unlikely);
    assert!((told[0].token.logprob - row.logprob(unlikely)).abs() <= TOLERANCE);
    assert_eq!(told[0].alternatives[0].id, row.best(1)[0]);
}

#[test]
fn a_bias_for_a_token_that_there_is_not_is_refused() {
    let (golden, runner) = golden();
    let options = GenerationOptions { logit_bias: [(1_000_000, 1.0)].into(), ..greedy(1) };
    let err = runner.complete(Prompt::Tokens(golden.prompt), options).last().unwrap().unwrap_err();
    assert_eq!(err.kind(), causerie::ErrorKind::InvalidOption("logit_bias"));
}

/// Every token is told once, and those of the text spell it.
#[track_caller]
fn check(reply: ScriptedReply, options: GenerationOptions, places: &str) {
    let runner = ScriptedModel::new().reply(reply).load().unwrap();
    let stream = runner
        .create_conversation("")
        .generate_response(ChatMessage::user("Hi"), GenerationOptions { logprobs: Some(2), ..options });
    let (told, text, _) = read(stream);
    assert_eq!(spelt(&told), text);
    let place = |told: &TokenLogprob| match told.place {
        ReplySection::Text => 't',
        ReplySection::Reasoning => 'r',
        ReplySection::Calls => 'c',
    };
    assert_eq!(told.iter().map(place).collect::<String>(), places);
    // A script leaves no doubt, and nothing else is possible.
    assert!(told.iter().all(|told| told.token.logprob == 0.0 && told.alternatives == [told.token.clone()]));
}

fn says(pieces: &[&str]) -> ScriptedReply {
    pieces.iter().fold(ScriptedReply::new(), |reply, piece| match *piece {
        "(" => reply.control("<|tool_call_start|>"),
        ")" => reply.control("<|tool_call_end|>"),
        text => reply.text(text),
    })
}

#[test]
fn tokens_of_the_text_spell_it() {
    let options = GenerationOptions::default;
    check(says(&["Hel", "lo"]), options(), "tt");
    let split = ScriptedReply::new().text("Gr").bytes([0xc3]).bytes([0xbc]).text("ezi").bytes([0xf0, 0x9f]);
    let runner = ScriptedModel::new().reply(split).load().unwrap();
    let asked = GenerationOptions { logprobs: Some(0), ..options() };
    let (told, text, _) = read(runner.create_conversation("").generate_response(ChatMessage::user("Hi"), asked));
    assert_eq!((spelt(&told), told.len()), (text, 5), "half a character at the end");
    assert!(told.iter().all(|told| told.alternatives.is_empty()));
}

#[test]
fn markers_belong_to_what_they_surround() {
    let options = GenerationOptions::default;
    check(says(&["a <", "b", " <th", "e"]), options(), "tttt");
    check(says(&["<think>", "Hm.", "</think>", "Yes."]), options(), "rrrt");
    check(says(&["So. ", "<th", "ink>", "Hm.", "</think>", "Yes."]), options(), "trrrrt");
    let thinking = GenerationOptions { enable_thinking: true, ..options() };
    check(says(&["<think>", "Hm.", "</think>", "Yes."]), thinking, "rrrt");
    check(says(&["So. ", "(", "[f(a=1)", ", g()]", ")", "now"]), options(), "tcccct");
    let json =
        GenerationOptions { function_call_parser: Some(FunctionCallParser::JsonStyleFunctionCallParser), ..options() };
    check(says(&["<tool", "_call>", r#"{"name": "f", "arguments": {}}"#, "</tool_call>", "ok"]), json, "cccct");
    check(says(&["(", "[f()]", ")", "[f()]", ")", "now"]), options(), "ccccct"); // an echo, left out
}

#[test]
fn calls_that_are_text_in_the_end_are_told_as_text() {
    let options = GenerationOptions::default;
    check(says(&["(", "[f(", "1)]", ")", "now"]), options(), "ttttt");
    check(says(&["(", "[f("]), options(), "tt");
    let off = GenerationOptions { function_call_parser: None, ..options() };
    check(says(&["(", "[f()]", ")"]), off, "ttt");
}

#[test]
fn a_stop_sequence_cuts_off_what_begins_in_it() {
    let stops = |stop: &str| GenerationOptions { stop_sequences: vec![stop.into()], ..Default::default() };
    check(says(&["one ", "two", " three"]), stops("two"), "t");
    check(says(&["one ", "t", "ea"]), stops("two"), "ttt");
    check(says(&["one ", "t"]), stops("two"), "tt");
    let runner = ScriptedModel::new().reply(says(&["one, t", "wo, three"])).load().unwrap();
    let options = GenerationOptions { logprobs: Some(0), ..stops("two") };
    let (told, text, completion) =
        read(runner.create_conversation("").generate_response(ChatMessage::user("Hi"), options));
    let told: Vec<&str> = told.iter().map(|told| told.token.text.as_str()).collect();
    assert_eq!((told, text.as_str()), (vec!["one, t"], "one, "), "a token that begins before it is told whole");
    assert_eq!(completion.stop_sequence.as_deref(), Some("two"));
}

#[test]
fn forced_tokens_are_told_as_well_and_the_reply_is_the_same() {
    let runner = ModelRunner::load(concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf")).unwrap();
    let reply = |logprobs| {
        let conversation = runner.create_conversation("");
        conversation.register_function(SdkFunction::new("a_function_of_a_long_name", "It does it.", vec![])).unwrap();
        let options = GenerationOptions {
            temperature: Some(0.0),
            max_tokens: Some(60),
            tool_choice: ToolChoice::Required,
            logprobs,
            ..Default::default()
        };
        read(conversation.generate_response(ChatMessage::user("Do it."), options))
    };
    let ((silent, _, plain), (told, _, logged)) = (reply(None), reply(Some(1)));
    assert_eq!(silent, []);
    assert_eq!(plain.full_message, logged.full_message);
    assert!(0 < plain.stats.forced_tokens);
    let n_called = told.iter().filter(|told| told.place == ReplySection::Calls).count();
    assert_eq!(n_called, logged.stats.call_tokens);
    assert!(told.iter().all(|told| told.token.logprob <= 0.0 && told.token.logprob <= told.alternatives[0].logprob));
}
