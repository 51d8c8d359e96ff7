//! Sockets: accepted, read with a limit on every wait, and closed in good order at the end.

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

/// Bytes of a request's line and headers; also what waits of a reply for the client to read it.
const MOST_HEADER_BYTES: usize = 64 << 10;
/// For replies whose time is up to tell it to their clients.
const FAREWELL: Duration = Duration::from_secs(1);
/// How long to wait when the system has no more sockets to give.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves connections until `stop` is ready, then those that are left for the drain time.
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
                Err(_) => sleep(PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
            () = &mut stop => break,
        }
    }
    drop(listener);
    service.admission.close();
    let mut closing = pin!(graceful.shutdown());
    if timeout(service.settings.drain_timeout, &mut closing).await.is_err() {
        service.admission.give_up();
        // What is left then goes with the set of connections.
        let _ = timeout(FAREWELL, closing).await;
    }
}

/// One connection, with as many requests as it brings. An error is the client's, who hears of it by the closing.
fn graceful_connection(
    socket: TcpStream,
    service: Arc<Service>,
    graceful: &GracefulShutdown,
) -> impl Future<Output = ()> + use<> {
    let _ = socket.set_nodelay(true); // pieces are small, and awaited
    let stream = WatchedStream { socket, limit: service.settings.write_timeout, stalled: None, refusal: None };
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(service.settings.header_timeout);
    builder.max_buf_size(MOST_HEADER_BYTES);
    let answer = service_fn(move |request| {
        let service = Arc::clone(&service);
        async move { Ok::<_, std::convert::Infallible>(route::handle(service, request).await) }
    });
    let connection = graceful.watch(builder.serve_connection(TokioIo::new(stream), answer));
    async move {
        let _ = connection.await;
    }
}

/// A socket whose writes fail when the other side has not read for too long or has gone, and on which no refusal is without
/// a body.
struct WatchedStream {
    socket: TcpStream,
    limit: Duration,
    /// Runs while a write waits.
    stalled: Option<Pin<Box<Sleep>>>,
    /// What is left to write of a refusal.
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

    /// Writes a refusal to its end.
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
        // Where something stands behind a request, hyper reads no more before the answer is written. Whether the client is
        // still there is looked for here, which also has it told when that changes. It stays hidden only behind bytes that
        // hyper has left in the socket: those of a third request.
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
