//! Log-probabilities of the tokens of a reply, and their order relative to its text.

use causerie::testing::{ScriptedModel, ScriptedReply};
use causerie::{
    CacheType, ChatMessage, Completion, FunctionCallParser, GenerationOptions, LoadOptions, MessageResponse,
    ModelRunner, Prompt, ReplySection, ResponseStream, SdkFunction, TokenLogprob, ToolChoice,
};
use serde::Deserialize;

/// Values that transformers computed for a model: logits after the tokens of a prompt and its greedy reply.
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
    /// Computed by the definition, which sums in another order than the engine.
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
    let (mut tokens, mut text) = (Vec::new(), String::new());
    for event in stream {
        match event.unwrap() {
            MessageResponse::Logprobs(more) => tokens.extend(more),
            MessageResponse::Chunk(chunk) => {
                text += &chunk;
                assert!(text.len() <= content_of(&tokens).len(), "{text:?} comes before its tokens");
            }
            MessageResponse::Complete(completion) => return (tokens, text, *completion),
            _ => {}
        }
    }
    panic!("a reply ends")
}

/// The text of the tokens that belong to the content.
fn content_of(tokens: &[TokenLogprob]) -> String {
    let of_text = tokens.iter().filter(|token| token.place == ReplySection::Text);
    let bytes: Vec<u8> = of_text.flat_map(|token| &token.token.bytes).copied().collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Logits differ by at most 1e-4 (`model::tests`), and so does the logarithm of the sum of their exponentials.
const TOLERANCE: f64 = 2e-4;

#[test]
fn log_probabilities_are_those_of_transformers() {
    let (golden, runner) = golden();
    let stream = runner.complete(Prompt::Tokens(golden.prompt.clone()), greedy(golden.greedy.len()));
    let (tokens, ..) = read(stream);
    assert_eq!(tokens.iter().map(|token| token.token.id).collect::<Vec<_>>(), golden.greedy);
    let mut n_compared = 0;
    for (i, reported) in tokens.iter().enumerate() {
        let Some(row) = golden.rows.iter().find(|row| row.position == golden.prompt.len() - 1 + i) else { continue };
        n_compared += 1;
        assert_eq!(reported.alternatives.iter().map(|token| token.id).collect::<Vec<_>>(), row.best(3));
        for token in reported.alternatives.iter().chain([&reported.token]) {
            let expect = row.logprob(token.id);
            assert!((token.logprob - expect).abs() <= TOLERANCE, "{} and {expect}", token.logprob);
        }
    }
    assert!(0 < n_compared, "at least one recorded row must be compared");
}

#[test]
fn log_probabilities_do_not_depend_on_sampling_options() {
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
    let (tokens, ..) = read(runner.complete(Prompt::Tokens(golden.prompt.clone()), options));
    assert_eq!(tokens[0].token.id, unlikely);
    assert!((tokens[0].token.logprob - row.logprob(unlikely)).abs() <= TOLERANCE);
    assert_eq!(tokens[0].alternatives[0].id, row.best(1)[0]);
}

#[test]
fn a_bias_for_an_unknown_token_is_refused() {
    let (golden, runner) = golden();
    let options = GenerationOptions { logit_bias: [(1_000_000, 1.0)].into(), ..greedy(1) };
    let err = runner.complete(Prompt::Tokens(golden.prompt), options).into_iter().last().unwrap().unwrap_err();
    assert_eq!(err.kind(), causerie::ErrorKind::InvalidOption("logit_bias"));
}

/// Checks that every token is reported once, and that the tokens of the content join to it.
#[track_caller]
fn check(reply: ScriptedReply, options: GenerationOptions, places: &str) {
    let runner = ScriptedModel::new().reply(reply).load().unwrap();
    let stream = runner
        .create_conversation("")
        .generate_response(ChatMessage::user("Hi"), GenerationOptions { logprobs: Some(2), ..options });
    let (tokens, text, _) = read(stream);
    assert_eq!(content_of(&tokens), text);
    let place = |token: &TokenLogprob| match token.place {
        ReplySection::Text => 't',
        ReplySection::Reasoning => 'r',
        ReplySection::Calls => 'c',
    };
    assert_eq!(tokens.iter().map(place).collect::<String>(), places);
    // In a script each token has probability one.
    assert!(tokens.iter().all(|token| token.token.logprob == 0.0 && token.alternatives == [token.token.clone()]));
}

fn says(pieces: &[&str]) -> ScriptedReply {
    pieces.iter().fold(ScriptedReply::new(), |reply, piece| match *piece {
        "(" => reply.control("<|tool_call_start|>"),
        ")" => reply.control("<|tool_call_end|>"),
        text => reply.text(text),
    })
}

#[test]
fn tokens_of_the_content_join_to_it() {
    let options = GenerationOptions::default;
    check(says(&["Hel", "lo"]), options(), "tt");
    let split = ScriptedReply::new().text("Gr").bytes([0xc3]).bytes([0xbc]).text("ezi").bytes([0xf0, 0x9f]);
    let runner = ScriptedModel::new().reply(split).load().unwrap();
    let asked = GenerationOptions { logprobs: Some(0), ..options() };
    let (tokens, text, _) = read(runner.create_conversation("").generate_response(ChatMessage::user("Hi"), asked));
    // The text ends before half a character at its end; its token is reported as it is.
    assert_eq!((content_of(&tokens), tokens.len()), (text + "\u{fffd}", 5));
    assert!(tokens.iter().all(|token| token.alternatives.is_empty()));
}

#[test]
fn markers_belong_to_the_section_that_they_surround() {
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
fn rejected_calls_that_become_text_are_reported_as_text() {
    let options = GenerationOptions::default;
    check(says(&["(", "[f(", "1)]", ")", "now"]), options(), "ttttt");
    check(says(&["(", "[f("]), options(), "tt");
    let off = GenerationOptions { function_call_parser: None, ..options() };
    check(says(&["(", "[f()]", ")"]), off, "ttt");
}

#[test]
fn a_stop_sequence_removes_tokens_that_begin_in_it() {
    let stops = |stop: &str| GenerationOptions { stop_sequences: vec![stop.into()], ..Default::default() };
    check(says(&["one ", "two", " three"]), stops("two"), "t");
    check(says(&["one ", "t", "ea"]), stops("two"), "ttt");
    check(says(&["one ", "t"]), stops("two"), "tt");
    let runner = ScriptedModel::new().reply(says(&["one, t", "wo, three"])).load().unwrap();
    let options = GenerationOptions { logprobs: Some(0), ..stops("two") };
    let (tokens, text, completion) =
        read(runner.create_conversation("").generate_response(ChatMessage::user("Hi"), options));
    let tokens: Vec<&str> = tokens.iter().map(|token| token.token.text.as_str()).collect();
    assert_eq!((tokens, text.as_str()), (vec!["one, t"], "one, "), "a token that begins before it is reported whole");
    assert_eq!(completion.stop_sequence.as_deref(), Some("two"));
}

#[test]
fn forced_tokens_are_reported_as_well_and_the_reply_is_the_same() {
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
    let ((silent, _, plain), (tokens, _, logged)) = (reply(None), reply(Some(1)));
    assert_eq!(silent, []);
    assert_eq!(plain.full_message, logged.full_message);
    assert!(0 < plain.stats.forced_tokens);
    let n_called = tokens.iter().filter(|token| token.place == ReplySection::Calls).count();
    assert_eq!(n_called, logged.stats.call_tokens);
    assert!(
        tokens.iter().all(|token| token.token.logprob <= 0.0 && token.token.logprob <= token.alternatives[0].logprob)
    );
}
