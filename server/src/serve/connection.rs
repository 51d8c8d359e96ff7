//! Sockets: accepted, read with a time limit on every wait, and drained at the end.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::Bytes;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep, timeout};

use crate::serve::{Service, refusal, route};

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
    // Twice the time, so that the error that cuts a reply can still be read.
    let stream = WatchedStream { socket, limit: service.settings.write_timeout * 2, stalled: None, refusal: None };
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(service.settings.header_timeout);
    builder.max_buf_size(MAX_HEADER_BYTES);
    let answer = service_fn(move |request| {
        let service = Arc::clone(&service);
        async move { Ok::<_, std::convert::Infallible>(route::handle(service, request).await) }
    });
    let connection = graceful.watch(builder.serve_connection(TokioIo::new(stream), answer));
    async move {
        let _ = connection.await;
    }
}

/// A socket whose writes fail when the client has disconnected or has not read for too long, and which gives every refusal a
/// body.
struct WatchedStream {
    socket: TcpStream,
    limit: Duration,
    /// Runs while a write waits.
    stalled: Option<Pin<Box<Sleep>>>,
    /// The rest of a refusal that is being written.
    refusal: Option<Bytes>,
}

impl WatchedStream {
    fn watch<T>(&mut self, ctx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let limit = self.limit;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(limit)));
        ready!(stalled.as_mut().poll(ctx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Writes the rest of a refusal.
    fn poll_refusal(&mut self, ctx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(left) = self.refusal.take().filter(|left| !left.is_empty()) {
            let written = Pin::new(&mut self.socket).poll_write(ctx, &left);
            let n_bytes = if let Poll::Ready(Ok(n_bytes)) = written { n_bytes } else { 0 };
            self.refusal = Some(left.slice(n_bytes..));
            if ready!(self.watch(ctx, written))? == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for WatchedStream {
    fn poll_read(mut self: Pin<&mut Self>, ctx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(ctx, buf)
    }
}

impl AsyncWrite for WatchedStream {
    fn poll_write(mut self: Pin<&mut Self>, ctx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.refusal.is_none() {
            self.refusal = refusal::with_body(bytes);
        }
        if self.refusal.is_some() {
            return self.poll_refusal(ctx).map_ok(|()| bytes.len());
        }
        let written = Pin::new(&mut self.socket).poll_write(ctx, bytes);
        self.watch(ctx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        ctx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let [bytes] = slices {
            return self.poll_write(ctx, bytes);
        }
        let written = Pin::new(&mut self.socket).poll_write_vectored(ctx, slices);
        self.watch(ctx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Once a second request has arrived, hyper reads nothing until the answer is written. So this checks whether the
        // client is still connected, and registers to be woken when that changes. Bytes that hyper has left in the socket,
        // those of a third request, hide it.
        let mut next = [0];
        match self.socket.poll_peek(ctx, &mut ReadBuf::new(&mut next)) {
            Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into())),
            Poll::Ready(Err(err)) => return Poll::Ready(Err(err)),
            Poll::Ready(Ok(_)) | Poll::Pending => {}
        }
        Pin::new(&mut self.socket).poll_flush(ctx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(ctx)
    }
}
