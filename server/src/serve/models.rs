//! `GET /v1/models`: the one model that is served.

use serde_json::{Value as Json, json};

use crate::serve::error::HttpError;
use crate::serve::service::Service;

/// The list of models.
pub(super) fn list(service: &Service) -> Result<Json, HttpError> {
    Ok(json!({ "object": "list", "data": [describe(service)?] }))
}

/// One model. Ids contain `/`, which may be written `%2F`.
pub(super) fn find(service: &Service, id: &str) -> Result<Json, HttpError> {
    if id.replace("%2F", "/").replace("%2f", "/") == service.model_id { describe(service) } else { Err(missing()) }
}

/// Whether a request names another model than the one served, or none, which only a strict server refuses. The name is only
/// compared: no path is made of it.
pub(super) fn check(service: &Service, id: Option<&str>) -> Result<bool, HttpError> {
    match id {
        Some(id) if id == service.model_id => Ok(false),
        _ if !service.settings.strict_model => Ok(true),
        Some(_) => Err(missing().at("model")),
        None => Err(HttpError::value("model", "model is required")),
    }
}

pub(super) fn missing() -> HttpError {
    let message = "the model must be the one that this server has; see /v1/models";
    HttpError::new(hyper::StatusCode::NOT_FOUND, "model_not_found", message)
}

fn describe(service: &Service) -> Result<Json, HttpError> {
    let runner = service.runner()?;
    let info = runner.info();
    Ok(json!({
        "id": service.model_id,
        "object": "model",
        "created": service.created,
        "owned_by": "causerie",
        "context_length": runner.context_size(),
        "capabilities": {
            "chat": info.has_chat_template,
            "function_calling": runner.supports_function_calling(),
            "reasoning": info.supports_reasoning,
            "vision": info.supports_images,
            "audio": info.supports_audio,
            "speech": info.supports_speech,
        },
    }))
}
