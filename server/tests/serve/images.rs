//! Images in the dialects that have messages.

use std::io::Write;
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use causerie::ModelRunner;
use causerie_server::serve::Settings;
use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use serde_json::{Value as Json, json};

use crate::server::TestServer;

/// A PNG file of one pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn vision_server(settings: Settings) -> TestServer {
    server_of("lfm2vl-hf", settings)
}

fn server_of(model: &str, settings: Settings) -> TestServer {
    let model = format!("{}/../tests/fixtures/models/{model}", env!("CARGO_MANIFEST_DIR"));
    TestServer::start(ModelRunner::load(&model).unwrap(), "vision", settings)
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
    ["lfm2vl-hf", "lfm3vl-hf", "gemma4-media-hf", "qwen35vl-hf", "gemma3vl-hf"].into_iter().for_each(check_counts);
}

fn check_counts(model: &str) {
    let server = server_of(model, Settings::default());
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
    assert!(counts.iter().all(|count| *count == counts[0]) && 2 < counts[0], "{model}: {counts:?}");
}

#[test]
fn addresses_are_refused_by_name_and_damaged_files_are_errors() {
    let server = vision_server(Settings::default());
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
    let server = vision_server(Settings { image_hosts, ..Settings::default() });
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
    let server = vision_server(Settings::default());
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
    // Parts of other dialects, where images belong.
    let foreign = [
        ("/v1/chat/completions", json!({ "messages": [item("user")] }), "messages", "image_url", "input_image"),
        ("/v1/responses", json!({ "input": [entry("user")] }), "input", "input_image", "image_url"),
        ("/v1/messages", json!({ "messages": [entry("user")], "max_tokens": 1 }), "messages", "image", "image_url"),
    ];
    for (path, body, field, expected, found) in foreign {
        let place: &str = format!("{field}[0].content[0].type").leak();
        let rule: &str = format!("must be {expected:?} for an image, found {found:?}").leak();
        cases.push((path, body, place, rule));
    }
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
    let server = vision_server(Settings::default());
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
    let server = vision_server(Settings::default());
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

/// A PNG file that is cut short, as a data URL.
const DAMAGED: &str = "data:image/png;base64,iVBORw0KGgo=";

#[test]
fn the_place_of_a_damaged_image_is_that_in_the_request() {
    let server = vision_server(Settings::default());
    let pixel = format!("data:image/png;base64,{PIXEL}");
    let shown = |url: &str| json!({ "type": "image_url", "image_url": { "url": url } });
    let text = json!({ "type": "text", "text": "What is it?" });
    let user = |parts: Json| json!({ "role": "user", "content": parts });
    // Functions are in a system message, which this request does not have.
    let function = json!({ "name": "f", "description": "F.", "parameters": { "type": "object", "properties": {} } });
    let tools = json!([{ "type": "function", "function": function }]);
    let chat = json!({
        "messages": [user(json!([shown(&pixel)])), user(json!([text, shown(DAMAGED)]))], "tools": tools, "max_tokens": 1,
    });
    let format = json!({ "type": "json_schema", "json_schema": { "name": "s", "schema": { "type": "object" } } });
    let in_format = json!({ "messages": [user(json!([text, shown(DAMAGED)]))], "response_format": format });
    let item = |url: &str| json!({ "type": "input_image", "image_url": url });
    let responses = json!({
        "instructions": "Be brief.",
        "input": [
            { "role": "developer", "content": "And kind." },
            user(json!([item(&pixel)])),
            { "type": "function_call", "call_id": "a", "name": "f", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "a", "output": [item(&pixel), item(DAMAGED)] },
        ],
    });
    let block = |data: &str| {
        let data = data.split_once(',').unwrap().1;
        json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": data } })
    };
    let result = |parts: Json| json!({ "type": "tool_result", "tool_use_id": "a", "content": parts });
    let call = json!({ "type": "tool_use", "id": "a", "name": "f", "input": {} });
    let messages = json!({
        "system": "Be brief.",
        "messages": [
            user(json!([block(&pixel)])),
            { "role": "assistant", "content": [call] },
            user(json!([result(json!([block(&pixel), block(DAMAGED)])), text, block(&pixel)])),
        ],
        "max_tokens": 1,
    });
    for (path, body, place) in [
        ("/v1/chat/completions", &chat, "messages[1].content[1]"),
        ("/v1/chat/completions", &in_format, "messages[0].content[1]"),
        ("/v1/responses", &responses, "input[3].output[1]"),
        ("/v1/messages", &messages, "messages[2].content[0].content[1]"),
        ("/v1/messages/count_tokens", &messages, "messages[2].content[0].content[1]"),
    ] {
        let reply = server.post(path, &body.to_string());
        let message = reply.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert_eq!((reply.status, message), (400, format!("{place}: the image cannot be decoded")), "{path}");
    }
}

#[test]
fn a_model_without_its_projector_names_what_it_looked_for() {
    let folder = std::env::temp_dir().join(format!("causerie-serve-no-projector-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("model.gguf");
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/lfm2vl/lfm2vl-f16.gguf");
    std::fs::copy(fixture, &file).unwrap();
    let runner = ModelRunner::load(file.to_str().unwrap()).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let server = TestServer::start(runner, "blind", Settings::default());
    for (path, _, body) in requests(Some("https://example.org/x.png")) {
        let reply = server.post(path, &body.to_string());
        let message = reply.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
        let place = if path == "/v1/responses" { "input" } else { "messages" };
        let expect = format!("{place}[0].content[0]: images need a model with vision, and images require");
        assert!(reply.status == 400 && message.starts_with(&expect), "{path}: {} {message}", reply.status);
        assert!(message.contains("projector file: found no GGUF file named *mmproj* or *projector*"), "{message}");
    }
}

/// A PNG file in black and white, whose rows are all the same.
fn one_bit_png(side: u32, row: &[u8]) -> Vec<u8> {
    let chunk = |kind: &[u8], data: &[u8]| {
        let mut crc = Crc::new();
        crc.update(kind);
        crc.update(data);
        [&u32::try_from(data.len()).unwrap().to_be_bytes()[..], kind, data, &crc.sum().to_be_bytes()].concat()
    };
    let mut pixels = ZlibEncoder::new(Vec::new(), Compression::best());
    (0..side).for_each(|_| pixels.write_all(row).unwrap());
    let header = [&side.to_be_bytes()[..], &side.to_be_bytes(), &[1, 0, 0, 0, 0]].concat();
    let chunks = [chunk(b"IHDR", &header), chunk(b"IDAT", &pixels.finish().unwrap()), chunk(b"IEND", b"")];
    [&b"\x89PNG\r\n\x1a\n"[..], &chunks.concat()].concat()
}

#[test]
fn a_large_picture_in_a_small_request_holds_up_no_other_request() {
    let server = vision_server(Settings::default());
    // Some kilobytes, and sixteen million pixels.
    let mut row = vec![0; 1 + 4096 / 8];
    let mut counted = Vec::new();
    thread::scope(|scope| {
        let counting: Vec<_> = (0..4)
            .map(|shade| {
                row[1] = shade; // another picture each time
                let data = STANDARD.encode(one_bit_png(4096, &row));
                let source = json!({ "type": "base64", "media_type": "image/png", "data": data });
                let content = json!([{ "type": "image", "source": source }]);
                let body = json!({ "messages": [{ "role": "user", "content": content }] }).to_string();
                assert!(body.len() < 64 << 10, "{}", body.len());
                let server = &server;
                scope.spawn(move || server.post("/v1/messages/count_tokens", &body).status)
            })
            .collect();
        while !counting.iter().all(thread::ScopedJoinHandle::is_finished) {
            assert_eq!(server.get("/livez").status, 200);
            counted.push(counting.iter().filter(|it| it.is_finished()).count());
        }
        assert!(counting.into_iter().all(|status| status.join().unwrap() == 200));
    });
    // Answers came before the first count, which takes a hundred times as long.
    assert!(10 < counted.iter().filter(|n| **n == 0).count(), "{counted:?}");
}
