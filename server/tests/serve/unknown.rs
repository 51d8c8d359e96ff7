//! What newer clients send: text of unknown types and roles is read, the rest is passed over, and both are listed.

use causerie::testing::ScriptedReply;
use causerie_server::serve::Settings;
use serde_json::{Value as Json, json};

use crate::client::HttpReply;
use crate::dialects::events;
use crate::server::TestServer;

/// A prompt's tokens, by a request with messages or items, and the fields that were ignored.
fn read(path: &str, entries: &Json) -> (u64, String) {
    let server = TestServer::scripted(["good"], Settings::default());
    let name = if path == "/v1/responses" { "input" } else { "messages" };
    let reply = server.post(path, &json!({ "model": "test/script", "max_tokens": 9, name: entries }).to_string());
    let usage = &reply.json()["usage"];
    let n_tokens = usage["prompt_tokens"].as_u64().or(usage["input_tokens"].as_u64());
    let n_tokens = n_tokens.unwrap_or_else(|| panic!("{path} {entries}: {}", reply.text()));
    (n_tokens, reply.header("x-ignored-fields").unwrap_or_default().to_owned())
}

/// Checks that messages with something unknown are read as others, and what is listed.
#[track_caller]
fn check(path: &str, unknown: Json, listed: &str, known: Json) {
    let (expect, _) = read(path, &known);
    assert_eq!(read(path, &unknown), (expect, listed.to_owned()), "{path} {unknown}");
}

fn user(content: &str) -> Json {
    json!({ "role": "user", "content": content })
}

fn assistant(content: &str) -> Json {
    json!({ "role": "assistant", "content": content })
}

const ROUTES: [(&str, &str); 3] =
    [("/v1/chat/completions", "messages"), ("/v1/responses", "input"), ("/v1/messages", "messages")];

#[test]
fn parts_of_unknown_types_are_text_or_passed_over() {
    for (path, name) in ROUTES {
        let with = |part: Json| json!([{ "role": "user", "content": [{ "type": "text", "text": "Hi" }, part] }]);
        let both = json!([{ "role": "user", "content": [{ "type": "text", "text": "Hi" }, { "type": "text", "text": " there" }] }]);
        let kind = format!("{name}[0].content[1].type");
        check(path, with(json!({ "type": "note", "text": " there" })), &kind, both.clone());
        check(path, with(json!({ "type": "note", "content": [{ "type": "x", "text": " there" }] })), &kind, both);
        check(path, with(json!({ "type": "cache_point" })), &format!("{name}[0].content[1]"), json!([user("Hi")]));
        // A message of which nothing is left is no turn.
        let only = json!([user("Hi"), { "role": "assistant", "content": [{ "type": "cache_point" }] }]);
        check(path, only, &format!("{name}[1].content[0]"), json!([user("Hi")]));
        let said =
            json!([user("Hi"), { "role": "assistant", "content": [{ "type": "note", "text": "Yes." }] }, user("So?")]);
        check(path, said, &format!("{name}[1].content[0].type"), json!([user("Hi"), assistant("Yes."), user("So?")]));
    }
}

#[test]
fn unknown_roles_are_those_that_they_stand_for() {
    for (path, name) in ROUTES {
        for (role, known) in
            [("critic", "user"), ("human", "user"), ("model", "assistant"), ("platform", "system"), ("User", "user")]
        {
            let history = |role: &str| json!([user("Hi"), { "role": role, "content": "Yes." }, user("So?")]);
            check(path, history(role), &format!("{name}[1].role"), history(known));
        }
    }
    let developer = |role: &str| json!([{ "role": role, "content": "Brief." }, user("Hi")]);
    check("/v1/messages", developer("developer"), "", developer("system"));
}

#[test]
fn results_of_tools_are_read_on_routes_that_have_no_role_for_them() {
    let result = json!({ "role": "tool", "tool_call_id": "a", "content": "42" });
    let call = json!({ "type": "tool_use", "id": "a", "name": "f", "input": {} });
    let known = json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "a", "content": "42" }] });
    let called = json!({ "role": "assistant", "content": [call] });
    check("/v1/messages", json!([user("Hi"), called, result]), "", json!([user("Hi"), called, known]));
    let called = json!({ "type": "function_call", "call_id": "a", "name": "f", "arguments": "{}" });
    let known = json!({ "type": "function_call_output", "call_id": "a", "output": "42" });
    check("/v1/responses", json!([user("Hi"), called, result]), "", json!([user("Hi"), called, known]));
}

