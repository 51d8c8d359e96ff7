//! Realtime sessions: events over a WebSocket.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use causerie::testing::ScriptedReply;
use causerie::{LoadOptions, ModelRunner};
use causerie_server::access::LocalKeys;
use causerie_server::serve::Settings;
use serde_json::{Value as Json, json};

use crate::server::TestServer;
use crate::websocket::{BINARY, CLOSE, TEXT, WebSocket, request, types};

const PATH: &str = "/v1/realtime?model=test";

/// A tiny model with random weights that hears and speaks.
fn speaking() -> TestServer {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/lfm2a-speech/lfm2a-speech-f16.gguf");
    let options = LoadOptions { context_size: Some(2048), ..Default::default() };
    TestServer::start(ModelRunner::load_with(model, options).unwrap(), "test", Settings::default())
}

fn scripted<R: Into<ScriptedReply>>(replies: impl IntoIterator<Item = R>) -> TestServer {
    TestServer::scripted(replies, Settings::default())
}

/// A session, whose first event was read.
fn session(server: &TestServer) -> WebSocket {
    let mut socket = WebSocket::connect(server.address, PATH);
    assert_eq!(socket.event()["type"], "session.created");
    socket
}

/// So many milliseconds of a tone, or of silence, as events have sound.
fn sound(amplitude: f32, milliseconds: u32) -> String {
    let sample = |at: u32| ((amplitude * (at as f32 * 0.1).sin() * 32_767.0) as i16).to_le_bytes();
    STANDARD.encode((0..24 * milliseconds).flat_map(sample).collect::<Vec<u8>>())
}

fn append(audio: &str) -> Json {
    json!({ "type": "input_audio_buffer.append", "audio": audio })
}

fn update(session: &Json) -> Json {
    json!({ "type": "session.update", "session": session })
}

fn user(text: &str) -> Json {
    let content = json!([{ "type": "input_text", "text": text }]);
    json!({ "type": "conversation.item.create", "item": { "type": "message", "role": "user", "content": content } })
}

/// Bytes of sound in the deltas of events.
fn n_sound_bytes(events: &[Json]) -> usize {
    let deltas = events.iter().filter(|event| event["type"] == "response.output_audio.delta");
    deltas.map(|event| STANDARD.decode(event["delta"].as_str().unwrap()).unwrap().len()).sum()
}

/// The text in the deltas of events.
fn text(events: &[Json]) -> String {
    let kinds = ["response.output_text.delta", "response.output_audio_transcript.delta"];
    let deltas = events.iter().filter(|event| kinds.contains(&event["type"].as_str().unwrap()));
    deltas.map(|event| event["delta"].as_str().unwrap()).collect()
}

#[test]
fn a_text_model_answers_in_text() {
    let server = scripted(["Hello there."]);
    let mut socket = session(&server);
    let added = socket.ask(&user("Hi"), "conversation.item.done");
    assert_eq!(added["item"]["content"][0]["text"], "Hi");
    socket.send(&json!({ "type": "response.create" }));
    let events = socket.until("response.done");
    let expect = [
        "response.created",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.done",
    ];
    assert_eq!((types(&events), text(&events).as_str()), (expect.to_vec(), "Hello there."));
    let response = &events.last().unwrap()["response"];
    assert_eq!((&response["status"], &response["output_modalities"]), (&json!("completed"), &json!(["text"])));
    assert_eq!(response["output"][0]["content"], json!([{ "type": "output_text", "text": "Hello there." }]));
    assert!(response["usage"]["total_tokens"].as_u64() > response["usage"]["input_tokens"].as_u64());
    // The reply is an item after the message.
    let item = socket.ask(
        &json!({ "type": "conversation.item.retrieve", "item_id": response["output"][0]["id"] }),
        "conversation.item.retrieved",
    );
    assert_eq!(item["item"], response["output"][0]);
}

