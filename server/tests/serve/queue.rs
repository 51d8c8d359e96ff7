//! Permits to generate, the queue for them, and the end of the server.

use std::time::Duration;

use causerie::testing::{ScriptedModel, ScriptedReply};
use causerie::{ErrorKind, SdkError};
use causerie_server::serve::Settings;
use serde_json::json;
use tokio::sync::oneshot;

use crate::client::{BodyPiece, Client};
use crate::server::{TestServer, ask, wait_until};

fn narrow(queue: usize) -> Settings {
    Settings { slots: 1, queue, ..Settings::default() }
}

/// A request that has a permit and whose reply stalls.
fn stalling(server: &TestServer) -> Client {
    let mut client = server.client();
    client.ask("/v1/chat/completions", &ask(r#", "stream": true"#));
    let head = client.head().unwrap();
    // The role comes before the model is asked, and the next request would get the script then.
    while !client.event(&head).unwrap().contains("So") {}
    client
}

fn slow() -> ScriptedReply {
    ScriptedReply::new().text("So").stall()
}

#[test]
fn a_full_queue_refuses_a_request_with_a_time_to_retry() {
    let server = TestServer::scripted([slow(), "good".into()], narrow(1));
    let running = stalling(&server);
    let mut queued = server.client();
    queued.ask("/v1/chat/completions", &ask(""));
    server.wait_for("requests_waiting", "1");
    let refused = server.chat("");
    assert_eq!(refused.error(), (429, "queue_full".into(), None));
    assert_eq!(refused.header("retry-after"), Some("1"));
    drop(running);
    assert_eq!(queued.reply().status, 200, "the queued request is next");
}

#[test]
fn a_client_that_leaves_the_queue_takes_no_permit() {
    let server = TestServer::scripted([slow(), "good".into()], narrow(1));
    let running = stalling(&server);
    let mut queued = server.client();
    queued.ask("/v1/chat/completions", &ask(""));
    server.wait_for("requests_waiting", "1");
    drop(queued);
    server.wait_for("requests_waiting", "0");
    server.wait_for("requests_cancelled_total", "1");
    server.wait_for("requests_total{route=\"/v1/chat/completions\",status=\"499\"}", "1");
    drop(running);
    server.wait_for("requests_running", "0");
    server.wait_for("completion_tokens_total", "1");
    let reply = server.chat("").json();
    assert_eq!(reply["choices"][0]["message"]["content"], "good");
}

#[test]
fn a_queued_stream_is_kept_alive() {
    let settings = || Settings { keep_alive: Duration::from_millis(1), ..narrow(1) };
    let waiting = |server: &TestServer| {
        let mut queued = server.client();
        queued.ask("/v1/chat/completions", &ask(r#", "stream": true"#));
        let head = queued.head().unwrap();
        assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
        let BodyPiece::Chunk(comment) = queued.piece(&head) else { panic!("the stream must continue") };
        assert!(comment.starts_with(b": "));
        assert_eq!(server.chat(r#", "stream": true"#).error().0, 429, "a full queue is a status");
        (queued, head)
    };
    let server = TestServer::scripted([slow(), "good".into()], settings());
    let running = stalling(&server);
    let (mut queued, head) = waiting(&server);
    drop(running);
    for expect in ["assistant", "good"] {
        let event = queued.event(&head).unwrap();
        assert!(event.contains(expect), "{event}");
    }

    let mut server = TestServer::scripted([slow()], settings());
    let running = stalling(&server);
    let (mut queued, head) = waiting(&server);
    server.stop();
    let last = queued.event(&head).unwrap();
    assert!(last.contains("\"draining\""), "{last}");
    assert_eq!(queued.event(&head), None);
    drop(running);
    server.join();
}

#[test]
fn the_queue_never_exceeds_its_limit() {
    const REQUESTS: usize = 64;
    let server = TestServer::scripted([slow()], narrow(8));
    let running = stalling(&server);
    let mut clients: Vec<Client> = (0..REQUESTS).map(|_| server.client()).collect();
    clients.iter_mut().for_each(|client| client.ask("/v1/chat/completions", &ask("")));
    server.wait_for("requests_total{route=\"/v1/chat/completions\",status=\"429\"}", &(REQUESTS - 8).to_string());
    server.wait_for("requests_waiting", "8");
    drop((running, clients));
    server.wait_for("requests_waiting", "0");
    server.wait_for("requests_running", "0");
    assert_eq!(server.get("/readyz").status, 200);
}

#[test]
fn a_stopping_server_refuses_queued_requests_and_finishes_replies() {
    // More than the sockets and the buffer hold, so that it is not over before the server is asked to stop.
    let reply = (0..256).fold(ScriptedReply::new(), |reply, _| reply.text("x".repeat(1 << 16)));
    let mut server = TestServer::scripted([reply, slow()], narrow(1));
    let mut running = server.client();
    running.ask("/v1/chat/completions", &ask(r#", "stream": true"#));
    let head = running.head().unwrap();
    // It leaves its slot to another one, while nobody reads it.
    let stalling = stalling(&server);
    let mut queued = server.client();
    queued.ask("/v1/chat/completions", &ask(""));
    server.wait_for("requests_waiting", "1");
    server.stop();
    let refused = queued.reply();
    assert_eq!(refused.error(), (503, "draining".into(), None));
    assert!(refused.header("retry-after").is_some());
    drop(stalling);
    let mut last = None;
    while let Some(event) = running.event(&head) {
        last = Some(event);
    }
    assert_eq!(last.as_deref(), Some("[DONE]"));
    drop((running, queued));
    server.join();
}

#[test]
fn a_stopping_server_ends_replies_after_the_drain_timeout() {
    let settings = Settings { drain_timeout: Duration::from_millis(1), ..Settings::default() };
    let mut server = TestServer::scripted([slow(), slow()], settings);
    let [mut client, mut other] = [server.client(), server.client()];
    client.ask("/v1/chat/completions", &ask(r#", "stream": true"#));
    let head = client.head().unwrap();
    other.ask("/v1/chat/completions", &ask(""));
    server.wait_for("requests_running", "2");
    server.stop();
    let mut last = String::new();
    while let Some(event) = client.event(&head) {
        last = event;
    }
    assert!(last.contains("\"draining\""), "{last}");
    assert_eq!(other.reply().error(), (503, "draining".into(), None));
    server.join();
}

#[test]
fn a_server_is_alive_before_it_is_ready() {
    let (loaded, model) = oneshot::channel();
    let server = TestServer::loading(async { Ok(model.await.unwrap()) }, "test/script", Settings::default());
    assert_eq!(server.get("/livez").status, 200);
    for reply in [server.get("/readyz"), server.get("/v1/models"), server.chat("")] {
        assert_eq!(reply.error(), (503, "loading".into(), None));
        assert!(reply.header("retry-after").is_some());
    }
    assert!(loaded.send(ScriptedModel::new().reply("good").load().unwrap()).is_ok());
    wait_until("the model", || server.get("/readyz").status == 200);
    assert_eq!(server.chat("").status, 200);
}

#[test]
fn a_server_whose_model_arrives_says_how_far_it_is() {
    let (loaded, model) = oneshot::channel();
    let server = TestServer::loading(async { Ok(model.await.unwrap()) }, "test/script", Settings::default());
    server.download.report(30, 100);
    for path in ["/readyz", "/health"] {
        let reply = server.get(path);
        assert_eq!((reply.status, reply.header("retry-after")), (503, Some("1")));
        assert_eq!(reply.json(), json!({"status": "downloading", "done": 30, "total": 100}));
    }
    assert_eq!(server.chat("").error(), (503, "loading".into(), None));
    server.download.report(100, 100);
    assert_eq!(server.get("/readyz").error(), (503, "loading".into(), None));
    assert!(loaded.send(ScriptedModel::new().reply("good").load().unwrap()).is_ok());
    wait_until("the model", || server.get("/readyz").status == 200);
}

#[test]
fn a_server_without_a_model_ends() {
    let failed = std::future::ready(Err(SdkError::new(ErrorKind::Internal, "no model")));
    let server = TestServer::loading(failed, "test/script", Settings::default());
    assert_eq!(server.end().unwrap_err().message(), "no model");
}
