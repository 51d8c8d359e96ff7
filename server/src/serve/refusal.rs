//! Responses of hyper itself: it answers requests that it cannot parse with a bare status. They get a body here, so that
//! clients always find an error object.

use hyper::StatusCode;
use hyper::body::Bytes;

use crate::serve::dialect::Dialect;
use crate::serve::error::HttpError;
use crate::serve::framing::Refused;

/// The response to send in place of this one, if it is hyper's own. Ours have a request id, and no body of ours contains a
/// line that announces no length.
pub(super) fn with_body(answer: &[u8], refused: Option<Refused>) -> Option<Bytes> {
    let is_refusal = answer.starts_with(b"HTTP/1.1 4") || answer.starts_with(b"HTTP/1.0 4");
    let answer = std::str::from_utf8(answer).ok().filter(|_| is_refusal)?;
    let is_bare = answer.contains("\r\ncontent-length: 0\r\n") && answer.ends_with("\r\n\r\n");
    if !is_bare || answer.contains("\r\nx-request-id: ") {
        return None;
    }
    let status = StatusCode::from_bytes(answer.as_bytes().get(9..12)?).ok()?;
    let (code, message) = match status {
        StatusCode::URI_TOO_LONG => ("uri_too_long", "the address must be shorter"),
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => ("headers_too_large", "the headers must be smaller, or fewer"),
        _ => ("malformed_request", malformed(refused)),
    };
    let body = HttpError::new(status, code, message).json(Dialect::Chat, None).to_string();
    let length = format!("\r\ncontent-type: application/json\r\ncontent-length: {}\r\n", body.len());
    Some(Bytes::from(answer.replace("\r\ncontent-length: 0\r\n", &length) + &body))
}

fn malformed(refused: Option<Refused>) -> &'static str {
    match refused {
        Some(Refused::Length) => {
            "the request must give the length of its body once: as the header content-length, a number, or as the header \
             transfer-encoding, which must be chunked"
        }
        Some(Refused::LineEnd) => "each line of the request's head must end with CR LF",
        Some(Refused::Chunk) | None => "the request must be valid HTTP/1.1",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_responses_of_hyper_are_changed() {
        let bare =
            "HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\ndate: x\r\n\r\n";
        let changed = with_body(bare.as_bytes(), None).unwrap();
        let changed = std::str::from_utf8(&changed).unwrap();
        let (head, body) = changed.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("\r\ncontent-length: {}\r\n", body.len())), "{head}");
        assert!(body.contains(r#""code":"headers_too_large""#), "{body}");
        for ours in [
            bare.replace("date: x", "x-request-id: req_1"),
            bare.replace("431 Request", "200 Request"),
            bare.replace("length: 0", "length: 10"),
            bare.replace("\r\n", "\\r\\n"),
            bare[..60].to_owned(),
        ] {
            assert!(with_body(ours.as_bytes(), None).is_none(), "{ours}");
        }
    }
}
