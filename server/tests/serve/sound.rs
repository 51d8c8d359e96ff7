//! Sound in the dialects that have parts for it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use causerie::ModelRunner;
use causerie_server::serve::Settings;
use serde_json::{Value as Json, json};

use crate::server::TestServer;

fn hearing() -> TestServer {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/lfm2a-hf");
    TestServer::start(ModelRunner::load(model).unwrap(), "hearing", Settings::default())
}

/// A recording of two rows.
fn recording() -> String {
    STANDARD.encode(std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/sounds/short.wav")).unwrap())
}

/// A chat with a part of the user.
fn chat(part: &Json) -> Json {
    let text = json!({ "type": "text", "text": "What is it?" });
    json!({ "messages": [{ "role": "user", "content": [part, text] }], "max_tokens": 2, "temperature": 0 })
}

fn input_audio(data: &str, format: &str) -> Json {
    json!({ "type": "input_audio", "input_audio": { "data": data, "format": format } })
}

#[test]
fn recordings_are_heard_in_every_form_and_counted() {
    let server = hearing();
    let data = recording();
    let url = format!("data:audio/wav;base64,{data}");
    let mut replies = Vec::new();
    for part in [
        input_audio(&data, "wav"),
        input_audio(&data, "mp3"), // the bytes say which format it is
        input_audio(&url, "wav"),
        json!({ "type": "audio_url", "audio_url": { "url": url } }),
        json!({ "type": "audio_url", "audio_url": url }),
    ] {
        let reply = server.post("/v1/chat/completions", &chat(&part).to_string());
        assert_eq!(reply.status, 200, "{}", reply.text());
        let json = reply.json();
        assert_eq!(json["usage"]["prompt_tokens_details"]["audio_tokens"], 2);
        replies.push((json["usage"]["prompt_tokens"].clone(), json["choices"][0]["message"]["content"].clone()));
    }
    assert!(replies.iter().all(|reply| *reply == replies[0]), "{replies:?}");
    let items = json!([{ "role": "user", "content": [
        input_audio(&data, "wav"), { "type": "input_text", "text": "What is it?" }
    ] }]);
    let reply = server.post("/v1/responses", &json!({ "input": items, "max_output_tokens": 2 }).to_string());
    assert_eq!(reply.json()["usage"]["input_tokens"], replies[0].0, "{}", reply.text());
    let source = json!({ "type": "base64", "media_type": "audio/wav", "data": data });
    for block in [json!({ "type": "audio", "source": source }), input_audio(&data, "wav")] {
        let content = json!([block, { "type": "text", "text": "What is it?" }]);
        let body = json!({ "messages": [{ "role": "user", "content": content }] });
        let reply = server.post("/v1/messages/count_tokens", &body.to_string());
        assert_eq!(reply.json()["input_tokens"], replies[0].0, "{}", reply.text());
    }
    let model = &server.get("/v1/models").json()["data"][0];
    assert_eq!((&model["capabilities"]["audio"], &model["capabilities"]["vision"]), (&json!(true), &json!(false)));
}

#[test]
fn what_cannot_be_heard_is_refused_by_its_place() {
    let server = hearing();
    for (part, expect) in [
        (json!({ "type": "audio_url", "audio_url": { "url": "http://127.0.0.1/a.wav" } }), "fetches no sound"),
        (input_audio("@", "wav"), "messages[0].content[0].input_audio.data must be valid base64"),
        (input_audio("UklGRg==", "wav"), "messages[0].content[0]: "),
        (json!({ "type": "input_audio", "input_audio": {} }), "input_audio.data must be a string"),
    ] {
        let reply = server.post("/v1/chat/completions", &chat(&part).to_string());
        assert!(reply.status == 400 && reply.text().contains(expect), "{part}: {}", reply.text());
    }
    let source = json!({ "type": "url", "url": "https://example.org/a.wav" });
    let block = json!({ "messages": [{ "role": "user", "content": [{ "type": "audio", "source": source }] }] });
    let reply = server.post("/v1/messages/count_tokens", &block.to_string());
    let expect = "messages[0].content[0].source.type must be \"base64\": this server fetches no sound, found \"url\"";
    assert!(reply.status == 400 && reply.text().contains(&expect.replace('"', "\\\"")), "{}", reply.text());
    let of_system = json!({ "messages": [
        { "role": "system", "content": [input_audio(&recording(), "wav")] }, { "role": "user", "content": "Hi" }
    ] });
    let reply = server.post("/v1/chat/completions", &of_system.to_string());
    assert!(reply.text().contains("audio belongs to messages of the user and of tools"), "{}", reply.text());
    let server = TestServer::scripted(["good"], Settings::default());
    let reply = server.post("/v1/chat/completions", &chat(&input_audio(&recording(), "wav")).to_string());
    let (_, code, _) = reply.error();
    assert!(
        code == "unsupported_field" && reply.text().contains("audio needs a model with audio input"),
        "{}",
        reply.text()
    );
}

#[test]
fn the_demo_model_hears_a_request() {
    let chat = concat!(env!("CARGO_MANIFEST_DIR"), "/src/chat/functions.json");
    let tools: Json = serde_json::from_str(&std::fs::read_to_string(chat).unwrap()).unwrap();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/sounds/timer.wav");
    let recording = input_audio(&STANDARD.encode(std::fs::read(file).unwrap()), "wav");
    let messages = json!([
        { "role": "system", "content": "You are causerie, a small assistant on this device." },
        { "role": "user", "content": [recording] },
    ]);
    let body = json!({ "model": "causerie/demo", "messages": messages, "tools": tools });
    let reply = TestServer::demo().post("/v1/chat/completions", &body.to_string()).json();
    let call = &reply["choices"][0]["message"]["tool_calls"][0]["function"];
    assert_eq!(call["name"], "set_timer", "{reply}");
    let arguments: Json = serde_json::from_str(call["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments, json!({ "duration": 12, "unit": "minutes" }));
}