#[test]
fn items_of_unknown_types_are_messages_or_passed_over() {
    let items = |item: Json| json!([user("Relay the task."), item]);
    let said = |text: &str| json!([user("Relay the task."), user(text)]);
    let part = |text: &str| json!({ "type": "input_text", "text": text });
    let agent = |content: Json| {
        items(
            json!({ "type": "agent_message", "id": "am_1", "author": "/root", "recipient": "/root/one", "content": content }),
        )
    };
    let responses = |unknown: Json, listed: &str, known: Json| check("/v1/responses", unknown, listed, known);
    responses(agent(json!([part("Count.")])), "input[1].type", said("Count."));
    responses(agent(json!("Count.")), "input[1].type", said("Count."));
    // What this server sent to an agent in the arguments of a call comes back as if it were encrypted.
    let task = json!([part("Task:\n"), { "type": "encrypted_content", "encrypted_content": "Count the words." }]);
    responses(agent(task), "input[1].type, input[1].content[1].type", said("Task:\nCount the words."));
    let secret = json!([part("Task:"), { "type": "encrypted_content", "encrypted_content": "gAAAAAB".repeat(30) }]);
    responses(agent(secret), "input[1].type, input[1].content[1]", said("Task:"));
    responses(items(json!({ "type": "user_note", "text": "Hm." })), "input[1].type", said("Hm."));
    responses(items(part("Hm.")), "input[1].type", said("Hm."));
    responses(items(json!({ "type": "user_note", "content": ["H", { "text": "m." }] })), "input[1].type", said("Hm."));
    responses(items(json!({ "type": "turn_context", "cwd": 3 })), "input[1]", json!([user("Relay the task.")]));
    let note = json!({ "type": "note", "role": "developer", "content": "Be brief." });
    responses(items(note), "input[1].type", items(json!({ "role": "developer", "content": "Be brief." })));
    let thought = |item: Json| json!([user("Hi"), item, assistant("Yes."), user("So?")]);
    let reasoning =
        json!({ "type": "reasoning", "summary": [], "content": [{ "type": "reasoning_text", "text": "Hm." }] });
    responses(thought(json!({ "type": "agent_reasoning", "text": "Hm." })), "input[1].type", thought(reasoning));
}

