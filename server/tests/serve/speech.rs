//! Replies that speak: with a tiny random model, whose words and sound mean nothing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use causerie::{ChatMessage, GenerationOptions, LoadOptions, MessageResponse, ModelRunner, Sound, SpeechMode};
use causerie_server::serve::Settings;
use serde_json::{Value as Json, json};

use crate::client::HttpReply;
use crate::server::TestServer;

const CHAT: &str = "/v1/chat/completions";
const SEED: u64 = 7;
const MAX_TOKENS: usize = 40;

fn load_with(context_size: Option<usize>) -> ModelRunner {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/lfm2a-speech/lfm2a-speech-f16.gguf");
    ModelRunner::load_with(model, LoadOptions { context_size, ..Default::default() }).unwrap()
}

fn load() -> ModelRunner {
    load_with(None)
}

fn speaking(settings: Settings) -> TestServer {
    TestServer::start(load(), "test/voice", settings)
}

/// A request with these fields besides its messages.
fn ask(messages: &Json, fields: Json) -> Json {
    let mut body = json!({
        "model": "test/voice", "messages": messages, "temperature": 0, "seed": SEED, "max_tokens": MAX_TOKENS,
        "modalities": ["text", "audio"],
    });
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    body
}

fn question() -> Json {
    json!([{ "role": "user", "content": "Who are you?" }])
}

fn post(server: &TestServer, body: &Json) -> HttpReply {
    let reply = server.post(CHAT, &body.to_string());
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply
}

fn message(reply: &HttpReply) -> Json {
    reply.json()["choices"][0]["message"].clone()
}

fn bytes(text: &Json) -> Vec<u8> {
    STANDARD.decode(text.as_str().unwrap()).unwrap()
}

/// The words and the samples of the same reply without a server. Samples have 16 bits, as in a file.
fn reply_of_the_engine() -> (String, Vec<f32>) {
    let options = GenerationOptions {
        temperature: Some(0.0),
        seed: Some(SEED),
        max_tokens: Some(MAX_TOKENS),
        speech_mode: SpeechMode::Interleaved,
        ..Default::default()
    };
    let conversation = load().create_conversation("Respond with interleaved text and audio.");
    let (mut text, mut samples) = (String::new(), Vec::new());
    for event in conversation.generate_response(ChatMessage::user("Who are you?"), options) {
        match event.unwrap() {
            MessageResponse::Chunk(chunk) => text.push_str(&chunk),
            MessageResponse::AudioSample { samples: more, .. } => samples.extend(more),
            _ => {}
        }
    }
    let file = Sound::from_samples(samples, 24_000).unwrap().to_wav();
    (text, Sound::read(&file).unwrap().samples().to_vec())
}

fn pcm(samples: &[f32]) -> Vec<u8> {
    samples.iter().flat_map(|sample| ((sample * 32_768.0) as i16).to_le_bytes()).collect()
}

#[test]
fn a_whole_reply_has_its_sound_as_a_file_and_its_words_as_transcript() {
    let server = speaking(Settings::default());
    let (text, samples) = reply_of_the_engine();
    assert!(!text.is_empty() && 20_000 < samples.len());
    for format in ["wav", "flac", "pcm16"] {
        let reply = post(&server, &ask(&question(), json!({ "audio": { "voice": "alloy", "format": format } })));
        let message = message(&reply);
        assert_eq!((&message["content"], &message["audio"]["transcript"]), (&Json::Null, &json!(text)), "{format}");
        let file = bytes(&message["audio"]["data"]);
        match format {
            "pcm16" => assert!(file == pcm(&samples)),
            _ => {
                let sound = Sound::read(&file).unwrap();
                assert!(sound.sample_rate() == 24_000 && sound.samples() == samples, "{format}");
            }
        }
        assert!(message["audio"]["expires_at"].as_u64() > reply.json()["created"].as_u64());
        assert_eq!(reply.header("x-ignored-fields"), Some("audio.voice"));
        // Frames of 80 ms, of which the last one of a stretch has no sound.
        let usage = &reply.json()["usage"];
        let n_spoken = usage["completion_tokens_details"]["audio_tokens"].as_u64().unwrap() as usize;
        assert!((samples.len() / 1_920..MAX_TOKENS).contains(&n_spoken), "{usage}");
    }
}

