//! Clients that shut down their sending side after a request and still read the answer, and those that are gone.

use std::io::Read;
use std::net::Shutdown;

use causerie::testing::ScriptedReply;
use causerie_server::serve::Settings;

use crate::client::Client;
use crate::server::{TestServer, ask};

const CHAT: &str = "/v1/chat/completions";

fn slow() -> ScriptedReply {
    ScriptedReply::new().text("So").stall()
}

/// A server with one slot, which a stalled reply has.
fn busy(next: ScriptedReply) -> (TestServer, Client) {
    let server = TestServer::scripted([slow(), next], Settings { slots: 1, ..Settings::default() });
    let mut running = server.client();
    running.ask(CHAT, &ask(r#", "stream": true"#));
    let head = running.head().unwrap();
    // The next request would get this script before.
    while !running.event(&head).unwrap().contains("So") {}
    (server, running)
}

fn end_sending(client: &mut Client) {
    client.stream().shutdown(Shutdown::Write).unwrap();
}

/// Waits until the server has noticed the end of the client's side.
fn wait_for_a_byte(client: &mut Client) {
    assert_eq!(client.stream().peek(&mut [0]).unwrap(), 1);
}

#[test]
fn a_client_that_ends_its_side_in_the_queue_gets_its_answer() {
    for fields in ["", r#", "stream": true"#] {
        let (server, running) = busy("good".into());
        let mut queued = server.client();
        queued.ask(CHAT, &ask(fields));
        server.wait_for("requests_waiting", "1");
        end_sending(&mut queued);
        wait_for_a_byte(&mut queued);
        drop(running);
        let reply = queued.reply();
        assert_eq!(reply.status, 200);
        assert!(reply.text().contains("good"), "{}", reply.text());
        assert!(fields.is_empty() || reply.text().ends_with("data: [DONE]\n\n"), "{}", reply.text());
        assert!(queued.is_closed());
    }
}

#[test]
fn a_client_that_ends_its_side_at_once_gets_its_answers() {
    let server = TestServer::scripted(["one", "two", "three"], Settings::default());
    let mut client = server.client();
    client.ask(CHAT, &ask(""));
    client.ask(CHAT, &ask(r#", "stream": true"#));
    client.ask("/v1/nothing", "{}");
    client.ask(CHAT, &ask(""));
    end_sending(&mut client);
    for (status, text) in [(200, "one"), (200, "two"), (404, "not_found"), (200, "three")] {
        let reply = client.reply();
        assert_eq!(reply.status, status);
        assert!(reply.text().contains(text), "{}", reply.text());
    }
    assert!(client.is_closed());
}

/// Longer than what the sockets and the server hold, so that the end of the client's side comes within the reply.
#[test]
fn a_client_that_ends_its_side_within_a_stream_gets_all_of_it() {
    let long = (0..256).fold(ScriptedReply::new(), |reply, _| reply.text("x".repeat(1 << 16)));
    let server = TestServer::scripted([long], Settings::default());
    let mut client = server.client();
    client.ask(CHAT, &ask(r#", "stream": true"#));
    let head = client.head().unwrap();
    end_sending(&mut client);
    let (mut n_bytes, mut last) = (0, String::new());
    while let Some(event) = client.event(&head) {
        let json: serde_json::Value = serde_json::from_str(&event).unwrap_or_default(); // but for [DONE]
        n_bytes += json["choices"][0]["delta"]["content"].as_str().map_or(0, str::len);
        last = event;
    }
    assert_eq!((n_bytes, &*last), (256 << 16, "[DONE]"));
}

#[test]
fn a_client_of_http_1_0_that_ends_its_side_gets_its_answer() {
    for (fields, end) in [("", "}"), (r#", "stream": true"#, "data: [DONE]\n\n")] {
        let (server, running) = busy("good".into());
        let mut queued = server.client();
        let (body, kind) = (ask(fields), "Content-Type: application/json");
        let head = format!("POST {CHAT} HTTP/1.0\r\nHost: localhost\r\n{kind}\r\nContent-Length: {}", body.len());
        queued.send(format!("{head}\r\n\r\n{body}"));
        server.wait_for("requests_waiting", "1");
        end_sending(&mut queued);
        wait_for_a_byte(&mut queued);
        drop(running);
        let mut text = String::new();
        queued.stream().read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.0 200 OK\r\n") && text.contains("good") && text.ends_with(end), "{text}");
    }
}

#[test]
fn an_error_reaches_a_client_that_has_ended_its_side() {
    let (server, running) = busy("good".into());
    let mut queued = server.client();
    queued.ask(CHAT, &ask(r#", "top_k": 7"#));
    queued.send("GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n");
    server.wait_for("requests_waiting", "1");
    end_sending(&mut queued);
    wait_for_a_byte(&mut queued);
    drop(running);
    assert_eq!(queued.reply().status, 200);
    assert_eq!(queued.reply().error(), (400, "malformed_request".into(), None));
    assert!(queued.is_closed());
}

#[test]
fn a_body_that_is_cut_off_is_refused() {
    let server = TestServer::scripted(["good"], Settings::default());
    let mut client = server.client();
    client.send(format!("POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"));
    client.send("Content-Length: 100\r\n\r\n{\"mod");
    end_sending(&mut client);
    assert_eq!(client.reply().error(), (400, "invalid_body".into(), None));
    assert!(client.is_closed());
}

#[test]
fn a_client_that_is_gone_leaves_the_queue_whether_it_ended_its_side_before_or_not() {
    for ends_first in [false, true] {
        for fields in ["", r#", "stream": true"#] {
            let (server, running) = busy("good".into());
            let mut queued = server.client();
            queued.ask(CHAT, &ask(fields));
            server.wait_for("requests_waiting", "1");
            if ends_first {
                end_sending(&mut queued);
                wait_for_a_byte(&mut queued);
            }
            drop(queued);
            server.wait_for("requests_waiting", "0");
            drop(running);
            server.wait_for("requests_running", "0");
            assert_eq!(server.chat("").status, 200);
        }
    }
}
