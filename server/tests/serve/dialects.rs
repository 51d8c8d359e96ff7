//! `/v1/messages` and `/v1/responses`: the same requests and replies in other dialects.

use causerie::testing::ScriptedReply;
use causerie_server::serve::Settings;
use serde_json::{Value as Json, json};

use crate::chat::weather_calls;
use crate::client::HttpReply;
use crate::server::TestServer;

fn thinking() -> ScriptedReply {
    ScriptedReply::new().text("<think>").text("Hm.").text("</think>").text("Yes.")
}

/// A request with a question, a function and further fields, in Anthropic's dialect.
pub(crate) fn messages(server: &TestServer, more: Json) -> HttpReply {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" }, "days": { "type": "integer" } }, "required": ["city"] });
    let body = json!({
        "model": "test/script",
        "max_tokens": 100,
        "messages": [{ "role": "user", "content": "Hi" }],
        "tools": [{ "name": "get_weather", "description": "W.", "input_schema": schema }],
    });
    post(server, "/v1/messages", body, more)
}

/// The same request in the dialect of responses.
pub(crate) fn responses(server: &TestServer, more: Json) -> HttpReply {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" }, "days": { "type": "integer" } }, "required": ["city"] });
    let body = json!({
        "model": "test/script",
        "input": "Hi",
        "tools": [{ "type": "function", "name": "get_weather", "description": "W.", "parameters": schema }],
    });
    post(server, "/v1/responses", body, more)
}

/// Posts a body with further fields; null removes one.
pub(crate) fn post(server: &TestServer, path: &str, mut body: Json, more: Json) -> HttpReply {
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    server.post(path, &body.to_string())
}

/// The events of a stream; each must be named by its type.
#[track_caller]
pub(crate) fn events(reply: &HttpReply) -> Vec<Json> {
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/event-stream")), "{}", reply.text());
    let text = reply.text();
    let read = |event: &str| {
        let (name, data) = event.strip_prefix("event: ").unwrap().split_once("\ndata: ").unwrap();
        let event: Json = serde_json::from_str(data).unwrap();
        assert_eq!(event["type"], name);
        event
    };
    text.split_terminator("\n\n").map(read).collect()
}

fn kinds(events: &[Json]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// The object without the fields that differ from run to run.
fn without(mut object: Json, names: &[&str]) -> Json {
    names.iter().for_each(|name| drop(object.as_object_mut().unwrap().remove(*name).unwrap()));
    object
}

fn blocks() -> Json {
    json!([
        { "type": "text", "text": "Let me see. " },
        { "type": "tool_use", "name": "get_weather", "input": { "city": "Oslo", "days": 2 } },
        { "type": "tool_use", "name": "get_weather", "input": { "city": "Zürich" } },
    ])
}

/// The blocks without their ids, which must differ.
fn settled(blocks: &Json) -> Json {
    let mut blocks = blocks.clone();
    let ids: Vec<Json> =
        blocks.as_array_mut().unwrap().iter_mut().filter_map(|block| block.as_object_mut()?.remove("id")).collect();
    assert!(ids.iter().all(|id| id.as_str().unwrap().starts_with("toolu_")));
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]));
    blocks
}

#[test]
fn a_message_holds_text_and_calls_in_their_order() {
    let server = TestServer::scripted([weather_calls()], Settings::default());
    let reply = messages(&server, json!({ "system": "Be brief." }));
    assert_eq!(reply.header("request-id"), reply.header("x-request-id"));
    let body = reply.json();
    assert!(body["id"].as_str().unwrap().starts_with("msg_"));
    assert_eq!(settled(&body["content"]), blocks());
    let usage = &body["usage"];
    assert!(usage["input_tokens"].as_u64().unwrap() > 22 && usage["output_tokens"].as_u64().unwrap() > 2);
    let rest = without(body, &["id", "content", "usage"]);
    assert_eq!(
        rest,
        json!({ "type": "message", "role": "assistant", "model": "test/script", "stop_reason": "tool_use", "stop_sequence": null })
    );
}

