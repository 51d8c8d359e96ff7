//! The page and the OpenAPI document.

use causerie_server::serve::Settings;
use serde_json::json;

use crate::server::TestServer;

#[test]
fn the_page_is_self_contained_and_restricted() {
    let server = TestServer::scripted(["good"], Settings::default());
    let page = server.get("/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    assert!(policy.ends_with("require-trusted-types-for 'script'; trusted-types dompurify"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    let html = page.text();
    assert!(html.len() < 250_000, "the page has {} bytes", html.len());
    assert_eq!(html.matches("</script").count(), 2, "a script that contains an end tag would end there");
    // The libraries know such words, too; that they fetch nothing is tested in a browser.
    let (before, libraries) = html.split_once("<script>").unwrap();
    let (libraries, script) = libraries.split_once("</script>").unwrap();
    for foreign in ["src=", "@import", "url(", "href=\"http"] {
        assert!(!before.contains(foreign) && !script.contains(foreign), "the page fetches nothing: {foreign}");
    }
    for licence in ["MIT License", "Apache license 2.0"] {
        assert!(libraries.contains(licence), "{licence}");
    }
    for placeholder in ["{style}", "{script}", "{libraries}", "{system}", "{functions}"] {
        assert!(!html.contains(placeholder));
    }
    assert_eq!(server.post("/", "{}").error(), (405, "method_not_allowed".into(), None));
}

#[test]
fn the_document_describes_every_route() {
    let server = TestServer::with_all_models(Settings::default());
    let document = server.get("/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    for path in document["paths"].as_object().unwrap().keys() {
        let is_post = document["paths"][path]["post"].is_object();
        let reply = if is_post { server.post(path, "{}") } else { server.get(path) };
        let expect = if is_post {
            400
        } else if path.contains('{') {
            404
        } else {
            200
        };
        assert_eq!(reply.status, expect, "{path}: {}", reply.text());
    }
    let chat =
        &document["paths"]["/v1/chat/completions"]["post"]["requestBody"]["content"]["application/json"]["schema"];
    assert_eq!(chat["required"], json!(["messages"]));
}

#[test]
fn the_limits_of_the_document_are_enforced() {
    let server = TestServer::scripted(["good"], Settings::default());
    let document = server.get("/openapi.json").json();
    let said = json!([{ "role": "user", "content": "Hi" }]);
    for (path, name, value) in [
        ("/v1/chat/completions", "messages", &said),
        ("/v1/completions", "prompt", &json!("Hi")),
        ("/v1/responses", "input", &json!("Hi")),
        ("/v1/messages", "messages", &said),
    ] {
        let schema = &document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"];
        let mut n_limits = 0;
        for (field, property) in schema["properties"].as_object().unwrap() {
            for (limit, step) in [("minimum", -1), ("maximum", 1)] {
                let Some(beyond) = property[limit].as_i64().and_then(|limit| limit.checked_add(step)) else { continue };
                let mut body = json!({ "model": "test/script", "max_tokens": 1, name: value });
                body[field] = json!(beyond);
                let reply = server.post(path, &body.to_string());
                let message = reply.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
                assert!(reply.status == 400 && message.starts_with(field), "{path} {field} {beyond}: {message}");
                n_limits += 1;
            }
        }
        assert!(8 < n_limits, "{path} has few limits");
    }
}
