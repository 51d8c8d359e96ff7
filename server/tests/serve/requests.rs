//! The requests of `tests/fixtures/http`, each with the reply that it must have.

use causerie_server::serve::Settings;
use serde_json::{Value as Json, json};

use crate::client::HttpReply;
use crate::server::TestServer;

const REQUESTS: &str = include_str!("../../../tests/fixtures/http/requests.json");

#[test]
fn each_request_has_its_reply() {
    let requests: Vec<Json> = serde_json::from_str(REQUESTS).unwrap();
    let mut failures = Vec::new();
    let demo = TestServer::demo();
    let scripted = || TestServer::scripted(["good"], Settings::default());
    // A reply of the script is used up by each request that is answered.
    let mut server = scripted();
    for request in &requests {
        let is_demo = request["model"] == "demo";
        let model = if is_demo { "causerie/demo" } else { "test/script" };
        let body = request["body"].to_string().replace("\"MODEL\"", &json!(model).to_string());
        let reply = if is_demo { &demo } else { &server }.post(request["path"].as_str().unwrap(), &body);
        if reply.status == 200 && !is_demo {
            server = scripted();
        }
        if let Err(problem) = check(request, &reply, model) {
            failures.push(format!(
                "{} ({}): {problem}\n  {body}\n  {}",
                request["name"],
                request["path"],
                reply.text()
            ));
        }
    }
    assert!(failures.is_empty(), "{} of {} fail:\n{}", failures.len(), requests.len(), failures.join("\n"));
}

fn check(request: &Json, reply: &HttpReply, model: &str) -> Result<(), String> {
    if request["status"] != reply.status {
        return Err(format!("the status must be {}, found {}", request["status"], reply.status));
    }
    for (name, expect) in request["headers"].as_object().into_iter().flatten() {
        let expect = expect.as_str().map(|expect| expect.replace("MODEL", model));
        if reply.header(name) != expect.as_deref() {
            return Err(format!("the header {name} must be {expect:?}, found {:?}", reply.header(name)));
        }
    }
    if reply.header("content-type") == Some("text/event-stream") {
        return Ok(());
    }
    let body = reply.json();
    if let Some(code) = request.get("code").filter(|_| body["error"].get("code").is_some()) {
        same("code", code, &body["error"]["code"])?;
    }
    let message = body["error"]["message"].as_str().unwrap_or_default();
    for said in [&request["says"], &request["says_also"]].into_iter().filter_map(Json::as_str) {
        if !message.contains(said) {
            return Err(format!("the message must say {said:?}, found {message:?}"));
        }
    }
    for (place, expect) in request["reply"].as_object().into_iter().flatten() {
        let found = body.pointer(place).ok_or_else(|| format!("{place} must be there"))?;
        match expect.get("json") {
            Some(expect) => {
                same(place, expect, &serde_json::from_str(found.as_str().unwrap_or_default()).unwrap_or_default())?
            }
            None if expect == "MODEL" => same(place, &json!(model), found)?,
            None => same(place, expect, found)?,
        }
    }
    Ok(())
}

fn same(place: &str, expect: &Json, found: &Json) -> Result<(), String> {
    let is_same = expect == found || expect.is_number() && expect.as_f64() == found.as_f64();
    if is_same { Ok(()) } else { Err(format!("{place} must be {expect}, found {found}")) }
}
