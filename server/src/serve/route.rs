//! From a path to the handler that answers it.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, CONTENT_TYPE, HeaderMap,
    HeaderValue, RETRY_AFTER, VARY,
};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::json;
use tokio::task::spawn_blocking;

use crate::access::Requirement;
use crate::serve::answer::Answer;
use crate::serve::dialect::{Dialect, ErrorForm};
use crate::serve::error::HttpError;
use crate::serve::http::{ResponseBody, error_response, json_response, text_response};
use crate::serve::metrics::RequestCount;
use crate::serve::remote_images::ImageFetcher;
use crate::serve::request::content;
use crate::serve::request::fields::RequestFields;
use crate::serve::response_store::ResponseStore;
use crate::serve::responses::stored;
use crate::serve::{Service, body, chat, completions, id, messages, models, openapi, page, responses};

/// What the server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route<'a> {
    Chat,
    Completions,
    Responses,
    Messages,
    CountTokens,
    Page,
    OpenApi,
    Models,
    Model(&'a str),
    StoredResponse(&'a str),
    InputItems(&'a str),
    Live,
    Ready,
    Metrics,
}

impl<'a> Route<'a> {
    fn find(path: &'a str) -> Option<Self> {
        Some(match path {
            "/v1/chat/completions" => Self::Chat,
            "/v1/completions" => Self::Completions,
            "/v1/responses" => Self::Responses,
            "/v1/messages" => Self::Messages,
            "/v1/messages/count_tokens" => Self::CountTokens,
            "/" => Self::Page,
            "/openapi.json" => Self::OpenApi,
            "/v1/models" => Self::Models,
            "/livez" => Self::Live,
            "/readyz" | "/health" => Self::Ready,
            "/metrics" => Self::Metrics,
            // Other paths after this one are not ids: they are routes of OpenAI's.
            path if path.starts_with("/v1/responses/resp_") => {
                let rest = path.strip_prefix("/v1/responses/")?;
                match rest.split_once('/') {
                    None => Self::StoredResponse(rest),
                    Some((id, "input_items")) => Self::InputItems(id),
                    Some(_) => return None,
                }
            }
            path => Self::Model(path.strip_prefix("/v1/models/")?),
        })
    }

    /// The path as metrics name it.
    fn label(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Completions => "/v1/completions",
            Self::Responses => "/v1/responses",
            Self::Messages => "/v1/messages",
            Self::CountTokens => "/v1/messages/count_tokens",
            Self::Page => "/",
            Self::OpenApi => "/openapi.json",
            Self::Models => "/v1/models",
            Self::Model(_) => "/v1/models/{id}",
            Self::StoredResponse(_) => "/v1/responses/{id}",
            Self::InputItems(_) => "/v1/responses/{id}/input_items",
            Self::Live => "/livez",
            Self::Ready => "/readyz",
            Self::Metrics => "/metrics",
        }
    }

    /// Refuses other methods than the route's own.
    fn check(self, method: &Method) -> Result<(), HttpError> {
        match self {
            Self::Chat | Self::Completions | Self::Responses | Self::Messages | Self::CountTokens => match *method {
                Method::POST => Ok(()),
                _ => Err(HttpError::method("POST, OPTIONS")),
            },
            Self::StoredResponse(_) => match *method {
                Method::GET | Method::HEAD | Method::DELETE => Ok(()),
                _ => Err(HttpError::method("GET, HEAD, DELETE, OPTIONS")),
            },
            _ if method == Method::GET || method == Method::HEAD => Ok(()),
            _ => Err(HttpError::method("GET, HEAD, OPTIONS")),
        }
    }

    fn requirement(self) -> Requirement {
        match self {
            Self::Page | Self::Live | Self::Ready => Requirement::Nothing,
            Self::Metrics => Requirement::MetricsKey,
            _ => Requirement::Key,
        }
    }

    fn dialect(self) -> Dialect {
        match self {
            Self::Completions => Dialect::Completions,
            Self::Responses | Self::StoredResponse(_) | Self::InputItems(_) => Dialect::Responses,
            Self::Messages | Self::CountTokens => Dialect::Messages,
            _ => Dialect::Chat,
        }
    }
}

/// Answers any request.
pub(super) async fn handle(service: Arc<Service>, mut request: Request<Incoming>) -> Response<ResponseBody> {
    let path = request.uri().path().to_owned();
    let path = service.settings.hosted.as_ref().map_or(&*path, |hosted| hosted.strip(&path));
    let route = Route::find(path);
    let count = RequestCount::begin(&service.metrics, route.map_or("other", Route::label));
    let request_id = format!("req_{}", id::unique());
    let dialect = route.map_or(Dialect::Chat, Route::dialect);
    let admitted = service.guard.admit(&request);
    let origin = admitted.as_ref().ok().and_then(Option::clone);
    let answered = match admitted {
        Ok(_) => answer(&service, route, &mut request).await,
        Err(error) => Err(error),
    };
    if answered.as_ref().is_err_and(|error| !error.is_body_timeout()) {
        body::discard(&service, &mut request).await;
    }
    let mut response = answered.unwrap_or_else(|error| error_response(&error, dialect, &request_id));
    count.end(response.status());
    add_headers(response.headers_mut(), dialect, &request_id, origin);
    response
}

/// The headers that every response has.
fn add_headers(headers: &mut HeaderMap, dialect: Dialect, request_id: &str, origin: Option<HeaderValue>) {
    if let Ok(id) = HeaderValue::from_str(request_id) {
        if dialect.error_form() == ErrorForm::Anthropic {
            headers.insert("request-id", id.clone());
        }
        headers.insert("x-request-id", id);
    }
    headers.insert(VARY, HeaderValue::from_static("origin"));
    if let Some(origin) = origin {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        let exposed =
            HeaderValue::from_static("request-id, x-request-id, x-ignored-fields, x-served-model, retry-after");
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    }
}

async fn answer(
    service: &Arc<Service>,
    route: Option<Route<'_>>,
    request: &mut Request<Incoming>,
) -> Result<Response<ResponseBody>, HttpError> {
    if request.method() == Method::OPTIONS {
        return Ok(preflight(request.headers()));
    }
    let hosted = service.settings.hosted.as_ref();
    let requirement = route.map_or(Requirement::Key, Route::requirement);
    match (hosted, &service.settings.local_keys) {
        (Some(hosted), _) => hosted.check(requirement, request.headers())?,
        (None, Some(keys)) => keys.check(requirement, request.headers())?,
        (None, None) => {}
    }
    let path = request.uri().path();
    let path = hosted.map_or(path, |hosted| hosted.strip(path));
    let route = route.ok_or_else(|| HttpError::not_found(nothing_at(path)))?;
    route.check(request.method())?;
    match route {
        Route::Chat => generate(service, request, chat::read).await,
        Route::Completions => generate(service, request, completions::read).await,
        Route::Responses => {
            let store = store(service, request);
            generate(service, request, |service, fields| responses::read(service, fields, store)).await
        }
        Route::Messages => generate(service, request, messages::read).await,
        Route::CountTokens => {
            let body = body::read(service, request).await?;
            with_fields(service, body.bytes, messages::count).await
        }
        Route::StoredResponse(id) if request.method() == Method::DELETE => {
            Ok(json_response(&stored::delete(&store(service, request), id)?))
        }
        Route::StoredResponse(id) => {
            let query = request.uri().query().unwrap_or_default();
            Ok(json_response(&stored::retrieve(&store(service, request), id, query)?))
        }
        Route::InputItems(id) => {
            let query = request.uri().query().unwrap_or_default();
            Ok(json_response(&stored::input_items(&store(service, request), id, query)?))
        }
        Route::Page => Ok(page::response()),
        Route::OpenApi => Ok(json_response(&openapi::document(&service.model_id, &service.settings))),
        Route::Models => Ok(json_response(&models::list(service)?)),
        Route::Model(id) => Ok(json_response(&models::find(service, id)?)),
        Route::Live => Ok(json_response(&json!({ "status": "alive" }))),
        Route::Ready if service.admission.is_closed() => Err(HttpError::draining()),
        Route::Ready => match service.download.missing() {
            Some((done, total)) => Ok(downloading(done, total)),
            None => service.runner().map(|_| json_response(&json!({ "status": "ready" }))),
        },
        Route::Metrics => Ok(text_response("text/plain; version=0.0.4", service.metrics.text())),
    }
}

/// The answer of a server that is not ready because its model still arrives.
fn downloading(done: u64, total: u64) -> Response<ResponseBody> {
    let mut response = json_response(&json!({ "status": "downloading", "done": done, "total": total }));
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// The stored responses of the caller.
fn store<T>(service: &Service, request: &Request<T>) -> ResponseStore {
    let caller = match (&service.settings.hosted, &service.settings.local_keys) {
        (Some(hosted), _) => hosted.caller(request.headers()),
        (None, keys) => keys.as_ref().and_then(|keys| keys.caller(request.headers())),
    };
    ResponseStore::new(&service.stored_responses, caller)
}

/// Why nothing is at a path: what its client may have meant.
fn nothing_at(path: &str) -> String {
    let known = |path: &str| Route::find(path).is_some();
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
    ("/v1/embeddings", "embeddings are not supported: this server generates text"),
    ("/v1/audio", "audio is not supported: this server reads and generates text"),
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

/// Reads a request, makes the answer of its dialect, and sends it.
async fn generate(
    service: &Arc<Service>,
    request: &mut Request<Incoming>,
    read: impl FnOnce(&Arc<Service>, RequestFields) -> Result<Answer, HttpError> + Send + 'static,
) -> Result<Response<ResponseBody>, HttpError> {
    let body = body::read(service, request).await?;
    with_fields(service, body.bytes, read).await?.send(body.share).await
}

/// Parses a body and reads its fields. Large bodies take long, and memory many times their size: they are read one after the
/// other, on a thread that answers nothing else; and so are images, which are decoded to count a prompt.
async fn with_fields<T: Send + 'static>(
    service: &Arc<Service>,
    body: Vec<u8>,
    read: impl FnOnce(&Arc<Service>, RequestFields) -> Result<T, HttpError> + Send + 'static,
) -> Result<T, HttpError> {
    let is_small = body.len() <= body::SMALL;
    let parse = move |service: &Arc<Service>| -> Result<RequestFields, HttpError> {
        let mut fields = RequestFields::parse(&body)?;
        content::check_images(&mut fields, service.runner.get())?;
        Ok(fields)
    };
    if !is_small && service.image_fetcher.is_none() {
        return reading(service, false, move |service| read(service, parse(service)?)).await;
    }
    let mut fields = reading(service, is_small, parse).await?;
    // A small file may be a large picture, which takes long to decode.
    let is_quick = is_small && !content::has_images(&fields);
    let Some(fetcher) = service.image_fetcher.as_ref().filter(|_| ImageFetcher::is_needed(&fields)) else {
        return reading(service, is_quick, move |service| read(service, fields)).await;
    };
    let _permit = fetcher.permits.acquire().await.map_err(|_| HttpError::draining())?;
    let fetcher = Arc::clone(fetcher);
    fields = blocking(move || fetcher.fetch_all(&mut fields).map(|()| fields)).await?;
    reading(service, false, move |service| read(service, fields)).await
}

/// Reads a request at once if that is quick, else on a thread that answers nothing else.
async fn reading<T: Send + 'static>(
    service: &Arc<Service>,
    is_quick: bool,
    read: impl FnOnce(&Arc<Service>) -> Result<T, HttpError> + Send + 'static,
) -> Result<T, HttpError> {
    if is_quick {
        return read(service);
    }
    // Held to the end even if the client has disconnected, since reading is not interrupted.
    let lock = Arc::clone(&service.large_body).lock_owned().await;
    let service = Arc::clone(service);
    blocking(move || {
        let _lock = lock;
        read(&service)
    })
    .await
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, HttpError> + Send + 'static,
) -> Result<T, HttpError> {
    spawn_blocking(work).await.unwrap_or_else(|err| match err.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => Err(HttpError::draining()),
    })
}

/// Answers what a browser asks before it lets a page send a request. Whether the page may was decided before.
fn preflight(asked: &HeaderMap) -> Response<ResponseBody> {
    let mut response = text_response("text/plain", String::new());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.remove(CONTENT_TYPE);
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE, OPTIONS"));
    if let Some(names) = asked.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
    }
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}