#[test]
fn the_deltas_of_a_stream_join_to_the_whole_reply() {
    let server = speaking(Settings::default());
    let mut client = server.client();
    let fields = json!({ "stream": true, "audio": { "format": "pcm16" }, "stream_options": { "include_usage": true } });
    client.ask(CHAT, &ask(&question(), fields).to_string());
    let head = client.head().unwrap();
    assert_eq!(head.status, 200);
    let events: Vec<String> = std::iter::from_fn(|| client.event(&head)).collect();
    let deltas = events.iter().filter(|event| *event != "[DONE]").map(|event| {
        let event: Json = serde_json::from_str(event).unwrap();
        event["choices"][0]["delta"].clone()
    });
    let audio: Vec<Json> = deltas.map(|delta| delta["audio"].clone()).filter(|audio| !audio.is_null()).collect();
    // Clients join the texts of all deltas.
    let joined = |name: &str| -> String { audio.iter().filter_map(|delta| delta[name].as_str()).collect() };
    let (text, samples) = reply_of_the_engine();
    assert_eq!(joined("transcript"), text);
    assert!(STANDARD.decode(joined("data")).unwrap() == pcm(&samples));
    assert!(joined("id").starts_with("audio_") && audio[0]["id"] == joined("id"));
    let n_pieces = audio.iter().filter(|delta| delta["data"].is_string()).count();
    assert!(samples.len() / 1_920 <= n_pieces, "the sound of each frame is sent once it is known: {n_pieces}");
    assert!(audio.iter().filter(|delta| delta["expires_at"].is_u64()).count() == 1);
}

#[test]
fn the_next_request_names_what_was_said() {
    let server = speaking(Settings::default());
    let first = post(&server, &ask(&question(), json!({})));
    let (id, transcript) = (message(&first)["audio"]["id"].clone(), message(&first)["audio"]["transcript"].clone());
    let next = |said: Json| {
        let mut messages = question();
        messages.as_array_mut().unwrap().extend([said, json!({ "role": "user", "content": "Why?" })]);
        ask(&messages, json!({}))
    };
    let spoken = post(&server, &next(json!({ "role": "assistant", "audio": { "id": id } })));
    let n_frames = &first.json()["usage"]["completion_tokens_details"]["audio_tokens"];
    let usage = &spoken.json()["usage"];
    assert_eq!(&usage["prompt_tokens_details"]["audio_tokens"], n_frames);
    assert!(
        first.json()["usage"]["prompt_tokens"].as_u64() <= usage["prompt_tokens_details"]["cached_tokens"].as_u64()
    );
    // As a client of the SDK sends its history: with the text, too.
    let both = post(&server, &next(json!({ "role": "assistant", "content": transcript, "audio": { "id": id } })));
    assert_eq!(message(&both)["audio"]["data"], message(&spoken)["audio"]["data"]);
    let forgotten = next(json!({ "role": "assistant", "audio": { "id": "audio_1" } }));
    let refused = server.post(CHAT, &forgotten.to_string());
    let expect = "messages[1].audio.id must be that of a recent reply of this server: send its transcript";
    assert!(refused.status == 400 && refused.text().contains(expect), "{}", refused.text());
    let said = json!({ "role": "assistant", "content": transcript, "audio": { "id": "audio_1" } });
    let read = post(&server, &next(said));
    assert_eq!(read.header("x-ignored-fields"), Some("messages[1].audio"));
    assert_eq!(read.json()["usage"]["prompt_tokens_details"]["audio_tokens"], 0);
}

#[test]
fn a_reply_of_text_alone_is_silent() {
    let server = speaking(Settings::default());
    for fields in [json!({ "modalities": ["text"] }), json!({ "modalities": null })] {
        let message = message(&post(&server, &ask(&question(), fields)));
        assert!(message["content"].is_string() && message["audio"].is_null(), "{message}");
    }
}