#[test]
fn a_message_streams_block_by_block() {
    let server = TestServer::scripted([weather_calls()], Settings::default());
    let events = events(&messages(&server, json!({ "stream": true })));
    let of = |kind: &'static str| events.iter().filter(move |event| event["type"] == kind);
    assert_eq!(kinds(&events)[..2], ["message_start", "content_block_start"]);
    assert_eq!(kinds(&events)[events.len() - 3..], ["content_block_stop", "message_delta", "message_stop"]);
    assert_eq!(events[0]["message"]["content"], json!([]));
    let tokens =
        |usage: &Json| usage["input_tokens"].as_u64().unwrap() + usage["cache_read_input_tokens"].as_u64().unwrap();
    let first = &events[0]["message"]["usage"];
    assert_eq!((tokens(first), &first["output_tokens"]), (tokens(&events[events.len() - 2]["usage"]), &json!(0)));

    // As clients assemble it.
    let mut gathered = Vec::new();
    for event in &events {
        let index = usize::try_from(event["index"].as_u64().unwrap_or_default()).unwrap();
        match event["type"].as_str().unwrap() {
            "content_block_start" => {
                assert_eq!(index, gathered.len());
                gathered.push((event["content_block"].clone(), String::new()));
            }
            "content_block_delta" => {
                assert_eq!(index + 1, gathered.len(), "one block is open at a time");
                let delta = &event["delta"];
                gathered[index].1.push_str(delta["text"].as_str().or(delta["partial_json"].as_str()).unwrap());
            }
            _ => {}
        }
    }
    let whole = gathered.into_iter().map(|(mut block, said)| {
        match block["type"].as_str().unwrap() {
            "text" => block["text"] = json!(said),
            _ => block["input"] = serde_json::from_str(&said).unwrap(),
        }
        block
    });
    assert_eq!(settled(&whole.collect()), blocks());
    assert_eq!(of("content_block_start").count(), of("content_block_stop").count());
    let last = of("message_delta").next().unwrap();
    assert_eq!(last["delta"], json!({ "stop_reason": "tool_use", "stop_sequence": null }));
    assert!(last["usage"]["input_tokens"].as_u64().unwrap() > 0);
}

#[test]
fn thinking_is_a_block_if_it_was_requested() {
    let server = TestServer::scripted([thinking(), thinking()], Settings::default());
    let asked = messages(&server, json!({ "thinking": { "type": "enabled", "budget_tokens": 1024 } })).json();
    assert_eq!(
        asked["content"],
        json!([{ "type": "thinking", "thinking": "Hm.", "signature": "" }, { "type": "text", "text": "Yes." }])
    );
    assert_eq!(asked["stop_reason"], "end_turn");
    assert_eq!(messages(&server, json!({})).json()["content"], json!([{ "type": "text", "text": "Yes." }]));
}

#[test]
fn a_message_reports_the_stop_sequence_that_ended_it() {
    let reply = || ScriptedReply::new().text("one, t").text("wo, three");
    let server = TestServer::scripted([reply(), reply(), reply()], Settings::default());
    let more = json!({ "stop_sequences": ["four", "two"] });
    let body = messages(&server, more).json();
    assert_eq!((&body["stop_reason"], &body["stop_sequence"]), (&json!("stop_sequence"), &json!("two")));
    assert_eq!(body["content"], json!([{ "type": "text", "text": "one, " }]));
    let streamed = events(&messages(&server, json!({ "stop_sequences": ["four", "two"], "stream": true })));
    let last = streamed.iter().find(|event| event["type"] == "message_delta").unwrap();
    assert_eq!(last["delta"], json!({ "stop_reason": "stop_sequence", "stop_sequence": "two" }));
    let other = messages(&server, json!({ "stop_sequences": ["four"] })).json();
    assert_eq!((&other["stop_reason"], &other["stop_sequence"]), (&json!("end_turn"), &json!(null)));
}

