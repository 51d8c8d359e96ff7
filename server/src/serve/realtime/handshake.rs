//! The beginning of a WebSocket: an upgrade of an HTTP/1.1 connection (RFC 6455, section 4.2).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Response, StatusCode};
use sha1::{Digest, Sha1};

use crate::serve::error::HttpError;
use crate::serve::http::ResponseBody;

/// What the answer's key is made with.
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The protocol that clients in browsers ask for.
const PROTOCOL: &str = "realtime";

/// The response that accepts a WebSocket, and the connection once the response was sent.
pub(super) fn accept(request: &mut Request<Incoming>) -> Result<(Response<ResponseBody>, OnUpgrade), HttpError> {
    let key = key(request.headers())?;
    let has_protocol = lists(request.headers(), &SEC_WEBSOCKET_PROTOCOL, PROTOCOL);
    let mut response = Response::new(Empty::new().boxed_unsync());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, answer(key)?);
    if has_protocol {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
    }
    Ok((response, hyper::upgrade::on(request)))
}

/// The key of a request for a WebSocket.
fn key(headers: &HeaderMap) -> Result<&HeaderValue, HttpError> {
    let is_upgrade = lists(headers, &CONNECTION, "upgrade") && lists(headers, &UPGRADE, "websocket");
    if !is_upgrade {
        let rule = "the request must be one for a WebSocket, with Connection: Upgrade and Upgrade: websocket";
        return Err(HttpError::new(StatusCode::UPGRADE_REQUIRED, "upgrade_required", rule));
    }
    let bad = |rule: &str| HttpError::new(StatusCode::BAD_REQUEST, "invalid_header", rule);
    if headers.get(SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
        return Err(bad("the header Sec-WebSocket-Version must be 13"));
    }
    let is_key = |key: &&HeaderValue| STANDARD.decode(key).is_ok_and(|bytes| bytes.len() == 16);
    let key = headers.get(SEC_WEBSOCKET_KEY).filter(is_key);
    key.ok_or_else(|| bad("the header Sec-WebSocket-Key must be 16 bytes in base64"))
}

fn answer(key: &HeaderValue) -> Result<HeaderValue, HttpError> {
    let digest = Sha1::new().chain_update(key).chain_update(GUID).finalize();
    HeaderValue::from_str(&STANDARD.encode(digest))
        .map_err(|_| HttpError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "cannot write a header"))
}

/// Whether a header lists a word.
fn lists(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|listed| listed.trim().eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(changes: &[(&'static str, &'static str)]) -> HeaderMap {
        let usual = [
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "WebSocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        let mut headers = HeaderMap::new();
        for (name, value) in usual.into_iter().chain(changes.iter().copied()) {
            headers.insert(name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn the_answer_is_that_of_the_standard() {
        // The example of RFC 6455, section 1.3.
        let headers = headers(&[]);
        assert_eq!(answer(key(&headers).unwrap()).unwrap(), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn other_requests_are_refused() {
        for (change, code) in [
            (("connection", "close"), "upgrade_required"),
            (("upgrade", "h2c"), "upgrade_required"),
            (("sec-websocket-version", "8"), "invalid_header"),
            (("sec-websocket-key", "short"), "invalid_header"),
            (("sec-websocket-key", "AAAA"), "invalid_header"),
        ] {
            assert_eq!(key(&headers(&[change])).unwrap_err().code(), code, "{change:?}");
        }
    }
}
