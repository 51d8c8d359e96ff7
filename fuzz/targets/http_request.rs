//! Sends a body to a server with a small model. The first byte chooses the route. Each request must be answered, and none with
//! an internal error.
#![no_main]

use std::convert::Infallible;
use std::future::pending;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::LazyLock;

use causerie::{LoadOptions, ModelRunner};
use causerie_server::serve::{Server, Settings};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

static MODEL: &[u8] = include_bytes!("../../tests/fixtures/models/smollm2-q4_1.gguf");

const ROUTES: [&str; 5] =
    ["/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens"];

static ADDRESS: LazyLock<SocketAddr> = LazyLock::new(|| {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let options = LoadOptions { threads: Some(1), context_size: Some(256), ..Default::default() };
        let runner = ModelRunner::load_from_bytes(MODEL, options).unwrap();
        Runtime::new().unwrap().block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let server = Server::new(listener, "fuzz/model", Settings::default()).unwrap();
            sender.send(server.address()).unwrap();
            let model = async { Ok::<_, Infallible>(runner) };
            server.run(model, pending()).await.unwrap();
        });
    });
    receiver.recv().unwrap()
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((route, body)) = bytes.split_first() else { return };
    let route = ROUTES[usize::from(*route) % ROUTES.len()];
    let mut stream = TcpStream::connect(*ADDRESS).unwrap();
    let headers = "Host: localhost\r\nContent-Type: application/json\r\nConnection: close";
    let head = format!("POST {route} HTTP/1.1\r\n{headers}\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).unwrap();
    // A server that refuses a request may close the connection before it has read the body.
    drop(stream.write_all(body));
    let mut reply = Vec::new();
    drop(stream.read_to_end(&mut reply));
    let reply = String::from_utf8(reply).unwrap();
    let status: u16 = reply.get(9..12).and_then(|status| status.parse().ok()).expect("a status line");
    assert!(status < 500 || status == 503, "{reply}");
});
