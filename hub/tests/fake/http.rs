//! As much of HTTP/1.1 as the fake hub needs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use percent_encoding::percent_decode_str;

use super::Act;

/// A request as it arrived. Names of headers are in lower case.
#[derive(Clone, Debug)]
pub struct Request {
    pub is_hub: bool,
    /// `GET` or `HEAD`.
    pub method: String,
    /// The path with its query.
    pub target: String,
    pub headers: Vec<(String, String)>,
}

impl Request {
    pub(super) fn read(stream: &mut TcpStream, is_hub: bool) -> Option<Self> {
        let mut lines = BufReader::new(stream).lines();
        let first = lines.next()?.ok()?;
        let mut words = first.split(' ').map(str::to_owned);
        let (method, target) = (words.next()?, words.next()?);
        let mut headers = Vec::new();
        loop {
            let line = lines.next()?.ok()?;
            match line.split_once(':') {
                Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.trim().to_owned())),
                None => return Some(Self { is_hub, method, target, headers }),
            }
        }
    }

    /// `hub GET /path` or `store GET /path`, decoded.
    pub fn line(&self) -> String {
        format!("{} {} {}", if self.is_hub { "hub" } else { "store" }, self.method, percent_decoded(&self.target))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn without(&self, name: &str) -> Self {
        let mut request = self.clone();
        request.headers.retain(|(own, _)| own != name);
        request
    }

    /// The first byte of the range, or 0.
    pub(super) fn first_byte(&self) -> Option<usize> {
        self.header("range")?.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()
    }

    /// With a range that begins one byte later.
    pub(super) fn shifted(&self) -> Self {
        let mut request = self.without("range");
        let first = self.first_byte().unwrap_or_default() + 1;
        request.headers.push(("range".to_owned(), format!("bytes={first}-")));
        request
    }
}

pub(super) fn percent_decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8().unwrap().into_owned()
}

/// An answer.
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub(super) fn new(status: u16, headers: &[(&str, String)], body: impl Into<Vec<u8>>) -> Self {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Self { status, headers, body: body.into() }
    }

    fn set(&mut self, name: &str, value: String) {
        self.headers.retain(|(own, _)| !own.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value));
    }

    /// What a fault makes of the answer, apart from how it is sent.
    pub(super) fn changed(mut self, act: Option<&Act>) -> Self {
        match act {
            Some(Act::Answer(status, headers, body)) => return Self::new(*status, headers, *body),
            Some(Act::Flip(at)) => {
                if let Some(byte) = self.body.get_mut(*at) {
                    *byte ^= 1;
                }
            }
            Some(Act::Longer(n)) => self.body.extend(vec![b'x'; *n]),
            Some(Act::Shorter(n)) => self.body.truncate(self.body.len().saturating_sub(*n)),
            Some(Act::Replaced(from, to)) => {
                self.body = String::from_utf8_lossy(&self.body).replace(from, to).into_bytes();
            }
            Some(Act::Headers(headers)) => headers.iter().for_each(|(name, value)| self.set(name, value.clone())),
            _ => {}
        }
        self
    }

    /// Sends the answer; to `HEAD` without its body.
    pub(super) fn send(&self, stream: &mut TcpStream, is_head: bool, act: Option<&Act>) {
        if let Some(Act::Silent) = act {
            let _ = stream.read(&mut [0]); // ends when the client leaves
            return;
        }
        let mut head = format!("HTTP/1.1 {} Any\r\nConnection: close\r\n", self.status);
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length")) {
            head += &format!("Content-Length: {}\r\n", self.body.len());
        }
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        let end = match act {
            Some(Act::Cut(end) | Act::Stall(end)) => self.body.len().min(*end),
            _ if is_head => 0,
            _ => self.body.len(),
        };
        let (alone, rest) = match act {
            Some(Act::Trickle(n)) => self.body[..end].split_at(end.min(*n)),
            _ => (&[][..], &self.body[..end]),
        };
        let _ = stream.set_nodelay(true);
        // Clients that leave early are part of the tests.
        let sent = stream.write_all((head + "\r\n").as_bytes());
        let sent = alone.iter().fold(sent, |sent, byte| sent.and_then(|()| stream.write_all(&[*byte])));
        let sent = sent.and_then(|()| stream.write_all(rest));
        if let (Ok(()), Some(Act::Stall(_))) = (sent, act) {
            let _ = stream.read(&mut [0]); // ends when the client leaves
        }
    }
}
