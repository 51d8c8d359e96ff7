//! Images in the dialects that have messages.

use causerie::ModelRunner;
use causerie_server::serve::Settings;
use serde_json::{Value as Json, json};

use crate::server::TestServer;

/// A PNG file of one pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn seeing() -> TestServer {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/lfm2vl-hf");
    TestServer::start(ModelRunner::load(model).unwrap(), "seeing", Settings::default())
}

/// The request of each dialect, with its path and where its usage counts the prompt.
fn requests(address: Option<&str>) -> [(&'static str, &'static str, Json); 3] {
    let text = "What is it?";
    let parts = |kind: &str, image: Option<Json>| -> Json {
        image.into_iter().chain([json!({ "type": kind, "text": text })]).collect::<Vec<_>>().into()
    };
    let chat = address.map(|url| json!({ "type": "image_url", "image_url": { "url": url } }));
    let input = address.map(|url| json!({ "type": "input_image", "image_url": url }));
    let block = address.map(|url| match url.split_once(',') {
        Some((_, data)) => {
            json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": data } })
        }
        None => json!({ "type": "image", "source": { "type": "url", "url": url } }),
    });
    let message = |content: Json| json!([{ "role": "user", "content": content }]);
    [
        ("/v1/chat/completions", "prompt_tokens", json!({ "messages": message(parts("text", chat)), "max_tokens": 2 })),
        (
            "/v1/responses",
            "input_tokens",
            json!({ "input": message(parts("input_text", input)), "max_output_tokens": 2 }),
        ),
        ("/v1/messages", "input_tokens", json!({ "messages": message(parts("text", block)), "max_tokens": 2 })),
    ]
}

#[test]
fn every_dialect_takes_an_image_and_counts_its_tokens() {
    let server = seeing();
    let url = format!("data:image/png;base64,{PIXEL}");
    let mut counts = Vec::new();
    for ((path, usage, plain), (_, _, shown)) in requests(None).into_iter().zip(requests(Some(&url))) {
        let [plain, shown] = [plain, shown].map(|body| {
            let reply = server.post(path, &body.to_string());
            assert_eq!(reply.status, 200, "{path}");
            let json = reply.json();
            let counts = &json["usage"];
            // Messages count cached tokens apart.
            counts[usage].as_u64().unwrap() + counts["cache_read_input_tokens"].as_u64().unwrap_or_default()
        });
        counts.push(shown - plain);
    }
    // The rows of the picture, and the tokens before and after them.
    assert!(counts.iter().all(|count| *count == counts[0]) && 3 < counts[0], "{counts:?}");
}

#[test]
fn addresses_are_refused_by_name_and_damaged_files_are_errors() {
    let server = seeing();
    for address in ["http://127.0.0.1/x.png", "https://example.org/x.png", "file:///etc/passwd", "HTTP://[::1]/"] {
        for (path, _, body) in requests(Some(address)) {
            let reply = server.post(path, &body.to_string());
            assert_eq!(reply.status, 400, "{path}: {address}");
            let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
            assert!(message.contains("this server fetches no"), "{path}: {message}");
        }
    }
    for (data, expect) in [("iVBORw0KGgo=", "cannot be decoded"), ("AAAA", "must be a JPEG"), ("&", "valid base64")] {
        for (path, _, body) in requests(Some(&format!("data:image/png;base64,{data}"))) {
            let reply = server.post(path, &body.to_string());
            let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
            assert!(reply.status == 400 && message.contains(expect), "{path}: {} {message}", reply.status);
        }
    }
}
