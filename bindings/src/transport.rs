//! HTTP by the app's platform: Swift and Kotlin bring a client, so their library contains none.

use std::fmt;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use causerie_hub as hub;
use parking_lot::Mutex;

use crate::error::Result;
use crate::number::SdkCount;

/// Pieces of a body that wait for the disk: more would only fill the memory.
const PIECES_WAITING: usize = 4;

/// A header of a request or of an answer.
#[derive(Clone, PartialEq, uniffi::Record)]
pub struct HttpHeader {
    /// The name, in any case.
    pub name: String,
    /// The value.
    pub value: String,
}

/// A GET request. Its headers may contain a token.
#[derive(Clone, PartialEq, uniffi::Record)]
pub struct HttpRequest {
    /// The whole address.
    pub url: String,
    /// The headers to send.
    pub headers: Vec<HttpHeader>,
}

/// Sends GET requests for a hub.
///
/// Redirects must not be followed, because a token must not reach another server, and content must not be decompressed. All
/// the rest (retries, ranges, digests) is done by the hub.
#[uniffi::export(rust, foreign)]
pub trait HttpTransport: Send + Sync + fmt::Debug {
    /// Begins a request and returns. The answer goes to the sink, from any thread.
    fn send(&self, request: HttpRequest, sink: Arc<HttpSink>) -> Result<()>;
}

/// Receives the answer to one request: its head, the pieces of its body, and its end.
#[derive(uniffi::Object)]
pub struct HttpSink {
    /// None after the end, and after the hub has lost interest.
    sender: Mutex<Option<SyncSender<AnswerPart>>>,
}

enum AnswerPart {
    Head { status: u16, headers: Vec<HttpHeader> },
    Piece(Vec<u8>),
    End,
    Failed { reason: String, is_retryable: bool },
}

impl fmt::Debug for HttpSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSink").field("is_open", &self.is_open()).finish()
    }
}

#[uniffi::export]
impl HttpSink {
    /// Takes the status and the headers, before the body. Returns whether the request is to continue; if not, it must be
    /// cancelled.
    pub fn begin(&self, status: SdkCount, headers: Vec<HttpHeader>) -> bool {
        let status = u16::try_from(status.0).unwrap_or_default();
        self.put(AnswerPart::Head { status, headers })
    }

    /// Takes the next piece of the body, and waits while too many are unwritten. Returns whether the request is to continue;
    /// if not, it must be cancelled.
    pub fn receive(&self, piece: Vec<u8>) -> bool {
        piece.is_empty() && self.is_open() || self.put(AnswerPart::Piece(piece))
    }

    /// Takes the end of the body.
    pub fn finish(&self) {
        self.put(AnswerPart::End);
        self.close();
    }

    /// Takes the failure of the request. It is tried again if that can help, which it cannot if, for example, the server's
    /// certificate is not trusted.
    pub fn fail(&self, reason: String, is_retryable: bool) {
        self.put(AnswerPart::Failed { reason, is_retryable });
        self.close();
    }

    /// Whether the hub still waits for the answer. If not, the request must be cancelled.
    pub fn is_open(&self) -> bool {
        self.sender.lock().is_some()
    }
}

impl HttpSink {
    fn put(&self, part: AnswerPart) -> bool {
        // The lock is not held while the channel is full: closing must not wait.
        let sender = self.sender.lock().clone();
        let is_taken = sender.is_some_and(|sender| sender.send(part).is_ok());
        if !is_taken {
            self.close();
        }
        is_taken
    }

    fn close(&self) {
        self.sender.lock().take();
    }
}

/// The hub's view of the platform's client. Each download has one of its own, so that ending one ends no other.
pub(crate) struct PlatformTransport {
    transport: Arc<dyn HttpTransport>,
    idle_timeout: Duration,
    under_way: Mutex<Vec<Weak<HttpSink>>>,
}

impl PlatformTransport {
    pub(crate) fn new(transport: Arc<dyn HttpTransport>, idle_timeout: Duration) -> Self {
        Self { transport, idle_timeout, under_way: Mutex::default() }
    }

    fn watch(&self, sink: &Arc<HttpSink>) {
        let mut under_way = self.under_way.lock();
        under_way.retain(|sink| 0 < sink.strong_count());
        under_way.push(Arc::downgrade(sink));
    }
}

impl hub::Transport for PlatformTransport {
    fn get(&self, request: &hub::HttpRequest) -> io::Result<hub::HttpResponse> {
        let (sender, parts) = sync_channel(PIECES_WAITING);
        let sink = Arc::new(HttpSink { sender: Mutex::new(Some(sender)) });
        self.watch(&sink);
        let mut headers = vec![HttpHeader { name: "accept-encoding".to_owned(), value: "identity".to_owned() }];
        headers.extend(
            request.headers.iter().map(|(name, value)| HttpHeader { name: (*name).to_owned(), value: value.clone() }),
        );
        let request = HttpRequest { url: request.url.clone(), headers };
        self.transport.send(request, sink.clone()).map_err(|err| io::Error::other(err.to_string()))?;
        let mut body =
            AnswerBody { parts, idle_timeout: self.idle_timeout, sink, piece: Vec::new(), n_read: 0, is_over: false };
        match body.next()? {
            AnswerPart::Head { status, headers } => {
                let headers = headers.into_iter().map(|header| (header.name, header.value)).collect();
                Ok(hub::HttpResponse { status, headers, body: Box::new(body) })
            }
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "the transport must begin an answer with its status")),
        }
    }

    fn interrupt(&self) {
        let under_way = std::mem::take(&mut *self.under_way.lock());
        under_way.iter().filter_map(Weak::upgrade).for_each(|sink| sink.close());
    }
}

