//! Reads the body of a request: JSON, of a known size, in time.

use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use hyper::{Request, StatusCode};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::serve::Service;
use crate::serve::fault::Fault;

/// Bodies of the largest size that may be in memory at once.
const MOST_LARGE_BODIES: usize = 8;
/// What room is taken in, as bytes arrive.
const STEP: usize = 64 << 10;
/// Bytes of each body that take no room, as those of its headers do not: a request of the usual size is read whatever the
/// others are about.
pub(super) const SMALL: usize = STEP;

/// A body, and the room in memory that it takes until it has been dealt with.
pub(super) struct Read<'a> {
    pub(super) bytes: Vec<u8>,
    pub(super) room: SemaphorePermit<'a>,
}

/// Room for all bodies together.
pub(super) fn room(max_body: usize) -> Semaphore {
    Semaphore::new(max_body.div_ceil(STEP) * MOST_LARGE_BODIES)
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
    match timeout(service.settings.body_timeout, collect(service, body)).await {
        Ok(read) => read,
        Err(_) => Err(Fault::new(StatusCode::REQUEST_TIMEOUT, "body_timeout", "the body took too long to arrive")),
    }
}

/// Takes room for what has arrived, not for what is announced: who sends nothing is in nobody's way. Nor is room waited for,
/// since those who wait with half a body would keep it from each other.
async fn collect(service: &Service, mut body: Incoming) -> Result<Read<'_>, Fault> {
    let (mut bytes, mut room) = (Vec::new(), take(service, 0)?);
    while let Some(frame) = body.frame().await {
        let broken = |_| Fault::new(StatusCode::BAD_REQUEST, "invalid_body", "the body broke off or is malformed");
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        let n_bytes = bytes.len() + data.len();
        if service.settings.max_body < n_bytes {
            return Err(too_large(service.settings.max_body));
        }
        room.merge(take(service, n_bytes.saturating_sub(SMALL).div_ceil(STEP) - room.num_permits())?);
        bytes.extend_from_slice(&data);
    }
    Ok(Read { bytes, room })
}

fn take(service: &Service, n_steps: usize) -> Result<SemaphorePermit<'_>, Fault> {
    let n_steps = u32::try_from(n_steps).unwrap_or(u32::MAX);
    service.bodies.try_acquire_many(n_steps).map_err(|_| Fault::no_room())
}

fn too_large(max_body: usize) -> Fault {
    let message = format!("the body is larger than {max_body} bytes");
    Fault::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message)
}
