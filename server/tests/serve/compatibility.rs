//! Fields that clients send for other servers: each is honoured, ignored and listed, or refused by name.

use causerie::testing::ScriptedReply;
use causerie::{LoadOptions, ModelRunner};
use causerie_server::serve::Settings;
use serde_json::{Value as Json, json};

use crate::client::HttpReply;
use crate::dialects::{messages, post, responses};
use crate::server::TestServer;

fn strict() -> Settings {
    Settings { strict_fields: true, ..Settings::default() }
}

#[test]
fn unknown_fields_of_a_format_are_listed() {
    let server = TestServer::scripted(["{}"; 3], Settings::default());
    let reply = server.chat(r#", "response_format": {"type": "json_object", "shape": 1}"#);
    assert_eq!(reply.header("x-ignored-fields"), Some("response_format.shape"));
    let format = json!({ "type": "json_schema", "name": "n", "schema": { "type": "object" }, "shape": 1 });
    let reply = responses(&server, json!({ "text": { "format": format, "size": 1 } }));
    assert_eq!(reply.header("x-ignored-fields"), Some("text.format.shape, text.size"));
    let server = TestServer::scripted(["{}"], strict());
    let reply = server.chat(r#", "response_format": {"type": "json_object", "shape": 1}"#);
    assert_eq!(reply.error(), (400, "unknown_field".into(), Some("response_format.shape".into())));
    for format in [r#"{"type": "json_schema"}"#, r#"{"type": "json_object", "schema": 3}"#, "[]"] {
        let reply = server.chat(&format!(r#", "response_format": {format}"#));
        assert_eq!(reply.error(), (400, "invalid_value".into(), Some("response_format".into())));
    }
}

/// Tools of a provider, and a function at the end.
fn tools(server_side: &[&str], function: Json) -> Json {
    let tools = server_side.iter().map(|kind| json!({ "type": kind, "name": "w" }));
    tools.chain([function]).collect()
}

#[test]
fn tools_that_a_provider_would_run_are_ignored() {
    let server = TestServer::scripted(["Yes."; 2], Settings::default());
    let function = json!({ "name": "f", "input_schema": { "type": "object" } });
    let offered = tools(&["web_search_20250305", "bash_20250124"], function);
    let choice = |name: &str| json!({ "tools": offered, "tool_choice": { "type": "tool", "name": name } });
    let reply = messages(&server, json!({ "tools": offered }));
    assert_eq!((reply.status, reply.header("x-ignored-fields")), (200, Some("tools[0], tools[1]")));
    assert_eq!(messages(&server, choice("w")).status, 400);
    let function = json!({ "type": "function", "name": "f" });
    let offered = tools(&["web_search", "namespace", "custom", "file_search", "mcp"], function);
    let reply = responses(&server, json!({ "tools": offered }));
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("x-ignored-fields"), Some("tools[0], tools[1], tools[2], tools[3], tools[4]"));
    for (choice, code) in [
        (json!({ "type": "web_search" }), "unsupported_field"),
        (json!({ "type": "custom", "name": "w" }), "unsupported_field"),
        (json!({ "type": "function", "name": "w" }), "invalid_value"),
    ] {
        let reply = responses(&server, json!({ "tools": offered, "tool_choice": choice }));
        assert_eq!(reply.error(), (400, code.into(), Some("tool_choice".into())));
    }
    let only = json!({ "tools": [{ "type": "web_search" }], "tool_choice": "required" });
    assert_eq!(responses(&server, only).error().2, Some("tool_choice".into()));
    let server = TestServer::scripted(["Yes."], strict());
    assert_eq!(responses(&server, json!({ "tools": offered })).error().1, "unknown_field");
}

#[test]
fn calls_and_results_of_such_tools_are_ignored() {
    let server = TestServer::scripted(["Yes."; 3], Settings::default());
    let searched = json!({ "role": "assistant", "content": [
        { "type": "server_tool_use", "id": "a", "name": "web_search", "input": {} },
        { "type": "web_search_tool_result", "tool_use_id": "a", "content": [] },
    ] });
    let user = json!({ "role": "user", "content": "Hi" });
    let reply = messages(&server, json!({ "messages": [user, searched, user] }));
    assert_eq!(reply.header("x-ignored-fields"), Some("messages[1].content[0], messages[1].content[1]"));
    let mut input = vec![
        user,
        json!({ "type": "web_search_call", "id": "ws_1", "status": "completed" }),
        json!({ "type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": [] }),
    ];
    let without = responses(&server, json!({ "input": input }));
    assert_eq!(without.header("x-ignored-fields"), Some("input[1], input[2]"));
    // A call whose input is not JSON is shown as a call, with its result.
    input.push(json!({ "type": "custom_tool_call", "call_id": "a", "name": "apply_patch", "input": "*** Begin" }));
    input.push(json!({ "type": "custom_tool_call_output", "call_id": "a", "output": "Done." }));
    let with = responses(&server, json!({ "input": input }));
    assert_eq!(with.header("x-ignored-fields"), Some("input[1], input[2]"));
    let read = |reply: &HttpReply| reply.json()["usage"]["input_tokens"].as_u64().unwrap();
    assert!(read(&without) + 20 < read(&with), "{}", with.text());
}

#[test]
fn hints_of_anthropics_clients_are_without_effect() {
    let server = TestServer::scripted(["Yes."; 4], strict());
    for more in [
        json!({ "context_management": { "edits": [] } }),
        json!({ "context_management": { "edits": [{ "type": "clear_thinking_20251015", "keep": "all" }, { "type": "clear_tool_uses_20250919" }] } }),
        json!({ "output_config": { "effort": "high" } }),
    ] {
        let reply = messages(&server, more);
        assert_eq!((reply.status, &reply.json()["content"][0]["text"]), (200, &json!("Yes.")));
    }
    let compact = json!({ "context_management": { "edits": [{ "type": "compact_20260112" }] } });
    assert_eq!(messages(&server, compact).status, 400);
    assert_eq!(messages(&server, json!({ "context_management": 3 })).status, 400);
}

#[test]
fn further_blocks_and_roles_of_messages_are_read_as_text() {
    let server = TestServer::scripted(["Yes."; 4], strict());
    let counted = |messages: Json| {
        let body = json!({ "model": "test/script", "messages": messages });
        let reply = server.post("/v1/messages/count_tokens", &body.to_string());
        reply.json()["input_tokens"].as_u64().unwrap_or_else(|| panic!("{}", reply.text()))
    };
    let user = |content: Json| json!({ "role": "user", "content": content });
    let said = |text: &str| json!({ "type": "text", "text": text });
    let text = json!({ "type": "text", "media_type": "text/plain", "data": "Blue." });
    let document = json!({ "type": "document", "source": text, "title": "Sky", "citations": { "enabled": true } });
    let content = json!({ "type": "content", "content": [said("Blue.")] });
    let blocks = json!({ "type": "document", "source": content, "title": "Sky" });
    let found = json!({ "type": "search_result", "source": "a.org", "title": "Sky", "content": [said("Blue.")] });
    let expect = counted(json!([user(json!("Sky\nBlue.\n\nHi"))]));
    assert_eq!(counted(json!([user(json!([document, said("Hi")]))])), expect);
    assert_eq!(counted(json!([user(json!([blocks, said("Hi")]))])), expect);
    assert_eq!(counted(json!([user(json!([found, said("Hi")]))])), expect + 6);
    let call = json!({ "type": "tool_use", "id": "a", "name": "get_weather", "input": {} });
    let redacted = json!({ "type": "redacted_thinking", "data": "x" });
    let result = |content: Json| user(json!([{ "type": "tool_result", "tool_use_id": "a", "content": content }]));
    let answered = |call: Json, content: Json| json!([user(json!("Hi")), { "role": "assistant", "content": call }, result(content)]);
    let expect = counted(answered(json!([call]), json!("Sky\na.org\nBlue.\n\n")));
    assert_eq!(counted(answered(json!([redacted, call]), json!([found]))), expect);
    assert_eq!(messages(&server, json!({ "messages": answered(json!([redacted, call]), json!([found])) })).status, 200);

    let system = json!({ "role": "system", "content": "Brief." });
    let expect = counted(json!([user(json!("Hi")), user(json!("Brief.")), user(json!("Hi"))]));
    assert_eq!(counted(json!([user(json!("Hi")), system, user(json!("Hi"))])), expect + 2);
    let pdf =
        json!({ "type": "document", "source": { "type": "base64", "media_type": "application/pdf", "data": "" } });
    let refused = messages(&server, json!({ "messages": [user(json!([pdf]))] })).json();
    let message = "messages[0].content[0] must be text: files are not read; send the text of the file instead";
    assert_eq!(refused["error"]["message"], message);
}

/// A model whose template has a long word for reasoning, with a context size.
fn reasoning_model(context_size: usize) -> TestServer {
    let template = "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}\
        {% if enable_thinking %}reason, and then reason again, until it is clear {% endif %}";
    let options = LoadOptions {
        chat_template: Some(template.to_owned()),
        context_size: Some(context_size),
        ..LoadOptions::default()
    };
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    TestServer::start(ModelRunner::load_with(path, options).unwrap(), "test/script", Settings::default())
}

#[test]
fn a_reasoning_effort_enables_thinking_in_a_model_that_can_reason() {
    let server = reasoning_model(500);
    let read = |reply: HttpReply| {
        let usage = reply.json()["usage"].clone();
        usage["prompt_tokens"].as_u64().or(usage["input_tokens"].as_u64()).unwrap_or_else(|| panic!("{}", reply.text()))
    };
    let chat = |fields: &str| read(server.chat(&format!(r#"{fields}, "max_tokens": 1"#)));
    let (off, on) = (chat(""), chat(r#", "chat_template_kwargs": {"enable_thinking": true}"#));
    assert!(off < on);
    for (fields, expect) in [
        (r#", "reasoning_effort": "low""#, on),
        (r#", "reasoning_effort": "xhigh""#, on),
        (r#", "reasoning_effort": "none""#, off),
        (r#", "reasoning_effort": "minimal""#, off),
        (r#", "reasoning_effort": "high", "chat_template_kwargs": {"enable_thinking": false}"#, off),
    ] {
        assert_eq!(chat(fields), expect, "{fields}");
    }
    let respond = |effort: &str| {
        let body = json!({ "model": "test/script", "input": "Hi", "max_output_tokens": 1 });
        read(post(&server, "/v1/responses", body, json!({ "reasoning": { "effort": effort } })))
    };
    assert_eq!((respond("medium"), respond("none")), (on, off));

    let thinking = ScriptedReply::new().text("<think>").text("Hm.").text("</think>").text("Yes.");
    let server = TestServer::scripted([thinking], Settings::default());
    let body = responses(&server, json!({ "reasoning": { "effort": "high" } })).json();
    assert_eq!(body["output"][0]["content"][0]["text"], "Yes.", "a model that cannot reason is not asked to");
}

#[test]
fn verbosity_is_listed_as_ignored() {
    let server = TestServer::scripted(["Yes."; 4], Settings::default());
    for (verbosity, is_listed) in [("low", true), ("medium", false)] {
        let reply = server.chat(&format!(r#", "verbosity": "{verbosity}""#));
        assert_eq!((reply.status, reply.header("x-ignored-fields")), (200, is_listed.then_some("verbosity")));
        let reply = responses(&server, json!({ "text": { "verbosity": verbosity } }));
        assert_eq!((reply.status, reply.header("x-ignored-fields")), (200, is_listed.then_some("text.verbosity")));
    }
}

#[test]
fn truncation_leaves_out_the_oldest_turns() {
    let server = reasoning_model(200);
    let said = |role: &str| json!({ "role": role, "content": "a long story ".repeat(20) });
    let mut input: Vec<Json> = ["user", "assistant"].iter().cycle().take(12).map(|role| said(role)).collect();
    input.push(json!({ "role": "user", "content": "Hi" }));
    let body = json!({ "model": "test/script", "input": input, "max_output_tokens": 8 });
    let truncated =
        |truncation: &str| post(&server, "/v1/responses", body.clone(), json!({ "truncation": truncation }));
    assert_eq!(truncated("disabled").error().1, "context_length_exceeded");
    let reply = truncated("auto").json();
    assert_eq!(reply["truncation"], "auto", "{reply}");
    assert!(reply["usage"]["input_tokens"].as_u64().unwrap() < 192);
}