#[test]
fn functions_are_called_and_their_results_read() {
    let call =
        ScriptedReply::new().control("<|tool_call_start|>").text("[now(zone=\"UTC\")]").control("<|tool_call_end|>");
    let server = scripted([call, "Noon.".into()]);
    let mut socket = session(&server);
    let parameters = json!({ "type": "object", "properties": { "zone": { "type": "string" } } });
    let tool = json!({ "type": "function", "name": "now", "description": "Tell the time.", "parameters": parameters });
    socket.ask(&update(&json!({ "type": "realtime", "tools": [tool] })), "session.updated");
    socket.ask(&user("Time?"), "conversation.item.done");
    socket.send(&json!({ "type": "response.create" }));
    let events = socket.until("response.done");
    let find = |kind: &str| events.iter().find(|event| event["type"] == kind).unwrap();
    assert_eq!(find("response.output_item.added")["item"]["name"], "now");
    let done = find("response.function_call_arguments.done");
    assert_eq!(done["arguments"], r#"{"zone": "UTC"}"#);
    assert_eq!(find("response.function_call_arguments.delta")["delta"], done["arguments"]);
    let output = json!({ "type": "function_call_output", "call_id": done["call_id"], "output": "noon" });
    socket.ask(&json!({ "type": "conversation.item.create", "item": output }), "conversation.item.done");
    socket.send(&json!({ "type": "response.create" }));
    assert_eq!(text(&socket.until("response.done")), "Noon.");
}

#[test]
fn a_response_is_cancelled() {
    let server = scripted([ScriptedReply::new().text("Well, ").stall(), "Next.".into()]);
    let mut socket = session(&server);
    socket.ask(&user("Hi"), "conversation.item.done");
    socket.send(&json!({ "type": "response.create" }));
    socket.until("response.output_text.delta");
    let refused = socket.ask(&json!({ "type": "response.create", "event_id": "mine" }), "error");
    assert_eq!(refused["error"]["code"], "conversation_already_has_active_response");
    assert_eq!(refused["error"]["event_id"], "mine");
    let done = socket.ask(&json!({ "type": "response.cancel" }), "response.done");
    let details = json!({ "type": "cancelled", "reason": "client_cancelled" });
    assert_eq!((&done["response"]["status"], &done["response"]["status_details"]), (&json!("cancelled"), &details));
    assert_eq!(done["response"]["output"][0]["status"], "incomplete");
    let idle = socket.ask(&json!({ "type": "response.cancel" }), "error");
    assert_eq!(idle["error"]["code"], "response_cancel_not_active");
    socket.send(&json!({ "type": "response.create", "response": { "instructions": "Go on." } }));
    assert_eq!(text(&socket.until("response.done")), "Next.");
}

#[test]
fn items_are_placed_and_deleted() {
    let server = scripted(["One."]);
    let mut socket = session(&server);
    let first = socket.ask(&user("First"), "conversation.item.done")["item"]["id"].clone();
    let mut before = user("Before");
    before["previous_item_id"] = json!("root");
    let added = socket.ask(&before, "conversation.item.added");
    assert_eq!(added["previous_item_id"], Json::Null);
    let mut after = user("After");
    after["previous_item_id"] = first.clone();
    assert_eq!(socket.ask(&after, "conversation.item.added")["previous_item_id"], first);
    let delete = json!({ "type": "conversation.item.delete", "item_id": first });
    assert_eq!(socket.ask(&delete, "conversation.item.deleted")["item_id"], first);
    let missing = socket.ask(&delete, "error");
    assert_eq!((&missing["error"]["code"], &missing["error"]["param"]), (&json!("item_not_found"), &json!("item_id")));
}

/// A session with the tiny model, whose replies are short and the same in each run.
fn spoken_session(server: &TestServer, turn_detection: &Json) -> WebSocket {
    let mut socket = session(server);
    let input = json!({ "format": { "type": "audio/pcm", "rate": 24_000 }, "turn_detection": turn_detection });
    let settings = json!({ "audio": { "input": input }, "max_output_tokens": 30, "temperature": 0 });
    let updated = socket.ask(&update(&settings), "session.updated");
    assert_eq!(updated["session"]["output_modalities"], json!(["audio"]));
    socket
}

#[test]
fn what_is_committed_is_answered_in_sound() {
    let server = speaking();
    let mut socket = spoken_session(&server, &Json::Null);
    let too_short = socket.ask(&json!({ "type": "input_audio_buffer.commit" }), "error");
    assert_eq!(too_short["error"]["code"], "input_audio_buffer_commit_empty");
    socket.send(&append(&sound(0.5, 300)));
    let committed = socket.ask(&json!({ "type": "input_audio_buffer.commit" }), "input_audio_buffer.committed");
    let item = socket.ask(&json!({ "type": "response.create" }), "conversation.item.done");
    assert_eq!(
        (&item["item"]["id"], &item["item"]["content"][0]["type"]),
        (&committed["item_id"], &json!("input_audio"))
    );
    let events = socket.until("response.done");
    let bytes = n_sound_bytes(&events);
    assert!(0 < bytes && bytes.is_multiple_of(2 * 1_920), "{bytes}");
    let response = &events.last().unwrap()["response"];
    assert_eq!(response["status"], "incomplete"); // as many tokens as were asked for
    assert_eq!(response["output"][0]["content"][0], json!({ "type": "output_audio", "transcript": text(&events) }));
    let bytes_of_frames = 2 * 1_920 * response["usage"]["output_token_details"]["audio_tokens"].as_u64().unwrap();
    assert!(bytes as u64 <= bytes_of_frames); // a frame that ends sound has none
    assert!(4 <= response["usage"]["input_token_details"]["audio_tokens"].as_u64().unwrap());
    // Cut to what was heard, the reply stays in the conversation, and its sound is read again from the cache.
    let id = &response["output"][0]["id"];
    let truncate =
        json!({ "type": "conversation.item.truncate", "item_id": id, "content_index": 0, "audio_end_ms": 150 });
    assert_eq!(socket.ask(&truncate, "conversation.item.truncated")["audio_end_ms"], 150);
    let n_heard = response["usage"]["input_token_details"]["audio_tokens"].as_u64().unwrap();
    socket.send(&json!({ "type": "response.create" }));
    let done = socket.until("response.done").pop().unwrap();
    let usage = &done["response"]["usage"]["input_token_details"];
    assert_eq!(usage["audio_tokens"], n_heard + 2, "two frames were heard");
    assert!(0 < usage["cached_tokens"].as_u64().unwrap());
}

#[test]
fn turns_are_found_and_interrupt_the_reply() {
    let server = speaking();
    let turns = json!({ "type": "server_vad", "silence_duration_ms": 200, "prefix_padding_ms": 100 });
    let mut socket = spoken_session(&server, &turns);
    let settings = json!({ "type": "realtime", "max_output_tokens": "inf" });
    socket.ask(&update(&settings), "session.updated");
    socket.send(&append(&sound(0.0, 500)));
    socket.send(&append(&sound(0.5, 400)));
    let started = socket.until("input_audio_buffer.speech_started").pop().unwrap();
    assert_eq!(started["audio_start_ms"], 400);
    let stopped = socket.ask(&append(&sound(0.0, 300)), "input_audio_buffer.speech_stopped");
    assert_eq!((&stopped["audio_end_ms"], &stopped["item_id"]), (&json!(1_100), &started["item_id"]));
    // A response follows by itself, and new speech ends it.
    socket.until("response.output_audio.delta");
    socket.send(&append(&sound(0.5, 300)));
    let events = socket.until("response.done");
    assert!(types(&events).contains(&"input_audio_buffer.speech_started"));
    let details = &events.last().unwrap()["response"]["status_details"];
    assert_eq!(*details, json!({ "type": "cancelled", "reason": "turn_detected" }));
    // The end of that speech has an answer of its own.
    socket.send(&append(&sound(0.0, 300)));
    socket.until("response.created");
    socket.until("response.output_audio.delta");
}

#[test]
fn a_reply_is_cut_while_it_is_spoken() {
    let server = speaking();
    let mut socket = spoken_session(&server, &Json::Null);
    socket.ask(&update(&json!({ "max_output_tokens": "inf" })), "session.updated");
    socket.ask(&user("Hi"), "conversation.item.done");
    socket.send(&json!({ "type": "response.create" }));
    let delta = socket.until("response.output_audio.delta").pop().unwrap();
    let id = &delta["item_id"];
    let truncate =
        json!({ "type": "conversation.item.truncate", "item_id": id, "content_index": 0, "audio_end_ms": 40 });
    socket.ask(&truncate, "conversation.item.truncated");
    let done = socket.until("response.done").pop().unwrap();
    assert_eq!(done["response"]["status"], "cancelled");
    socket.send(&json!({ "type": "response.create", "response": { "max_output_tokens": 5 } }));
    let usage = &socket.until("response.done").pop().unwrap()["response"]["usage"];
    assert_eq!(usage["input_token_details"]["audio_tokens"], 1, "one frame was heard");
}

#[test]
fn a_model_without_hearing_reads_what_is_written_down() {
    let server = TestServer::hearing_with(["I have read it."], Settings::default());
    let mut socket = session(&server);
    socket.ask(&update(&json!({ "audio": { "input": { "turn_detection": null } } })), "session.updated");
    socket.send(&append(&sound(0.5, 1_000)));
    socket.send(&json!({ "type": "input_audio_buffer.commit" }));
    socket.send(&json!({ "type": "response.create" }));
    let events = socket.until("response.done");
    let transcript =
        events.iter().find(|event| event["type"] == "conversation.item.input_audio_transcription.completed");
    let transcript = transcript.unwrap();
    assert_eq!(text(&events), "I have read it.");
    assert_eq!(transcript["usage"], json!({ "type": "duration", "seconds": 1.0 }));
    let item = json!({ "type": "conversation.item.retrieve", "item_id": transcript["item_id"] });
    let item = socket.ask(&item, "conversation.item.retrieved");
    assert_eq!(item["item"]["content"][0]["transcript"], transcript["transcript"]);
    // A session may only transcribe.
    let mut socket = WebSocket::connect(server.address, "/v1/realtime?intent=transcription");
    assert_eq!(socket.event()["session"]["type"], "transcription");
    socket.send(&append(&[sound(0.5, 900), sound(0.0, 900)].concat()));
    socket.until("conversation.item.input_audio_transcription.completed");
}

#[test]
fn no_input_ends_a_session() {
    let server = scripted(["Still here."]);
    let mut socket = session(&server);
    for (event, code) in [
        ("{", "invalid_json"),
        ("[]", "invalid_json"),
        ("{}", "invalid_event"),
        (r#"{"type": 7}"#, "invalid_event"),
        (r#"{"type": "session.update"}"#, "invalid_value"),
        (r#"{"type": "session.update", "session": {"type": "session"}}"#, "invalid_value"),
        (r#"{"type": "session.update", "session": {"tools": [{"type": "function", "name": "a b"}]}}"#, "invalid_value"),
        (r#"{"type": "input_audio_buffer.append", "audio": "AAAA"}"#, "unsupported_field"),
        (r#"{"type": "conversation.item.create", "item": {"type": "message"}}"#, "invalid_value"),
        (
            r#"{"type": "conversation.item.create", "previous_item_id": "x", "item": {"role": "user", "content": "Hi"}}"#,
            "item_not_found",
        ),
        (r#"{"type": "conversation.item.truncate", "item_id": "x", "audio_end_ms": 1}"#, "item_not_found"),
        (r#"{"type": "conversation.item.truncate", "item_id": "x", "audio_end_ms": -1}"#, "invalid_value"),
        (r#"{"type": "response.create", "response": {"max_output_tokens": "many"}}"#, "invalid_value"),
        (r#"{"type": "response.create", "response": {"tool_choice": 3}}"#, "invalid_value"),
        (r#"{"type": "response.create", "response": {"input": [{"type": "item_reference"}]}}"#, "item_not_found"),
    ] {
        socket.frame(TEXT, event.as_bytes());
        let error = socket.event();
        assert_eq!((&error["type"], &error["error"]["code"]), (&json!("error"), &json!(code)), "{event}: {error}");
        assert!(error["error"]["message"].as_str().is_some_and(|message| !message.is_empty()));
    }
    socket.frame(BINARY, b"sound");
    assert_eq!(socket.event()["error"]["code"], "invalid_event");
    socket.ask(&user("Hi"), "conversation.item.done");
    socket.send(&json!({ "type": "response.create" }));
    assert_eq!(text(&socket.until("response.done")), "Still here.");
}

#[test]
fn frames_that_break_the_protocol_close_the_session() {
    let server = scripted(["Hi"]);
    for (bytes, code) in [
        (&[0x81, 0x02, b'{', b'}'][..], 1002),                     // without a mask
        (&[0x83, 0x80, 0, 0, 0, 0], 1002),                         // a code that has no meaning
        (&[0x81, 0x81, 0, 0, 0, 0, 0xFF], 1007),                   // not UTF-8
        (&[0x81, 0xFF, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0], 1009), // 16 MiB
        (&[0x88, 0x82, 0, 0, 0, 0, 3, 0xE8], 1000),                // the client leaves
    ] {
        let mut socket = session(&server);
        socket.bytes(bytes);
        let (kind, reason) =
            socket.next_frame().unwrap_or_else(|| panic!("the server must say why it closes: {bytes:?}"));
        assert_eq!((kind, u16::from_be_bytes([reason[0], reason[1]])), (CLOSE, code), "{bytes:?}");
        assert_eq!(socket.next_frame(), None);
    }
}

#[test]
fn a_session_needs_an_upgrade_and_a_key() {
    let server = scripted(["Hi"]);
    let reply = server.get(PATH);
    assert_eq!(reply.error(), (426, "upgrade_required".to_owned(), None));
    let mut client = server.client();
    client.send(request(PATH, "Origin: https://evil.example\r\n"));
    assert_eq!(client.reply().error().1, "origin_not_allowed");
    let keys = LocalKeys::new(["secret-key"]).unwrap();
    let server = TestServer::scripted(["Hi"], Settings { local_keys: Some(keys), ..Settings::default() });
    let mut client = server.client();
    client.send(request(PATH, ""));
    assert_eq!(client.reply().error().1, "missing_key");
    let mut client = server.client();
    client.send(request(PATH, "Authorization: Bearer secret-key\r\nSec-WebSocket-Protocol: realtime, other\r\n"));
    let head = client.head().unwrap();
    assert_eq!((head.status, head.header("sec-websocket-protocol")), (101, Some("realtime")));
}

#[test]
fn a_server_that_stops_closes_its_sessions() {
    let mut server = scripted(["Hi"]);
    let mut socket = session(&server);
    server.stop();
    let (kind, reason) = socket.next_frame().unwrap();
    assert_eq!((kind, &reason[..2]), (CLOSE, &1001u16.to_be_bytes()[..]));
    server.join();
}

#[test]
fn an_item_that_is_named_too_often_is_refused() {
    let server = scripted(["unused"]);
    let mut socket = session(&server);
    let added = socket.ask(&user(&"x".repeat(1 << 20)), "conversation.item.done");
    let reference = json!({ "type": "item_reference", "id": added["item"]["id"] });
    let input = vec![reference; 65];
    let error = socket.ask(&json!({ "type": "response.create", "response": { "input": input } }), "error");
    assert_eq!(error["error"]["code"], "conversation_full");
}