#[test]
fn media_stay_refused() {
    for (path, name) in ROUTES {
        for part in [
            json!({ "type": "audio_v2" }),
            json!({ "type": "video_v2" }),
            json!({ "type": "container_upload", "file_id": "f" }),
        ] {
            let server = TestServer::scripted(["good"], Settings::default());
            let body =
                json!({ "model": "test/script", "max_tokens": 9, name: [{ "role": "user", "content": [part] }] });
            let reply = server.post(path, &body.to_string());
            assert_eq!(reply.status, 400, "{path} {part}");
            assert!(reply.text().contains(&format!("{name}[0].content[0] must be text: ")), "{}", reply.text());
        }
    }
    let server = TestServer::scripted(["good"], Settings::default());
    let reply = server.post("/v1/responses", r#"{"input": [{"type": "input_audio", "text": "x"}]}"#);
    assert_eq!(reply.error().1, "unsupported_field");
}

#[test]
fn a_strict_server_refuses_what_it_does_not_know() {
    let server = TestServer::scripted(["good"], Settings { strict_fields: true, ..Settings::default() });
    let reply = server.post("/v1/responses", r#"{"model": "test/script", "input": [{"type": "note", "text": "x"}]}"#);
    assert_eq!(reply.error(), (400, "unknown_field".into(), Some("input[0].type".into())));
}

fn weather(name: &str) -> Json {
    let parameters = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
    json!({ "type": "function", "name": name, "description": "W.", "parameters": parameters })
}

/// A namespace with a function, and one of a kind that is not offered.
fn namespace() -> Json {
    json!({ "type": "namespace", "name": "mcp__weather", "description": "D.", "tools": [{ "type": "custom", "name": "exec" }, weather("get")] })
}

fn calls(name: &str) -> ScriptedReply {
    let call = format!("[{name}(city=\"Oslo\")]");
    ScriptedReply::new().control("<|tool_call_start|>").text(call).control("<|tool_call_end|>")
}

fn ask(server: &TestServer, more: Json) -> HttpReply {
    crate::dialects::post(server, "/v1/responses", json!({ "model": "test/script", "input": "Hi" }), more)
}

#[test]
fn a_function_of_a_namespace_is_called_by_both_names() {
    let replies =
        [calls("mcp__weather__get"), calls("mcp__weather__get"), "Rain.".into(), "Rain.".into(), "Rain.".into()];
    let server = TestServer::scripted(replies, Settings::default());
    let reply = ask(&server, json!({ "tools": [namespace()] }));
    assert_eq!(reply.header("x-ignored-fields"), Some("tools[0].tools[0]"));
    let call = reply.json()["output"][0].clone();
    assert_eq!((&call["namespace"], &call["name"]), (&json!("mcp__weather"), &json!("get")), "{call}");
    let streamed = events(&ask(&server, json!({ "tools": [namespace()], "stream": true })));
    for kind in ["response.output_item.added", "response.output_item.done"] {
        let item = &streamed.iter().find(|event| event["type"] == kind).unwrap()["item"];
        assert_eq!((&item["namespace"], &item["name"]), (&json!("mcp__weather"), &json!("get")), "{kind}");
    }
    // The call of a history is shown to the model by its one name.
    let history = |call: Json| {
        let output = json!({ "type": "function_call_output", "call_id": "a", "output": "Rain." });
        let input = json!([user("Hi"), call, output]);
        let reply = ask(&server, json!({ "tools": [namespace()], "input": input }));
        reply.json()["usage"]["input_tokens"].as_u64().unwrap_or_else(|| panic!("{}", reply.text()))
    };
    let call = |names: Json| {
        let mut call = json!({ "type": "function_call", "call_id": "a", "arguments": "{\"city\": \"Oslo\"}" });
        call.as_object_mut().unwrap().extend(names.as_object().unwrap().clone());
        call
    };
    let joined = history(call(json!({ "name": "mcp__weather__get" })));
    assert_eq!(history(call(json!({ "namespace": "mcp__weather", "name": "get" }))), joined);
    assert!(history(call(json!({ "name": "get" }))) < joined);
}

#[test]
fn functions_of_items_are_offered() {
    let replies = [calls("get"), calls("wait"), calls("mcp__weather__get"), calls("get"), calls("get")];
    let server = TestServer::scripted(replies, Settings::default());
    let declare =
        |tools: Json| json!({ "type": "additional_tools", "id": "at_1", "role": "developer", "tools": tools });
    let called = |reply: &HttpReply| {
        let call = reply.json()["output"][0].clone();
        assert_eq!(call["type"], "function_call", "{}", reply.text());
        (call["namespace"].as_str().map(str::to_owned), call["name"].as_str().unwrap().to_owned())
    };
    let first = ask(&server, json!({ "input": [declare(json!([weather("get")])), user("Hi")] }));
    assert_eq!((called(&first), first.header("x-ignored-fields")), ((None, "get".into()), None));
    let functions = json!({ "type": "namespace", "name": "functions", "tools": [{ "type": "custom", "name": "exec" }, weather("wait")] });
    let input = json!([declare(json!([functions, namespace()])), user("Hi")]);
    let reply = ask(&server, json!({ "input": input }));
    assert_eq!(called(&reply), (Some("functions".into()), "wait".into()));
    assert_eq!(reply.header("x-ignored-fields"), Some("input[0].tools[0].tools[0], input[0].tools[1].tools[0]"));
    assert_eq!(called(&ask(&server, json!({ "input": input }))), (Some("mcp__weather".into()), "get".into()));
    // A function that is offered already is offered once.
    let reply =
        ask(&server, json!({ "tools": [weather("get")], "input": input_with(declare(json!([weather("get")]))) }));
    assert_eq!((called(&reply), reply.header("x-ignored-fields")), ((None, "get".into()), Some("input[0].tools[0]")));
    // Functions that the stored conversation declared stay offered.
    let next = json!({ "previous_response_id": first.json()["id"], "input": "And?" });
    assert_eq!(called(&ask(&server, next)), (None, "get".into()));
}

fn input_with(item: Json) -> Json {
    json!([item, user("Hi")])
}

#[test]
fn a_choice_names_functions_of_namespaces_and_passes_over_other_tools() {
    let server = TestServer::scripted(vec![calls("mcp__weather__get"); 3], Settings::default());
    let choose = |choice: Json| {
        ask(
            &server,
            json!({ "tools": [namespace(), weather("other"), { "type": "web_search" }], "tool_choice": choice }),
        )
    };
    for (choice, listed) in [
        (json!({ "type": "function", "namespace": "mcp__weather", "name": "get" }), ""),
        (json!({ "type": "function", "name": "mcp__weather__get" }), ""),
        (
            json!({ "type": "allowed_tools", "mode": "required", "tools": [
                { "type": "web_search" }, { "type": "function", "namespace": "mcp__weather", "name": "get" },
            ] }),
            ", tool_choice.tools[0]",
        ),
    ] {
        let reply = choose(choice.clone());
        assert_eq!(reply.json()["output"][0]["name"], "get", "{choice}: {}", reply.text());
        let expect = format!("tools[0].tools[0], tools[2]{listed}");
        let mut found: Vec<&str> = reply.header("x-ignored-fields").unwrap().split(", ").collect();
        found.sort_by_key(|name| name.starts_with("tool_choice"));
        assert_eq!(found.join(", "), expect);
    }
    let server = TestServer::scripted(["Yes."], Settings::default());
    let only = |mode: &str| {
        let choice = json!({ "type": "allowed_tools", "mode": mode, "tools": [{ "type": "web_search" }] });
        ask(&server, json!({ "tools": [weather("get"), { "type": "web_search" }], "tool_choice": choice }))
    };
    assert_eq!(only("auto").json()["output"][0]["content"][0]["text"], "Yes.");
    assert_eq!(only("required").error(), (400, "invalid_value".into(), Some("tool_choice".into())));
}

#[test]
fn other_routes_call_a_function_of_a_namespace_by_one_name() {
    let server = TestServer::scripted(vec![calls("mcp__weather__get"); 2], Settings::default());
    let chat = server.chat(&format!(r#", "tools": [{}]"#, namespace())).json();
    assert_eq!(chat["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "mcp__weather__get", "{chat}");
    let body = json!({ "model": "test/script", "max_tokens": 9, "messages": [user("Hi")], "tools": [namespace()] });
    let message = server.post("/v1/messages", &body.to_string()).json();
    assert_eq!(message["content"][0]["name"], "mcp__weather__get", "{message}");
}
