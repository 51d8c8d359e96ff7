//! From a path to who answers it.

use std::convert::Infallible;
use std::sync::Arc;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ALLOW, CONNECTION,
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderValue, REFERRER_POLICY, RETRY_AFTER, VARY,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value as Json, json};
use tokio::task::spawn_blocking;

use crate::serve::access::{self, Door};
use crate::serve::answer::Answer;
use crate::serve::fault::{Detail, Dialect, Fault};
use crate::serve::fields::Fields;
use crate::serve::metrics::Asked;
use crate::serve::page::{PAGE, Page};
use crate::serve::{Service, body, chat, completions, id, messages, models, openapi, responses};

pub(super) type Body = UnsyncBoxBody<Bytes, Infallible>;

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
            Self::Live => "/livez",
            Self::Ready => "/readyz",
            Self::Metrics => "/metrics",
        }
    }

    /// Refuses other methods than the route's own.
    fn check(self, method: &Method) -> Result<(), Fault> {
        match self {
            Self::Chat | Self::Completions | Self::Responses | Self::Messages | Self::CountTokens => match *method {
                Method::POST => Ok(()),
                _ => Err(Fault::method("POST, OPTIONS")),
            },
            _ if method == Method::GET || method == Method::HEAD => Ok(()),
            _ => Err(Fault::method("GET, HEAD, OPTIONS")),
        }
    }

    /// Who may ask.
    fn door(self) -> Door {
        match self {
            Self::Page | Self::Live | Self::Ready => Door::Open,
            Self::Metrics => Door::Metrics,
            _ => Door::Keyed,
        }
    }

    /// What its requests call the fields of chat completions.
    fn names(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Messages | Self::CountTokens => &messages::NAMES,
            Self::Responses => &responses::NAMES,
            Self::Completions => &[("messages", "prompt")],
            _ => &[],
        }
    }

    /// Whose clients ask.
    fn dialect(self) -> Dialect {
        match self {
            Self::Messages | Self::CountTokens => Dialect::Anthropic,
            _ => Dialect::OpenAi,
        }
    }
}

/// Answers a request, whatever it is.
pub(super) async fn handle(service: Arc<Service>, request: Request<Incoming>) -> Response<Body> {
    let path = request.uri().path().to_owned();
    let hosted = service.settings.hosted.as_ref();
    let route = Route::find(access::strip(hosted, &path));
    let asked = Asked::begin(&service.metrics, route.map_or("other", Route::label));
    let (answered, origin) = match service.guard.admit(&request) {
        Ok(origin) if request.method() == Method::OPTIONS => (Ok(preflight(request.headers())), origin),
        Ok(origin) => match access::admit(hosted, route.map_or(Door::Keyed, Route::door), request.headers()) {
            Ok(()) => (answer(&service, route, request).await, origin),
            Err(fault) => (Err(fault), origin),
        },
        Err(fault) => (Err(fault), None),
    };
    let request_id = format!("req_{}", id::unique());
    let dialect = route.map_or(Dialect::OpenAi, Route::dialect);
    let names = route.map_or(&[][..], Route::names);
    let mut response = answered.unwrap_or_else(|fault| fault_response(&fault.renamed(names), dialect, &request_id));
    asked.end(response.status());
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&request_id) {
        if dialect == Dialect::Anthropic {
            headers.insert("request-id", id.clone());
        }
        headers.insert("x-request-id", id);
    }
    headers.insert(VARY, HeaderValue::from_static("origin"));
    if let Some(origin) = origin {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        let exposed = HeaderValue::from_static("request-id, x-request-id, x-ignored-fields, retry-after");
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    }
    response
}

async fn answer(
    service: &Arc<Service>,
    route: Option<Route<'_>>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Fault> {
    let hosted = service.settings.hosted.as_ref();
    let route = route.ok_or_else(|| Fault::not_found("there is nothing at this path"))?;
    route.check(request.method())?;
    match route {
        Route::Chat => send(service, request, chat::read).await,
        Route::Completions => send(service, request, completions::read).await,
        Route::Responses => {
            let caller = access::caller(hosted, request.headers());
            send(service, request, |service, fields| responses::read(service, fields, caller)).await
        }
        Route::Messages => send(service, request, messages::read).await,
        Route::CountTokens => {
            let body = body::read(service, request).await?;
            Ok(json_response(&understand(service, body.bytes, messages::count).await?))
        }
        Route::Page => Ok(page_response(&PAGE)),
        Route::OpenApi => Ok(json_response(&openapi::document(&service.model_id, hosted))),
        Route::Models => Ok(json_response(&models::list(service)?)),
        Route::Model(id) => Ok(json_response(&models::find(service, id)?)),
        Route::Live => Ok(json_response(&json!({ "status": "alive" }))),
        Route::Ready if service.admission.is_closed() => Err(Fault::draining()),
        Route::Ready => service.runner().map(|_| json_response(&json!({ "status": "ready" }))),
        Route::Metrics => Ok(text_response("text/plain; version=0.0.4", service.metrics.text())),
    }
}

async fn send(
    service: &Arc<Service>,
    request: Request<Incoming>,
    read: impl FnOnce(&Arc<Service>, Fields) -> Result<Answer, Fault> + Send + 'static,
) -> Result<Response<Body>, Fault> {
    // The room for the body is free again when the request has been dealt with.
    let body::Read { bytes, room: _room } = body::read(service, request).await?;
    understand(service, bytes, read).await?.send().await
}

/// Makes of a body what it asks for. For large ones this takes long, and memory many times their size: it is done beside the
/// threads that answer, for one after the other.
async fn understand<T: Send + 'static>(
    service: &Arc<Service>,
    body: Vec<u8>,
    read: impl FnOnce(&Arc<Service>, Fields) -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    if body.len() <= body::SMALL {
        return read(service, Fields::read(&body)?);
    }
    // Held to the end also where the client has gone: what was begun is not broken off.
    let turn = Arc::clone(&service.large).lock_owned().await;
    let service = Arc::clone(service);
    let understood = spawn_blocking(move || {
        let _turn = turn;
        read(&service, Fields::read(&body)?)
    });
    understood.await.unwrap_or_else(|err| match err.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => Err(Fault::draining()),
    })
}

/// What a browser asks before it lets a page send a request. Whether the page may was decided before.
fn preflight(asked: &HeaderMap) -> Response<Body> {
    let mut response = text_response("text/plain", String::new());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.remove(CONTENT_TYPE);
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, OPTIONS"));
    if let Some(names) = asked.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
    }
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}

fn fault_response(fault: &Fault, dialect: Dialect, request_id: &str) -> Response<Body> {
    let mut response = json_response(&fault.json(dialect, Some(request_id)));
    *response.status_mut() = fault.status;
    match fault.detail {
        Detail::RetryAfter(seconds) => drop(response.headers_mut().insert(RETRY_AFTER, seconds.into())),
        Detail::Allow(methods) => drop(response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods))),
        Detail::Tokens { .. } | Detail::None => {}
    }
    if fault.status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Key"));
    }
    if fault.leaves_body() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

pub(super) fn json_response(json: &Json) -> Response<Body> {
    text_response("application/json", json.to_string())
}

fn page_response(page: &'static Page) -> Response<Body> {
    let mut response = text_response("text/html; charset=utf-8", page.html.clone());
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(&page.policy));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

fn text_response(kind: &'static str, text: String) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(text)).boxed_unsync());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
