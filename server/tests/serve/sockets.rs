//! Clients that are slow, greedy, broken or hostile: the server survives each and answers a good request afterwards.

use std::io::Write;
use std::time::Duration;

use causerie::testing::ScriptedReply;
use causerie_server::serve::Settings;
use serde_json::Value as Json;

use crate::client::Client;
use crate::server::{TestServer, ask, wait_until};

/// Sends bytes, and checks the status, 0 if the connection is closed without one, and that the connection is closed.
#[track_caller]
fn check_closed(server: &TestServer, bytes: &[u8], expect: u16) {
    let mut client = server.client();
    client.send(bytes);
    let reply = client.try_reply();
    let status = reply.as_ref().map_or(0, |reply| reply.status);
    assert_eq!(status, expect, "{}", String::from_utf8_lossy(&bytes[..bytes.len().min(200)]));
    if let Some(reply) = reply {
        assert_eq!(reply.error().0, expect, "the error has a body");
    }
    assert!(client.is_closed(), "the connection is closed");
}

fn post(headers: &str, body: &str) -> Vec<u8> {
    let head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    format!("{head}{headers}\r\n{body}").into_bytes()
}

/// Node.js reports a broken pipe instead of the answer if the connection closes while it sends.
#[test]
fn a_client_that_sends_a_whole_body_first_reads_an_early_answer() {
    let server = TestServer::scripted(["good"], settings(|it| it.max_body = 1 << 20));
    let body = "x".repeat(4 << 20);
    for (path, status) in [("/v1/chat/completions", 413), ("/v1/nothing", 404), ("/livez", 405)] {
        let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n");
        let chunks = format!("{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
        for bytes in [format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()), chunks] {
            let mut client = server.client();
            client.stream().write_all(bytes.as_bytes()).expect("the server reads all of the body");
            assert_eq!(client.reply().status, status, "{path}");
        }
    }
    // A client that waits for an answer gets it, too.
    let mut client = server.client();
    client.send("POST /v1/nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n");
    assert_eq!(client.reply().status, 404);
}

/// The default settings with a change.
fn settings(change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = Settings::default();
    change(&mut settings);
    settings
}

#[test]
fn slow_headers_are_not_waited_for() {
    let server = TestServer::scripted(["good"], settings(|it| it.header_timeout = Duration::from_millis(30)));
    check_closed(&server, b"", 0);
    check_closed(&server, b"POST /v1/chat/comp", 0);
    check_closed(&server, b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", 0);
    // On a slow machine, good headers may come too late as well.
    wait_until("a good reply", || {
        let mut client = server.client();
        client.ask("/v1/chat/completions", &ask(""));
        client.try_reply().is_some_and(|reply| reply.status == 200)
    });
}

#[test]
fn slow_bodies_are_not_waited_for() {
    let server = TestServer::scripted(["good"], settings(|it| it.body_timeout = Duration::from_millis(30)));
    check_closed(&server, &post("Content-Length: 100\r\n", "{\"mod"), 408);
    check_closed(&server, &post("Transfer-Encoding: chunked\r\n", "5\r\n{\"mod"), 408);
    assert_eq!(server.chat("").status, 200);
}

#[test]
fn bodies_that_are_too_large_are_not_read() {
    let server = TestServer::scripted(["good"], settings(|it| it.max_body = 1000));
    check_closed(&server, &post("Content-Length: 10000000000\r\n", "{}"), 413);
    check_closed(&server, &post("Content-Length: 1001\r\n", ""), 413);
    let chunk = format!("100\r\n{}\r\n", "x".repeat(256));
    check_closed(&server, &post("Transfer-Encoding: chunked\r\n", &chunk.repeat(8)), 413);
    assert_eq!(server.chat("").status, 200);
}

#[test]
fn stalled_uploads_block_nobody() {
    let server = TestServer::scripted(["good"], Settings::default());
    let body = ask("");
    let lengths = [format!("Content-Length: {}\r\n", 32 << 20), "Transfer-Encoding: chunked\r\n".to_owned()];
    let mut stalled: Vec<_> = lengths.iter().cycle().take(16).map(|length| (server.client(), length)).collect();
    for (client, length) in &mut stalled {
        client.send(post(&format!("Expect: 100-continue\r\n{length}"), ""));
        assert_eq!(client.head().unwrap().status, 100, "the server waits for the body");
    }
    assert_eq!(server.post("/v1/chat/completions", &body).status, 200);
    let (chunked, _) = &mut stalled[1];
    chunked.send("2\r\n{}\r\n0\r\n\r\n");
    assert_eq!(chunked.reply().error().0, 400, "its time limit is not over");
}

#[test]
fn large_bodies_beyond_the_memory_budget_are_refused_and_small_ones_read() {
    const LARGE: usize = 256 << 10;
    let server = TestServer::scripted(["good"], settings(|it| it.max_body = LARGE));
    // Each takes three quarters of its size from the budget, which is eight times the size.
    let mut clients: Vec<_> = (0..11).map(|_| server.client()).collect();
    for client in &mut clients {
        client.send(post(&format!("Content-Length: {LARGE}\r\n"), &" ".repeat(LARGE - 2)));
    }
    server.wait_for("requests_total{route=\"/v1/chat/completions\",status=\"503\"}", "1");
    assert_eq!(server.chat("").status, 200);
    clients.iter_mut().for_each(|client| client.send("{}"));
    let read = clients.iter_mut().filter_map(|client| client.try_reply()).filter(|reply| reply.status == 400);
    assert_eq!(read.count(), 10, "a request that has its share keeps it");
}

#[test]
fn malformed_http_is_refused() {
    let server = TestServer::scripted(["good"], Settings::default());
    let many: String = (0..101).map(|i| format!("X-{i}: 1\r\n")).collect();
    let header = |text: &str| format!("GET /livez HTTP/1.1\r\nHost: localhost\r\n{text}\r\n").into_bytes();
    check_closed(&server, &header(&many), 431);
    check_closed(&server, &header(&format!("X-Long: {}\r\n", "x".repeat(1 << 20))), 431);
    check_closed(&server, format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(65_536)).as_bytes(), 414);
    check_closed(&server, b"GET /livez\r\n\r\n", 400);
    check_closed(&server, b"G\x00T /livez HTTP/1.1\r\n\r\n", 400);
    check_closed(&server, &header("Bad Name: 1\r\n"), 400);
    check_closed(&server, &header("Spaced : 1\r\n"), 400);
    check_closed(&server, &header("A: 1\r\n folded\r\n"), 400);
    check_closed(&server, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0);
    assert_eq!(server.chat("").status, 200);
}

