//! The routes: each path with its methods, whether it needs a key, the dialect of its errors, and its handler.

use std::sync::Arc;

use causerie::transcribe::SpeechTask;
use hyper::header::{HeaderValue, RETRY_AFTER};
use hyper::{Method, Response, StatusCode};
use serde_json::json;

use crate::access::Requirement;
use crate::serve::answer::{Answer, SpeechAnswer};
use crate::serve::dialect::Dialect;
use crate::serve::embeddings::{self, ComputedAnswer};
use crate::serve::error::HttpError;
use crate::serve::http::{ResponseBody, json_response, text_response};
use crate::serve::request::fields::RequestFields;
use crate::serve::response_store::ResponseStore;
use crate::serve::responses::stored;
use crate::serve::service::Service;
use crate::serve::{audio, chat, completions, messages, models, openapi, page, responses};

/// A path that the server answers.
pub(super) struct Route {
    /// As metrics name it. `{id}` stands for an id.
    pub(super) path: &'static str,
    /// As the header `Allow` lists them.
    methods: &'static str,
    pub(super) requirement: Requirement,
    pub(super) dialect: Dialect,
    pub(super) handler: RouteHandler,
}

/// What answers a request.
pub(super) enum RouteHandler {
    /// Reads a body whose replies are generated.
    Reply(fn(&Arc<Service>, RequestFields, ResponseStore) -> Result<Answer, HttpError>),
    /// Reads a body and answers at once.
    Count(fn(&Arc<Service>, RequestFields) -> Result<Response<ResponseBody>, HttpError>),
    /// Reads a body whose answer is computed as a whole.
    Compute(fn(&Arc<Service>, RequestFields) -> Result<ComputedAnswer, HttpError>),
    /// Reads a body whose text is read aloud.
    Speak(fn(&Arc<Service>, RequestFields) -> Result<SpeechAnswer, HttpError>),
    /// Reads a sound and writes what is said.
    Transcribe(SpeechTask),
    /// Upgrades the connection to a session.
    Realtime,
    /// Answers a request without a body.
    LookUp(fn(&Lookup<'_>) -> Result<Response<ResponseBody>, HttpError>),
}

/// A request without a body.
pub(super) struct Lookup<'a> {
    pub(super) service: &'a Service,
    pub(super) method: &'a Method,
    /// The id in the path; empty if the route has none.
    pub(super) id: &'a str,
    pub(super) query: &'a str,
    pub(super) store: ResponseStore,
}

const POST: &str = "POST, OPTIONS";
const GET: &str = "GET, HEAD, OPTIONS";
/// A request with this method only can become a WebSocket.
const UPGRADE: &str = "GET, OPTIONS";
const GET_AND_DELETE: &str = "GET, HEAD, DELETE, OPTIONS";

/// All routes. The first that a path matches answers it.
static ROUTES: [Route; 22] = {
    use Dialect::{Chat, Completions, Embeddings, Messages, Ranking, Realtime, Responses, Speech, Transcriptions};
    use Requirement::{Key, MetricsKey, Nothing};
    use RouteHandler::{Compute, Count, LookUp, Reply, Speak, Transcribe};
    use SpeechTask::{Transcribe as InTheirLanguage, Translate};
    [
        route("/v1/chat/completions", POST, Key, Chat, Reply(chat::read)),
        route(
            "/v1/completions",
            POST,
            Key,
            Completions,
            Reply(|service, fields, _| completions::read(service, fields)),
        ),
        route("/v1/responses", POST, Key, Responses, Reply(responses::read)),
        route("/v1/messages", POST, Key, Messages, Reply(|service, fields, _| messages::read(service, fields))),
        route("/v1/messages/count_tokens", POST, Key, Messages, Count(messages::count)),
        route("/v1/embeddings", POST, Key, Embeddings, Compute(embeddings::embed)),
        route("/v1/rerank", POST, Key, Ranking, Compute(embeddings::rerank)),
        route("/v1/audio/transcriptions", POST, Key, Transcriptions, Transcribe(InTheirLanguage)),
        route("/v1/audio/translations", POST, Key, Transcriptions, Transcribe(Translate)),
        route("/v1/audio/speech", POST, Key, Speech, Speak(audio::speech::read)),
        route(
            "/v1/audio/voices",
            GET,
            Key,
            Chat,
            LookUp(|asked| Ok(json_response(&audio::voices::list(asked.service)?))),
        ),
        route("/v1/audio/models", GET, Key, Chat, LookUp(|asked| Ok(json_response(&audio::models(asked.service))))),
        route("/v1/realtime", UPGRADE, Key, Realtime, RouteHandler::Realtime),
        route("/", GET, Nothing, Chat, LookUp(|_| Ok(page::response()))),
        route("/openapi.json", GET, Key, Chat, LookUp(describe)),
        route("/v1/models", GET, Key, Chat, LookUp(|asked| Ok(json_response(&models::list(asked.service)?)))),
        route("/livez", GET, Nothing, Chat, LookUp(|_| Ok(json_response(&json!({ "status": "alive" }))))),
        route("/readyz", GET, Nothing, Chat, LookUp(readiness)),
        route("/metrics", GET, MetricsKey, Chat, LookUp(count)),
        route("/v1/responses/{id}", GET_AND_DELETE, Key, Responses, LookUp(stored_response)),
        route("/v1/responses/{id}/input_items", GET, Key, Responses, LookUp(input_items)),
        route("/v1/models/{id}", GET, Key, Chat, LookUp(model)),
    ]
};

const fn route(
    path: &'static str,
    methods: &'static str,
    requirement: Requirement,
    dialect: Dialect,
    handler: RouteHandler,
) -> Route {
    Route { path, methods, requirement, dialect, handler }
}

/// Another path of `/readyz`.
const HEALTH: &str = "/health";

/// The route of a path, and the id in it.
pub(super) fn find(path: &str) -> Option<(&'static Route, &str)> {
    let path = if path == HEALTH { "/readyz" } else { path };
    ROUTES.iter().find_map(|route| Some((route, route.id_in(path)?)))
}

impl Route {
    /// The id in a path of this route, empty if the route has none; `None` for a path of another route.
    fn id_in<'a>(&self, path: &'a str) -> Option<&'a str> {
        let Some((before, after)) = self.path.split_once("{id}") else { return (self.path == path).then_some("") };
        let id = path.strip_prefix(before)?.strip_suffix(after)?;
        // Other paths there are routes of OpenAI's. Ids of models contain slashes.
        let is_id = self.dialect != Dialect::Responses || id.starts_with("resp_") && !id.contains('/');
        is_id.then_some(id)
    }

    /// Refuses other methods than the route's own.
    pub(super) fn check(&self, method: &Method) -> Result<(), HttpError> {
        match self.methods.split(", ").any(|allowed| allowed == method.as_str()) {
            true => Ok(()),
            false => Err(HttpError::method(self.methods)),
        }
    }
}

