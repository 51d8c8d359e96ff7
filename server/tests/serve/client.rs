//! A minimal HTTP client that shows tests every byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value as Json;

pub(crate) struct Client {
    reader: BufReader<TcpStream>,
    address: SocketAddr,
}

pub(crate) struct HttpReply {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self { reader: BufReader::new(TcpStream::connect(address).unwrap()), address }
    }

    pub(crate) fn get(&mut self, path: &str) -> HttpReply {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address));
        self.reply()
    }

    pub(crate) fn delete(&mut self, path: &str) -> HttpReply {
        self.send(format!("DELETE {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address));
        self.reply()
    }

    pub(crate) fn post(&mut self, path: &str, body: &str) -> HttpReply {
        self.ask(path, body);
        self.reply()
    }

    /// Sends a request with one further header, and a body if it is a `POST`.
    pub(crate) fn with(&mut self, header: &str, method: &str, path: &str, body: &str) -> HttpReply {
        let kind = "Content-Type: application/json";
        self.send(format!(
            "{method} {path} HTTP/1.1\r\nHost: gateway.example\r\n{header}\r\n{kind}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        self.reply()
    }

    /// Sends a request without waiting for the reply.
    pub(crate) fn ask(&mut self, path: &str, body: &str) {
        self.send(format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        ));
    }

    /// Sends bytes. Errors are ignored: a server that has closed the connection has answered before.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.reader.get_mut().write_all(bytes.as_ref());
    }

    pub(crate) fn stream(&mut self) -> &mut TcpStream {
        self.reader.get_mut()
    }

    pub(crate) fn reply(&mut self) -> HttpReply {
        self.try_reply().expect("the server must answer")
    }

    /// The reply, or `None` when the connection is closed without one.
    pub(crate) fn try_reply(&mut self) -> Option<HttpReply> {
        let mut reply = self.head()?;
        loop {
            match self.piece(&reply) {
                BodyPiece::Chunk(bytes) => reply.body.extend(bytes),
                BodyPiece::Whole(bytes) => {
                    reply.body = bytes;
                    return Some(reply);
                }
                BodyPiece::End => return Some(reply),
            }
        }
    }

    /// Status and headers only.
    pub(crate) fn head(&mut self) -> Option<HttpReply> {
        let status = self.line()?.split(' ').nth(1)?.parse().ok()?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            match line.split_once(": ") {
                Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.to_owned())),
                None => return Some(HttpReply { status, headers, body: Vec::new() }),
            }
        }
    }

    /// The next event of a stream, without its `data: `; comments are skipped.
    pub(crate) fn event(&mut self, head: &HttpReply) -> Option<String> {
        loop {
            let BodyPiece::Chunk(bytes) = self.piece(head) else { return None };
            let text = String::from_utf8(bytes).unwrap();
            if let Some(data) = text.strip_prefix("data: ") {
                return Some(data.strip_suffix("\n\n").unwrap().to_owned());
            }
        }
    }

    /// The next piece of a body, as it was sent.
    pub(crate) fn piece(&mut self, head: &HttpReply) -> BodyPiece {
        if let Some(length) = head.header("content-length") {
            let mut body = vec![0; length.parse().unwrap()];
            self.reader.read_exact(&mut body).unwrap();
            return BodyPiece::Whole(body);
        }
        if head.header("transfer-encoding") != Some("chunked") {
            return BodyPiece::End;
        }
        let Some(length) = self.line().and_then(|line| usize::from_str_radix(&line, 16).ok()) else {
            return BodyPiece::End;
        };
        let mut chunk = vec![0; length + 2];
        if self.reader.read_exact(&mut chunk).is_err() || length == 0 {
            return BodyPiece::End;
        }
        chunk.truncate(length);
        BodyPiece::Chunk(chunk)
    }

    /// Whether the server has closed the connection, with nothing left to read.
    pub(crate) fn is_closed(&mut self) -> bool {
        matches!(self.reader.read(&mut [0]), Ok(0) | Err(_))
    }

    /// Reads so many bytes as they are.
    pub(crate) fn read_exact(&mut self, bytes: &mut [u8]) -> std::io::Result<()> {
        self.reader.read_exact(bytes)
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let n_bytes = self.reader.read_line(&mut line).ok()?;
        (0 < n_bytes).then(|| line.trim_end().to_owned())
    }
}

pub(crate) enum BodyPiece {
    Chunk(Vec<u8>),
    Whole(Vec<u8>),
    End,
}

impl HttpReply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|header| header.0 == name).map(|header| header.1.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> Json {
        serde_json::from_slice(&self.body).unwrap_or_else(|err| panic!("{err}: {}", self.text()))
    }

    /// The events of a stream that has ended, without their `data: `.
    pub(crate) fn events(&self) -> Vec<String> {
        let text = self.text();
        let events = text.split_terminator("\n\n").filter(|event| !event.starts_with(':'));
        events.map(|event| event.strip_prefix("data: ").unwrap().to_owned()).collect()
    }

    /// The status, code and param of an error, which must have all its fields.
    #[track_caller]
    pub(crate) fn error(&self) -> (u16, String, Option<String>) {
        let body = self.json();
        let error = body["error"].as_object().unwrap_or_else(|| panic!("no error: {body}"));
        assert_eq!(error.keys().take(4).collect::<Vec<_>>(), ["message", "type", "param", "code"]);
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()));
        assert!(error["type"].is_string());
        (self.status, error["code"].as_str().unwrap().to_owned(), error["param"].as_str().map(str::to_owned))
    }
}