/// The body of an answer.
struct AnswerBody {
    parts: Receiver<AnswerPart>,
    idle_timeout: Duration,
    sink: Arc<HttpSink>,
    piece: Vec<u8>,
    n_read: usize,
    is_over: bool,
}

impl AnswerBody {
    /// The next part, which is not a failure.
    fn next(&mut self) -> io::Result<AnswerPart> {
        match self.parts.recv_timeout(self.idle_timeout) {
            Ok(AnswerPart::Failed { reason, is_retryable: true }) => Err(io::Error::other(reason)),
            Ok(AnswerPart::Failed { reason, is_retryable: false }) => {
                Err(io::Error::new(io::ErrorKind::InvalidData, reason))
            }
            Ok(part) => Ok(part),
            Err(RecvTimeoutError::Timeout) => Err(io::Error::new(io::ErrorKind::TimedOut, "no answer in time")),
            Err(RecvTimeoutError::Disconnected) => Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }
}

impl Read for AnswerBody {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.n_read == self.piece.len() && !self.is_over {
            match self.next()? {
                AnswerPart::Piece(piece) => (self.piece, self.n_read) = (piece, 0),
                AnswerPart::End => self.is_over = true,
                _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "an answer must have one status")),
            }
        }
        let rest = &self.piece[self.n_read..];
        let n_bytes = rest.len().min(buffer.len());
        buffer[..n_bytes].copy_from_slice(&rest[..n_bytes]);
        self.n_read += n_bytes;
        Ok(n_bytes)
    }
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        // The platform learns from its next call that nobody waits any more.
        self.sink.close();
    }
}

#[cfg(test)]
mod tests {
    use causerie_hub::Transport as _;

    use super::*;

    /// Answers every request with the same act on a thread of its own.
    struct Acting<F>(F);

    impl<F> fmt::Debug for Acting<F> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Acting")
        }
    }

    impl<F: Fn(&HttpSink) + Clone + Send + Sync + 'static> HttpTransport for Acting<F> {
        fn send(&self, _: HttpRequest, sink: Arc<HttpSink>) -> Result<()> {
            let act = self.0.clone();
            std::thread::spawn(move || act(&sink));
            Ok(())
        }
    }

    fn transport(act: impl Fn(&HttpSink) + Clone + Send + Sync + 'static, idle: Duration) -> PlatformTransport {
        PlatformTransport::new(Arc::new(Acting(act)), idle)
    }

    fn get(transport: &PlatformTransport) -> io::Result<String> {
        let request = hub::HttpRequest { url: "http://hub/".to_owned(), headers: Vec::new() };
        let mut body = String::new();
        transport.get(&request)?.body.read_to_string(&mut body)?;
        Ok(body)
    }

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn a_body_has_all_pieces() {
        let act = |sink: &HttpSink| {
            assert!(sink.begin(SdkCount(200), Vec::new()));
            for _ in 0..100 {
                assert!(sink.receive(b"ab".to_vec()) && sink.receive(Vec::new()));
            }
            sink.finish();
            assert!(!sink.receive(b"c".to_vec()), "nothing is taken after the end");
        };
        assert_eq!(get(&transport(act, LONG)).unwrap(), "ab".repeat(100));
    }

    #[test]
    fn failures_say_whether_trying_again_can_help() {
        for (is_retryable, expect) in [(true, io::ErrorKind::Other), (false, io::ErrorKind::InvalidData)] {
            let act = move |sink: &HttpSink| {
                sink.begin(SdkCount(200), Vec::new());
                sink.receive(b"ab".to_vec());
                sink.fail("broken".to_owned(), is_retryable);
            };
            let err = get(&transport(act, LONG)).unwrap_err();
            assert_eq!((err.kind(), err.to_string()), (expect, "broken".to_owned()));
        }
        let err = get(&transport(|sink| sink.finish(), LONG)).unwrap_err();
        assert_eq!(err.kind(), io::ErrorKind::InvalidData, "an answer without a status");
    }

    #[test]
    fn an_answer_that_does_not_come_is_given_up() {
        let (asked, is_asked) = sync_channel(1);
        let act = move |sink: &HttpSink| asked.send(sink.is_open()).unwrap();
        assert_eq!(get(&transport(act, Duration::ZERO)).unwrap_err().kind(), io::ErrorKind::TimedOut);
        is_asked.recv().unwrap();
    }

    #[test]
    fn an_interrupt_ends_requests_under_way() {
        let (begun, has_begun) = sync_channel(0);
        let transport = transport(
            move |sink| {
                sink.begin(SdkCount(200), Vec::new());
                begun.send(()).unwrap();
            },
            LONG,
        );
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| get(&transport).unwrap_err().kind());
            has_begun.recv().unwrap();
            transport.interrupt();
            assert_eq!(waiting.join().unwrap(), io::ErrorKind::ConnectionAborted);
        });
    }
}
