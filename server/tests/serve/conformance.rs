//! `causerie conformance`, on ourselves and on a server that errs.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Output};

use crate::server::TestServer;

fn check(base_url: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_causerie")).args(["conformance", "--base-url", base_url]).output().unwrap()
}

#[test]
fn we_conform() {
    let server = TestServer::demo();
    let output = check(&format!("http://{}/v1", server.address));
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{table}");
    assert!(table.lines().filter(|line| line.starts_with("pass")).count() > 20, "{table}");
}

/// It has a model, and answers every chat with a bare string as error.
#[test]
fn a_server_that_errs_is_told_so() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // It ends with the process.
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let n_bytes = socket.read(&mut [0; 4096]).unwrap_or(0);
            let body = if n_bytes == 0 { "" } else { r#"{"data": [{"id": "m"}], "error": "wrong"}"# };
            let _ =
                write!(socket, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
        }
    });
    let output = check(&format!("http://{address}/v1"));
    assert_eq!(output.status.code(), Some(1));
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("FAIL  the list of models is one"), "{table}");
    assert!(table.contains("FAIL  a model that does not exist is refused"), "{table}");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("checks failed"), "{told}");
}

#[test]
fn an_address_that_is_none_is_told() {
    for (address, expect) in
        [("nowhere", "is no address"), ("https://example.org/v1", "is no address of the form http://")]
    {
        let output = check(address);
        assert!(!output.status.success());
        assert!(String::from_utf8(output.stderr).unwrap().contains(expect));
    }
}