#[test]
fn a_response_has_the_log_probabilities_of_its_tokens() {
    let reply = || ScriptedReply::new().text("a").text("b");
    let server = TestServer::scripted([reply(), reply(), reply()], Settings::default());
    let scored = |text: &str| json!({ "token": text, "logprob": 0.0, "bytes": [text.as_bytes()[0]] });
    let entry = |text: &str, top: Json| {
        let mut entry = scored(text);
        entry["top_logprobs"] = top;
        entry
    };
    let included = responses(&server, json!({ "include": ["message.output_text.logprobs"] })).json();
    let expect = json!([entry("a", json!([])), entry("b", json!([]))]);
    assert_eq!(included["output"][0]["content"][0]["logprobs"], expect);
    let body = responses(&server, json!({ "top_logprobs": 2 })).json();
    let expect = json!([entry("a", json!([scored("a")])), entry("b", json!([scored("b")]))]);
    assert_eq!((&body["output"][0]["content"][0]["logprobs"], &body["top_logprobs"]), (&expect, &json!(2)));
    let streamed = events(&responses(&server, json!({ "top_logprobs": 2, "stream": true })));
    let of = |kind: &'static str| streamed.iter().filter(move |event| event["type"] == kind);
    let deltas: Vec<Json> =
        of("response.output_text.delta").flat_map(|event| event["logprobs"].as_array().unwrap().clone()).collect();
    assert_eq!(Json::Array(deltas), expect);
    assert_eq!(of("response.output_text.done").next().unwrap()["logprobs"], expect);
    assert_eq!(streamed.last().unwrap()["response"]["output"][0]["content"][0]["logprobs"], expect);
}

#[test]
fn a_message_can_be_counted_beforehand() {
    let server = TestServer::scripted(["Hi."], Settings::default());
    let body = r#"{"model": "test/script", "messages": [{"role": "user", "content": "Hi"}]}"#;
    assert_eq!(server.post("/v1/messages/count_tokens", body).json(), json!({ "input_tokens": 22 }));
}

#[test]
fn counted_tokens_are_those_that_are_prefilled() {
    let server = TestServer::scripted(["{}"; 2], Settings::default());
    let schema = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    let formats = [json!({}), json!({ "format": { "type": "json_schema", "schema": schema } })];
    let [plain, held] = formats.map(|format| {
        let more = json!({ "tools": [], "output_config": format });
        let usage = messages(&server, more.clone()).json()["usage"].clone();
        let read = usage["input_tokens"].as_u64().unwrap() + usage["cache_read_input_tokens"].as_u64().unwrap_or(0);
        let body = json!({ "model": "test/script", "messages": [{ "role": "user", "content": "Hi" }] });
        let counted = post(&server, "/v1/messages/count_tokens", body, more).json();
        assert_eq!(counted, json!({ "input_tokens": read }), "{usage}");
        read
    });
    assert!(plain + 20 < held, "the prompt contains the schema");
}

#[test]
fn errors_name_the_fields_of_the_dialect() {
    let server = TestServer::scripted(["a"], Settings::default());
    let reply = responses(&server, json!({ "max_output_tokens": 0 }));
    assert_eq!(reply.error(), (400, "invalid_value".into(), Some("max_output_tokens".into())));
    assert!(reply.json()["error"]["message"].as_str().unwrap().starts_with("max_output_tokens"));
    let format = json!({ "type": "json_schema", "name": "s", "schema": { "not": {} } });
    let reply = responses(&server, json!({ "text": { "format": format } }));
    assert_eq!(reply.error().2, Some("text.format".into()));
    let reply = responses(&server, json!({ "input": "long ".repeat(100_000) }));
    assert_eq!(reply.error(), (400, "context_length_exceeded".into(), Some("input".into())));
    let reply = messages(&server, json!({ "stop_sequences": [3] }));
    assert_eq!(reply.status, 400);
    assert!(reply.json()["error"]["message"].as_str().unwrap().starts_with("stop_sequences"), "{}", reply.text());
}

