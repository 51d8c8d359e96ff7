//! An answer that is computed as a whole, on a thread of its own.

use std::sync::Arc;

use hyper::Response;
use serde_json::Value as Json;
use tokio::task::spawn_blocking;

use crate::serve::budget::BodyShare;
use crate::serve::error::HttpError;
use crate::serve::http::{ResponseBody, json_response};
use crate::serve::request::RequestNotes;
use crate::serve::service::{ServedEmbedder, Service};

/// What computes an answer.
type AnswerWork = Box<dyn FnOnce() -> Result<Json, HttpError> + Send>;

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
        work: impl FnOnce() -> Result<Json, HttpError> + Send + 'static,
    ) -> Self {
        Self { service: Arc::clone(service), model_id: served.id.clone(), notes, work: Box::new(work) }
    }

    /// Computes the answer once it has a permit. The work goes on if the client disconnects, and keeps the permit as long.
    pub(in crate::serve) async fn send(self, share: BodyShare) -> Result<Response<ResponseBody>, HttpError> {
        let Self { service, model_id, notes, work } = self;
        let permit = service.admission.enter()?.await?;
        let computing = spawn_blocking(move || {
            let (_permit, _share) = (permit, share);
            work()
        });
        let json = match computing.await {
            Ok(computed) => computed?,
            Err(err) => match err.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => return Err(HttpError::draining()),
            },
        };
        let mut response = json_response(&json);
        response.headers_mut().extend(notes.headers(&model_id));
        Ok(response)
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
