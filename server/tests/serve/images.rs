//! Images in the dialects that have messages.

use causerie::ModelRunner;
use causerie_server::serve::Settings;
use serde_json::{Value as Json, json};

use crate::server::TestServer;

/// A PNG file of one pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn seeing(settings: Settings) -> TestServer {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/lfm2vl-hf");
    TestServer::start(ModelRunner::load(model).unwrap(), "seeing", settings)
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
    let server = seeing(Settings::default());
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
    let server = seeing(Settings::default());
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

#[test]
fn addresses_are_fetched_from_allowed_and_public_hosts_only() {
    let image_hosts = vec!["127.0.0.1".to_owned(), "localhost:81".to_owned()];
    let server = seeing(Settings { image_hosts, ..Settings::default() });
    for (address, expect) in [
        ("http://127.0.0.1/x.png", "must be on a public host"),
        ("http://LOCALHOST:81/x.png", "must be on a public host"),
        ("https://example.org/x.png", "on a host that --allow-image-urls names, found \"example.org\""),
        ("http://127.0.0.1:82/x.png", "found \"127.0.0.1:82\""),
        ("http://you@127.0.0.1/x.png", "without a user's name"),
        ("file:///etc/passwd", "this server fetches no"),
    ] {
        for (path, _, body) in requests(Some(address)) {
            let reply = server.post(path, &body.to_string());
            let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
            assert!(reply.status == 400 && message.contains(expect), "{path}: {} {message}", reply.status);
        }
    }
    // What a request contains is read as ever.
    let url = format!("data:image/png;base64,{PIXEL}");
    assert!(requests(Some(&url)).iter().all(|(path, _, body)| server.post(path, &body.to_string()).status == 200));
}

#[test]
fn images_of_others_and_stored_files_are_refused() {
    let server = seeing(Settings::default());
    let url = format!("data:image/png;base64,{PIXEL}");
    let item = |role: &str| json!({ "role": role, "content": [{ "type": "input_image", "image_url": url }] });
    let entry = |role: &str| json!({ "role": role, "content": [{ "type": "image_url", "image_url": { "url": url } }] });
    let block = |role: &str, source: Json| json!({ "role": role, "content": [{ "type": "image", "source": source }] });
    let data = json!({ "type": "base64", "media_type": "image/png", "data": PIXEL });
    let belongs = "must be text: images belong to messages of the user and of tools";
    let mut cases = vec![
        ("/v1/responses", json!({ "input": [item("assistant"), item("user")] }), "input[0].content[0]", belongs),
        ("/v1/responses", json!({ "input": [item("developer"), item("user")] }), "input[0].content[0]", belongs),
        ("/v1/chat/completions", json!({ "messages": [entry("system")] }), "messages[0].content[0]", belongs),
        ("/v1/chat/completions", json!({ "messages": [entry("assistant")] }), "messages[0].content[0]", belongs),
        (
            "/v1/messages",
            json!({ "messages": [block("assistant", data)], "max_tokens": 1 }),
            "messages[0].content[0]",
            belongs,
        ),
    ];
    for (source, place, rule) in [
        (
            json!({ "type": "file", "file_id": "f" }),
            "source.type",
            "must be \"base64\" or \"url\": files are not stored, found \"file\"",
        ),
        (json!({ "type": "url" }), "source.url", "must be a string"),
        (json!({ "type": "base64" }), "source.data", "must be a string"),
    ] {
        let place: &str = format!("messages[0].content[0].{place}").leak();
        cases.push(("/v1/messages", json!({ "messages": [block("user", source)], "max_tokens": 1 }), place, rule));
    }
    for (path, body, place, rule) in cases {
        let reply = server.post(path, &body.to_string());
        let message = reply.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert_eq!((reply.status, message), (400, format!("{place} {rule}")), "{path}: {body}");
    }
    let source = json!({ "type": "url", "url": url });
    let body = json!({ "messages": [block("user", source)], "max_tokens": 1 });
    assert_eq!(server.post("/v1/messages", &body.to_string()).status, 200);
}

#[test]
fn how_closely_to_look_is_listed_as_ignored() {
    let server = seeing(Settings::default());
    let url = format!("data:image/png;base64,{PIXEL}");
    for (detail, ignored) in [(json!("auto"), false), (json!(null), false), (json!("low"), true), (json!("high"), true)]
    {
        let part = json!({ "type": "image_url", "image_url": { "url": url, "detail": detail } });
        let item = json!({ "type": "input_image", "image_url": url, "detail": detail });
        for (path, body, place) in [
            (
                "/v1/chat/completions",
                json!({ "messages": [{ "role": "user", "content": [part] }], "max_tokens": 1 }),
                "messages[0].content[0].image_url.detail",
            ),
            (
                "/v1/responses",
                json!({ "input": [{ "role": "user", "content": [item] }], "max_output_tokens": 1 }),
                "input[0].content[0].detail",
            ),
        ] {
            let reply = server.post(path, &body.to_string());
            assert_eq!(reply.status, 200, "{path}: {}", reply.json());
            assert_eq!(reply.header("x-ignored-fields"), ignored.then_some(place), "{path}: {detail}");
        }
    }
}

#[test]
fn a_tool_shows_an_image() {
    let server = seeing(Settings::default());
    let url = format!("data:image/png;base64,{PIXEL}");
    let n_tokens = |path: &str, usage: &str, body: Json| {
        let reply = server.post(path, &body.to_string());
        assert_eq!(reply.status, 200, "{path}: {}", reply.json());
        let counts = reply.json()["usage"].clone();
        counts[usage].as_u64().unwrap() + counts["cache_read_input_tokens"].as_u64().unwrap_or_default()
    };
    let chat = |parts: Json| {
        let call = json!({ "id": "a", "type": "function", "function": { "name": "look", "arguments": "{}" } });
        let messages = json!([
            { "role": "user", "content": "Look!" },
            { "role": "assistant", "tool_calls": [call] },
            { "role": "tool", "tool_call_id": "a", "content": parts },
        ]);
        n_tokens("/v1/chat/completions", "prompt_tokens", json!({ "messages": messages, "max_tokens": 2 }))
    };
    let responses = |parts: Json| {
        let input = json!([
            { "role": "user", "content": "Look!" },
            { "type": "function_call", "call_id": "a", "name": "look", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "a", "output": parts },
        ]);
        n_tokens("/v1/responses", "input_tokens", json!({ "input": input, "max_output_tokens": 2 }))
    };
    let messages = |parts: Json| {
        let messages = json!([
            { "role": "user", "content": "Look!" },
            { "role": "assistant", "content": [{ "type": "tool_use", "id": "a", "name": "look", "input": {} }] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "a", "content": parts }] },
        ]);
        n_tokens("/v1/messages", "input_tokens", json!({ "messages": messages, "max_tokens": 2 }))
    };
    let text = json!({ "type": "text", "text": "seen" });
    let block = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": PIXEL } });
    let counts = [
        (chat(json!([text])), chat(json!([text, { "type": "image_url", "image_url": { "url": url } }]))),
        (
            responses(json!([{ "type": "input_text", "text": "seen" }])),
            responses(json!([
                { "type": "input_text", "text": "seen" }, { "type": "input_image", "image_url": url },
            ])),
        ),
        (messages(json!([text])), messages(json!([text, block]))),
    ];
    assert!(counts.iter().all(|(text, shown)| text + 3 <= *shown), "{counts:?}");
}