#[test]
fn a_result_of_a_tool_is_answered() {
    let server = TestServer::scripted([weather_calls(), ScriptedReply::from("Sunny in both.")], Settings::default());
    let first = messages(&server, json!({})).json();
    let result = |block: usize| json!({ "type": "tool_result", "tool_use_id": first["content"][block]["id"], "content": "warm" });
    let history = json!([
        { "role": "user", "content": "Hi" },
        { "role": "assistant", "content": first["content"] },
        { "role": "user", "content": [result(2), result(1), { "type": "text", "text": "So?" }] },
    ]);
    let second = messages(&server, json!({ "messages": history })).json();
    assert_eq!(second["content"], json!([{ "type": "text", "text": "Sunny in both." }]));
}

#[track_caller]
fn check_error(reply: &HttpReply, status: u16, kind: &str, message: &str) {
    let body = reply.json();
    assert_eq!(
        (reply.status, &body["type"], &body["error"]["type"]),
        (status, &json!("error"), &json!(kind)),
        "{body}"
    );
    assert!(body["error"]["message"].as_str().unwrap().contains(message), "{body}");
    assert_eq!(body["request_id"].as_str(), reply.header("request-id"));
}

#[test]
fn errors_of_messages_have_the_form_that_their_clients_expect() {
    let server = TestServer::scripted(["good"], Settings { strict_model: true, ..Settings::default() });
    let bad = |more: Json| messages(&server, more);
    check_error(&bad(json!({ "model": "other" })), 404, "not_found_error", "model");
    check_error(&bad(json!({ "max_tokens": null })), 400, "invalid_request_error", "max_tokens is required");
    check_error(&bad(json!({ "temperature": "hot" })), 400, "invalid_request_error", "temperature");
    check_error(&bad(json!({ "mcp_servers": [{}] })), 400, "invalid_request_error", "mcp_servers");
    let document = json!([{ "role": "user", "content": [{ "type": "document" }] }]);
    check_error(&bad(json!({ "messages": document })), 400, "invalid_request_error", "messages[0].content[0]");
    let call = json!([{ "type": "tool_use", "id": "a", "name": "f", "input": {} }]);
    let called = json!([{ "role": "user", "content": "Hi" }, { "role": "assistant", "content": call }]);
    check_error(&bad(json!({ "messages": called })), 400, "invalid_request_error", "a reply that ends with calls");
    let long = json!([{ "role": "user", "content": "x".repeat(40_000) }]);
    check_error(&bad(json!({ "messages": long })), 400, "invalid_request_error", "prompt is too long: ");
    check_error(&server.get("/v1/messages"), 405, "invalid_request_error", "POST");
    let good = bad(json!({ "colour": 2, "metadata": { "user_id": "u" } }));
    assert_eq!((good.status, good.header("x-ignored-fields")), (200, Some("colour")));
}

/// The tokens of the prompt, read or taken from the cache.
fn prompt_tokens(usage: &Json) -> u64 {
    ["input_tokens", "cache_read_input_tokens"].map(|name| usage[name].as_u64().unwrap_or_default()).iter().sum()
}

#[test]
fn a_last_message_of_the_assistant_is_continued() {
    let server = TestServer::scripted([" white.", "White."], Settings::default());
    let history = json!([{ "role": "user", "content": "Snow?" }, { "role": "assistant", "content": "Snow is" }]);
    let body = messages(&server, json!({ "messages": history })).json();
    assert_eq!(body["content"][0]["text"], " white.");
    let continued = prompt_tokens(&body["usage"]);
    let body = messages(&server, json!({ "messages": history, "continue_final_message": false })).json();
    assert!(continued < prompt_tokens(&body["usage"]), "a new reply has its own beginning: {body}");
}

#[test]
fn a_line_that_a_client_changes_in_each_request_is_left_out() {
    let server = TestServer::scripted(["ok"; 6], Settings::default());
    let tokens = |system: Json| messages(&server, json!({ "system": system })).json()["usage"].clone();
    let text = |text: &str| json!({ "type": "text", "text": text });
    let plain = prompt_tokens(&tokens(json!("Be brief.")));
    let line = |n: u32| format!("x-anthropic-billing-header: cc_version=2.1; cch={n};");
    assert_eq!(prompt_tokens(&tokens(json!([text(&line(1)), text("Be brief.")]))), plain);
    assert_eq!(prompt_tokens(&tokens(json!(line(2) + "\nBe brief."))), plain);
    assert_eq!(prompt_tokens(&tokens(json!([text(&line(3))]))), prompt_tokens(&tokens(json!(null))));
    let mentioned = format!("Be brief. {}", line(4));
    assert!(plain < prompt_tokens(&tokens(json!(mentioned))), "within a text it stays");
}

