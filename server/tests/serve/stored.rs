//! Requests that continue from a stored response.

use causerie::testing::ScriptedReply;
use causerie_server::serve::Settings;
use serde_json::{Value as Json, json};

use crate::chat::weather_calls;
use crate::client::HttpReply;
use crate::dialects::{events, responses};
use crate::server::TestServer;

fn read(reply: &Json) -> u64 {
    reply["usage"]["input_tokens"].as_u64().unwrap_or_else(|| panic!("{reply}"))
}

fn answered(call: &Json) -> Json {
    json!({ "type": "function_call_output", "call_id": call["call_id"], "output": "warm" })
}

#[test]
fn a_request_continues_from_a_response() {
    let replies = [weather_calls(), "Sunny.".into(), "Sunny.".into(), "Bye.".into(), "Bye.".into()];
    let server = TestServer::scripted(replies, Settings::default());
    let first = responses(&server, json!({})).json();
    assert_eq!((&first["store"], &first["previous_response_id"]), (&json!(true), &json!(null)));
    let output = first["output"].as_array().unwrap();
    let results = [answered(&output[1]), answered(&output[2])];
    let second = responses(&server, json!({ "input": results, "previous_response_id": first["id"] })).json();
    assert_eq!(second["previous_response_id"], first["id"]);
    let mut whole = [&[json!({ "role": "user", "content": "Hi" })], &output[..], &results].concat();
    let repeated = responses(&server, json!({ "input": whole })).json();
    assert_eq!(read(&second), read(&repeated));
    let third = responses(&server, json!({ "input": "Bye", "previous_response_id": second["id"] })).json();
    whole.extend([second["output"][0].clone(), json!({ "role": "user", "content": "Bye" })]);
    assert_eq!(read(&third), read(&responses(&server, json!({ "input": whole })).json()));
}

#[test]
fn an_item_reference_is_replaced_by_its_item() {
    let server = TestServer::scripted(["Yes."; 3], Settings::default());
    let streamed = events(&responses(&server, json!({ "stream": true })));
    let item = &streamed.last().unwrap()["response"]["output"][0];
    let user = json!({ "role": "user", "content": "Hi" });
    let reference = json!({ "type": "item_reference", "id": item["id"] });
    let referred = responses(&server, json!({ "input": [user, reference, user] })).json();
    assert_eq!(read(&referred), read(&responses(&server, json!({ "input": [user, item, user] })).json()));
}

#[test]
fn a_stored_response_is_retrieved_and_deleted() {
    let server = TestServer::scripted(["Yes."; 3], Settings::default());
    let input = json!([
        { "role": "developer", "content": "Be brief." },
        { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Hi" }] },
        { "type": "function_call", "call_id": "a", "name": "get_weather", "arguments": "{}" },
        { "type": "function_call_output", "call_id": "a", "output": "warm" },
        { "role": "assistant", "content": "Warm." },
        { "role": "user", "content": "Bye" },
    ]);
    let whole = responses(&server, json!({ "input": input })).json();
    let path = format!("/v1/responses/{}", whole["id"].as_str().unwrap());
    assert_eq!(server.get(&path).json(), whole);
    let streamed = events(&responses(&server, json!({ "stream": true })));
    let streamed = &streamed.last().unwrap()["response"];
    assert_eq!(&server.get(&format!("/v1/responses/{}", streamed["id"].as_str().unwrap())).json(), streamed);

    let page = |query: &str| server.get(&format!("{path}/input_items{query}")).json();
    let all = page("?order=asc");
    let items = all["data"].as_array().unwrap();
    assert_eq!((items.len(), &all["has_more"]), (6, &json!(false)));
    assert!(items.iter().all(|item| item["id"].is_string() && item["type"].is_string()), "{all}");
    assert_eq!(items[0]["content"], json!([{ "type": "input_text", "text": "Be brief." }]));
    assert_eq!(items[4]["content"], json!([{ "type": "output_text", "text": "Warm.", "annotations": [] }]));
    assert_eq!((&all["first_id"], &all["last_id"]), (&items[0]["id"], &items[5]["id"]));
    let newest = page("?limit=2");
    assert_eq!((&newest["data"][0], &newest["data"][1], &newest["has_more"]), (&items[5], &items[4], &json!(true)));
    let rest = page(&format!("?after={}", newest["last_id"].as_str().unwrap()));
    assert_eq!((rest["data"].as_array().unwrap().len(), &rest["data"][0]), (4, &items[3]));
    // What is listed can be sent again.
    assert_eq!(read(&responses(&server, json!({ "input": items })).json()), read(&whole));
    for (query, field) in [("?limit=0", "limit"), ("?limit=x", "limit"), ("?order=up", "order"), ("?after=x", "after")]
    {
        let error = server.get(&format!("{path}/input_items{query}")).error();
        assert_eq!(error, (400, "invalid_value".into(), Some(field.into())));
    }
    assert_eq!(server.get(&format!("{path}?stream=true")).error().1, "unsupported_field");

    let deleted = server.delete(&path);
    assert_eq!(deleted.json(), json!({ "id": whole["id"], "object": "response", "deleted": true }));
    for reply in [server.get(&path), server.delete(&path), server.get(&format!("{path}/input_items"))] {
        assert_eq!(reply.error(), (404, "not_found".into(), None));
    }
    let cancel = server.post(&format!("{path}/cancel"), "{}");
    assert_eq!(cancel.error(), (404, "not_found".into(), None));
    let wrong = server.post(&path, "{}");
    assert_eq!((wrong.error().0, wrong.header("allow")), (405, Some("GET, HEAD, DELETE, OPTIONS")));
}

#[test]
fn a_response_that_is_not_stored_is_not_found() {
    let server = TestServer::scripted([ScriptedReply::from("Yes."), "Yes.".into()], Settings::default());
    let body = responses(&server, json!({ "store": false })).json();
    assert_eq!(body["store"], false);
    for id in [body["id"].clone(), json!("resp_0"), json!("")] {
        let error = responses(&server, json!({ "previous_response_id": id })).error();
        assert_eq!(error, (400, "previous_response_not_found".into(), Some("previous_response_id".into())));
    }
    let reference = json!({ "type": "item_reference", "id": body["output"][0]["id"] });
    let error = |reply: HttpReply| reply.error();
    assert_eq!(
        error(responses(&server, json!({ "input": [reference] }))),
        (404, "not_found".into(), Some("input".into()))
    );
    let wrong = error(responses(&server, json!({ "previous_response_id": 3 })));
    assert_eq!(wrong, (400, "invalid_value".into(), Some("previous_response_id".into())));
}