#[test]
fn what_cannot_be_spoken_is_refused() {
    let server = speaking(Settings::default());
    let format = json!({ "type": "json_object" });
    for (fields, expect) in [
        (json!({ "audio": { "format": "mp3" } }), "audio.format must be wav, flac, pcm16, pcmu or pcma, found \"mp3\""),
        (
            json!({ "audio": { "format": "wav" }, "stream": true }),
            "audio.format must be pcm16 in a stream, found \"wav\"",
        ),
        (
            json!({ "modalities": ["text"], "audio": { "format": "wav" } }),
            "audio must be left out unless modalities contains \"audio\"",
        ),
        (json!({ "modalities": ["text", "video"] }), "modalities[1] must be text or audio, found \"video\""),
        (
            json!({ "response_format": format }),
            "modalities must be [\"text\"] where the form of the reply is constrained",
        ),
    ] {
        let reply = server.post(CHAT, &ask(&question(), fields).to_string());
        assert_eq!((reply.status, &reply.json()["error"]["message"]), (400, &json!(expect)));
    }
    let server = TestServer::scripted(["good"], Settings::default());
    let reply = server.post(CHAT, &ask(&question(), json!({})).to_string());
    assert_eq!(reply.error(), (400, "unsupported_field".to_owned(), Some("modalities".to_owned())));
    assert!(reply.text().contains("the model test/script does not speak"), "{}", reply.text());
}

#[test]
fn a_model_tells_whether_it_speaks() {
    let server = speaking(Settings::default());
    assert_eq!(server.get("/v1/models").json()["data"][0]["capabilities"]["speech"], json!(true));
    assert_eq!(server.get("/v1/audio/models").json(), json!({ "models": [{ "id": "test/voice" }] }));
    let voices = server.get("/v1/audio/voices").json()["voices"].clone();
    assert_eq!(voices[2], json!({ "id": "uk_male", "name": "UK male" }));
    assert_eq!(voices.as_array().unwrap().len(), 4);
}

const SPEECH: &str = "/v1/audio/speech";

/// A model that begins every reply to a text with sound: the rows of the token that it would write first and of the one that begins
/// sound have changed places.
fn reading(settings: Settings) -> TestServer {
    let folder = tempfile::tempdir().unwrap();
    let fixtures = format!("{}/../tests/fixtures/models/lfm2a-speech", env!("CARGO_MANIFEST_DIR"));
    for file in std::fs::read_dir(fixtures).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
    }
    let place = folder.path().join("lfm2a-speech-f16.gguf");
    let mut file = std::fs::read(&place).unwrap();
    let row = |token: usize| 14_816 + 64 * token..14_816 + 64 * (token + 1);
    let (sound_start, first) = (file[row(3)].to_vec(), file[row(419)].to_vec());
    file[row(3)].copy_from_slice(&first);
    file[row(419)].copy_from_slice(&sound_start);
    std::fs::write(&place, file).unwrap();
    let options = LoadOptions { context_size: Some(120), ..Default::default() };
    TestServer::start(ModelRunner::load_with(place.to_str().unwrap(), options).unwrap(), "test/voice", settings)
}

/// A request to read a text aloud, with these fields.
fn aloud(fields: Json) -> String {
    let mut body = json!({ "model": "test/voice", "input": "Dinner is ready.", "voice": "alloy", "seed": SEED });
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    body.to_string()
}

#[test]
fn a_text_is_read_aloud_in_every_format_whole_and_in_pieces() {
    let server = reading(Settings::default());
    let read = |fields: Json| {
        let reply = server.post(SPEECH, &aloud(fields));
        assert_eq!((reply.status, reply.header("x-ignored-fields")), (200, None), "{}", reply.text());
        reply
    };
    let whole = read(json!({ "stream": false }));
    assert_eq!(whole.header("content-type"), Some("audio/wav"));
    let sound = Sound::read(&whole.body).unwrap();
    assert!(sound.sample_rate() == 24_000 && 1_920 < sound.samples().len());
    assert_eq!(whole.body[40..44], (2 * sound.samples().len() as u32).to_le_bytes(), "its header has its size");
    let streamed = read(json!({}));
    assert_eq!(streamed.header("transfer-encoding"), Some("chunked"));
    assert!(streamed.body[..44] != whole.body[..44] && streamed.body[44..] == whole.body[44..]);
    let flac = read(json!({ "response_format": "flac" }));
    assert_eq!(flac.header("content-type"), Some("audio/flac"));
    assert!(Sound::read(&flac.body).unwrap() == sound);
    let bare = read(json!({ "response_format": "pcm", "voice": { "id": "us_female" }, "speed": 1 }));
    assert!(bare.header("content-type") == Some("audio/pcm") && bare.body == pcm(sound.samples()));
    let other = read(json!({ "response_format": "pcm", "voice": "uk_male" }));
    assert!(other.body != bare.body, "the voice is part of the prompt");
}

