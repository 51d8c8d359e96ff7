//! Where one request of a connection ends and the next begins: the connections of `tests/fixtures/http/framing.json`.

use causerie_server::serve::Settings;
use serde_json::Value as Json;

use crate::server::TestServer;

const FRAMING: &str = include_str!("../../../tests/fixtures/http/framing.json");

#[test]
fn no_request_hides_in_another() {
    let cases: Vec<Json> = serde_json::from_str(FRAMING).unwrap();
    let server = TestServer::scripted(["good"], Settings::default());
    let mut failures = Vec::new();
    for case in &cases {
        let mut client = server.client();
        client.send(case["bytes"].as_str().unwrap());
        let mut statuses = Vec::new();
        while statuses.len() < case["statuses"].as_array().unwrap().len()
            && let Some(reply) = client.try_reply()
        {
            let is_error = 400 <= reply.status;
            assert!(!is_error || reply.error().0 == reply.status, "the error has a body");
            statuses.push(Json::from(reply.status));
        }
        let is_closed = if case["refused"] == true { client.is_closed() } else { client.get("/livez").status != 200 };
        if Json::from(statuses.clone()) != case["statuses"] || case["refused"] != is_closed {
            failures.push(format!("{}: {statuses:?}, closed: {is_closed}", case["name"]));
        }
    }
    assert!(failures.is_empty(), "{} of {} fail:\n{}", failures.len(), cases.len(), failures.join("\n"));
    assert_eq!(server.chat("").status, 200);
}
