//! Prompts that are continued as they are.

use causerie::testing::ScriptedReply;
use causerie_server::serve::Settings;
use serde_json::{Value as Json, json};

use crate::server::TestServer;

fn complete(server: &TestServer, fields: &str) -> Json {
    let reply = server.post("/v1/completions", &format!(r#"{{"model": "test/script", "seed": 1, {fields}}}"#));
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()
}

#[test]
fn a_prompt_is_continued_as_it_is() {
    let server = TestServer::scripted([" upon a time", " upon a time"], Settings::default());
    let body = complete(&server, r#""prompt": "Once""#);
    assert_eq!(body["object"], "text_completion");
    let choice = json!({ "index": 0, "text": " upon a time", "logprobs": null, "finish_reason": "stop", "seed": 1 });
    assert_eq!(body["choices"], json!([choice]));
    assert_eq!(body["usage"]["prompt_tokens"], 5, "the beginning-of-text token, and four letters");
    assert_eq!(complete(&server, r#""prompt": "Once", "echo": true"#)["choices"][0]["text"], "Once upon a time");
}

#[test]
fn several_prompts_have_choices_each() {
    let server = TestServer::scripted(["a", "b", "c", "d"], Settings::default());
    let body = complete(&server, r#""prompt": ["x", "yy"], "n": 2"#);
    let texts: Vec<&Json> = body["choices"].as_array().unwrap().iter().map(|choice| &choice["text"]).collect();
    assert_eq!(texts, ["a", "b", "c", "d"]);
    assert_eq!(body["usage"]["prompt_tokens"], 2 + 3, "each prompt counts once");
}

#[test]
fn token_ids_are_a_prompt_as_well() {
    let server = TestServer::scripted(["a", "b"], Settings::default());
    assert_eq!(complete(&server, r#""prompt": [0, 20, 21]"#)["usage"]["prompt_tokens"], 3);
    assert_eq!(complete(&server, r#""prompt": [[0, 20]]"#)["usage"]["prompt_tokens"], 2);
    let unknown = server.post("/v1/completions", r#"{"model": "test/script", "prompt": [4000000000]}"#);
    assert_eq!(unknown.status, 400);
}

#[test]
fn text_streams_as_text() {
    let server = TestServer::scripted([ScriptedReply::new().text("a").text("b")], Settings::default());
    let reply = server.post("/v1/completions", r#"{"model": "test/script", "prompt": "x", "stream": true}"#);
    let events = reply.events();
    let texts = events[..events.len() - 1].iter().map(|event| serde_json::from_str::<Json>(event).unwrap());
    let texts: Vec<Json> = texts.map(|event| event["choices"][0]["text"].clone()).collect();
    assert_eq!(texts.iter().filter_map(Json::as_str).collect::<String>(), "ab");
    assert_eq!(events.last().unwrap(), "[DONE]");
}

#[test]
fn a_prompt_that_cannot_be_read_is_named() {
    let server = TestServer::scripted(["a"], Settings::default());
    let reply = server.post("/v1/completions", r#"{"model": "test/script", "prompt": [1000000]}"#);
    assert_eq!((reply.error().0, reply.error().2), (400, Some("prompt".into())), "{}", reply.text());
}
