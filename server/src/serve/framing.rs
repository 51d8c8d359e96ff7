//! Follows the bytes of a connection from request to request, and finds what hides one request in another: two lengths, or
//! encodings of the body that a proxy before the server may read in another way.
//!
//! hyper takes the length out of such a head without an error, so the bytes are looked at before hyper gets them. Nothing is
//! kept here but the line under way: what is refused here is not answered here.

/// Why the rest of a connection is not read as requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The head gives the length of its body twice, or in an encoding that is not read.
    Length,
    /// A line ends without CR.
    LineEnd,
    /// A chunk begins with something other than its size.
    Chunk,
}

/// The part of a connection that the next byte belongs to.
#[derive(Debug)]
enum Part {
    Head(RequestHead),
    /// A body, or a chunk and the end of its line: the bytes that are left of it.
    Body {
        left: u64,
        is_chunk: bool,
    },
    ChunkSize,
    Trailers,
}

/// What the lines of a head have said so far.
#[derive(Debug, Default)]
struct RequestHead {
    /// Whether the request's line was read. Empty lines before it are skipped.
    has_begun: bool,
    length: Option<Vec<u8>>,
    is_chunked: bool,
}

#[derive(Debug)]
pub(super) struct Framing {
    part: Part,
    /// The beginning of a line that goes on in the next bytes. hyper limits how long it gets.
    line: Vec<u8>,
}

impl Default for Framing {
    fn default() -> Self {
        Self { part: Part::Head(RequestHead::default()), line: Vec::new() }
    }
}

impl Framing {
    /// Follows the next bytes. Where a request must be refused, returns how many bytes come before the end of the line that
    /// shows it, and the reason; the connection has no further requests then.
    pub(super) fn follow(&mut self, bytes: &[u8]) -> Option<(usize, Refused)> {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            if let Part::Body { left, is_chunk } = &mut self.part {
                let n_bytes = usize::try_from(*left).map_or(rest.len(), |left| left.min(rest.len()));
                (at, *left) = (at + n_bytes, *left - n_bytes as u64); // a usize has at most 64 bits
                if *left == 0 {
                    self.part = if *is_chunk { Part::ChunkSize } else { Part::Head(RequestHead::default()) };
                }
                continue;
            }
            let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
                self.line.extend_from_slice(rest);
                return None;
            };
            let mut line = std::mem::take(&mut self.line);
            line.extend_from_slice(&rest[..end]);
            let ended = if line.pop() == Some(b'\r') { self.end_line(&line) } else { Err(Refused::LineEnd) };
            if let Err(reason) = ended {
                return Some((at + end, reason));
            }
            at += end + 1;
        }
        None
    }

    fn end_line(&mut self, line: &[u8]) -> Result<(), Refused> {
        let next = match &mut self.part {
            Part::Head(head) if line.is_empty() && head.has_begun => head.body()?,
            Part::Head(head) => return head.read(line),
            Part::ChunkSize => match chunk_size(line).ok_or(Refused::Chunk)? {
                0 => Part::Trailers,
                size => Part::Body { left: size.checked_add(2).ok_or(Refused::Chunk)?, is_chunk: true },
            },
            Part::Trailers if line.is_empty() => Part::Head(RequestHead::default()),
            Part::Trailers | Part::Body { .. } => return Ok(()),
        };
        self.part = next;
        Ok(())
    }
}

impl RequestHead {
    /// Reads a line before the one that ends the head.
    fn read(&mut self, line: &[u8]) -> Result<(), Refused> {
        if !self.has_begun {
            self.has_begun = !line.is_empty();
            return Ok(());
        }
        let name_end = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = line.split_at(name_end);
        let value = value.get(1..).unwrap_or_default().trim_ascii();
        if name.eq_ignore_ascii_case(b"content-length") {
            let is_new = self.length.as_ref().is_none_or(|length| length == value);
            let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
            if self.is_chunked || !is_new || !is_number {
                return Err(Refused::Length);
            }
            self.length = Some(value.to_vec());
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            if self.is_chunked || self.length.is_some() || !value.eq_ignore_ascii_case(b"chunked") {
                return Err(Refused::Length);
            }
            self.is_chunked = true;
        }
        Ok(())
    }

    /// What follows the head.
    fn body(&self) -> Result<Part, Refused> {
        if self.is_chunked {
            return Ok(Part::ChunkSize);
        }
        let length = self.length.as_deref().map(|length| std::str::from_utf8(length).ok()?.parse().ok());
        Ok(match length.unwrap_or(Some(0)).ok_or(Refused::Length)? {
            0 => Part::Head(Self::default()),
            left => Part::Body { left, is_chunk: false },
        })
    }
}

/// The size at the beginning of a chunk's line, which extensions may follow.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let n_digits = line.iter().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(line.len());
    let (digits, rest) = line.split_at(n_digits);
    let is_end = matches!(rest.first(), None | Some(b';' | b' ' | b'\t'));
    let digits = std::str::from_utf8(digits).ok().filter(|_| is_end)?;
    u64::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::*;

    const FRAMING: &str = include_str!("../../../tests/fixtures/http/framing.json");

    /// Follows a connection, given in pieces; returns whether it is refused.
    fn is_refused<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> bool {
        let mut framing = Framing::default();
        pieces.into_iter().any(|piece| framing.follow(piece).is_some())
    }

    #[test]
    fn a_connection_is_followed_however_its_bytes_arrive() {
        let cases: Vec<Json> = serde_json::from_str(FRAMING).unwrap();
        for case in cases {
            let (name, bytes) = (&case["name"], case["bytes"].as_str().unwrap().as_bytes());
            let expect = case["refused"].as_bool().unwrap();
            assert_eq!(is_refused([bytes]), expect, "{name}");
            for size in 1..8 {
                assert_eq!(is_refused(bytes.chunks(size)), expect, "{name}, in pieces of {size} bytes");
            }
        }
    }

    #[test]
    fn what_comes_before_a_refused_line_is_passed_on() {
        let head = b"GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nA: 1\r\nTransfer-Encoding: gzip\r\n\r\n";
        assert_eq!(Framing::default().follow(head), Some((head.len() - 3, Refused::Length)));
        assert_eq!(Framing::default().follow(b"GET / HTTP/1.1\n"), Some((14, Refused::LineEnd)));
    }
}
