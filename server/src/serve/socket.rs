//! A client's socket, for hyper.
//!
//! It watches both directions: writes that take too long fail, requests that could hide another one are refused, and every
//! refusal of hyper's gets a body.
//!
//! A client may shut down its sending side after its request, and still read the answer. Its end of the connection looks the
//! same then as that of a client that is gone; they differ only in what they do with bytes that arrive. So when a client has
//! ended its side, the first byte of what the answer must continue with is sent at once: a client that is gone resets the
//! connection.
//!
//! After an upgrade, another protocol has the bytes: only the limit on writes applies to them.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::{Response, StatusCode, Version};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use crate::serve::framing::{Framing, Refused};
use crate::serve::http::ResponseBody;
use crate::serve::refusal;

/// Bytes that hyper refuses as a part of a head, of a chunk's line and of a trailer. The empty line makes it look at them.
const MALFORMED: &[u8] = b"\0\r\n\r\n";
/// Bytes that are read ahead while a request is answered, to find the end that may follow them.
const READ_AHEAD: usize = 4 << 10;

/// A socket whose writes fail when the client has disconnected or has not read for too long.
pub(super) struct ClientSocket {
    socket: Arc<TcpStream>,
    write_limit: Duration,
    /// Runs while a write waits.
    stalled: Option<Pin<Box<Sleep>>>,
    /// The rest of a refusal that is being written.
    refusal: Option<Bytes>,
    framing: Framing,
    /// Set once a request was refused. Nothing is read any more then.
    refused: Option<Refused>,
    /// What is left of the bytes that hyper gets in place of such a request.
    malformed: &'static [u8],
    /// Bytes that were read while hyper read none.
    ahead: Bytes,
    /// Whether hyper waits for bytes. It finds the end of the client's side itself then.
    is_awaited: bool,
    /// Whether the client has ended its side.
    has_ended: bool,
    exchange: Arc<Exchange>,
    /// Whether the client was sent a byte after the end of its side.
    is_probed: bool,
    /// Bytes of the next response that were sent before it.
    n_sent: usize,
}

impl ClientSocket {
    pub(super) fn new(socket: Arc<TcpStream>, write_limit: Duration, exchange: Arc<Exchange>) -> Self {
        Self {
            socket,
            write_limit,
            stalled: None,
            refusal: None,
            framing: Framing::default(),
            refused: None,
            malformed: MALFORMED,
            ahead: Bytes::new(),
            is_awaited: false,
            has_ended: false,
            exchange,
            is_probed: false,
            n_sent: 0,
        }
    }

