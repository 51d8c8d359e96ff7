//! `GET /v1/models`: the one model that is served.

use serde_json::{Value as Json, json};

use crate::serve::Service;
use crate::serve::fault::Fault;
use crate::serve::fields::{Fields, expected};

/// The list of models.
pub(super) fn list(service: &Service) -> Result<Json, Fault> {
    Ok(json!({ "object": "list", "data": [describe(service)?] }))
}

/// One model. Ids hold `/`, which may come as `%2F`.
pub(super) fn find(service: &Service, id: &str) -> Result<Json, Fault> {
    if id.replace("%2F", "/").replace("%2f", "/") == service.model_id { describe(service) } else { Err(missing()) }
}

/// Takes `model` from a request, which must name the model served. It is compared and nothing else: no path is made of it.
pub(super) fn require(service: &Service, fields: &mut Fields) -> Result<(), Fault> {
    match fields.require("model")? {
        Json::String(id) if id == service.model_id => Ok(()),
        Json::String(_) => Err(missing().at("model")),
        value => Err(expected("model", "a text", &value)),
    }
}

fn missing() -> Fault {
    Fault::new(hyper::StatusCode::NOT_FOUND, "model_not_found", "this server has no model of this name; see /v1/models")
}

fn describe(service: &Service) -> Result<Json, Fault> {
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
            "vision": false,
            "audio": false,
        },
    }))
}
