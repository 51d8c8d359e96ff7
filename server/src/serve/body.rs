//! Reads the body of a request: JSON, of a known size, in time.

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use hyper::{Request, StatusCode};
use tokio::sync::SemaphorePermit;
use tokio::time::timeout;

use crate::serve::Service;
use crate::serve::fault::Fault;

/// Bodies of the largest size that may be in memory at once.
pub(super) const MOST_LARGE_BODIES: usize = 8;
/// What memory is counted in.
const PAGE: usize = 4096;

/// A body, and the room in memory that it takes until it has been dealt with.
pub(super) struct Read<'a> {
    pub(super) bytes: Vec<u8>,
    pub(super) _room: SemaphorePermit<'a>,
}

/// Pages of memory for bodies together.
pub(super) fn room(max_body: usize) -> usize {
    pages(max_body) as usize * MOST_LARGE_BODIES
}

fn pages(n_bytes: usize) -> u32 {
    u32::try_from(n_bytes.div_ceil(PAGE)).unwrap_or(u32::MAX).max(1)
}

pub(super) async fn read(service: &Service, request: Request<Incoming>) -> Result<Read<'_>, Fault> {
    let headers = request.headers();
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json")) {
        let message = "the body must be of content type application/json";
        return Err(Fault::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message));
    }
    if !headers.contains_key(CONTENT_LENGTH) && !headers.contains_key(TRANSFER_ENCODING) {
        return Err(Fault::new(StatusCode::LENGTH_REQUIRED, "length_required", "the request has no body"));
    }
    let (body, max_body) = (request.into_body(), service.settings.max_body);
    let announced = body.size_hint().exact().map_or(max_body, |length| usize::try_from(length).unwrap_or(usize::MAX));
    if max_body < announced {
        return Err(too_large(max_body));
    }
    let read = async {
        let mut room = service.bodies.acquire_many(pages(announced)).await.map_err(|_| Fault::draining())?;
        match Limited::new(body, max_body).collect().await {
            Ok(body) => {
                let bytes: Vec<u8> = body.to_bytes().into();
                // One that did not announce its size gives back what it does not need.
                drop(room.split((pages(announced) - pages(bytes.len())) as usize));
                Ok(Read { bytes, _room: room })
            }
            Err(err) if err.is::<LengthLimitError>() => Err(too_large(max_body)),
            Err(_) => Err(Fault::new(StatusCode::BAD_REQUEST, "invalid_body", "the body broke off or is malformed")),
        }
    };
    match timeout(service.settings.body_timeout, read).await {
        Ok(read) => read,
        Err(_) => Err(Fault::new(StatusCode::REQUEST_TIMEOUT, "body_timeout", "the body took too long to arrive")),
    }
}

fn too_large(max_body: usize) -> Fault {
    let message = format!("the body is larger than {max_body} bytes");
    Fault::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message)
}
