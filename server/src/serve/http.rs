//! HTTP responses: the primitives that every handler builds on.

use std::convert::Infallible;

use async_stream::stream;
use futures_core::Stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::Response;
use hyper::body::{Bytes, Frame};
use hyper::header::{
    ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use serde_json::Value as Json;

use crate::serve::dialect::Dialect;
use crate::serve::error::{Detail, HttpError};

pub(super) type ResponseBody = UnsyncBoxBody<Bytes, Infallible>;

pub(super) fn text_response(content_type: &'static str, text: String) -> Response<ResponseBody> {
    byte_response(content_type, text)
}

pub(super) fn byte_response(content_type: &'static str, bytes: impl Into<Bytes>) -> Response<ResponseBody> {
    let mut response = Response::new(Full::new(bytes.into()).boxed_unsync());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

pub(super) fn json_response(json: &Json) -> Response<ResponseBody> {
    text_response("application/json", json.to_string())
}

/// A stream of server-sent events, each of which is already written out.
pub(super) fn event_stream(events: impl Stream<Item = String> + Send + 'static) -> Response<ResponseBody> {
    byte_stream("text/event-stream", events)
}

/// A body that is sent piece by piece.
pub(super) fn byte_stream<B: Into<Bytes> + Send + 'static>(
    content_type: &'static str,
    pieces: impl Stream<Item = B> + Send + 'static,
) -> Response<ResponseBody> {
    let frames = stream! {
        for await piece in pieces {
            yield Ok::<_, Infallible>(Frame::data(piece.into()));
        }
    };
    let mut response = Response::new(ResponseBody::new(StreamBody::new(frames)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

pub(super) fn error_response(error: &HttpError, dialect: Dialect, request_id: &str) -> Response<ResponseBody> {
    let mut response = json_response(&error.json(dialect, Some(request_id)));
    *response.status_mut() = error.status;
    let headers = response.headers_mut();
    match error.detail {
        Detail::RetryAfter(seconds) => drop(headers.insert(RETRY_AFTER, seconds.into())),
        Detail::Allow(methods) => drop(headers.insert(ALLOW, HeaderValue::from_static(methods))),
        Detail::AcceptEncoding(names) => drop(headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(names))),
        Detail::Authenticate(scheme) => drop(headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(scheme))),
        Detail::Tokens { .. } | Detail::None => {}
    }
    if error.leaves_body() {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