#[test]
fn a_request_cannot_hide_in_another() {
    let server = TestServer::scripted(["good"], Settings::default());
    let hidden = "0\r\n\r\nGET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    check_closed(&server, &post("Content-Length: 2\r\nContent-Length: 40\r\n", "{}"), 400);
    check_closed(&server, &post("Content-Length: -1\r\n", "{}"), 400);
    check_closed(&server, &post("Content-Length: +2\r\n", "{}"), 400);
    check_closed(&server, &post("Transfer-Encoding: chunked, identity\r\n", hidden), 400);
    check_closed(&server, &post("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", hidden), 400);
    check_closed(&server, &post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", hidden), 400);
    assert_eq!(server.chat("").status, 200);
}

#[test]
fn compressed_bodies_are_read_within_the_limits() {
    const GZIP: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03";
    let server = TestServer::scripted(["good"; 2], settings(|it| it.max_body = 1000));
    let send = |encoding: &str, body: &[u8]| {
        let mut client = server.client();
        let mut request = post(&format!("Content-Encoding: {encoding}\r\nContent-Length: {}\r\n", body.len()), "");
        request.extend(body);
        client.send(request);
        client.reply()
    };
    // The last block of deflate, stored as it is, and the frame of zstd with one raw block.
    let body = ask("");
    let length = u16::try_from(body.len()).unwrap();
    let mut gzip = [GZIP, b"\x01", &length.to_le_bytes(), &(!length).to_le_bytes(), body.as_bytes()].concat();
    let mut crc = flate2::Crc::new();
    crc.update(body.as_bytes());
    gzip.extend([crc.sum(), u32::from(length)].iter().flat_map(|value| value.to_le_bytes()));
    assert_eq!(send("gzip", &gzip).status, 200);
    let block = u32::from(length) << 3 | 1;
    let zstd = [b"\x28\xb5\x2f\xfd\x00\x58", &block.to_le_bytes()[..3], body.as_bytes()].concat();
    assert_eq!(send("zstd", &zstd).status, 200);
    let refused = send("br", b"x");
    assert_eq!((refused.error().0, refused.error().1), (415, "unsupported_encoding".into()));
    assert_eq!(refused.header("accept-encoding"), Some("gzip, zstd"));
    assert!(refused.text().contains("found \\\"br\\\""), "{}", refused.text());
    assert_eq!(send("gzip", b"{}").error().1, "invalid_body");
    // A block that repeats a byte 100,000 times.
    let bomb = [b"\x28\xb5\x2f\xfd\x00\x58".as_slice(), &(100_000_u32 << 3 | 3).to_le_bytes()[..3], b" "].concat();
    assert_eq!(send("zstd", &bomb).error(), (413, "body_too_large".into(), None));
}

#[test]
fn only_json_is_read() {
    let server = TestServer::scripted(["good"], Settings::default());
    let send = |kind: &str, body: &str| {
        let mut client = server.client();
        client.send(format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n{kind}Content-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        client.reply().error()
    };
    for kind in ["", "Content-Type: text/plain\r\n", "Content-Type: application/x-www-form-urlencoded\r\n"] {
        assert_eq!(send(kind, "{}"), (415, "unsupported_media_type".into(), None));
    }
    let mut client = server.client();
    client
        .send("POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n");
    assert!(client.reply().text().contains(r#"must be application/json, found \"text/plain\""#));
    for body in ["[]", "{", "{} x", r#"{"a": 1, "a": 2}"#, &("[".repeat(100_000) + &"]".repeat(100_000))] {
        assert_eq!(send("Content-Type: application/json; charset=utf-8\r\n", body), (400, "invalid_json".into(), None));
    }
    let mut client = server.client();
    client.send(post("", ""));
    assert_eq!(client.reply().error(), (411, "length_required".into(), None));
}

#[test]
fn foreign_hosts_and_origins_are_refused() {
    let server = TestServer::scripted(["good"], Settings::default());
    let get = |headers: &str| {
        let mut client = server.client();
        client.send(format!("GET /v1/models HTTP/1.1\r\n{headers}\r\n"));
        client.reply()
    };
    assert_eq!(get("Host: evil.com\r\n").error(), (403, "host_not_allowed".into(), None));
    assert_eq!(get("").error(), (400, "invalid_header".into(), None));
    assert_eq!(get("Host: localhost\r\nHost: localhost\r\n").error(), (400, "invalid_header".into(), None));
    for origin in ["http://evil.com", "null", "http://localhost.evil.com"] {
        let reply = get(&format!("Host: localhost\r\nOrigin: {origin}\r\n"));
        assert_eq!(reply.error(), (403, "origin_not_allowed".into(), None));
        assert_eq!(reply.header("access-control-allow-origin"), None);
    }
    let local = get("Host: localhost\r\nOrigin: http://localhost:3000\r\n");
    assert_eq!(local.header("access-control-allow-origin"), Some("http://localhost:3000"));
    assert_eq!((local.header("vary"), local.header("access-control-allow-credentials")), (Some("origin"), None));
    assert_eq!(get("Host: localhost\r\n").header("access-control-allow-origin"), None);
}

#[test]
fn a_preflight_request_says_whether_a_page_may_use_the_server() {
    let server = TestServer::scripted(["good"], Settings::default());
    let preflight = |origin: &str| {
        let mut client = server.client();
        client.send(format!(
            "OPTIONS /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nOrigin: {origin}\r\n\
             Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: content-type\r\n\r\n"
        ));
        client.head().unwrap()
    };
    let allowed = preflight("http://127.0.0.1:3000");
    assert_eq!((allowed.status, allowed.header("access-control-allow-headers")), (204, Some("content-type")));
    assert_eq!(preflight("https://evil.com").status, 403);
}

#[test]
fn a_key_is_neither_needed_nor_checked() {
    let server = TestServer::scripted(["a", "b", "c", "d"], Settings::default());
    for key in
        ["Authorization: Bearer x", "Authorization: Key", "X-Api-Key: \u{e9}", "Authorization: a\r\nAuthorization: b"]
    {
        let body = ask("");
        let mut client = server.client();
        client.send(post(&format!("{key}\r\nContent-Length: {}\r\n", body.len()), &body));
        assert_eq!(client.reply().status, 200, "{key}");
    }
}

#[test]
fn a_client_that_never_reads_is_dropped() {
    // More than the sockets between client and server hold.
    let reply = (0..256).fold(ScriptedReply::new(), |reply, _| reply.text("x".repeat(1 << 16)));
    let server =
        TestServer::scripted([reply, "good".into()], settings(|it| it.write_timeout = Duration::from_millis(30)));
    let mut client = server.client();
    client.ask("/v1/chat/completions", &ask(r#", "stream": true"#));
    server.wait_for("requests_cancelled_total", "1");
    assert_eq!(server.chat("").status, 200);
    drop(client);
}

/// A reply that neither the sockets nor the buffer of unread events hold.
fn long() -> ScriptedReply {
    (0..256).fold(ScriptedReply::new(), |reply, _| reply.text("x".repeat(1 << 16)))
}

#[test]
fn clients_that_do_not_read_hold_no_slots() {
    let replies = std::iter::repeat_with(long).take(8).chain(["good".into(), "good".into()]);
    // A client that held its slot until this time is over would not get its whole reply below.
    let write_timeout = Duration::from_secs(600);
    let server = TestServer::scripted(replies, Settings { slots: 4, write_timeout, ..Settings::default() });
    let mut stalled: Vec<_> = (0..8).map(|_| server.client()).collect();
    // Each has its slot before the next one asks, so that scripts are given in order.
    let heads: Vec<_> = stalled
        .iter_mut()
        .map(|client| {
            client.ask("/v1/chat/completions", &ask(r#", "stream": true"#));
            client.head().unwrap()
        })
        .collect();
    assert_eq!(server.chat("").json()["choices"][0]["message"]["content"], "good");
    assert_eq!(server.chat(r#", "stream": true"#).status, 200);
    // Those that read on get the whole reply.
    for (client, head) in stalled.iter_mut().zip(&heads) {
        let mut n_bytes = 0;
        while let Some(event) = client.event(head) {
            let event: Json = serde_json::from_str(&event).unwrap_or_default(); // but for [DONE]
            n_bytes += event["choices"][0]["delta"]["content"].as_str().map_or(0, str::len);
        }
        assert_eq!(n_bytes, 256 << 16);
    }
    server.wait_for("requests_running", "0");
}

/// Only on Linux does the server limit what the system holds of a reply.
#[cfg(target_os = "linux")]
#[test]
fn an_unread_reply_gives_way_to_a_request_that_waits() {
    // The buffer holds it, but it goes on without an end.
    let endless = (0..64).fold(ScriptedReply::new(), |reply, _| reply.text("x".repeat(1 << 13))).stall();
    let first = ScriptedReply::new().text("So").stall();
    let server = TestServer::scripted([first, endless, "good".into()], settings(|it| it.slots = 1));
    let [mut running, mut unread, mut waiting] = [(); 3].map(|()| server.client());
    // Some systems would hold all of the reply.
    socket2::SockRef::from(&*unread.stream()).set_recv_buffer_size(16 << 10).unwrap();
    for (client, n_waiting) in [(&mut running, "0"), (&mut unread, "1"), (&mut waiting, "2")] {
        client.ask("/v1/chat/completions", &ask(r#", "stream": true"#));
        server.wait_for("requests_running", "1");
        server.wait_for("requests_waiting", n_waiting);
    }
    // Until then, another request might get the first reply of the script.
    let has_begun = |client: &mut Client| {
        let mut unread = [0; 2048];
        let n_bytes = client.stream().peek(&mut unread).unwrap();
        String::from_utf8_lossy(&unread[..n_bytes]).contains("So")
    };
    while !has_begun(&mut running) {}
    drop(running);
    let head = waiting.head().unwrap();
    assert!(std::iter::from_fn(|| waiting.event(&head)).any(|event| event.contains("good")));
}

#[test]
fn a_reply_that_is_left_unread_is_cut_with_an_error() {
    // The client must begin to read this long after the error, or the connection is closed.
    let server = TestServer::scripted([long()], settings(|it| it.write_timeout = Duration::from_secs(2)));
    let mut client = server.client();
    client.ask("/v1/chat/completions", &ask(r#", "stream": true"#));
    let head = client.head().unwrap();
    // The slot is free, and the reply is over, before the connection is closed.
    server.wait_for("requests_cancelled_total", "1");
    let mut last = String::new();
    while let Some(event) = client.event(&head) {
        last = event;
    }
    assert!(last.contains("\"unread_reply\""), "{}", &last[..last.len().min(200)]);
    assert_eq!(server.chat("").status, 500, "the script has no second reply");
}

#[test]
fn too_many_unread_replies_are_cut_at_once() {
    let replies = std::iter::repeat_with(long).take(6).chain(["good".into()]);
    let server = TestServer::scripted(replies, settings(|it| it.slots = 1));
    let mut stalled: Vec<_> = (0..6).map(|_| server.client()).collect();
    for client in &mut stalled {
        client.ask("/v1/chat/completions", &ask(r#", "stream": true"#));
        client.head().unwrap();
    }
    server.wait_for("requests_cancelled_total", "2");
    assert_eq!(server.chat("").status, 200);
}

#[test]
fn a_connection_serves_several_requests() {
    let server = TestServer::scripted(["one", "two"], Settings::default());
    let mut client = server.client();
    for text in ["one", "two"] {
        let reply = client.post("/v1/chat/completions", &ask(r#", "stream": true"#));
        assert!(reply.text().contains(text));
        assert_eq!(client.get("/nowhere").status, 404);
    }
}
