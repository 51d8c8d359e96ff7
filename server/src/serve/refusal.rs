//! What hyper answers by itself: requests that it cannot read get a bare status from it, which is given a body here, so
//! that clients find an error object whatever they did.

use hyper::StatusCode;
use hyper::body::Bytes;

use crate::serve::fault::{Dialect, Fault};

/// The answer to send in place of this one, if it is one of hyper's own. Ours say how they can be found again; and a line
/// of no length stands in no body of ours.
pub(super) fn with_body(answer: &[u8]) -> Option<Bytes> {
    let answer = Some(answer).filter(|answer| answer.starts_with(b"HTTP/1.1 4"))?;
    let answer = std::str::from_utf8(answer).ok()?;
    let is_bare = answer.contains("\r\ncontent-length: 0\r\n") && answer.ends_with("\r\n\r\n");
    if !is_bare || answer.contains("\r\nx-request-id: ") {
        return None;
    }
    let status = StatusCode::from_bytes(answer.as_bytes().get(9..12)?).ok()?;
    let (code, message) = match status {
        StatusCode::URI_TOO_LONG => ("uri_too_long", "the address is too long"),
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => ("headers_too_large", "the headers are too large, or too many"),
        _ => ("malformed_request", "the request is malformed: it is no HTTP/1.1"),
    };
    let body = Fault::new(status, code, message).json(Dialect::OpenAi, None).to_string();
    let length = format!("\r\ncontent-type: application/json\r\ncontent-length: {}\r\n", body.len());
    Some(Bytes::from(answer.replace("\r\ncontent-length: 0\r\n", &length) + &body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_ours_is_changed() {
        let bare =
            "HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\ndate: x\r\n\r\n";
        let told = with_body(bare.as_bytes()).unwrap();
        let told = std::str::from_utf8(&told).unwrap();
        let (head, body) = told.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("\r\ncontent-length: {}\r\n", body.len())), "{head}");
        assert!(body.contains(r#""code":"headers_too_large""#), "{body}");
        for ours in [
            bare.replace("date: x", "x-request-id: req_1"),
            bare.replace("431 Request", "200 Request"),
            bare.replace("length: 0", "length: 10"),
            bare.replace("\r\n", "\\r\\n"),
            bare[..60].to_owned(),
        ] {
            assert!(with_body(ours.as_bytes()).is_none(), "{ours}");
        }
    }
}
