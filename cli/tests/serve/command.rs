//! `causerie serve` as a command.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use crate::client::Client;

fn causerie() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_causerie"));
    command
        .arg("serve")
        .env("HF_HOME", "/nowhere")
        .env("HF_HUB_OFFLINE", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A server with the demo model on a free port, and a client of it.
fn started(options: &[&str]) -> (Child, Client) {
    let mut child = causerie().args(["--port", "0"]).args(options).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address = line
        .trim_end()
        .strip_prefix("causerie serves causerie/demo at http://")
        .expect("the server must print its address");
    let client = Client::connect(address.strip_suffix("/v1").unwrap().parse().unwrap());
    (child, client)
}

#[test]
#[cfg(unix)]
fn a_server_answers_until_it_is_asked_to_end() {
    for (signal, options) in
        [("-INT", &[][..]), ("-TERM", &["--threads", "1", "--cache-type", "q8_0", "--context", "500"])]
    {
        let (mut child, mut client) = started(options);
        let context = &client.get("/v1/models").json()["data"][0]["context_length"];
        assert_eq!(*context == 500, options.contains(&"--context"), "{context}");
        let body =
            r#"{"model": "causerie/demo", "messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 8}"#;
        let reply = client.post("/v1/chat/completions", body);
        assert_eq!(reply.status, 200, "{}", reply.text());
        let body = r#"{"model": "causerie/demo", "messages": [{"role": "user", "content": "Resolve it."}], "max_tokens": 40,
            "tools": [{"type": "function", "function": {"name": "mcp.maps__resolve-3d-model"}}], "tool_choice": "required"}"#;
        let reply = client.post("/v1/chat/completions", body).json();
        let call = &reply["choices"][0]["message"]["tool_calls"][0]["function"];
        assert_eq!(call["name"], "mcp.maps__resolve-3d-model", "{reply}");
        let killed = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{signal}");
    }
}

#[track_caller]
fn check_failure(arguments: &[&str], expect: &str) {
    let output = causerie().args(arguments).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(stderr.contains(expect), "{stderr}");
}

#[test]
fn a_failed_start_is_reported_in_one_line() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    check_failure(&["--port", &port], &format!("cannot listen on 127.0.0.1 port {port}: "));
    check_failure(&["--port", "65536"], "65536");
    check_failure(&["--port", "abc"], "abc");
    check_failure(&["--port", "0", "--model", "no/such/model.gguf"], "causerie: no model at no/such/model.gguf");
    check_failure(&["--port", "0", "--allow-origin", "*"], "must be an origin, as https://example.org, or app://*");
    check_failure(&["--port", "0", "--slots", "0"], "must be an integer from 1 to 1024");
    check_failure(&["--port", "0", "--context", "0"], "must be an integer from 1 to 16777216");
    check_failure(&["--port", "0", "--threads", "0"], "must be an integer from 1 to 1024");
    check_failure(&["--port", "0", "--api-key", "a b"], "causerie: --api-key: an API key must be one or more visible");
    check_failure(
        &["--port", "0", "--api-key-file", "/nowhere/k"],
        "causerie: cannot read the API keys at /nowhere/k: ",
    );
    check_failure(&["--port", "0", "--api-key", "a", "--base-path", "/a/b"], "cannot be used with");
    check_failure(&["--port", "0", "--cache-type", "f8"], "[possible values: f16, f32, q8_0]");
}