#[test]
fn a_response_holds_items_in_their_order() {
    let server = TestServer::scripted([weather_calls()], Settings::default());
    let more = json!({ "instructions": "Be brief.", "store": false, "metadata": { "a": "b" }, "temperature": 0.3 });
    let body = responses(&server, more).json();
    let output = body["output"].as_array().unwrap();
    let kinds: Vec<&str> = output.iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["message", "function_call", "function_call"]);
    assert_eq!(
        output[0]["content"],
        json!([{ "type": "output_text", "text": "Let me see. ", "annotations": [], "logprobs": [] }])
    );
    assert_eq!(output[1]["arguments"], r#"{"city": "Oslo", "days": 2}"#);
    assert_ne!(output[1]["call_id"], output[2]["call_id"]);
    assert!(output.iter().all(|item| item["status"] == "completed"));
    assert_eq!((&body["status"], &body["object"]), (&json!("completed"), &json!("response")));
    for (name, value) in [
        ("instructions", json!("Be brief.")),
        ("metadata", json!({ "a": "b" })),
        ("temperature", json!(0.3)),
        ("tool_choice", json!("auto")),
        ("store", json!(false)),
        ("truncation", json!("disabled")),
        ("error", json!(null)),
        ("incomplete_details", json!(null)),
    ] {
        assert_eq!(body[name], value, "{name}");
    }
    let usage = &body["usage"];
    let count = |name: &str| usage[name].as_u64().unwrap();
    assert_eq!(count("total_tokens"), count("input_tokens") + count("output_tokens"));
    assert_eq!(usage["input_tokens_details"], json!({ "cached_tokens": 0, "cache_write_tokens": 0 }));
}

#[test]
fn a_response_streams_item_by_item() {
    let server = TestServer::scripted([weather_calls()], Settings::default());
    let events = events(&responses(&server, json!({ "stream": true })));
    let numbers: Vec<u64> = events.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
    assert!(numbers.iter().copied().eq(0..events.len() as u64), "events are numbered");
    let mut without_repeats = kinds(&events);
    without_repeats.dedup();
    let call = [
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
    ];
    let text = [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
    ];
    assert_eq!(without_repeats, [&text[..], &call, &call, &["response.completed"]].concat());

    let of = |kind: &'static str| events.iter().filter(move |event| event["type"] == kind);
    let deltas: String = of("response.output_text.delta").map(|event| event["delta"].as_str().unwrap()).collect();
    assert_eq!(deltas, "Let me see. ");
    let whole = &events.last().unwrap()["response"];
    let done: Vec<&Json> = of("response.output_item.done").map(|event| &event["item"]).collect();
    assert_eq!(done, whole["output"].as_array().unwrap().iter().collect::<Vec<_>>());
    assert_eq!(events[0]["response"]["id"], whole["id"]);
}

#[test]
fn a_response_that_is_cut_short_says_so() {
    let reply = || ScriptedReply::new().text("a").text("b").text("c");
    let server = TestServer::scripted([reply(), reply()], Settings::default());
    let body = responses(&server, json!({ "max_output_tokens": 2 })).json();
    assert_eq!(
        (&body["status"], &body["incomplete_details"]["reason"]),
        (&json!("incomplete"), &json!("max_output_tokens"))
    );
    assert_eq!(body["output"][0]["content"][0]["text"], "ab");
    let events = events(&responses(&server, json!({ "max_output_tokens": 2, "stream": true })));
    assert_eq!(kinds(&events).last(), Some(&"response.incomplete"));
}

