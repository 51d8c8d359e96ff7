//! An answer that is computed as a whole, on a thread of its own.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper::Response;
use serde_json::Value as Json;
use tokio::task::spawn_blocking;

use crate::serve::budget::BodyShare;
use crate::serve::error::HttpError;
use crate::serve::http::{ResponseBody, json_response};
use crate::serve::request::RequestNotes;
use crate::serve::service::{ServedEmbedder, Service};

/// Receives the share that is computed; `Break` cancels the work.
pub(super) type AnswerProgress<'a> = &'a mut dyn FnMut(f32) -> ControlFlow<()>;

/// What computes an answer.
type AnswerWork = Box<dyn FnOnce(AnswerProgress<'_>) -> Result<Json, HttpError> + Send>;

/// An answer that waits for its permit.
pub(in crate::serve) struct ComputedAnswer {
    service: Arc<Service>,
    model_id: String,
    notes: RequestNotes,
    work: AnswerWork,
}

impl ComputedAnswer {
    pub(super) fn new(
        service: &Arc<Service>,
        served: &ServedEmbedder,
        notes: RequestNotes,
        work: impl FnOnce(AnswerProgress<'_>) -> Result<Json, HttpError> + Send + 'static,
    ) -> Self {
        Self { service: Arc::clone(service), model_id: served.id.clone(), notes, work: Box::new(work) }
    }

    /// Computes the answer once it has a permit. When the client disconnects, this future is dropped, which cancels the work. The work
    /// keeps the permit until it has noticed.
    pub(in crate::serve) async fn send(self, share: BodyShare) -> Result<Response<ResponseBody>, HttpError> {
        let Self { service, model_id, notes, work } = self;
        let permit = service.admission.enter()?.await?;
        let computing = computed(move |progress| {
            let (_permit, _share) = (permit, share);
            work(progress)
        });
        let json = tokio::select! {
            biased;
            () = service.admission.replies_must_end() => Err(HttpError::draining()),
            json = computing => json,
        }?;
        let mut response = json_response(&json);
        response.headers_mut().extend(notes.headers(&model_id));
        Ok(response)
    }
}

/// Cancels work when it is dropped.
struct WorkGuard(Arc<AtomicBool>);

impl Drop for WorkGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Does work on a thread of its own. Dropping the future cancels it.
async fn computed(
    work: impl FnOnce(AnswerProgress<'_>) -> Result<Json, HttpError> + Send + 'static,
) -> Result<Json, HttpError> {
    let guard = WorkGuard(Arc::default());
    let is_cancelled = Arc::clone(&guard.0);
    let computing = spawn_blocking(move || {
        work(&mut |_| match is_cancelled.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    });
    match computing.await {
        Ok(computed) => computed,
        Err(err) => match err.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(HttpError::draining()),
        },
    }
}

/// Whether a request names another model than the one that answers, or none, which only a strict server refuses.
pub(super) fn is_other_model(service: &Service, served: &ServedEmbedder, id: Option<&str>) -> Result<bool, HttpError> {
    match id {
        Some(id) if id == served.id => Ok(false),
        _ if !service.settings.strict_model => Ok(true),
        Some(_) => Err(crate::serve::models::missing().at("model")),
        None => Err(HttpError::value("model", "model is required")),
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn work_is_cancelled_when_its_client_leaves() {
        let (begun, has_begun) = oneshot::channel();
        let (ended, has_ended) = oneshot::channel();
        let mut answer = Box::pin(computed(move |progress| {
            begun.send(progress(0.0)).unwrap();
            while progress(0.5).is_continue() {
                std::thread::yield_now();
            }
            ended.send(()).unwrap();
            Ok(Json::Null)
        }));
        tokio::select! {
            _ = &mut answer => panic!("the work goes on"),
            first = has_begun => assert_eq!(first, Ok(ControlFlow::Continue(()))),
        }
        drop(answer);
        has_ended.await.unwrap();
    }
}