#[test]
fn the_events_of_a_text_join_to_its_file() {
    let server = reading(Settings::default());
    let file = server.post(SPEECH, &aloud(json!({ "response_format": "flac" }))).body;
    let mut client = server.client();
    client.ask(SPEECH, &aloud(json!({ "response_format": "flac", "stream_format": "sse" })));
    let head = client.head().unwrap();
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    let events: Vec<Json> =
        std::iter::from_fn(|| client.event(&head)).map(|event| serde_json::from_str(&event).unwrap()).collect();
    let (done, deltas) = events.split_last().unwrap();
    assert!(deltas.iter().all(|event| event["type"] == "speech.audio.delta"));
    assert!(deltas.iter().flat_map(|event| bytes(&event["audio"])).eq(file));
    assert_eq!(done["type"], "speech.audio.done");
    let usage = &done["usage"];
    let count = |name: &str| usage[name].as_u64().unwrap();
    assert_eq!(count("total_tokens"), count("input_tokens") + count("output_tokens"));
}

#[test]
fn a_text_that_cannot_be_read_aloud_is_refused() {
    let server = speaking(Settings::default());
    for (fields, param, expect) in [
        (json!({ "input": " " }), "input", "input must have 1 to 4096 characters that can be read, found 1"),
        (
            json!({ "input": "a".repeat(4_097) }),
            "input",
            "input must have 1 to 4096 characters that can be read, found 4097",
        ),
        (
            json!({ "voice": "nobody" }),
            "voice",
            "voice must be one of us_male, us_female, uk_male, uk_female, or a name of OpenAI's, found \"nobody\"",
        ),
        (
            json!({ "response_format": "mp3" }),
            "response_format",
            "response_format must be wav, flac, pcm, pcmu or pcma: no other is written, found \"mp3\"",
        ),
        (
            json!({ "speed": 1.5 }),
            "speed",
            "speed must be 1: the model speaks at its own speed, and players can change it",
        ),
        (json!({ "temperature": 3 }), "temperature", "temperature must be between 0 and 2, found 3"),
        (json!({ "temperature": -1 }), "temperature", "temperature must be 0 or more, found -1"),
    ] {
        let error = server.post(SPEECH, &aloud(fields)).json()["error"].clone();
        assert_eq!((&error["param"], &error["message"]), (&json!(param), &json!(expect)));
    }
    let strict = speaking(Settings { strict_fields: true, ..Settings::default() });
    let reply = strict.post(SPEECH, &aloud(json!({ "instructions": "Be merry." })));
    assert_eq!(reply.error(), (400, "unknown_field".to_owned(), Some("instructions".to_owned())));
    let mute = TestServer::scripted(["good"], Settings::default());
    let reply = mute.post(SPEECH, &aloud(json!({})));
    assert_eq!(reply.error(), (400, "unsupported_field".to_owned(), Some("model".to_owned())));
    assert!(reply.text().contains("the model test/script does not"), "{}", reply.text());
    assert_eq!(mute.get("/v1/audio/voices").json(), json!({ "voices": [] }));
}

#[test]
fn a_model_that_writes_instead_of_speaking_is_an_error() {
    let server = TestServer::start(load_with(Some(120)), "test/voice", Settings::default());
    let reply = server.post(SPEECH, &aloud(json!({})));
    assert_eq!(reply.error(), (500, "no_speech".to_owned(), None));
}
