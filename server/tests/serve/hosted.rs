//! Hosted servers: a base path, keys, and what is answered without a key.

use std::path::PathBuf;
use std::sync::Arc;

use causerie_server::access::keys::{Key, KeyFile, KeyRing};
use causerie_server::access::{Auth, Hosted, LocalKeys};
use causerie_server::serve::Settings;
use jiff::Timestamp;

use crate::client::HttpReply;
use crate::server::{TestServer, ask};

/// A hosted server, a key of its organization, and a key of another one.
fn hosted(auth: Auth, replies: usize) -> (TestServer, String, String) {
    let ((ours, key), (theirs, foreign)) = (Key::create("acme").unwrap(), Key::create("other").unwrap());
    let keys = Arc::new(KeyRing::fixed(vec![ours, theirs]));
    (start(auth, keys, replies), key, foreign)
}

fn start(auth: Auth, keys: Arc<KeyRing>, replies: usize) -> TestServer {
    let hosted = Hosted { base_path: "/acme/notes".parse().unwrap(), auth, keys, open_metrics: true };
    TestServer::scripted(vec!["good"; replies], Settings { hosted: Some(hosted), ..Settings::default() })
}

fn chat(server: &TestServer, key: &str) -> HttpReply {
    let header = format!("Authorization: Key {key}");
    server.client().with(&header, "POST", "/acme/notes/v1/chat/completions", &ask(""))
}

fn local(replies: usize) -> TestServer {
    let local_keys = Some(LocalKeys::new(["sesame", "other"]).unwrap());
    TestServer::scripted(vec!["good"; replies], Settings { local_keys, ..Settings::default() })
}

#[test]
fn a_local_key_opens_every_route() {
    let server = local(4);
    for header in ["Authorization: Bearer sesame", "Authorization: Key other", "X-Api-Key: sesame"] {
        for path in ["/v1/models", "/openapi.json", "/metrics", "/"] {
            assert_eq!(server.client().with(header, "GET", path, "").status, 200, "{header} {path}");
        }
        assert_eq!(server.client().with(header, "POST", "/v1/chat/completions", &ask("")).status, 200, "{header}");
    }
    for path in ["/livez", "/readyz", "/health", "/"] {
        assert_eq!(server.client().with("X: y", "GET", path, "").status, 200, "{path}");
    }
    for (header, code) in [
        ("X: y", "missing_key"),
        ("Authorization: Bearer wrong", "invalid_key"),
        ("Authorization: Basic sesame", "invalid_key"),
        ("X-Api-Key: wrong", "invalid_key"),
    ] {
        for (method, path) in
            [("GET", "/v1/models"), ("GET", "/metrics"), ("POST", "/v1/responses"), ("GET", "/nowhere")]
        {
            let reply = server.client().with(header, method, path, "{}");
            assert_eq!(reply.error(), (401, code.into(), None), "{header} {path}");
            assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
        }
    }
    let document = server.client().with("X-Api-Key: other", "GET", "/openapi.json", "").json();
    assert_eq!(document["components"]["securitySchemes"]["key"]["scheme"], "bearer");
    assert_eq!(document["paths"]["/livez"]["get"]["security"], serde_json::json!([]));
}

#[test]
fn stored_responses_belong_to_their_local_key() {
    let server = local(1);
    let body = r#"{"input": "Hi"}"#;
    let stored = server.client().with("X-Api-Key: sesame", "POST", "/v1/responses", body).json();
    let path = format!("/v1/responses/{}", stored["id"].as_str().unwrap());
    assert_eq!(server.client().with("X-Api-Key: other", "GET", &path, "").error().0, 404);
    assert_eq!(server.client().with("Authorization: Bearer sesame", "GET", &path, "").json(), stored);
}

#[test]
fn a_key_opens_every_route_with_and_without_the_base_path() {
    let (server, key, _) = hosted(Auth::Private, 4);
    let header = format!("Authorization: Key {key}");
    for base in ["/acme/notes", ""] {
        for route in ["/v1/models", "/v1/models/test%2Fscript", "/openapi.json"] {
            assert_eq!(
                server.client().with(&header, "GET", &format!("{base}{route}"), "").status,
                200,
                "{base}{route}"
            );
        }
        let path = format!("{base}/v1/chat/completions");
        let reply = server.client().with(&header, "POST", &path, &ask(""));
        assert_eq!(reply.json()["choices"][0]["message"]["content"], "good", "{path}");
    }
    assert_eq!(server.client().with(&header, "GET", "/acme/other/v1/models", "").error().0, 404);
}

#[test]
fn without_a_key_only_health_and_the_page_are_answered() {
    let (server, _, foreign) = hosted(Auth::Private, 1);
    for path in ["/livez", "/readyz", "/health", "/metrics", "/", "/acme/notes/livez", "/acme/notes/"] {
        assert_eq!(server.client().with("X: y", "GET", path, "").status, 200, "{path}");
    }
    for (method, path) in [
        ("GET", "/v1/models"),
        ("GET", "/openapi.json"),
        ("GET", "/nowhere"),
        ("POST", "/v1/chat/completions"),
        ("POST", "/v1/completions"),
        ("POST", "/v1/responses"),
    ] {
        let reply = server.client().with("X-Api-Key: x", method, path, "{}");
        assert_eq!(reply.error(), (401, "missing_key".into(), None), "{path}");
        assert_eq!(reply.json()["error"]["type"], "authentication_error");
        assert_eq!(reply.header("www-authenticate"), Some("Key"));
        let reply = server.client().with("Authorization: Bearer x", method, path, "{}");
        assert_eq!(reply.error(), (401, "invalid_key".into(), None), "{path}");
    }
    let reply = chat(&server, &foreign);
    assert_eq!(reply.error(), (403, "key_not_allowed".into(), None));
    assert_eq!(
        (reply.json()["error"]["type"].as_str(), reply.header("www-authenticate")),
        (Some("permission_error"), None)
    );
}

