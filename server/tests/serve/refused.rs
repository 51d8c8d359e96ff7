//! Requests that are refused: the status, the code, and the field that is named.

use causerie_server::serve::Settings;

use crate::server::{TestServer, ask};

/// A field, a value that is refused, and the code.
const REFUSED: [(&str, &str, &str); 63] = [
    ("max_tokens", "0", "invalid_value"),
    ("max_tokens", "2147483648", "invalid_value"),
    ("max_tokens", "9223372036854775808", "invalid_value"),
    ("max_tokens", "1.5", "invalid_value"),
    ("max_tokens", r#""5""#, "invalid_value"),
    ("max_completion_tokens", "0", "invalid_value"),
    ("temperature", "-1", "invalid_value"),
    ("temperature", "1e9", "invalid_value"),
    ("temperature", r#""hot""#, "invalid_value"),
    ("top_p", "1.1", "invalid_value"),
    ("top_p", "-0.1", "invalid_value"),
    ("top_k", "-2", "invalid_value"),
    ("top_k", "0.5", "invalid_value"),
    ("min_p", "1.5", "invalid_value"),
    ("repetition_penalty", "0", "invalid_value"),
    ("repetition_penalty", "1e300", "invalid_value"),
    ("seed", "18446744073709551615", "invalid_value"),
    ("seed", "1.5", "invalid_value"),
    ("n", "0", "invalid_value"),
    ("n", "1000000", "invalid_value"),
    ("stop", "3", "invalid_value"),
    ("stop", r#"["a", 3]"#, "invalid_value"),
    ("stop", r#"["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16","17"]"#, "invalid_value"),
    ("stream", "1", "invalid_value"),
    ("stream_options", "true", "invalid_value"),
    ("tools", "{}", "invalid_value"),
    ("tools", r#"[{"name": "f"}, {"name": "f"}]"#, "invalid_value"),
    ("tools", r#"[{"name": "a b"}]"#, "invalid_value"),
    ("tools", r#"[{"name": "f", "parameters": {"type": "object", "oneOf": []}}]"#, "invalid_value"),
    ("tool_choice", r#""required""#, "invalid_value"),
    ("tool_choice", r#"{"type": "function", "function": {"name": "f"}}"#, "invalid_value"),
    ("tool_choice", r#"{"type": "function"}"#, "invalid_value"),
    (
        "tool_choice",
        r#"{"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [{"type": "web"}]}}"#,
        "invalid_value",
    ),
    ("tool_choice", r#""sometimes""#, "invalid_value"),
    ("parallel_tool_calls", "0", "invalid_value"),
    ("response_format", r#"{"type": "xml"}"#, "invalid_value"),
    (
        "response_format",
        r#"{"type": "json_schema", "json_schema": {"schema": {"type": "array", "uniqueItems": true}}}"#,
        "invalid_value",
    ),
    ("chat_template_kwargs", r#"{"tokenize": true}"#, "unsupported_field"),
    ("chat_template_kwargs", r#"{"enable_thinking": 1}"#, "invalid_value"),
    ("chat_template", r#""{{ x }}""#, "unsupported_field"),
    ("presence_penalty", "2.5", "invalid_value"),
    ("frequency_penalty", "-2.5", "invalid_value"),
    ("logprobs", "2", "invalid_value"),
    ("top_logprobs", "2", "invalid_value"),
    ("top_logprobs", "21", "invalid_value"),
    ("logit_bias", r#"{"5": -101}"#, "invalid_value"),
    ("logit_bias", r#"{"five": 1}"#, "invalid_value"),
    ("logit_bias", r#"{"1000000": 1}"#, "invalid_value"),
    ("ignore_eos", "1", "invalid_value"),
    ("reasoning_effort", r#""much""#, "invalid_value"),
    ("reasoning_effort", "3", "invalid_value"),
    ("truncation", r#""newest""#, "invalid_value"),
    ("guided_grammar", "{}", "unsupported_field"),
    ("messages", "[]", "invalid_value"),
    ("messages", r#""Hi""#, "invalid_value"),
    ("messages", r#"[{"role": 3, "content": "Hi"}]"#, "invalid_value"),
    ("messages", r#"[{"role": "user", "content": 3}]"#, "invalid_value"),
    (
        "messages",
        r#"[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}]}]"#,
        "unsupported_field",
    ),
    (
        "messages",
        r#"[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://127.0.0.1/x.png"}}]}]"#,
        "unsupported_field",
    ),
    (
        "messages",
        r#"[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]}]"#,
        "unsupported_field",
    ),
    ("messages", r#"[{"role": "system", "content": "", "tools": [{"name": "f"}]}]"#, "invalid_value"),
    ("messages", "null", "invalid_value"),
    ("model", "3", "invalid_value"),
];

#[test]
fn a_field_that_cannot_be_honoured_is_named() {
    let server = TestServer::scripted(["good"], Settings::default());
    let mut client = server.client();
    for (field, value, code) in REFUSED {
        let mut body: serde_json::Value = serde_json::from_str(&ask("")).unwrap();
        body[field] = serde_json::from_str(value).unwrap();
        let reply = client.post("/v1/chat/completions", &body.to_string());
        assert_eq!(reply.error(), (400, code.into(), Some(field.into())), "{field}: {value}");
    }
    assert_eq!(server.chat("").status, 200, "a good request is answered afterwards");
}

#[test]
fn an_error_states_the_limits_and_what_was_found() {
    let server = TestServer::scripted(["good"], Settings::default());
    let many = format!("[{}]", [r#""a word""#; 17].join(", "));
    for (stop, found) in [
        ("3".to_owned(), "3"),
        (many, "an array of 17 elements"),
        (format!(r#""{}""#, "long".repeat(1000)), "a string of 4000 bytes"),
    ] {
        let reply = server.chat(&format!(r#", "stop": {stop}"#)).json();
        let rule = "must be a string of at most 1024 bytes, or an array of at most 16 of them";
        let expect = format!("stop {rule}, found {found}");
        assert_eq!(reply["error"]["message"], expect);
    }
}

#[test]
fn values_that_ask_for_nothing_pass() {
    let server = TestServer::scripted(["good"], Settings { strict_fields: true, ..Settings::default() });
    let fields = r#", "presence_penalty": 0, "frequency_penalty": 0.0, "logprobs": false, "top_logprobs": 0, "logit_bias": {},
        "parallel_tool_calls": true, "tool_choice": "auto", "reasoning_effort": "none", "verbosity": "medium", "truncation": "disabled", "response_format": {"type": "text"}, "ignore_eos": false, "modalities": ["text"], "n": 1,
        "stop": [], "functions": [], "function_call": "auto", "suffix": "", "grammar": "", "typical_p": 1, "store": true, "service_tier": "auto", "chat_template_kwargs": {}, "top_k": 0, "top_p": 0"#;
    assert_eq!(server.chat(fields).status, 200);
}

#[test]
fn strict_servers_refuse_names_they_do_not_know() {
    let server = TestServer::scripted(["good"], Settings { strict_fields: true, ..Settings::default() });
    assert_eq!(server.chat(r#", "colour": "red""#).error(), (400, "unknown_field".into(), Some("colour".into())));
}

#[test]
fn a_strict_server_knows_its_model_by_the_exact_name() {
    let server = TestServer::scripted(["good"], Settings { strict_model: true, ..Settings::default() });
    let long = "x".repeat(10_000);
    for name in [
        "other",
        "Test/Script",
        "../../etc/passwd",
        "a/b/c",
        "%2e%2e/",
        r"C:\\x",
        "con",
        "test/script.",
        &long,
        "a\\u0000",
        "",
    ] {
        let body = ask("").replace("test/script", name);
        let reply = server.post("/v1/chat/completions", &body);
        assert_eq!(reply.error(), (404, "model_not_found".into(), Some("model".into())), "{name}");
    }
    for path in ["/v1/models/other", "/v1/models/../../etc/passwd", "/v1/models/%2e%2e/"] {
        assert_eq!(server.get(path).error().1, "model_not_found", "{path}");
    }
    for path in ["/v1/models/test/script", "/v1/models/test%2Fscript"] {
        assert_eq!(server.get(path).json()["id"], "test/script");
    }
    let models = server.get("/v1/models").json();
    assert_eq!((&models["object"], &models["data"][0]["object"]), (&"list".into(), &"model".into()));
    assert_eq!(models["data"][0]["context_length"], 32_768);
}

#[test]
fn a_prompt_beyond_the_context_is_refused_with_both_counts() {
    let runner = causerie::testing::ScriptedModel::new().context_size(22).reply("a").load().unwrap();
    let server = TestServer::start(runner, "test/script", Settings::default());
    for fields in ["", r#", "stream": true"#] {
        let reply = server.chat(fields);
        assert_eq!(reply.error(), (400, "context_length_exceeded".into(), Some("messages".into())));
        let error = &reply.json()["error"];
        assert_eq!((&error["prompt_tokens"], &error["context_length"]), (&22.into(), &22.into()));
    }
}

#[test]
fn a_full_context_ends_the_reply_with_length() {
    let reply = causerie::testing::ScriptedReply::new().text("a").text("b").text("c");
    let runner = causerie::testing::ScriptedModel::new().context_size(24).reply(reply).load().unwrap();
    let server = TestServer::start(runner, "test/script", Settings::default());
    let choice = server.chat("").json()["choices"][0].clone();
    assert_eq!((choice["message"]["content"].as_str(), choice["finish_reason"].as_str()), (Some("ab"), Some("length")));
}

#[test]
fn unknown_paths_and_methods_are_distinguished() {
    let server = TestServer::scripted(["good"], Settings::default());
    for path in ["/index.html", "/v1", "/v1/chat", "/v1/chat/completions/", "/v2/models"] {
        assert_eq!(server.get(path).error(), (404, "not_found".into(), None), "{path}");
    }
    let get = server.get("/v1/chat/completions");
    assert_eq!((get.error().0, get.header("allow")), (405, Some("POST, OPTIONS")));
    let post = server.post("/v1/models", "{}");
    assert_eq!((post.error().0, post.header("allow")), (405, Some("GET, HEAD, OPTIONS")));
}

#[test]
fn a_wrong_path_is_explained() {
    let server = TestServer::scripted(["good"], Settings::default());
    let post = |path: &str| server.post(path, "{}");
    for (reply, hint) in [
        (post("/chat/completions"), "/v1/chat/completions is; this client's base address must end with /v1"),
        (post("/responses"), "must end with /v1"),
        (post("/messages"), "must end with /v1"),
        (server.get("/models"), "must end with /v1"),
        (post("/v1/v1/messages"), "/v1/messages is; this client's base address must end without /v1"),
        (post("/v1/v1/messages/count_tokens"), "must end without /v1"),
        (post("/v1/chat/completions/"), "/v1/chat/completions is, without the slash"),
        (post("/api/chat"), "Ollama's own routes are not served"),
        (server.get("/api/tags"), "Ollama's own routes are not served"),
        (post("/api/v0/chat/completions"), "LM Studio's own routes are not served"),
        (server.get("/api/v1/models"), "LM Studio's own routes are not served"),
        (post("/v1/images/generations"), "images are not generated"),
        (post("/completion"), "llama.cpp's own routes are not served"),
        (post("/v1/embeddings"), "this server has no model that embeds texts; it is started with --embedding-model"),
        (post("/v1/rerank"), "this server has no model that ranks documents; it is started with --embedding-model"),
        (post("/v1/responses/resp_1/cancel"), "input_items"),
        (post("/v1/responses/compact"), "compaction is not offered"),
        (post("/v1/responses/input_tokens"), "/v1/messages/count_tokens"),
        (server.get("/v1/responses/other"), "input_items"),
        (post("/v1/messages/batches"), "batches are not supported"),
        (server.get("/v1/files/file_1"), "files are not stored"),
        (post("/v1/conversations"), "previous_response_id"),
        (server.get("/nowhere"), "/openapi.json lists the routes"),
    ] {
        assert_eq!((reply.error().0, reply.error().1.as_str()), (404, "not_found"));
        let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(hint), "{message}");
    }
}

#[test]
fn health_and_metrics_need_no_model_reply() {
    let server = TestServer::scripted(["good"], Settings::default());
    for path in ["/livez", "/readyz", "/health"] {
        assert_eq!(server.get(path).status, 200);
    }
    server.chat("");
    let metrics = server.get("/metrics");
    assert!(metrics.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    let text = metrics.text();
    for line in [
        "causerie_requests_total{route=\"/v1/chat/completions\",status=\"200\"} 1",
        "causerie_prompt_tokens_total 22",
        "causerie_completion_tokens_total 2",
        "causerie_time_to_first_token_seconds_count 1",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let value = line.rsplit_once(' ').unwrap().1;
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
}
