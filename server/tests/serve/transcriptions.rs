//! Speech to text, in the forms that clients send.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use causerie::transcribe::{TranscribeOptions, Transcriber, TranscriberOptions, Transcript};
use causerie::{Sound, SoundOptions};
use causerie_server::serve::Settings;
use serde_json::{Value as Json, json};

use crate::client::{Client, HttpReply};
use crate::server::TestServer;

const PATH: &str = "/v1/audio/transcriptions";

fn sound(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../tests/fixtures/sounds/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// A tone of two seconds, of which the model writes something.
fn tone() -> Vec<u8> {
    let samples: Vec<f32> = (0..32_000).map(|at| (at as f32 * 0.17).sin() / 2.0).collect();
    Sound::from_samples(samples, 16_000).unwrap().to_wav()
}

/// The transcript of a file, without a server.
fn transcript(file: &[u8], options: TranscribeOptions) -> Transcript {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/whisper");
    let threads = TranscriberOptions { threads: Some(1), ..Default::default() };
    let sound = Sound::read_with(file, SoundOptions { sample_rate: Some(16_000), ..Default::default() }).unwrap();
    Transcriber::load_with(model, threads).unwrap().transcribe(&sound, options).unwrap()
}

/// A part of a form; a name with `;` has further parameters.
fn part(name: &str, value: &[u8]) -> Vec<u8> {
    let name = name.split_once(';').map_or(format!("\"{name}\""), |(name, more)| format!("\"{name}\";{more}"));
    [format!("--cut\r\nContent-Disposition: form-data; name={name}\r\n\r\n").as_bytes(), value, b"\r\n"].concat()
}

fn form(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let parts = parts.iter().flat_map(|(name, value)| part(name, value));
    parts.chain(b"--cut--\r\n".iter().copied()).collect()
}

const KIND: &str = "Content-Type: multipart/form-data; boundary=cut";

fn send(client: &mut Client, path: &str, body: &[u8]) {
    client.send(format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n{KIND}\r\nContent-Length: {}\r\n\r\n", body.len()));
    client.send(body);
}

fn post(server: &TestServer, path: &str, parts: &[(&str, &[u8])]) -> HttpReply {
    let mut client = server.client();
    send(&mut client, path, &form(parts));
    client.reply()
}

/// A file, with a name as clients give one.
fn file(bytes: &[u8]) -> (&'static str, &[u8]) {
    ("file; filename=\"clip.wav\"", bytes)
}

#[test]
fn parts_in_any_order_give_the_text_of_every_kind_of_file() {
    let server = TestServer::hearing(Settings::default());
    for name in ["pcm16.wav", "flac16.flac", "mp3.mp3", "opus.ogg"] {
        let expect = transcript(&sound(name), TranscribeOptions::default()).text;
        let bytes = sound(name);
        let model = ("model", &b"test/whisper"[..]);
        for parts in [[model, file(&bytes)], [file(&bytes), model]] {
            let reply = post(&server, PATH, &parts);
            let usage = json!({ "type": "duration", "seconds": 0.03 });
            let json = reply.json();
            assert_eq!((reply.status, &json["text"]), (200, &json!(expect)), "{name}");
            if name == "pcm16.wav" {
                assert_eq!(json["usage"], usage);
            }
            assert_eq!(reply.header("x-served-model"), None);
        }
    }
}

#[test]
fn a_body_in_chunks_is_read() {
    let server = TestServer::hearing(Settings::default());
    let mut client = server.client();
    client.send(format!("POST {PATH} HTTP/1.1\r\nHost: localhost\r\n{KIND}\r\nTransfer-Encoding: chunked\r\n\r\n"));
    for chunk in form(&[file(&tone()), ("response_format", b"text")]).chunks(100) {
        client.send([format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat());
    }
    client.send("0\r\n\r\n");
    let reply = client.reply();
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/plain; charset=utf-8")));
    assert_eq!(reply.text(), format!("{}\n", transcript(&tone(), TranscribeOptions::default()).text));
    assert_eq!(reply.header("x-served-model"), Some("test/whisper"));
}

#[test]
fn formats_are_those_of_the_transcript() {
    let server = TestServer::hearing(Settings::default());
    let bytes = tone();
    let expect = transcript(&bytes, TranscribeOptions::default());
    let ask = |fields: &[(&str, &[u8])]| post(&server, PATH, &[fields, &[file(&bytes)]].concat());
    assert_eq!(ask(&[("response_format", b"srt")]).text(), expect.to_srt());
    assert_eq!(ask(&[("response_format", b"vtt")]).text(), expect.to_vtt());
    let fields: [(&str, &[u8]); 2] = [("response_format", b"verbose_json"), ("timestamp_granularities[]", b"segment")];
    let verbose = ask(&fields).json();
    let mut whole: Json = serde_json::from_str(&expect.to_json()).unwrap();
    whole["task"] = json!("transcribe");
    whole["language"] = json!("chinese");
    assert_eq!(expect.language, "zh");
    whole["usage"] = json!({ "type": "duration", "seconds": 2.0 });
    assert!(!expect.segments.is_empty());
    assert_eq!(verbose, whole);
}

#[test]
fn json_with_base64_is_read_as_a_form() {
    let server = TestServer::hearing(Settings::default());
    let data = STANDARD.encode(tone());
    let expect = transcript(&tone(), TranscribeOptions::default()).text;
    for data in [data.clone(), format!("data:audio/wav;base64,{data}")] {
        let body =
            json!({ "model": "test/whisper", "input_audio": { "data": data, "format": "webm" }, "temperature": 0 });
        let reply = server.post(PATH, &body.to_string());
        assert_eq!((reply.status, &reply.json()["text"]), (200, &json!(expect)));
    }
}

#[test]
fn a_stream_has_the_text_in_pieces() {
    let server = TestServer::hearing(Settings::default());
    let mut client = server.client();
    send(&mut client, PATH, &form(&[file(&tone()), ("stream", b"true")]));
    let head = client.head().unwrap();
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    let events: Vec<Json> =
        std::iter::from_fn(|| client.event(&head)).map(|event| serde_json::from_str(&event).unwrap()).collect();
    let (done, deltas) = events.split_last().unwrap();
    let text: String = deltas.iter().map(|event| event["delta"].as_str().unwrap()).collect();
    let expect = transcript(&tone(), TranscribeOptions::default()).text;
    assert_eq!((&done["type"], &done["text"]), (&json!("transcript.text.done"), &json!(expect)));
    assert!(!expect.is_empty());
    assert_eq!(text.trim(), expect);
}

#[test]
fn what_is_wrong_is_named() {
    let server = TestServer::hearing(Settings { max_sound: Duration::from_millis(20), ..Settings::default() });
    let short = sound("empty.wav");
    for (parts, param, message) in [
        (vec![("model", &b"m"[..])], "file", "file is required: a part with the sound"),
        (vec![file(&short), file(&short)], "file", "file must be given once, found several"),
        (vec![file(b"Hello")], "file", "file cannot be read: the sound must be a WAV, FLAC, MP3 or Ogg Opus file"),
        (
            vec![file(&short), ("response_format", b"diarized_json")],
            "response_format",
            "response_format must be json, text, srt, vtt or verbose_json, found \"diarized_json\"",
        ),
        (
            vec![file(&short), ("temperature", b"hot")],
            "temperature",
            "temperature must be between 0 and 1, found \"hot\"",
        ),
        (vec![file(&short), ("stream", b"perhaps")], "stream", "stream must be true or false, found \"perhaps\""),
        (
            vec![file(&short), ("stream", b"true"), ("response_format", b"srt")],
            "stream",
            "stream must be false with this response_format: a stream has text only",
        ),
        (
            vec![file(&short), ("timestamp_granularities[]", b"line")],
            "timestamp_granularities",
            "timestamp_granularities must be word or segment, found \"line\"",
        ),
        (
            vec![file(&short), ("include[]", b"logprobs")],
            "include",
            "include must be left out: log-probabilities of tokens are not reported; verbose_json has avg_logprob of segments",
        ),
        (vec![file(&short), ("prompt", b"\xff")], "prompt", "prompt must be text in UTF-8"),
        (
            vec![file(&sound("pcm16.wav"))],
            "file",
            "file cannot be read: a sound must last at most 20ms, found at least 30ms",
        ),
        (
            vec![file(&sound("opus.webm"))],
            "file",
            "file cannot be read: the sound must be a WAV, FLAC, MP3 or Ogg Opus file, found WebM or Matroska",
        ),
    ] {
        let reply = post(&server, PATH, &parts);
        let error = &reply.json()["error"];
        assert_eq!((reply.status, &error["param"], &error["message"]), (400, &json!(param), &json!(message)));
    }
    let reply = post(&server, PATH, &[file(&short), ("language", b"tlh")]);
    let error = &reply.json()["error"];
    assert_eq!((reply.status, &error["param"]), (400, &json!("language")), "{error}");
}

#[test]
fn a_body_that_is_no_form_is_refused() {
    let server = TestServer::hearing(Settings::default());
    for (kind, body, status) in [
        ("Content-Type: text/plain", "x", 415),
        ("Content-Type: multipart/form-data", "x", 415),
        (KIND, "", 400),
        (KIND, "--cut\r\n\r\nx\r\n--cut--\r\n", 400),
        (KIND, "--cut\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nRIFF", 400),
        ("Content-Type: application/json", "[]", 400),
        ("Content-Type: application/json", "{\"input_audio\": {\"data\": \"?\"}}", 400),
    ] {
        let mut client = server.client();
        client.send(format!(
            "POST {PATH} HTTP/1.1\r\nHost: localhost\r\n{kind}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        let reply = client.reply();
        assert_eq!(reply.status, status, "{body:?}: {}", reply.text());
    }
}

#[test]
fn strict_servers_refuse_unknown_fields_and_other_models() {
    let server = TestServer::hearing(Settings { strict_fields: true, strict_model: true, ..Settings::default() });
    let bytes = sound("pcm16.wav");
    let known = ("model", &b"test/whisper"[..]);
    assert_eq!(post(&server, PATH, &[file(&bytes), known]).status, 200);
    assert_eq!(post(&server, PATH, &[file(&bytes), known, ("keywords[]", b"a")]).status, 400);
    assert_eq!(post(&server, PATH, &[file(&bytes), ("model", b"whisper-1")]).status, 404);
    let lenient = TestServer::hearing(Settings::default());
    let reply = post(&lenient, PATH, &[file(&bytes), known, ("keywords[]", b"a"), ("chunking_strategy", b"auto")]);
    assert_eq!(reply.header("x-ignored-fields"), Some("keywords[], chunking_strategy"));
}

#[test]
fn a_server_lists_the_models_that_transcribe() {
    let server = TestServer::hearing(Settings::default());
    assert_eq!(server.get("/v1/audio/models").json(), json!({ "models": [{ "id": "test/whisper" }] }));
    let without = TestServer::scripted(["a"], Settings::default());
    assert_eq!(without.get("/v1/audio/models").json(), json!({ "models": [] }));
    assert_eq!(post(&without, PATH, &[file(b"x")]).status, 404);
}

#[test]
fn translations_are_another_task() {
    let server = TestServer::hearing(Settings::default());
    let bytes = tone();
    let fields: [(&str, &[u8]); 2] = [("response_format", b"verbose_json"), ("language", b"English")];
    let reply = post(&server, "/v1/audio/translations", &[&fields[..], &[file(&bytes)]].concat()).json();
    let options = TranscribeOptions {
        task: causerie::transcribe::SpeechTask::Translate,
        language: Some("en".to_owned()),
        ..Default::default()
    };
    assert_eq!(reply["text"], json!(transcript(&bytes, options).text));
    assert_eq!((&reply["task"], &reply["language"]), (&json!("translate"), &json!("english")));
}