#[test]
fn odd_keys_are_refused_and_good_ones_served_afterwards() {
    let (server, key, _) = hosted(Auth::Private, 1);
    for odd in ["é", "a:é", ":", "::", "%00", "\u{7f}", &"k".repeat(10_000), &key[..key.len() - 1], &key.to_uppercase()]
    {
        let reply = chat(&server, odd);
        assert!(matches!(reply.status, 400 | 401), "{odd:.20}: {}", reply.status);
        assert!(!reply.text().contains(odd) || odd.len() < 3, "an error never contains a key");
    }
    assert_eq!(chat(&server, &"k".repeat(1 << 20)).error(), (431, "headers_too_large".into(), None));
    assert_eq!(chat(&server, &key).status, 200);
}

#[test]
fn key_errors_of_messages_have_the_form_that_their_clients_expect() {
    let (server, _, foreign) = hosted(Auth::Private, 1);
    let ask = |header: &str| server.client().with(header, "POST", "/acme/notes/v1/messages", "{}");
    let reply = ask("X-Api-Key: x");
    assert_eq!((reply.status, reply.header("www-authenticate")), (401, Some("Key")));
    assert_eq!(
        (reply.json()["type"].as_str(), reply.json()["error"]["type"].as_str()),
        (Some("error"), Some("authentication_error"))
    );
    let reply = ask(&format!("Authorization: Key {foreign}"));
    assert_eq!((reply.status, reply.json()["error"]["type"].as_str()), (403, Some("permission_error")));
}

#[test]
fn a_preflight_request_needs_no_key() {
    let (server, ..) = hosted(Auth::Private, 1);
    let headers = "Origin: http://localhost:3000\r\nAccess-Control-Request-Headers: authorization";
    let mut client = server.client();
    client.send(format!("OPTIONS /acme/notes/v1/models HTTP/1.1\r\nHost: gateway.example\r\n{headers}\r\n\r\n"));
    let preflight = client.head().unwrap();
    assert_eq!((preflight.status, preflight.header("access-control-allow-headers")), (204, Some("authorization")));
    let refused = server.client().with("Origin: http://localhost:3000", "GET", "/v1/models", "");
    assert_eq!(refused.status, 401);
    assert_eq!(refused.header("access-control-allow-origin"), Some("http://localhost:3000"), "the page may read why");
}

#[test]
fn a_shared_server_accepts_the_keys_of_all_organizations() {
    let (server, key, foreign) = hosted(Auth::Shared, 2);
    assert_eq!((chat(&server, &key).status, chat(&server, &foreign).status), (200, 200));
    assert_eq!(chat(&server, "other:key").status, 401);
}

#[test]
fn a_public_server_on_loopback_answers_to_loopback_names_only() {
    let (server, ..) = hosted(Auth::Public, 1);
    assert_eq!(server.get("/acme/notes/v1/models").status, 200);
    assert_eq!(chat(&server, "any").error(), (403, "host_not_allowed".into(), None));
}

#[test]
fn keys_change_without_a_restart() {
    let path = folder("reload").join("keys.json");
    let file = KeyFile::new(&path);
    let (key, shown) = Key::create("acme").unwrap();
    file.change(|keys| keys.push(key)).unwrap();
    let server = start(Auth::Private, Arc::new(KeyRing::watch(&path).unwrap()), 2);
    let (later, shown_later) = Key::create("acme").unwrap();
    assert_eq!((chat(&server, &shown).status, chat(&server, &shown_later).status), (200, 401));
    file.change(|keys| {
        keys[0].revoked = Some(Timestamp::now());
        keys.push(later);
    })
    .unwrap();
    assert_eq!((chat(&server, &shown).status, chat(&server, &shown_later).status), (401, 200));
}

#[test]
fn the_document_says_which_paths_require_a_key() {
    let (server, key, _) = hosted(Auth::Private, 1);
    let header = format!("Authorization: Key {key}");
    let document = server.client().with(&header, "GET", "/openapi.json", "").json();
    assert_eq!(document["servers"][0]["url"], "/acme/notes");
    assert_eq!(document["components"]["securitySchemes"]["key"]["name"], "Authorization");
    let paths = document["paths"].as_object().unwrap();
    for (path, entry) in paths {
        let method = if entry["post"].is_object() { "post" } else { "get" };
        let security = entry[method].get("security").unwrap_or(&document["security"]);
        let asked = path.replace("{id}", "test%2Fscript");
        let is_open = server.client().with("X: y", &method.to_uppercase(), &asked, "{}").status != 401;
        assert_eq!(security.as_array().unwrap().is_empty(), is_open, "{path}");
    }
    let local = TestServer::scripted(["good"], Settings::default()).get("/openapi.json").json();
    assert!(local.get("security").is_none() && local.get("servers").is_none());
}

fn folder(test: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("causerie-hosted-{test}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

#[test]
fn a_response_is_found_with_its_own_key_only() {
    let (server, key, foreign) = hosted(Auth::Shared, 3);
    let ask = |key: &str, previous: Option<&str>| {
        let body = serde_json::json!({ "model": "test/script", "input": "Hi", "previous_response_id": previous });
        server.client().with(&format!("Authorization: Key {key}"), "POST", "/v1/responses", &body.to_string())
    };
    let first = ask(&key, None).json()["id"].as_str().unwrap().to_owned();
    assert_eq!(ask(&foreign, Some(&first)).error().1, "previous_response_not_found");
    assert_eq!(ask(&key, Some(&first)).status, 200);
}
