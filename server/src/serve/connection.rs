//! Connections: accepted, read with a time limit on every wait, and drained at the end.

use std::convert::Infallible;
use std::io;
use std::net::Shutdown;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::serve::dialect::Dialect;
use crate::serve::error::HttpError;
use crate::serve::handle;
use crate::serve::service::{MAX_SESSIONS, Service};
use crate::serve::socket::{ClientSocket, Exchange, reset};

/// Limit on a request's line and headers, and on the bytes of a reply that the client has not read yet.
const MAX_HEADER_BYTES: usize = 64 << 10;
/// Limit on the bytes that the system holds unsent for a client. Without it, the system takes millions of bytes before a write
/// waits, so the outbox would see too late that the client does not read.
#[cfg(any(target_os = "linux", target_os = "android"))]
const UNSENT_BYTES: u32 = 16 << 10;
/// Time for replies that must end to report it to their clients.
const END_TIMEOUT: Duration = Duration::from_secs(1);
/// Connections beyond the limit that are refused at the same time. Further ones are closed without an answer.
const MAX_REFUSALS: usize = 256;
/// Time for a connection that is refused to send its request and to read the answer.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);
/// The pause after the system had no socket left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves connections until `stop` is ready, and drains those that are left.
pub(super) async fn serve(listener: TcpListener, service: Arc<Service>, stop: impl Future<Output = ()>) {
    let mut connections = JoinSet::new();
    let permits = Arc::new(Semaphore::new(service.settings.max_connections.clamp(1, Semaphore::MAX_PERMITS)));
    let refusals = Arc::new(Semaphore::new(MAX_REFUSALS));
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => {
                    if let Ok(permit) = Arc::clone(&permits).try_acquire_owned() {
                        let connection = graceful_connection(socket, Arc::clone(&service));
                        connections.spawn(async move {
                            connection.await;
                            drop(permit);
                        });
                    } else if let Ok(permit) = Arc::clone(&refusals).try_acquire_owned() {
                        connections.spawn(async move {
                            refuse(socket).await;
                            drop(permit);
                        });
                    }
                }
                Err(_) => sleep(ACCEPT_PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
            () = &mut stop => break,
        }
    }
    drop(listener);
    service.admission.close();
    let mut closing = pin!(async {
        while connections.join_next().await.is_some() {}
        let _all = service.sessions.acquire_many(MAX_SESSIONS as u32).await; // as many as there are
    });
    if timeout(service.settings.drain_timeout, &mut closing).await.is_err() {
        service.admission.end_replies();
        // Connections that are left then are dropped with their set.
        let _ = timeout(END_TIMEOUT, closing).await;
    }
}

/// Answers a connection that is one too many with 503, whatever it asks for, and closes it.
async fn refuse(socket: TcpStream) {
    let body = HttpError::too_many_connections().json(Dialect::Chat, None).to_string();
    let head =
        "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\ncontent-type: application/json";
    let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let refused = async {
        // A client may take bytes that come before its request for an error.
        socket.readable().await?;
        // The buffers of a new socket hold more than this.
        socket.try_write(answer.as_bytes())?;
        socket2::SockRef::from(&socket).shutdown(Shutdown::Write)?;
        // The answer would be lost if the socket was closed before all bytes of the request are read.
        let mut rest = [0; 4096];
        loop {
            match socket.try_read(&mut rest) {
                Ok(0) => return Ok::<_, io::Error>(()),
                Err(err) if err.kind() == io::ErrorKind::WouldBlock => socket.readable().await?,
                read => drop(read?),
            }
        }
    };
    let _ = timeout(REFUSAL_TIMEOUT, refused).await;
}

/// One connection and all its requests. An error closes it without another notice to the client. Once no request is taken any more,
/// it ends after the answer under way.
fn graceful_connection(socket: TcpStream, service: Arc<Service>) -> impl Future<Output = ()> + use<> {
    let _ = socket.set_nodelay(true); // events are small, and clients wait for them
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let _ = socket2::SockRef::from(&socket).set_tcp_notsent_lowat(UNSENT_BYTES);
    let (socket, exchange) = (Arc::new(socket), Arc::new(Exchange::default()));
    // Twice the time, so that the error that cuts a reply can still be read.
    let write_limit = service.settings.write_timeout * 2;
    let client = ClientSocket::new(Arc::clone(&socket), write_limit, Arc::clone(&exchange));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(service.settings.header_timeout);
    builder.max_buf_size(MAX_HEADER_BYTES).half_close(true);
    let admission = Arc::clone(&service.admission);
    let answer = service_fn(move |request| {
        let (service, answering) = (Arc::clone(&service), exchange.begin(request.version()));
        async move { Ok::<_, Infallible>(answering.respond(handle::handle(service, request).await)) }
    });
    let connection = builder.serve_connection(TokioIo::new(client), answer).with_upgrades();
    async move {
        let (mut connection, mut end) = (pin!(connection), pin!(admission.requests_must_end()));
        let mut is_ending = false;
        loop {
            tokio::select! {
                biased;
                _ = &mut connection => return,
                () = reset(&socket) => return,
                () = &mut end, if !is_ending => {
                    is_ending = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }
}