fn describe(asked: &Lookup<'_>) -> Result<Response<ResponseBody>, HttpError> {
    Ok(json_response(&openapi::document(&asked.service.model_id, &asked.service.settings)))
}

fn readiness(asked: &Lookup<'_>) -> Result<Response<ResponseBody>, HttpError> {
    if asked.service.admission.is_closed() {
        return Err(HttpError::draining());
    }
    match asked.service.download.missing() {
        Some((done, total)) => Ok(downloading(done, total)),
        None => asked.service.runner().map(|_| json_response(&json!({ "status": "ready" }))),
    }
}

/// The answer of a server that is not ready because its model still arrives.
fn downloading(done: u64, total: u64) -> Response<ResponseBody> {
    let mut response = json_response(&json!({ "status": "downloading", "done": done, "total": total }));
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

fn count(asked: &Lookup<'_>) -> Result<Response<ResponseBody>, HttpError> {
    Ok(text_response("text/plain; version=0.0.4", asked.service.metrics.text()))
}

fn stored_response(asked: &Lookup<'_>) -> Result<Response<ResponseBody>, HttpError> {
    let found = match *asked.method {
        Method::DELETE => stored::delete(&asked.store, asked.id),
        _ => stored::retrieve(&asked.store, asked.id, asked.query),
    };
    Ok(json_response(&found?))
}

fn input_items(asked: &Lookup<'_>) -> Result<Response<ResponseBody>, HttpError> {
    Ok(json_response(&stored::input_items(&asked.store, asked.id, asked.query)?))
}

fn model(asked: &Lookup<'_>) -> Result<Response<ResponseBody>, HttpError> {
    Ok(json_response(&models::find(asked.service, asked.id)?))
}

/// Why nothing is at a path: what its client may have meant.
pub(super) fn nothing_at(path: &str) -> String {
    let known = |path: &str| find(path).is_some();
    if let Some(rest) = path.strip_prefix("/v1").filter(|rest| rest.starts_with("/v1/") && known(rest)) {
        return format!("there is nothing at this path: {rest} is; this client's base address must end without /v1");
    }
    if known(&format!("/v1{path}")) {
        return format!("there is nothing at this path: /v1{path} is; this client's base address must end with /v1");
    }
    if let Some(shorter) = path.strip_suffix('/').filter(|shorter| known(shorter)) {
        return format!("there is nothing at this path: {shorter} is, without the slash at its end");
    }
    let other = FOREIGN.iter().find(|(begin, _)| path.starts_with(begin));
    other.map_or("there is nothing at this path; /openapi.json lists the routes", |(_, message)| *message).to_owned()
}

/// Beginnings of paths that clients of other servers ask for.
const FOREIGN: [(&str, &str); 13] = [
    ("/api/v0/", "LM Studio's own routes are not served: /v1/chat/completions, /v1/responses and /v1/messages are"),
    ("/api/v1/", "LM Studio's own routes are not served: /v1/chat/completions, /v1/responses and /v1/messages are"),
    ("/api/", "Ollama's own routes are not served: /v1/chat/completions, /v1/responses and /v1/messages are"),
    ("/v1/embeddings/", "only POST /v1/embeddings is served"),
    ("/v1/audio", "of audio, transcriptions, translations, speech, voices and models are served"),
    ("/v1/images", "images are not generated: this server generates text"),
    ("/completion", "llama.cpp's own routes are not served: /v1/completions and /v1/chat/completions are"),
    ("/v1/messages/batches", "batches are not supported: send each request to /v1/messages"),
    ("/v1/conversations", "conversations are not stored: a request continues a response by previous_response_id"),
    ("/v1/files", "files are not stored: a request contains its images and the text of its files"),
    (
        "/v1/responses/compact",
        "compaction is not offered: ask for a summary at /v1/responses, or set truncation to auto, which leaves out the \
         oldest turns",
    ),
    ("/v1/responses/input_tokens", "tokens are counted at /v1/messages/count_tokens only"),
    (
        "/v1/responses/",
        "only POST /v1/responses, and GET and DELETE of /v1/responses/{id} and its input_items are served",
    ),
];
