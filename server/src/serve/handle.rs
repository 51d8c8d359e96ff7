//! One request, from its path to its answer: whether it may pass, which handler answers it, and the headers of the response.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, CONTENT_TYPE, HeaderMap,
    HeaderValue, VARY,
};
use hyper::{Method, Request, Response, StatusCode};

use crate::access::Requirement;
use crate::serve::dialect::{Dialect, ErrorForm};
use crate::serve::error::HttpError;
use crate::serve::http::{ResponseBody, error_response, text_response};
use crate::serve::metrics::RequestCount;
use crate::serve::response_store::ResponseStore;
use crate::serve::routes::{self, Lookup, Route, RouteHandler};
use crate::serve::service::Service;
use crate::serve::{audio, body, id, intake, realtime};

/// Answers any request.
pub(super) async fn handle(service: Arc<Service>, mut request: Request<Incoming>) -> Response<ResponseBody> {
    let path = request.uri().path().to_owned();
    let path = service.settings.hosted.as_ref().map_or(&*path, |hosted| hosted.strip(&path));
    let route = routes::find(path);
    let count = RequestCount::begin(&service.metrics, route.map_or("other", |(route, _)| route.path));
    let request_id = format!("req_{}", id::unique());
    let dialect = route.map_or(Dialect::Chat, |(route, _)| route.dialect);
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
    route: Option<(&Route, &str)>,
    request: &mut Request<Incoming>,
) -> Result<Response<ResponseBody>, HttpError> {
    if request.method() == Method::OPTIONS {
        return Ok(preflight(request.headers()));
    }
    let hosted = service.settings.hosted.as_ref();
    let requirement = route.map_or(Requirement::Key, |(route, _)| route.requirement);
    match (hosted, &service.settings.local_keys) {
        (Some(hosted), _) => hosted.check(requirement, request.headers())?,
        (None, Some(keys)) => keys.check(requirement, request.headers())?,
        (None, None) => {}
    }
    let path = request.uri().path();
    let path = hosted.map_or(path, |hosted| hosted.strip(path));
    let (route, id) = route.ok_or_else(|| HttpError::not_found(routes::nothing_at(path)))?;
    route.check(request.method())?;
    let store = store(service, request);
    match route.handler {
        RouteHandler::Reply(read) => {
            let read = move |service: &_, fields| read(service, fields, store);
            let (answer, share) = intake::receive(service, request, read).await?;
            answer.send(share).await
        }
        RouteHandler::Count(count) => Ok(intake::receive(service, request, count).await?.0),
        RouteHandler::Compute(read) => {
            let (answer, share) = intake::receive(service, request, read).await?;
            answer.send(share).await
        }
        RouteHandler::Speak(read) => {
            let (answer, share) = intake::receive(service, request, read).await?;
            answer.send(share).await
        }
        RouteHandler::Transcribe(task) => audio::transcribe(service, request, task).await,
        RouteHandler::Realtime => realtime::accept(service, request),
        RouteHandler::LookUp(look_up) => {
            let (method, query) = (request.method(), request.uri().query().unwrap_or_default());
            look_up(&Lookup { service, method, id, query, store })
        }
    }
}

/// The stored responses of the caller.
fn store<T>(service: &Service, request: &Request<T>) -> ResponseStore {
    let caller = match (&service.settings.hosted, &service.settings.local_keys) {
        (Some(hosted), _) => hosted.caller(request.headers()),
        (None, keys) => keys.as_ref().and_then(|keys| keys.caller(request.headers())),
    };
    ResponseStore::new(&service.stored_responses, caller)
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
