//! A minimal client of WebSockets that shows tests every frame.

use std::io::Write;
use std::net::SocketAddr;

use serde_json::{Value as Json, json};

use crate::client::Client;

/// What the example of RFC 6455 sends, and the answer that it must get.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ANSWER: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

pub(crate) const TEXT: u8 = 1;
pub(crate) const BINARY: u8 = 2;
pub(crate) const CLOSE: u8 = 8;
const PING: u8 = 9;

pub(crate) struct WebSocket(Client);

impl WebSocket {
    pub(crate) fn connect(address: SocketAddr, path: &str) -> Self {
        let mut client = Client::connect(address);
        client.send(request(path, ""));
        let head = client.head().unwrap();
        assert_eq!((head.status, head.header("sec-websocket-accept")), (101, Some(ANSWER)));
        Self(client)
    }

    /// Sends an event.
    pub(crate) fn send(&mut self, event: &Json) {
        self.frame(TEXT, event.to_string().as_bytes());
    }

    /// Sends a frame, masked as clients must do it.
    pub(crate) fn frame(&mut self, code: u8, payload: &[u8]) {
        let mask = [3, 141, 59, 26];
        let mut frame = vec![0x80 | code];
        match payload.len() {
            length @ 0..126 => frame.push(0x80 | length as u8),
            length @ 126..0x1_0000 => {
                frame.push(0x80 | 126);
                frame.extend((length as u16).to_be_bytes());
            }
            length => {
                frame.push(0x80 | 127);
                frame.extend((length as u64).to_be_bytes());
            }
        }
        frame.extend(mask);
        frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        self.bytes(&frame);
    }

    /// Sends bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let _ = self.0.stream().write_all(bytes);
    }

    /// The next frame; `None` once the connection is closed. Pings are passed over.
    pub(crate) fn next_frame(&mut self) -> Option<(u8, Vec<u8>)> {
        loop {
            let mut head = [0; 2];
            self.0.read_exact(&mut head).ok()?;
            assert_eq!(head[0] & 0xF0, 0x80, "one frame for each message");
            let length = match head[1] {
                126 => {
                    let mut length = [0; 2];
                    self.0.read_exact(&mut length).ok()?;
                    u16::from_be_bytes(length).into()
                }
                127 => {
                    let mut length = [0; 8];
                    self.0.read_exact(&mut length).ok()?;
                    u64::from_be_bytes(length) as usize
                }
                length => length.into(), // without a mask
            };
            let mut payload = vec![0; length];
            self.0.read_exact(&mut payload).ok()?;
            if head[0] & 0x0F != PING {
                return Some((head[0] & 0x0F, payload));
            }
        }
    }

    /// The next event.
    #[track_caller]
    pub(crate) fn event(&mut self) -> Json {
        match self.next_frame() {
            Some((TEXT, payload)) => serde_json::from_slice(&payload).unwrap(),
            other => panic!("an event must come, found {other:?}"),
        }
    }

    /// The events up to the next one of a type.
    #[track_caller]
    pub(crate) fn until(&mut self, kind: &str) -> Vec<Json> {
        let mut events = Vec::new();
        loop {
            let event = self.event();
            assert!(kind == "error" || event["type"] != "error", "{event}");
            let is_it = event["type"] == kind;
            events.push(event);
            if is_it {
                return events;
            }
        }
    }

    /// Sends an event, and returns the one that must follow.
    #[track_caller]
    pub(crate) fn ask(&mut self, event: &Json, kind: &str) -> Json {
        self.send(event);
        self.until(kind).pop().unwrap_or(json!(null))
    }
}

/// The request for a WebSocket, with further headers, each with its end of line.
pub(crate) fn request(path: &str, headers: &str) -> String {
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13";
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{upgrade}\r\nSec-WebSocket-Key: {KEY}\r\n{headers}\r\n")
}

/// The types of events, without those that join conversations.
pub(crate) fn types(events: &[Json]) -> Vec<&str> {
    let types = events.iter().map(|event| event["type"].as_str().unwrap());
    types.filter(|kind| !kind.starts_with("conversation.item")).collect()
}
