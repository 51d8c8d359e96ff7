//! The conformance checks, applied to our server and to one that errs.

use std::io::{Read, Write};
use std::net::TcpListener;

use causerie_conformance::{ConformanceOptions, run};

use crate::server::TestServer;

/// Returns the number of failed checks, and the table of all.
fn check(base_url: &str) -> Result<(usize, String), String> {
    let (model, key, scheme) = (None, None, "Bearer".to_owned());
    let mut table = Vec::new();
    let n_failed = run(&ConformanceOptions { base_url: base_url.to_owned(), model, key, scheme }, &mut table)?;
    Ok((n_failed, String::from_utf8(table).unwrap()))
}

#[test]
fn we_conform() {
    let server = TestServer::demo();
    let (n_failed, table) = check(&format!("http://{}/v1", server.address)).unwrap();
    assert_eq!(n_failed, 0, "{table}");
    assert!(table.lines().filter(|line| line.starts_with("pass")).count() > 20, "{table}");
}

/// The server has a model, and answers every chat with a bare string as error.
#[test]
fn a_server_that_errs_fails_checks() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // The thread ends with the process.
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let n_bytes = socket.read(&mut [0; 4096]).unwrap_or(0);
            let body = if n_bytes == 0 { "" } else { r#"{"data": [{"id": "m"}], "error": "wrong"}"# };
            let _ =
                write!(socket, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
        }
    });
    let (n_failed, table) = check(&format!("http://{address}/v1")).unwrap();
    assert!(0 < n_failed, "{table}");
    assert!(table.contains("FAIL  /models returns a list of models"), "{table}");
    assert!(table.contains("FAIL  a model that does not exist is refused"), "{table}");
}

#[test]
fn an_invalid_address_is_refused() {
    for address in ["nowhere", "no where", "https://example.org/v1"] {
        let message = check(address).unwrap_err();
        assert!(message.contains("must be an address of the form http://"), "{message}");
    }
}
