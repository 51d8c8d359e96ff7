//! Connections: accepted, read with a time limit on every wait, and drained at the end.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::serve::socket::{ClientSocket, Exchange, reset};
use crate::serve::{Service, route};

/// Limit on a request's line and headers, and on the bytes of a reply that the client has not read yet.
const MAX_HEADER_BYTES: usize = 64 << 10;
/// Limit on the bytes that the system holds unsent for a client. Without it, the system takes millions of bytes before a write
/// waits, so the outbox would see too late that the client does not read.
#[cfg(any(target_os = "linux", target_os = "android"))]
const UNSENT_BYTES: u32 = 16 << 10;
/// Time for replies that must end to report it to their clients.
const END_TIMEOUT: Duration = Duration::from_secs(1);
/// The pause after the system had no socket left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves connections until `stop` is ready, and drains those that are left.
pub(super) async fn serve(listener: TcpListener, service: Arc<Service>, stop: impl Future<Output = ()>) {
    let (mut connections, graceful) = (JoinSet::new(), GracefulShutdown::new());
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => {
                    let service = Arc::clone(&service);
                    connections.spawn(graceful_connection(socket, service, &graceful));
                }
                Err(_) => sleep(ACCEPT_PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
            () = &mut stop => break,
        }
    }
    drop(listener);
    service.admission.close();
    let mut closing = pin!(graceful.shutdown());
    if timeout(service.settings.drain_timeout, &mut closing).await.is_err() {
        service.admission.end_replies();
        // Connections that are left then are dropped with their set.
        let _ = timeout(END_TIMEOUT, closing).await;
    }
}

/// One connection and all its requests. An error closes it, which is what the client sees of it.
fn graceful_connection(
    socket: TcpStream,
    service: Arc<Service>,
    graceful: &GracefulShutdown,
) -> impl Future<Output = ()> + use<> {
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
    let answer = service_fn(move |request| {
        let (service, answering) = (Arc::clone(&service), exchange.begin(request.version()));
        async move { Ok::<_, Infallible>(answering.respond(route::handle(service, request).await)) }
    });
    let connection = graceful.watch(builder.serve_connection(TokioIo::new(client), answer));
    async move {
        tokio::select! {
            biased;
            _ = connection => {}
            () = reset(&socket) => {}
        }
    }
}
