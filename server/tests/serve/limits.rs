//! Limits on what all clients together make the server hold: connections, and the bytes of requests that wait.

use std::time::Duration;

use causerie::testing::ScriptedReply;
use causerie_server::serve::Settings;

use crate::server::{TestServer, ask, wait_until};

const CHAT: &str = "/v1/chat/completions";

#[test]
fn connections_beyond_the_limit_are_refused_with_a_time_to_retry() {
    let server = TestServer::scripted(["good"], Settings { max_connections: 2, ..Settings::default() });
    let mut clients = [server.client(), server.client()];
    clients.iter_mut().for_each(|client| assert_eq!(client.get("/livez").status, 200));
    for body in [ask(""), ask(&format!(r#", "user": "{}""#, "x".repeat(1 << 20)))] {
        let mut refused = server.client();
        let reply = refused.post(CHAT, &body);
        assert_eq!(reply.error(), (503, "too_many_connections".into(), None));
        assert_eq!((reply.header("retry-after"), reply.header("connection")), (Some("1"), Some("close")));
        drop(refused);
    }
    clients.iter_mut().for_each(|client| assert_eq!(client.get("/livez").status, 200, "it stays connected"));
    drop(clients);
    wait_until("a free connection", || server.get("/livez").status == 200);
}

#[test]
fn more_connections_than_are_answered_at_once_are_closed() {
    let server = TestServer::scripted(["good"], Settings { max_connections: 1, ..Settings::default() });
    let mut client = server.client();
    assert_eq!(client.get("/livez").status, 200);
    let request = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let connect = || {
        let mut other = server.client();
        other.send(request);
        other
    };
    let mut others: Vec<_> = (0..300).map(|_| connect()).collect();
    let replies = others.iter_mut().filter_map(|other| other.try_reply());
    assert!(replies.map(|reply| assert_eq!(reply.error().0, 503)).count() >= 256);
    assert_eq!(client.get("/livez").status, 200);
}

/// A reply that takes the slot, streams that wait for it with large requests, and one more of these.
#[test]
fn requests_that_wait_keep_their_share_of_the_memory_budget() {
    const LARGE: usize = 256 << 10;
    let slow = ScriptedReply::new().text("So").stall();
    let good = std::iter::repeat_n(ScriptedReply::from("good"), 11);
    let settings = Settings { slots: 1, max_body: LARGE, keep_alive: Duration::from_millis(1), ..Settings::default() };
    let server = TestServer::scripted([slow].into_iter().chain(good), settings);
    let mut running = server.client();
    running.ask(CHAT, &ask(r#", "stream": true"#));
    let head = running.head().unwrap();
    // The next request would get this script before.
    while !running.event(&head).unwrap().contains("So") {}
    // Each takes three quarters of its size from the budget, which is eight times the size.
    let padding = " ".repeat(LARGE - ask(r#", "stream": true"#).len());
    let large = || ask(r#", "stream": true"#) + &padding;
    let mut queued: Vec<_> = (0..10).map(|_| server.client()).collect();
    let heads: Vec<_> = queued
        .iter_mut()
        .map(|client| {
            client.ask(CHAT, &large());
            client.head().unwrap()
        })
        .collect();
    assert!(heads.iter().all(|head| head.status == 200), "they are kept alive in the queue");
    server.wait_for("requests_waiting", "10");
    let refused = server.post(CHAT, &large());
    assert_eq!((refused.error().1, refused.header("retry-after")), ("no_room".into(), Some("1")));
    let mut small = server.client();
    small.ask(CHAT, &ask(""));
    server.wait_for("requests_waiting", "11");
    drop(running);
    for (client, head) in queued.iter_mut().zip(&heads) {
        let events: Vec<_> = std::iter::from_fn(|| client.event(head)).collect();
        assert!(events.iter().any(|event| event.contains("good")), "{events:?}");
    }
    assert_eq!(small.reply().status, 200);
    // Not a stream: one that waits for a millisecond begins with status 200, and the error is an event.
    let whole = ask("") + &padding;
    assert_eq!(server.post(CHAT, &whole).status, 500, "it has room; the script has no further reply");
}
