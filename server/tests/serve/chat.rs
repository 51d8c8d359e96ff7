//! Whole replies.

use causerie::testing::ScriptedReply;
use causerie_server::serve::Settings;
use serde_json::{Value as Json, json};

use crate::server::{TestServer, ask};

pub(crate) fn weather_calls() -> ScriptedReply {
    ScriptedReply::new()
        .text("Let me see. ")
        .control("<|tool_call_start|>")
        .text(r#"[get_weather(city="Oslo", days=2), get_weather(city="Zürich")]"#)
        .control("<|tool_call_end|>")
}

pub(crate) const TOOLS: &str = r#", "tools": [{"type": "function", "function": {"name": "get_weather", "description": "W.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"]}}}]"#;

/// Checks the fields that differ from run to run, and removes them.
fn settled(mut body: Json) -> Json {
    let body_object = body.as_object_mut().unwrap();
    assert!(body_object.remove("id").unwrap().as_str().unwrap().starts_with("chatcmpl-"));
    assert!(body_object.remove("created").unwrap().is_u64());
    assert!(body_object.remove("timings").unwrap()["tokens_per_second"].is_number());
    body
}

#[test]
fn a_reply_is_a_chat_completion() {
    let server = TestServer::scripted(["Hello."], Settings::default());
    let reply = server.chat(r#", "seed": 7, "temperature": 0, "top_k": -1, "min_p": 0.1, "repetition_penalty": 1.1"#);
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")));
    assert!(reply.header("x-request-id").unwrap().starts_with("req_"));
    let expect = json!({
        "object": "chat.completion",
        "model": "test/script",
        "system_fingerprint": "causerie-0.1.0",
        "choices": [{
            "index": 0,
            "message": { "role": "assistant", "content": "Hello.", "refusal": null },
            "logprobs": null,
            "finish_reason": "stop",
            "seed": 7,
        }],
        "usage": {
            // <|startoftext|><|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n, its letters a token each.
            "prompt_tokens": 22,
            "completion_tokens": 2,
            "total_tokens": 24,
            "prompt_tokens_details": { "cached_tokens": 0, "audio_tokens": 0 },
            "completion_tokens_details": { "reasoning_tokens": 0, "audio_tokens": 0 },
        },
    });
    assert_eq!(settled(reply.json()), expect);
}

#[test]
fn calls_have_ids_of_their_own_and_arguments_as_text() {
    let calls_only = ScriptedReply::new()
        .control("<|tool_call_start|>")
        .text("[get_weather(city=\"A\")]")
        .control("<|tool_call_end|>");
    let server = TestServer::scripted([weather_calls(), calls_only], Settings::default());
    let body = server.chat(TOOLS).json();
    let choice = &body["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(choice["message"]["content"], "Let me see. ");
    let calls = choice["message"]["tool_calls"].as_array().unwrap();
    let arguments: Vec<&str> = calls.iter().map(|call| call["function"]["arguments"].as_str().unwrap()).collect();
    assert_eq!(arguments, [r#"{"city": "Oslo", "days": 2}"#, r#"{"city": "Zürich"}"#]);
    assert!(calls.iter().all(|call| call["type"] == "function" && call["function"]["name"] == "get_weather"));

    let next = server.chat(TOOLS).json();
    let message = &next["choices"][0]["message"];
    assert_eq!(message["content"], Json::Null, "a reply of calls alone has no content");
    assert!(calls.iter().all(|call| call["id"] != message["tool_calls"][0]["id"]), "ids are not repeated");
    assert_ne!(calls[0]["id"], calls[1]["id"]);
}

#[test]
fn without_functions_to_call_a_call_is_text() {
    let server = TestServer::scripted([weather_calls()], Settings::default());
    let message = server.chat("").json()["choices"][0]["message"].clone();
    assert!(message["content"].as_str().unwrap().contains("get_weather(city=\"Oslo\""), "{message}");
    assert_eq!(message.get("tool_calls"), None);
}

#[test]
fn tool_choice_none_keeps_the_functions_in_the_prompt_and_calls_none() {
    let server = TestServer::scripted([ScriptedReply::from("No."), "No.".into(), weather_calls()], Settings::default());
    let offered = server.chat(TOOLS).json();
    let none = format!(r#"{TOOLS}, "tool_choice": "none""#);
    let reply = server.chat(&none).json();
    assert_eq!(reply["choices"][0]["message"]["content"], "No.");
    assert_eq!(reply["usage"]["prompt_tokens"], offered["usage"]["prompt_tokens"]);
    // This script has nothing but its call, which must not begin.
    let choice = server.chat(&none).json()["choices"][0].clone();
    assert_eq!((&choice["finish_reason"], choice["message"].get("tool_calls")), (&json!("length"), None));
}

#[test]
fn a_required_call_is_made_and_no_text_before_it() {
    for choice in [
        r#""required""#,
        r#"{"type": "function", "function": {"name": "get_weather"}}"#,
        r#"{"type": "allowed_tools", "allowed_tools": {"mode": "required",
            "tools": [{"type": "function", "function": {"name": "get_weather"}}]}}"#,
    ] {
        let call = ScriptedReply::new()
            .control("<|tool_call_start|>")
            .text("[get_weather(city=\"A\")]")
            .control("<|tool_call_end|>");
        let server = TestServer::scripted([call, weather_calls()], Settings::default());
        let fields = format!(r#"{TOOLS}, "tool_choice": {choice}"#);
        assert_eq!(server.chat(&fields).json()["choices"][0]["finish_reason"], "tool_calls", "{choice}");
        // This script begins with text.
        assert_eq!(server.chat(&fields).json()["choices"][0]["finish_reason"], "length", "{choice}");
    }
}

#[test]
fn calls_are_constrained_where_the_request_demands_it() {
    let strict = TOOLS.replace(r#""name": "get_weather""#, r#""strict": true, "name": "get_weather""#);
    assert_ne!(strict, TOOLS);
    for fields in [format!(r#"{TOOLS}, "parallel_tool_calls": false"#), strict] {
        let wrong = ScriptedReply::new().control("<|tool_call_start|>").text("[get_weather()]");
        let server = TestServer::scripted([wrong], Settings::default());
        let choice = server.chat(&fields).json()["choices"][0].clone();
        assert_eq!(
            (&choice["finish_reason"], choice["message"].get("tool_calls")),
            (&json!("length"), None),
            "{fields}"
        );
    }
}

#[test]
fn replies_are_constrained_to_json_and_to_schemas() {
    let schema = r#"{"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object",
        "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false}}}"#;
    let elsewhere = |kind: &str, place: &str| {
        let schema = serde_json::from_str::<Json>(schema).unwrap()["json_schema"]["schema"].clone();
        json!({ "type": kind, place: schema }).to_string()
    };
    for (format, reply, expect) in [
        (r#"{"type": "json_object"}"#, r#"{"a": [1]}"#, "stop"),
        (r#"{"type": "json_object"}"#, "[1]", "length"),
        (schema, r#"{"n": 1}"#, "stop"),
        (schema, r#"{"n": "1"}"#, "length"),
        (&elsewhere("json_object", "schema"), r#"{"n": 1}"#, "stop"),
        (&elsewhere("json_object", "schema"), r#"{"n": "1"}"#, "length"),
        (&elsewhere("json_object", "value"), r#"{"n": "1"}"#, "length"),
        (&elsewhere("json_schema", "schema"), r#"{"n": "1"}"#, "length"),
    ] {
        let server = TestServer::scripted([ScriptedReply::from(reply)], Settings::default());
        let choice = server.chat(&format!(r#", "response_format": {format}"#)).json()["choices"][0].clone();
        assert_eq!(choice["finish_reason"], expect, "{reply}");
        assert_eq!(choice["message"]["content"] == reply, expect == "stop", "{choice}");
    }
}

#[test]
fn a_malformed_call_is_reported() {
    let broken =
        ScriptedReply::new().control("<|tool_call_start|>").text("[get_weather(Oslo)]").control("<|tool_call_end|>");
    let server = TestServer::scripted([broken], Settings::default());
    let choice = server.chat(TOOLS).json()["choices"][0].clone();
    assert_eq!(choice["finish_reason"], "stop");
    assert_eq!(choice["message"]["rejected_calls"][0]["raw_text"], "get_weather(Oslo)");
}

#[test]
fn a_call_that_is_written_as_text_is_reported() {
    let missed = || ScriptedReply::from("I call get_weather(city=\"Oslo\").");
    let server = TestServer::scripted([missed(), missed(), "Hello.".into()], Settings::default());
    let message = server.chat(TOOLS).json()["choices"][0]["message"].clone();
    assert_eq!(message["diagnostics"][0]["code"], "missed_call");
    let events = server.chat(&format!("{TOOLS}, \"stream\": true")).events();
    let last: Json = serde_json::from_str(&events[events.len() - 2]).unwrap();
    assert_eq!(last["choices"][0]["delta"]["diagnostics"], message["diagnostics"]);
    assert!(server.chat(TOOLS).json()["choices"][0]["message"].get("diagnostics").is_none());
}

#[test]
fn reasoning_is_a_field_of_its_own() {
    let thinking = ScriptedReply::new().text("<think>").text("Hm.").text("</think>").text("Yes.");
    let server = TestServer::scripted([thinking], Settings::default());
    let message = server.chat("").json()["choices"][0]["message"].clone();
    assert_eq!((&message["reasoning_content"], &message["content"]), (&json!("Hm."), &json!("Yes.")));
}

#[test]
fn a_stop_sequence_ends_the_reply_and_is_not_part_of_it() {
    let reply = || ScriptedReply::new().text("one, t").text("wo, three");
    let server = TestServer::scripted([reply(), reply()], Settings::default());
    for stop in [r#""two""#, r#"["four", "two"]"#] {
        let choice = server.chat(&format!(r#", "stop": {stop}"#)).json()["choices"][0].clone();
        assert_eq!((&choice["message"]["content"], &choice["finish_reason"]), (&json!("one, "), &json!("stop")));
    }
}

#[test]
fn a_limit_of_tokens_ends_the_reply() {
    let reply = || ScriptedReply::new().text("a").text("b").text("c");
    let server = TestServer::scripted([reply(), reply()], Settings::default());
    for fields in [r#", "max_tokens": 2"#, r#", "max_tokens": 1, "max_completion_tokens": 2"#] {
        let choice = server.chat(fields).json()["choices"][0].clone();
        assert_eq!((&choice["message"]["content"], &choice["finish_reason"]), (&json!("ab"), &json!("length")));
    }
}

#[test]
fn several_choices_are_counted_over_one_prompt() {
    let server = TestServer::scripted(["one", "two", "three"], Settings::default());
    let body = server.chat(r#", "n": 3, "seed": 5"#).json();
    let field = |name: &str| body["choices"].as_array().unwrap().iter().map(|choice| choice[name].clone()).collect();
    assert_eq!(body["choices"][1]["message"]["content"], "two");
    assert_eq!(Json::Array(field("index")), json!([0, 1, 2]));
    assert_eq!(Json::Array(field("seed")), json!([5, 6, 7]));
    assert_eq!((&body["usage"]["prompt_tokens"], &body["usage"]["completion_tokens"]), (&json!(22), &json!(6)));
}

#[test]
fn a_reported_seed_can_be_sent_again() {
    let server = TestServer::scripted(["a", "b"], Settings::default());
    let seed = |fields: &str| server.chat(fields).json()["choices"][0]["seed"].clone();
    assert_eq!(seed(r#", "seed": -3"#), -3);
    assert!(seed("").is_i64(), "a seed that was drawn can be sent");
}

#[test]
fn the_next_turn_prefills_only_what_is_new() {
    let server = TestServer::demo();
    let turns = |turns: &[(&str, &str)]| {
        let messages: Vec<Json> = turns.iter().map(|(role, text)| json!({ "role": role, "content": text })).collect();
        let body = json!({ "model": "causerie/demo", "messages": messages, "temperature": 0, "max_tokens": 40 });
        server.post("/v1/chat/completions", &body.to_string()).json()
    };
    let first = turns(&[("system", "You are brief."), ("user", "Hello!")]);
    let said = first["choices"][0]["message"]["content"].as_str().unwrap();
    let second = turns(&[("system", "You are brief."), ("user", "Hello!"), ("assistant", said), ("user", "And you?")]);
    let cached = second["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap();
    assert!(first["usage"]["prompt_tokens"].as_u64().unwrap() < cached, "{second}");
}

#[test]
fn a_seed_gives_the_same_reply_over_the_wire() {
    let server = TestServer::demo();
    let body = r#"{"model": "causerie/demo", "messages": [{"role": "user", "content": "Tell me something."}],
                   "seed": 11, "temperature": 1.5, "max_tokens": 24}"#;
    let mut texts = (0..2).map(|_| {
        let reply = server.post("/v1/chat/completions", body).json();
        reply["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
    });
    assert_eq!(texts.next().unwrap(), texts.next().unwrap());
}

#[test]
fn a_request_may_name_the_notation_of_calls() {
    let xml = "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>";
    let server = TestServer::scripted([xml, xml, xml], Settings::default());
    let choice = |parser: &str| {
        server.chat(&format!(r#"{TOOLS}, "function_call_parser": {parser}"#)).json()["choices"][0].clone()
    };
    let call = choice(r#""xml""#);
    assert_eq!(call["finish_reason"], "tool_calls");
    assert_eq!(call["message"]["tool_calls"][0]["function"]["arguments"], r#"{"city": "Oslo"}"#);
    // The scripted model writes calls between control tokens.
    for parser in ["null", r#""none""#] {
        let text = choice(parser);
        assert_eq!((&text["finish_reason"], &text["message"]["content"]), (&json!("stop"), &json!(xml)));
    }
    let refused = server.chat(r#", "function_call_parser": "yaml""#);
    assert_eq!(refused.status, 400);
}

#[test]
fn a_call_its_result_and_an_answer_are_three_requests_of_one_history() {
    let server = TestServer::scripted([weather_calls(), ScriptedReply::from("Sunny in both.")], Settings::default());
    let first = server.chat(TOOLS).json()["choices"][0]["message"].clone();
    let result = |call: usize, text: &str| json!({ "role": "tool", "tool_call_id": first["tool_calls"][call]["id"], "content": text });
    let mut second: Json = serde_json::from_str(&ask(TOOLS)).unwrap();
    // Results may come in any order.
    second["messages"].as_array_mut().unwrap().extend([first.clone(), result(1, "warm"), result(0, "cold")]);
    let reply = server.post("/v1/chat/completions", &second.to_string());
    assert_eq!(reply.json()["choices"][0]["message"]["content"], "Sunny in both.");
}

#[test]
fn roles_and_contents_are_read_as_clients_write_them() {
    let server = TestServer::scripted(["a", "b", "c"], Settings::default());
    let reply = server.post(
        "/v1/chat/completions",
        r#"{"model": "test/script", "user": "u", "metadata": {}, "stop": null, "tools": null, "response_format": {"type": "text"},
            "messages": [{"role": "developer", "content": "Be brief."},
                         {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "text", "text": "!"}], "name": "Ana"}]}"#,
    );
    assert_eq!((reply.status, reply.header("x-ignored-fields")), (200, None));
    let unknown = server.chat(r#", "colour": "red", "stream_options": {"shape": 1}"#);
    assert_eq!(unknown.header("x-ignored-fields"), Some("colour, stream_options.shape"));
    let odd = server.chat(&format!(r#", "a\nb": 1, "colour": 1, "{}": 1"#, "long".repeat(1000)));
    let mut names: Vec<&str> = odd.header("x-ignored-fields").unwrap().split(", ").collect();
    names.sort_unstable();
    assert_eq!(names, ["...", r"a\nb", "colour"]);
}

#[test]
fn a_large_request_is_read_as_a_small_one_is() {
    let server = TestServer::scripted(["good"; 2], Settings::default());
    let colour = "red".repeat(1 << 20);
    for _ in 0..2 {
        let reply = server.chat(&format!(r#", "colour": "{colour}""#));
        assert_eq!((reply.status, reply.header("x-ignored-fields")), (200, Some("colour")));
    }
    let refused = server.chat(&format!(r#", "colour": [{}]"#, r#"{"":0}"#.repeat(1 << 20).replace("}{", "},{")));
    assert_eq!(refused.error(), (400, "too_many_values".into(), None));
}

#[test]
fn what_another_model_wrote_can_be_sent_back() {
    let server = TestServer::scripted(["good"; 4], Settings::default());
    let user = r#"{"role": "user", "content": "Hi"}"#;
    let call = |arguments: &str| {
        let function = json!({ "name": "get_weather", "arguments": arguments });
        let call = json!({ "id": "a", "type": "function", "function": function });
        let result = json!({ "role": "tool", "tool_call_id": "a", "content": "The arguments cannot be read." });
        format!("{}, {result}", json!({ "role": "assistant", "content": null, "tool_calls": [call] }))
    };
    let refusal = r#"{"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}"#;
    for said in [refusal.to_owned(), call("{bad"), call("null"), call("[]")] {
        let body = ask(TOOLS).replace(user, &format!("{user}, {said}, {user}"));
        assert!(body.contains(&said));
        let reply = server.post("/v1/chat/completions", &body);
        assert_eq!(reply.status, 200, "{said}: {}", reply.text());
    }
}
