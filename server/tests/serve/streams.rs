//! Replies as server-sent events.

use std::time::Duration;

use causerie::testing::ScriptedReply;
use causerie_server::serve::Settings;
use serde_json::{Value as Json, json};

use crate::chat::{TOOLS, weather_calls};
use crate::client::BodyPiece;
use crate::server::{TestServer, ask};

/// The events of one stream without the fields that all share; `[DONE]` is a string.
fn events(server: &TestServer, fields: &str) -> Vec<Json> {
    let reply = server.chat(&format!(r#", "stream": true, "seed": 3{fields}"#));
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/event-stream")), "{}", reply.text());
    assert_eq!(reply.header("cache-control"), Some("no-cache"));
    let mut ids = Vec::new();
    let read = |event: String| {
        if event == "[DONE]" {
            return json!(event);
        }
        let mut event: Json = serde_json::from_str(&event).unwrap();
        let object = event.as_object_mut().unwrap();
        if object.contains_key("error") {
            return event;
        }
        ids.push(["id", "created", "model", "object", "system_fingerprint"].map(|name| object.remove(name).unwrap()));
        object.remove("timings");
        event
    };
    let events = reply.events().into_iter().map(read).collect();
    assert!(ids.windows(2).all(|pair| pair[0] == pair[1]), "all events have the same id");
    assert_eq!(ids[0][3], "chat.completion.chunk");
    events
}

fn delta(delta: Json) -> Json {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn end(reason: &str) -> Json {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason, "seed": 3 }] })
}

fn opening() -> Json {
    delta(json!({ "role": "assistant", "content": null }))
}

