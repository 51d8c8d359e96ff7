//! A session's WebSocket: events in and out, with limits on their size and on every wait.

use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::time::{Instant, interval_at, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::CapacityError;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Bytes, Error, Message};

use crate::serve::realtime::response::{ActiveResponse, ResponseOutput};
use crate::serve::realtime::session::Session;
use crate::serve::service::Service;

/// Bytes of an event at most: more than two minutes of sound.
const MAX_EVENT: usize = 8 << 20;
/// Pings without an answer after which a client is gone.
const MAX_UNANSWERED: usize = 3;

/// Carries the events of a session until one of the two ends it.
pub(super) async fn run(upgraded: Upgraded, mut session: Session, service: &Arc<Service>) {
    let config = WebSocketConfig::default().max_message_size(Some(MAX_EVENT)).max_frame_size(Some(MAX_EVENT));
    let mut socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await;
    let reason = carry(&mut socket, &mut session, service).await;
    drop(session); // its reply ends now
    if let Some((code, reason)) = reason {
        let frame = CloseFrame { code, reason: reason.into() };
        let _ = timeout(service.settings.write_timeout, socket.close(Some(frame))).await;
    }
    // The answer to the close of a client is still to be written.
    let _ = timeout(service.settings.write_timeout, socket.flush()).await;
}

/// Why a session is closed by the server; `None` if the client has left.
type Closing = Option<(CloseCode, &'static str)>;

async fn carry(
    socket: &mut WebSocketStream<TokioIo<Upgraded>>,
    session: &mut Session,
    service: &Arc<Service>,
) -> Closing {
    let keep_alive = service.settings.keep_alive.max(std::time::Duration::from_millis(1));
    let mut pings = interval_at(Instant::now() + keep_alive, keep_alive);
    let mut n_unanswered = 0;
    loop {
        for event in session.events.drain(..) {
            let sent = timeout(service.settings.write_timeout, socket.send(Message::text(event))).await;
            sent.ok()?.ok()?;
        }
        let is_idle = session.response.is_none();
        tokio::select! {
            message = socket.next() => {
                n_unanswered = 0;
                match message? {
                    Ok(Message::Text(text)) => session.receive(&text),
                    Ok(Message::Binary(_)) => session.refuse("an event must be a text message with an object of JSON"),
                    Ok(Message::Close(_)) => return None,
                    Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => {}
                    Err(Error::Capacity(CapacityError::MessageTooLong { .. })) => {
                        return Some((CloseCode::Size, "an event must have at most 8388608 bytes"));
                    }
                    Err(Error::Utf8(_)) => return Some((CloseCode::Invalid, "an event must be UTF-8")),
                    Err(Error::Protocol(_)) => return Some((CloseCode::Protocol, "frames must follow RFC 6455")),
                    Err(_) => return None,
                }
            }
            output = next(&mut session.response) => session.follow_response(output),
            transcribed = session.transcripts.next() => session.transcribed(transcribed),
            _ = pings.tick() => {
                n_unanswered += 1;
                if MAX_UNANSWERED < n_unanswered {
                    return None;
                }
                timeout(service.settings.write_timeout, socket.send(Message::Ping(Bytes::new()))).await.ok()?.ok()?;
            }
            () = service.admission.requests_must_end(), if is_idle => return Some((CloseCode::Away, "the server is about to stop")),
            () = service.admission.replies_must_end() => return Some((CloseCode::Away, "the server is about to stop")),
        }
    }
}

/// What the response under way does next.
async fn next(response: &mut Option<ActiveResponse>) -> ResponseOutput {
    let Some(active) = response else { return std::future::pending().await };
    match active.next().await {
        Some(event) => active.follow(event),
        None => ResponseOutput { has_ended: true, ..ResponseOutput::default() }, // it ended without a last event
    }
}
