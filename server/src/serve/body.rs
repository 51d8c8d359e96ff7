//! Reads the body of a request, within limits of size, time and memory.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HeaderMap, TRANSFER_ENCODING};
use hyper::{Request, StatusCode};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::serve::budget::{BodyShare, MAX_LARGE_BODIES, SMALL, STEP};
use crate::serve::encoding::Encoding;
use crate::serve::error::HttpError;
use crate::serve::service::Service;

/// Time that a client may send nothing of a body that nobody needs. Some wait for an answer before they send on.
const MAX_PAUSE: Duration = Duration::from_millis(300);

/// A body, and its share of the memory budget.
pub(super) struct RequestBytes {
    pub(super) bytes: Vec<u8>,
    pub(super) share: BodyShare,
}

/// What a body is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestKind {
    Json,
    /// A form of parts.
    Form {
        /// What stands between the parts.
        boundary: String,
    },
}

/// Reads the body of a request. What an error leaves of it is still to be [discarded](discard).
pub(super) async fn read(service: &Service, request: &mut Request<Incoming>) -> Result<RequestBytes, HttpError> {
    let headers = request.headers();
    let encoding = Encoding::from_headers(headers)?;
    if !headers.contains_key(CONTENT_LENGTH) && !headers.contains_key(TRANSFER_ENCODING) {
        return Err(HttpError::new(StatusCode::LENGTH_REQUIRED, "length_required", "the request must have a body"));
    }
    let (body, max_body) = (request.body_mut(), service.settings.max_body);
    let announced = body.size_hint().exact().map_or(max_body, |length| usize::try_from(length).unwrap_or(usize::MAX));
    if max_body < announced {
        return Err(HttpError::body_too_large(max_body));
    }
    let read = timeout(service.settings.body_timeout, collect(service, body)).await.map_err(|_| {
        let message = "the body must arrive within the time limit";
        HttpError::new(StatusCode::REQUEST_TIMEOUT, "body_timeout", message)
    })??;
    match encoding {
        Some(encoding) => decode(service, read, encoding).await,
        None => Ok(read),
    }
}

/// Reads on and throws away what an early answer left of a body, within limits of size and time. A client that is still
/// sending when its connection closes does not read the answer: Node.js reports a broken pipe instead.
pub(super) async fn discard(service: &Service, request: &mut Request<Incoming>) {
    // Such a client asks before it sends the body.
    if request.headers().contains_key(EXPECT) {
        return;
    }
    let max_bytes = service.settings.max_body.saturating_mul(MAX_LARGE_BODIES);
    let rest = async {
        let mut n_bytes = 0;
        while n_bytes <= max_bytes
            && let Ok(Some(Ok(frame))) = timeout(MAX_PAUSE, request.body_mut().frame()).await
        {
            n_bytes += frame.data_ref().map_or(0, Bytes::len);
        }
    };
    let _ = timeout(service.settings.body_timeout, rest).await;
}

/// What the body is, as its header says: JSON, or a form if one is accepted.
pub(super) fn kind(headers: &HeaderMap, accepts_form: bool) -> Result<RequestKind, HttpError> {
    let found = headers.get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let kind = found.as_deref().and_then(|found| found.split(';').next()).unwrap_or_default();
    if kind.trim().eq_ignore_ascii_case("application/json") {
        return Ok(RequestKind::Json);
    }
    if accepts_form && let Some(boundary) = found.as_deref().and_then(|found| multer::parse_boundary(found).ok()) {
        return Ok(RequestKind::Form { boundary });
    }
    let accepted =
        if accepts_form { "multipart/form-data with a boundary, or application/json" } else { "application/json" };
    let found = found.as_deref().map_or_else(|| "found none".to_owned(), |found| format!("found {found:?}"));
    let message = format!("the header content-type must be {accepted}, {found}");
    Err(HttpError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message))
}

/// Decodes a compressed body on a thread that answers nothing else, one after the other: a few bytes can be many.
async fn decode(service: &Service, read: RequestBytes, encoding: Encoding) -> Result<RequestBytes, HttpError> {
    let RequestBytes { bytes, mut share } = read;
    let max_body = service.settings.max_body;
    let lock = Arc::clone(&service.large_body).lock_owned().await;
    let decoding = spawn_blocking(move || {
        let _lock = lock;
        encoding.decode(&bytes, max_body)
    });
    let bytes = decoding.await.map_err(|_| HttpError::draining())??;
    let n_steps = bytes.len().saturating_sub(SMALL).div_ceil(STEP);
    share.merge(take(service, n_steps.saturating_sub(share.num_permits()))?);
    Ok(RequestBytes { bytes, share })
}

/// Charges the budget for bytes that have arrived, not for those announced: a client that sends nothing blocks nobody. It
/// does not wait for the budget either, since requests with half a body each would block each other.
async fn collect(service: &Service, body: &mut Incoming) -> Result<RequestBytes, HttpError> {
    let (mut bytes, mut share) = (Vec::new(), take(service, 0)?);
    while let Some(frame) = body.frame().await {
        let broken =
            |_| HttpError::new(StatusCode::BAD_REQUEST, "invalid_body", "the body ended early or is malformed");
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        let n_bytes = bytes.len() + data.len();
        if service.settings.max_body < n_bytes {
            return Err(HttpError::body_too_large(service.settings.max_body));
        }
        share.merge(take(service, n_bytes.saturating_sub(SMALL).div_ceil(STEP) - share.num_permits())?);
        bytes.extend_from_slice(&data);
    }
    Ok(RequestBytes { bytes, share })
}

fn take(service: &Service, n_steps: usize) -> Result<BodyShare, HttpError> {
    let n_steps = u32::try_from(n_steps).unwrap_or(u32::MAX);
    Arc::clone(&service.body_budget).try_acquire_many_owned(n_steps).map_err(|_| HttpError::memory_budget_exceeded())
}