#[test]
fn text_comes_in_deltas_between_a_role_and_a_reason() {
    let server = TestServer::scripted([ScriptedReply::new().text("Hel").text("lo.")], Settings::default());
    let deltas = events(&server, "");
    let text: String = deltas.iter().filter_map(|event| event["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(text, "Hello.");
    assert_eq!(deltas[0], opening());
    assert_eq!(deltas[deltas.len() - 2..], [end("stop"), json!("[DONE]")]);
    assert!(deltas.iter().all(|event| event["choices"][0]["delta"]["content"] != ""), "no delta is empty");
}

#[test]
fn usage_comes_last_and_only_if_requested() {
    let server = TestServer::scripted(["Hi.", "Hi."], Settings::default());
    assert!(events(&server, r#", "stream_options": {}"#).iter().all(|event| event.get("usage").is_none()));
    let events = events(&server, r#", "stream_options": {"include_usage": true}"#);
    let (last, before) = events[..events.len() - 1].split_last().unwrap();
    assert!(before.iter().all(|event| event["usage"].is_null() && event.get("usage").is_some()));
    assert_eq!(last["choices"], json!([]));
    assert_eq!((&last["usage"]["total_tokens"], &last["usage"]["completion_tokens"]), (&json!(24), &json!(2)));
}

#[test]
fn usage_so_far_comes_with_each_event_if_requested() {
    let reply = || ScriptedReply::new().text("a").text("b").text("c");
    let server = TestServer::scripted([reply(), reply()], Settings::default());
    let events = events(&server, r#", "stream_options": {"continuous_usage_stats": true}"#);
    let tokens = |event: &Json| {
        let usage = &event["usage"];
        assert_eq!(usage["prompt_tokens"], 22, "{event}");
        usage["completion_tokens"].as_u64().unwrap()
    };
    let counted: Vec<u64> = events[..events.len() - 1].iter().map(tokens).collect();
    assert_eq!((counted[0], counted[counted.len() - 1]), (0, 4), "the last event counts the end of the reply, too");
    assert!(counted.is_sorted() && counted.contains(&3), "{counted:?}");
    assert!(events.iter().all(|event| event["choices"][0].get("logprobs").is_none()), "they were not requested");
    let body = r#"{"prompt": "x", "stream": true, "stream_options": {"continuous_usage_stats": true}}"#;
    let last = server.post("/v1/completions", body).events();
    let last: Json = serde_json::from_str(&last[last.len() - 3]).unwrap();
    assert_eq!(last["usage"]["completion_tokens"], 3);
}

#[test]
fn calls_come_as_a_name_and_then_their_arguments() {
    let server = TestServer::scripted([weather_calls()], Settings::default());
    let mut events = events(&server, TOOLS);
    for event in &mut events {
        if let Some(id) = event.pointer_mut("/choices/0/delta/tool_calls/0/id") {
            assert!(id.as_str().unwrap().starts_with("call_"));
            *id = json!("…");
        }
    }
    let start = |index: usize| {
        let function = json!({ "name": "get_weather", "arguments": "" });
        delta(json!({ "tool_calls": [{ "index": index, "id": "…", "type": "function", "function": function }] }))
    };
    let rest = |index: usize, arguments: &str| {
        delta(json!({ "tool_calls": [{ "index": index, "function": { "arguments": arguments } }] }))
    };
    let expect = [
        opening(),
        delta(json!({ "content": "Let me see. " })),
        start(0),
        rest(0, r#"{"city": "Oslo", "days": 2}"#),
        start(1),
        rest(1, r#"{"city": "Zürich"}"#),
        end("tool_calls"),
        json!("[DONE]"),
    ];
    assert_eq!(events, expect);
}

#[test]
fn indices_of_calls_run_over_the_whole_reply() {
    let block = |reply: ScriptedReply, city: &str| {
        let call = format!("[get_weather(city=\"{city}\")]");
        reply.control("<|tool_call_start|>").text(call).control("<|tool_call_end|>")
    };
    let server = TestServer::scripted([block(block(ScriptedReply::new(), "A"), "B")], Settings::default());
    let events = events(&server, TOOLS);
    let indices = events.iter().filter_map(|event| event.pointer("/choices/0/delta/tool_calls/0/index"));
    assert_eq!(indices.collect::<Vec<_>>(), [0, 0, 1, 1]);
}

#[test]
fn a_character_is_never_cut() {
    let [a, b] = ["é".as_bytes()[0], "é".as_bytes()[1]];
    let server = TestServer::scripted([ScriptedReply::new().bytes([b'T', a]).bytes([b, b'!'])], Settings::default());
    let events = events(&server, "");
    let texts = events.iter().filter_map(|event| event["choices"][0]["delta"]["content"].as_str());
    assert_eq!(texts.collect::<String>(), "Té!");
}

#[test]
fn reasoning_comes_as_it_is_generated_or_before_the_end() {
    let thinking = || ScriptedReply::new().text("<think>").text("Hm.").text("</think>").text("Yes.");
    let server = TestServer::scripted([thinking(), thinking()], Settings::default());
    let names = |events: Vec<Json>| -> Vec<String> {
        let deltas = events.iter().filter_map(|event| event["choices"][0]["delta"].as_object());
        deltas.flat_map(|delta| delta.keys().cloned().collect::<Vec<_>>()).collect()
    };
    let asked = events(&server, r#", "chat_template_kwargs": {"enable_thinking": true}"#);
    assert_eq!(names(asked), ["role", "content", "reasoning_content", "content"]);
    assert_eq!(names(events(&server, "")), ["role", "content", "content", "reasoning_content"]);
}

#[test]
fn choices_follow_each_other() {
    let server = TestServer::scripted(["one", "two"], Settings::default());
    let events = events(&server, r#", "n": 2"#);
    let indices: Vec<_> = events.iter().filter_map(|event| event["choices"][0]["index"].as_u64()).collect();
    assert_eq!(indices, [0, 0, 0, 1, 1, 1]);
}

#[test]
fn a_failure_before_the_first_token_is_a_status() {
    let server = TestServer::scripted([ScriptedReply::new().fail("broken"), "good".into()], Settings::default());
    let reply = server.chat(r#", "stream": true"#);
    assert_eq!(reply.error(), (500, "internal".into(), None));
    assert_eq!(server.chat("").status, 200);
}

#[test]
fn a_failure_during_a_stream_is_its_last_event() {
    for broken in [ScriptedReply::new().text("So").fail("broken"), ScriptedReply::new().text("So").panic()] {
        let server = TestServer::scripted([broken, "good".into()], Settings::default());
        let events = events(&server, "");
        assert_eq!(events.last().unwrap()["error"]["code"], "internal");
        assert_eq!(events[1], delta(json!({ "content": "So" })));
        assert_eq!(server.chat("").status, 200, "the next request is answered");
    }
}

#[test]
fn a_silent_stream_is_kept_alive() {
    let settings = Settings { keep_alive: Duration::from_millis(1), ..Settings::default() };
    let server = TestServer::scripted([ScriptedReply::new().stall()], settings);
    let mut client = server.client();
    client.ask("/v1/chat/completions", &ask(r#", "stream": true"#));
    let head = client.head().unwrap();
    assert!(client.event(&head).unwrap().contains("assistant"));
    let BodyPiece::Chunk(comment) = client.piece(&head) else { panic!("the stream must continue") };
    assert!(comment.starts_with(b": "));
}

#[test]
fn a_client_that_disconnects_ends_its_own_reply_only() {
    let slow = || ScriptedReply::new().text("So").stall();
    let server = TestServer::scripted([slow(), slow(), "good".into()], Settings::default());
    let [mut leaves, mut stays] = [server.client(), server.client()];
    for client in [&mut leaves, &mut stays] {
        client.ask("/v1/chat/completions", &ask(r#", "stream": true"#));
        let head = client.head().unwrap();
        client.event(&head).unwrap();
    }
    server.wait_for("requests_running", "2");
    drop(leaves);
    server.wait_for("requests_cancelled_total", "1");
    server.wait_for("requests_running", "1");
    assert_eq!(server.chat("").status, 200);
}

#[test]
fn a_client_that_disconnects_is_noticed_even_if_it_sent_more_after_its_request() {
    for after in ["\r\n", "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"] {
        let server = TestServer::scripted([ScriptedReply::new().stall()], Settings::default());
        let mut client = server.client();
        let body = ask("");
        let head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json";
        client.send(format!("{head}\r\nContent-Length: {}\r\n\r\n{body}{after}", body.len()));
        server.wait_for("requests_running", "1");
        drop(client);
        server.wait_for("requests_cancelled_total", "1");
        server.wait_for("requests_running", "0");
    }
}

#[test]
fn a_client_that_disconnects_before_the_first_token_is_noticed() {
    for fields in ["", r#", "stream": true"#] {
        let server = TestServer::scripted([ScriptedReply::new().stall()], Settings::default());
        let mut client = server.client();
        client.ask("/v1/chat/completions", &ask(fields));
        server.wait_for("requests_running", "1");
        drop(client);
        server.wait_for("requests_cancelled_total", "1");
        server.wait_for("requests_running", "0");
    }
}
