//! Keys and hosted servers, as the command starts them.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use causerie_server::access::keys::KeyRing;
use causerie_server::access::{Auth, Hosted};
use causerie_server::serve::Settings;

use crate::client::{Client, HttpReply};
use crate::server::{TestServer, ask};

fn start(auth: Auth, keys: Arc<KeyRing>, replies: usize) -> TestServer {
    let hosted = Hosted { base_path: "/acme/notes".parse().unwrap(), auth, keys, open_metrics: true };
    TestServer::scripted(vec!["good"; replies], Settings { hosted: Some(hosted), ..Settings::default() })
}

fn chat(server: &TestServer, key: &str) -> HttpReply {
    let header = format!("Authorization: Key {key}");
    server.client().with(&header, "POST", "/acme/notes/v1/chat/completions", &ask(""))
}

fn folder(test: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("causerie-hosted-{test}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn causerie(home: &PathBuf, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_causerie"));
    command.env("CAUSERIE_HOME", home).env_remove("PORT").args(arguments).output().unwrap()
}

#[test]
fn keys_are_created_listed_and_revoked() {
    let home = folder("command");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let made = causerie(&home, &["keys", "create", "--org", "acme"]);
    let key = text(made.stdout).trim_end().to_owned();
    let (id, secret) = key.split_once(':').unwrap();
    assert!(text(made.stderr).contains("is not shown again"));
    let stored = std::fs::read_to_string(home.join("keys.json")).unwrap();
    assert!(stored.contains(id) && !stored.contains(secret));
    let server = start(Auth::Private, Arc::new(KeyRing::watch(home.join("keys.json")).unwrap()), 1);
    assert_eq!(chat(&server, &key).status, 200);

    let list = || text(causerie(&home, &["keys", "list"]).stdout);
    assert!(list().starts_with(&format!("{id}  acme  created ")) && !list().contains("revoked"));
    assert!(causerie(&home, &["keys", "revoke", id]).status.success());
    assert!(list().contains("  revoked "));
    assert_eq!(chat(&server, &key).status, 401);
    let unknown = causerie(&home, &["keys", "revoke", "nobody"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(text(unknown.stderr).contains("no key nobody at "));
    assert!(!causerie(&home, &["keys", "create", "--org", "a/b"]).status.success());
}

#[test]
fn a_hosted_server_without_its_keys_does_not_start() {
    let home = folder("missing");
    let output = causerie(&home, &["serve", "--port", "0", "--host", "127.0.0.1", "--base-path", "/acme/notes"]);
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("causerie: cannot use the keys at ") && stderr.lines().count() == 1, "{stderr}");
    for (arguments, expect) in [
        (&["serve", "--base-path", "acme"][..], "must be /<org_id>/<app_id>"),
        (&["serve", "--auth", "private"], "--base-path"),
    ] {
        let output = causerie(&home, arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8(output.stderr).unwrap().contains(expect));
    }
}

#[test]
fn a_hosted_server_refuses_the_key_of_a_local_one() {
    for arguments in [&["serve", "--port", "0", "--base-path", "/acme/notes", "--auth", "public"][..], &["run"]] {
        for key in ["sesame", ""] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_causerie"));
            let output = command.args(arguments).env("CAUSERIE_API_KEY", key).output().unwrap();
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{stderr}");
            assert!(stderr.starts_with("causerie: CAUSERIE_API_KEY must not be set for a hosted server"), "{stderr}");
        }
    }
}

/// The remark about a key file that cannot be read goes to a log whose reader is gone.
#[test]
#[cfg(unix)]
fn a_closed_log_cuts_no_request() {
    let home = folder("closed-log");
    let key = causerie(&home, &["keys", "create", "--org", "acme"]);
    let key = String::from_utf8(key.stdout).unwrap().trim_end().to_owned();
    let mut command = Command::new(env!("CARGO_BIN_EXE_causerie"));
    command.args(["serve", "--port", "0", "--host", "127.0.0.1", "--base-path", "/acme/notes"]);
    let mut child = command.env("CAUSERIE_HOME", &home).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    drop(child.stderr.take());
    let address = line.trim_end().split_once("http://").unwrap().1.split_once('/').unwrap().0;
    let ask = || {
        let header = format!("Authorization: Key {key}");
        Client::connect(address.parse().unwrap()).with(&header, "GET", "/v1/models", "").status
    };
    let keys = home.join("keys.json");
    assert!(keys.exists());
    for broken in ["[{", "{}", "[", ""] {
        std::fs::write(&keys, broken).unwrap();
        assert_eq!([ask(), ask()], [200, 200], "{broken}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
#[cfg(unix)]
fn a_one_off_run_has_an_address_and_a_key_of_its_own() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_causerie"));
    command.args(["run", "--org", "acme"]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let base_url = lines.next().unwrap().strip_prefix("base_url http://").unwrap().to_owned();
    let key = lines.next().unwrap().strip_prefix("api_key ").unwrap().to_owned();
    let (address, path) = base_url.split_once('/').unwrap();
    assert!(path.starts_with("acme/run-") && path.ends_with("/v1"), "{path}");
    let ask = |header: &str| {
        Client::connect(address.parse().unwrap()).with(header, "GET", &format!("/{path}/models"), "").status
    };
    let key = format!("Authorization: Key {key}");
    assert_eq!((ask(&key), ask("X: y")), (200, 401));
    // Functions may have the names that a server accepts.
    let body = r#"{"model": "causerie/demo", "max_tokens": 1, "messages": [{"role": "user", "content": "Hi"}],
        "tools": [{"type": "function", "function": {"name": "get-weather"}}]}"#;
    let reply =
        Client::connect(address.parse().unwrap()).with(&key, "POST", &format!("/{path}/chat/completions"), body);
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(std::net::TcpStream::connect(address).is_err(), "the address is gone");
}
