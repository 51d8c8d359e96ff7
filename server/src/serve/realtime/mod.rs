//! `GET /v1/realtime`: conversations by events over a WebSocket, in which the user speaks whenever they want.
//!
//! [`handshake`] upgrades the connection, and [`socket`] carries events between it and a [`session`]. The session keeps the items of
//! the conversation; each [`response`] is a reply to the history that they make. Sound waits in an [`input`] buffer until the client
//! commits it, or until [`turns`] finds the end of a turn.

mod events;
mod format;
mod handshake;
mod input;
mod items;
mod response;
mod session;
mod settings;
mod socket;
mod transcripts;
mod turns;

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Request, Response};
use percent_encoding::percent_decode_str;

use crate::serve::error::HttpError;
use crate::serve::http::ResponseBody;
use crate::serve::models;
use crate::serve::service::Service;
use session::Session;

/// Upgrades a connection to a session.
pub(super) fn accept(
    service: &Arc<Service>,
    request: &mut Request<Incoming>,
) -> Result<Response<ResponseBody>, HttpError> {
    let (response, upgrade) = handshake::accept(request)?;
    let query = Query::read(request.uri().query().unwrap_or_default());
    if !query.is_transcription {
        models::check(service, query.model.as_deref())?;
    }
    let session = Session::new(service, query.is_transcription)?;
    let permit = Arc::clone(&service.sessions).try_acquire_owned().map_err(|_| HttpError::too_many_connections())?;
    let service = Arc::clone(service);
    tokio::spawn(async move {
        // It fails if the client left before the response.
        if let Ok(upgraded) = upgrade.await {
            socket::run(upgraded, session, &service).await;
        }
        drop(permit);
    });
    Ok(response)
}

/// What the address of a session says.
#[derive(Debug, Default, PartialEq)]
struct Query {
    model: Option<String>,
    is_transcription: bool,
}

impl Query {
    fn read(query: &str) -> Self {
        let mut read = Self::default();
        for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            match name {
                "model" => read.model = Some(percent_decode_str(value).decode_utf8_lossy().into_owned()),
                "intent" => read.is_transcription = value == "transcription",
                _ => {}
            }
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_names_the_model_and_the_intent() {
        let query = |model: Option<&str>, is_transcription| Query { model: model.map(str::to_owned), is_transcription };
        assert_eq!(Query::read("model=causerie%2Fdemo"), query(Some("causerie/demo"), false));
        assert_eq!(Query::read("intent=transcription&model=m&x"), query(Some("m"), true));
        assert_eq!(Query::read("model=my%20model%3AQ8_0"), query(Some("my model:Q8_0"), false));
        assert_eq!(Query::read(""), query(None, false));
    }
}