#[test]
fn output_of_functions_and_reasoning_come_back_as_items() {
    let server = TestServer::scripted([weather_calls(), thinking()], Settings::default());
    let first = responses(&server, json!({})).json();
    let mut input = vec![json!({ "role": "user", "content": "Hi" })];
    input.extend(first["output"].as_array().unwrap().iter().cloned());
    for call in [2, 1] {
        let id = &first["output"][call]["call_id"];
        input.push(json!({ "type": "function_call_output", "call_id": id, "output": "warm" }));
    }
    let more = json!({ "input": input, "chat_template_kwargs": { "enable_thinking": true } });
    let second = responses(&server, more).json();
    assert_eq!(second["output"][0]["content"], json!([{ "type": "reasoning_text", "text": "Hm." }]));
    assert_eq!(second["output"][1]["content"][0]["text"], "Yes.");
}

#[test]
fn fields_of_responses_that_cannot_be_honoured_are_refused() {
    let server = TestServer::scripted(["good"], Settings::default());
    for (field, value) in [
        ("conversation", json!("conv_1")),
        ("background", json!(true)),
        ("include", json!(["file_search_call.results"])),
    ] {
        let reply = responses(&server, Json::Object([(field.to_owned(), value)].into_iter().collect()));
        assert_eq!(reply.error(), (400, "unsupported_field".into(), Some(field.into())));
    }
    for (field, value, code) in [
        ("input", json!([]), "invalid_value"),
        ("input", json!([{ "type": "input_audio", "text": "x" }]), "unsupported_field"),
        ("input", json!([{ "role": 3, "content": "" }]), "invalid_value"),
        ("tools", json!([{ "name": 3 }]), "invalid_value"),
    ] {
        assert_eq!(
            responses(&server, Json::Object([(field.to_owned(), value)].into_iter().collect())).error(),
            (400, code.into(), Some(field.into()))
        );
    }
    assert_eq!(responses(&server, json!({ "store": false })).status, 200);
}

#[test]
fn a_failure_during_a_stream_is_an_event_of_the_dialect() {
    let broken = || ScriptedReply::new().text("So").fail("broken");
    let server = TestServer::scripted([broken(), broken()], Settings::default());
    let message = events(&messages(&server, json!({ "stream": true })));
    assert_eq!(message.last().unwrap()["error"]["type"], "api_error");
    let response = events(&responses(&server, json!({ "stream": true })));
    assert_eq!(kinds(&response).last(), Some(&"response.failed"));
    assert_eq!(response.last().unwrap()["response"]["status"], "failed");
}

#[test]
fn a_call_that_is_written_as_text_is_reported_in_each_dialect() {
    let missed = || ScriptedReply::from("I call get_weather(city=\"Oslo\").");
    let replies = [missed(), missed(), missed(), missed(), "Hello.".into(), "Hello.".into()];
    let server = TestServer::scripted(replies, Settings::default());
    let code = |object: &Json| object["diagnostics"][0]["code"].clone();
    assert_eq!(code(&messages(&server, json!({})).json()), "missed_call");
    let streamed = events(&messages(&server, json!({ "stream": true })));
    let last = streamed.iter().find(|event| event["type"] == "message_delta").unwrap();
    assert_eq!(code(&last["delta"]), "missed_call");
    assert_eq!(code(&responses(&server, json!({})).json()), "missed_call");
    let streamed = events(&responses(&server, json!({ "stream": true })));
    assert_eq!(code(&streamed.last().unwrap()["response"]), "missed_call");
    assert!(messages(&server, json!({})).json().get("diagnostics").is_none());
    assert!(responses(&server, json!({})).json().get("diagnostics").is_none());
}

#[test]
fn a_call_that_cannot_be_read_is_reported_in_each_dialect() {
    let broken =
        || ScriptedReply::new().control("<|tool_call_start|>").text("[get_weather(Oslo)]").control("<|tool_call_end|>");
    let server = TestServer::scripted([broken(), broken()], Settings::default());
    for reply in [messages(&server, json!({})), responses(&server, json!({}))] {
        assert_eq!(reply.json()["rejected_calls"][0]["raw_text"], "get_weather(Oslo)");
    }
}
