//! Log-probabilities, in the forms that OpenAI's clients read.

use causerie::testing::ScriptedReply;
use causerie_server::serve::Settings;
use serde_json::{Value as Json, json};

use crate::chat::{TOOLS, weather_calls};
use crate::server::TestServer;

/// A token of a script, which has probability 1.
fn certain(text: &str) -> Json {
    json!({ "token": text, "logprob": 0.0, "bytes": text.as_bytes() })
}

fn entry(text: &str, top: &[&str]) -> Json {
    let mut entry = certain(text);
    entry["top_logprobs"] = top.iter().map(|text| certain(text)).collect();
    entry
}

fn streamed(server: &TestServer, path: &str, body: &Json) -> Vec<Json> {
    let events = server.post(path, &body.to_string()).events();
    let events = events.iter().filter(|event| *event != "[DONE]").map(|event| serde_json::from_str(event).unwrap());
    events.map(|event: Json| event["choices"][0].clone()).collect()
}

#[test]
fn a_choice_has_its_tokens_and_their_alternatives() {
    let reply = || ScriptedReply::new().text("Hel").text("lo.");
    let server = TestServer::scripted([reply(), reply(), reply()], Settings::default());
    let logprobs = |fields: &str| server.chat(fields).json()["choices"][0]["logprobs"].clone();
    let logprobs_of = |content: [Json; 2]| json!({ "content": content, "refusal": null });
    assert_eq!(logprobs(r#", "logprobs": true"#), logprobs_of([entry("Hel", &[]), entry("lo.", &[])]));
    let with_top = logprobs_of([entry("Hel", &["Hel"]), entry("lo.", &["lo."])]);
    assert_eq!(logprobs(r#", "logprobs": true, "top_logprobs": 2"#), with_top);
    assert_eq!(logprobs(""), Json::Null);
}

#[test]
fn a_stream_sends_tokens_with_their_text() {
    let server = TestServer::scripted([weather_calls()], Settings::default());
    let mut body: Json = serde_json::from_str(&crate::server::ask(TOOLS)).unwrap();
    body["logprobs"] = json!(true);
    body["stream"] = json!(true);
    let choices = streamed(&server, "/v1/chat/completions", &body);
    let scored: Vec<&Json> = choices.iter().filter(|choice| !choice["logprobs"].is_null()).collect();
    assert_eq!(scored.len(), 1, "tokens of calls are not part of the content: {choices:?}");
    assert_eq!(scored[0]["delta"]["content"], "Let me see. ");
    assert_eq!(scored[0]["logprobs"]["content"], json!([entry("Let me see. ", &[])]));
}

#[test]
fn a_stream_and_a_whole_reply_have_the_same_tokens_wherever_they_end() {
    for (call, max_tokens) in ["1)]", "?"].iter().flat_map(|call| (1..=5).map(move |n| (call, n))) {
        let block = || ScriptedReply::new().control("<|tool_call_start|>").text("[f(a=").text(*call);
        let reply = || block().control("<|tool_call_end|>").text("So.");
        let server = TestServer::scripted([reply(), reply()], Settings::default());
        let asked = |stream: bool| {
            let fields = format!(r#", "logprobs": true, "max_tokens": {max_tokens}, "stream": {stream}"#);
            serde_json::from_str::<Json>(&crate::server::ask(&fields)).unwrap()
        };
        let path = "/v1/chat/completions";
        let whole = server.post(path, &asked(false).to_string()).json()["choices"][0].clone();
        let entries = |choice: &Json| choice["logprobs"]["content"].as_array().cloned().unwrap_or_default();
        let streamed: Vec<Json> = streamed(&server, path, &asked(true)).iter().flat_map(entries).collect();
        assert_eq!(entries(&whole), streamed, "{call} {max_tokens}: {whole}");
        assert!(streamed.iter().all(|entry| entry["bytes"] != json!([])), "{call} {max_tokens}: {whole}");
    }
}

#[test]
fn a_completion_has_its_tokens_in_parallel_arrays() {
    let reply = || ScriptedReply::new().text("é").text("b");
    let server = TestServer::scripted([reply(), reply(), reply()], Settings::default());
    let body = json!({ "model": "test/script", "prompt": "x", "logprobs": 1 });
    let whole = server.post("/v1/completions", &body.to_string()).json()["choices"][0]["logprobs"].clone();
    let expect = json!({
        "tokens": ["é", "b"],
        "token_logprobs": [0.0, 0.0],
        "top_logprobs": [{ "é": 0.0 }, { "b": 0.0 }],
        "text_offset": [0, 1],
    });
    assert_eq!(whole, expect);
    let mut asked = body.clone();
    asked["stream"] = json!(true);
    let choices = streamed(&server, "/v1/completions", &asked);
    let column = |name: &str| -> Vec<Json> {
        choices.iter().filter_map(|choice| choice["logprobs"][name].as_array()).flatten().cloned().collect()
    };
    for (name, values) in expect.as_object().unwrap() {
        assert_eq!(&Json::Array(column(name)), values, "{name}");
    }
    let mut echoed = body;
    echoed["echo"] = json!(true);
    let refused = server.post("/v1/completions", &echoed.to_string());
    assert_eq!(refused.error(), (400, "unsupported_field".into(), Some("logprobs".into())));
}

#[test]
fn penalties_and_biases_change_what_is_written() {
    let server = TestServer::demo();
    let reply = |more: Json| {
        let mut body = json!({ "model": "causerie/demo", "prompt": "a a a a", "temperature": 0, "max_tokens": 24,
            "ignore_eos": true, "logprobs": 0 });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let choice = server.post("/v1/completions", &body.to_string()).json()["choices"][0].clone();
        let tokens = choice["logprobs"]["tokens"].as_array().unwrap_or_else(|| panic!("{choice}"));
        tokens.iter().map(|token| token.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let distinct = |tokens: &[String]| tokens.iter().collect::<std::collections::HashSet<_>>().len();
    let plain = reply(json!({}));
    let penalised = reply(json!({ "frequency_penalty": 2.0, "presence_penalty": 2.0 }));
    assert!(distinct(&plain) < distinct(&penalised), "{plain:?} {penalised:?}");
    let biased = reply(json!({ "logit_bias": { "300": 100 } }));
    assert_eq!(distinct(&biased), 1, "the biased token is always chosen: {biased:?}");
}
