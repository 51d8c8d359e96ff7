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