    fn poll_receive(&mut self, ctx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.socket.poll_read_ready(ctx))?;
            match self.socket.try_read(into) {
                Err(err) if err.kind() == io::ErrorKind::WouldBlock => {}
                received => {
                    self.has_ended |= matches!(received, Ok(0));
                    return Poll::Ready(received);
                }
            }
        }
    }

    fn poll_send(&mut self, ctx: &mut Context<'_>, slices: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        loop {
            if self.socket.poll_write_ready(ctx)?.is_pending() {
                let limit = self.write_limit;
                let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(limit)));
                ready!(stalled.as_mut().poll(ctx));
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            match self.socket.try_write_vectored(slices) {
                Err(err) if err.kind() == io::ErrorKind::WouldBlock => {}
                sent => {
                    self.stalled = None;
                    return Poll::Ready(sent);
                }
            }
        }
    }

    /// Writes the rest of a refusal.
    fn poll_refusal(&mut self, ctx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(left) = self.refusal.take().filter(|left| !left.is_empty()) {
            let sent = self.poll_send(ctx, &[io::IoSlice::new(&left)]);
            let n_bytes = if let Poll::Ready(Ok(n_bytes)) = sent { n_bytes } else { 0 };
            self.refusal = Some(left.slice(n_bytes..));
            if ready!(sent)? == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Gives hyper bytes that it refuses, and nothing after them.
    fn refuse(&mut self, buf: &mut ReadBuf<'_>) {
        let (now, later) = self.malformed.split_at(self.malformed.len().min(buf.remaining()));
        buf.put_slice(now);
        self.malformed = later;
    }

    /// Checks whether the client is still connected while its request is answered, when hyper does not read. Has the task
    /// woken when that changes. Bytes of further requests may hide the end.
    fn watch_client(&mut self, ctx: &mut Context<'_>) -> io::Result<()> {
        while !self.is_awaited && !self.has_ended {
            let seen = if self.ahead.is_empty() {
                let mut bytes = [0; READ_AHEAD];
                let received = self.poll_receive(ctx, &mut bytes);
                if let Poll::Ready(Ok(n_bytes)) = received {
                    self.ahead = Bytes::copy_from_slice(&bytes[..n_bytes]);
                }
                received
            } else {
                match self.socket.poll_peek(ctx, &mut ReadBuf::new(&mut [0])) {
                    Poll::Ready(Ok(n_bytes)) if 0 < n_bytes => return Ok(()),
                    peeked => peeked,
                }
            };
            match seen {
                Poll::Ready(Ok(n_bytes)) => self.has_ended = n_bytes == 0,
                Poll::Ready(Err(err)) => return Err(err),
                Poll::Pending => return Ok(()),
            }
        }
        if self.has_ended { self.probe(ctx) } else { Ok(()) }
    }

    /// Sends a client that has ended its side the first byte of what its answer must continue with.
    fn probe(&mut self, ctx: &mut Context<'_>) -> io::Result<()> {
        let Some(awaited) = self.exchange.awaited().filter(|_| !self.is_probed) else { return Ok(()) };
        // Elsewhere, no event reports a reset after the end.
        if !cfg!(unix) {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        let byte = match awaited {
            Awaited::Head => b"H",   // of HTTP/1.1
            Awaited::Chunk => b"0",  // before the size of a chunk
            Awaited::Event => b"\n", // an empty line between two events
        };
        match self.poll_send(ctx, &[io::IoSlice::new(byte)]) {
            Poll::Ready(sent) => {
                self.is_probed = 0 < sent?;
                self.n_sent = usize::from(self.is_probed && awaited == Awaited::Head);
                Ok(())
            }
            Poll::Pending => Ok(()),
        }
    }
}

/// Waits until the client has reset the connection.
pub(super) async fn reset(socket: &TcpStream) {
    while socket.ready(Interest::ERROR).await.is_ok_and(|ready| !ready.is_error()) {}
}

impl AsyncRead for ClientSocket {
    fn poll_read(mut self: Pin<&mut Self>, ctx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.refused.is_some() {
            self.refuse(buf);
            return Poll::Ready(Ok(()));
        }
        let n_before = buf.filled().len();
        self.is_awaited = false;
        if !self.ahead.is_empty() {
            let n_bytes = self.ahead.len().min(buf.remaining());
            buf.put_slice(&self.ahead.split_to(n_bytes));
        } else if !self.has_ended {
            let received = self.poll_receive(ctx, buf.initialize_unfilled());
            self.is_awaited = received.is_pending();
            buf.advance(ready!(received)?);
        }
        if !self.exchange.is_upgraded()
            && let Some((n_good, reason)) = self.framing.follow(&buf.filled()[n_before..])
        {
            self.refused = Some(reason);
            buf.set_filled(n_before + n_good);
            self.refuse(buf);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ClientSocket {
    fn poll_write(self: Pin<&mut Self>, ctx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(ctx, &[io::IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        ctx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = slices.first().map_or(&[][..], |slice| slice);
        if self.refusal.is_none()
            && !self.exchange.is_upgraded()
            && let [_] = slices
            && let Some(whole) = refusal::with_body(first, self.refused)
        {
            self.refusal = Some(whole.slice(std::mem::take(&mut self.n_sent)..));
        }
        if self.refusal.is_some() {
            return self.poll_refusal(ctx).map_ok(|()| first.len());
        }
        match self.n_sent.min(first.len()) {
            0 => self.poll_send(ctx, slices),
            n_sent => {
                let sent = ready!(self.poll_send(ctx, &[io::IoSlice::new(&first[n_sent..])]))?;
                self.n_sent = 0;
                Poll::Ready(Ok(n_sent + sent))
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // hyper has written all it has, so the next byte begins a response, or a chunk.
        Poll::Ready(self.watch_client(ctx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(socket2::SockRef::from(&*self.socket).shutdown(std::net::Shutdown::Write))
    }
}

/// What the client of a connection waits for.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    awaited: Mutex<Option<Awaited>>,
    /// Set once the connection was upgraded to another protocol.
    is_upgraded: AtomicBool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    /// A response.
    Head,
    /// The next chunk of a stream.
    Chunk,
    /// The next event of a stream without chunks, for a client of HTTP/1.0.
    Event,
}

impl Exchange {
    /// A request has arrived.
    pub(super) fn begin(self: &Arc<Self>, version: Version) -> Answering {
        self.set(Some(Awaited::Head));
        Answering { exchange: Arc::clone(self), version }
    }

    fn awaited(&self) -> Option<Awaited> {
        *self.awaited.lock()
    }

    fn set(&self, awaited: Option<Awaited>) {
        *self.awaited.lock() = awaited;
    }

    fn is_upgraded(&self) -> bool {
        self.is_upgraded.load(Ordering::Relaxed)
    }
}

/// An answer under way. Once it is dropped, the client waits for nothing.
pub(super) struct Answering {
    exchange: Arc<Exchange>,
    version: Version,
}

impl Answering {
    /// The response has begun.
    pub(super) fn respond(self, response: Response<ResponseBody>) -> Response<AnswerBody> {
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            self.exchange.is_upgraded.store(true, Ordering::Relaxed);
        }
        // A body of a known size is written at once.
        let answering = response.body().size_hint().exact().is_none().then_some(self);
        if let Some(Self { exchange, version }) = &answering {
            exchange.set(Some(if *version == Version::HTTP_11 { Awaited::Chunk } else { Awaited::Event }));
        }
        response.map(|body| AnswerBody { body, _answering: answering })
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.exchange.set(None);
    }
}

/// The body of an answer. It is dropped once it was written.
pub(super) struct AnswerBody {
    body: ResponseBody,
    _answering: Option<Answering>,
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(ctx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
