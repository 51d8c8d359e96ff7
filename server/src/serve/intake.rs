//! From the body of a request to its fields, and from them to what its handler makes of it.
//!
//! Large bodies take long, and memory many times their size: they are parsed and read one after the other, on a thread that
//! answers nothing else; and so are images, which are decoded to count a prompt.

use std::sync::Arc;

use hyper::Request;
use hyper::body::Incoming;
use tokio::sync::OwnedMutexGuard;
use tokio::task::spawn_blocking;

use crate::serve::body;
use crate::serve::body::RequestBytes;
use crate::serve::budget::{BodyShare, SMALL};
use crate::serve::error::HttpError;
use crate::serve::request::fields::RequestFields;
use crate::serve::request::images;
use crate::serve::service::Service;

/// The right to keep a thread busy. Held to the end of the work even if the client has disconnected, since reading is not
/// interrupted.
type Turn = Option<OwnedMutexGuard<()>>;

/// Reads a body and its fields, and gives them to a handler. Returns what the handler made of them, with the body's share of
/// the memory budget.
pub(super) async fn receive<T: Send + 'static>(
    service: &Arc<Service>,
    request: &mut Request<Incoming>,
    read: impl FnOnce(&Arc<Service>, RequestFields) -> Result<T, HttpError> + Send + 'static,
) -> Result<(T, BodyShare), HttpError> {
    body::kind(request.headers(), false)?;
    let RequestBytes { bytes, share } = body::read(service, request).await?;
    let mut turn = if bytes.len() <= SMALL { None } else { turn(service).await };
    let parsing = Arc::clone(service);
    let mut fields = work(&mut turn, move || {
        let mut fields = RequestFields::parse(&bytes)?;
        images::find(&mut fields, parsing.runner.get())?;
        Ok(fields)
    })
    .await?;
    if let Some(fetcher) = service.image_fetcher.as_ref().filter(|_| fields.images.have_addresses()) {
        drop(turn.take());
        let _permit = fetcher.permits.acquire().await.map_err(|_| HttpError::draining())?;
        let fetcher = Arc::clone(fetcher);
        fields = blocking(move || fetcher.fetch_all(&mut fields).map(|()| fields)).await?;
    }
    // A small file may be a large picture, which takes long to decode.
    if turn.is_none() && !fields.images.is_empty() {
        turn = self::turn(service).await;
    }
    let service = Arc::clone(service);
    Ok((work(&mut turn, move || read(&service, fields)).await?, share))
}

async fn turn(service: &Service) -> Turn {
    Some(Arc::clone(&service.large_body).lock_owned().await)
}

/// Does quick work at once, and work that has a turn on a thread of its own.
async fn work<T: Send + 'static>(
    turn: &mut Turn,
    work: impl FnOnce() -> Result<T, HttpError> + Send + 'static,
) -> Result<T, HttpError> {
    let Some(held) = turn.take() else { return work() };
    let (done, held) = blocking(move || work().map(|done| (done, held))).await?;
    *turn = Some(held);
    Ok(done)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, HttpError> + Send + 'static,
) -> Result<T, HttpError> {
    spawn_blocking(work).await.unwrap_or_else(|err| match err.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => Err(HttpError::draining()),
    })
}
