//! The HTTP service: chat completions and their relatives, as the usual clients speak them.
//!
//! A thin layer: each request becomes a conversation made from its messages, is answered, and is forgotten. Only
//! `response_store` and `spoken_replies` keep replies for a while, for requests that continue from one. The runner's prefix cache makes the next
//! turn cheap.
//!
//! A request goes one way through the modules:
//!
//! 1. `connection` reads it from a `socket`, with time limits; `framing` finds where it ends.
//! 2. `handle` checks host, origin and key (`guard`, `crate::access`) and finds the handler in `routes`; `intake` reads the
//!    `body`, finds its images, and fetches those that are named by addresses (`remote_images`).
//! 3. The handler of its dialect, `chat`, `completions`, `messages` or `responses`, takes its fields (`request::fields`) into
//!    structs, and makes of them the one internal form, `request::ChatRequest`. Names of other dialects and servers are
//!    taken after its own (`request::foreign`).
//! 4. `admission` gives it a permit.
//! 5. `answer` pulls the replies, and the writer of the dialect writes their events, whole or as a stream (`http`). The
//!    events of a stream wait for their client in an `answer::outbox`.
//!
//! `realtime` is apart: a WebSocket, over which one client has one conversation.
//!
//! To add a field to a dialect, add it to a struct of its handler: the OpenAPI document comes from the same structs.

mod admission;
mod answer;
mod audio;
mod body;
mod chat;
mod completions;
mod connection;
mod dialect;
mod encoding;
mod error;
mod framing;
mod guard;
mod handle;
mod http;
mod id;
mod intake;
mod messages;
mod metrics;
mod models;
mod openapi;
mod page;
mod realtime;
mod refusal;
mod remote_images;
mod request;
mod response_store;
mod responses;
mod routes;
mod socket;
mod spoken_replies;

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use causerie::ModelRunner;
use causerie::transcribe::Transcriber;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, Semaphore};

use crate::access::{Hosted, LocalKeys};
use admission::Admission;
use audio::ServedTranscriber;
use error::HttpError;
use guard::Guard;
pub use guard::check_origin;
use metrics::Metrics;
use remote_images::ImageFetcher;
use response_store::StoredResponses;
use spoken_replies::StoredSpeech;

/// Limits and permissions of a server. `Settings::default()` is what `causerie serve` uses.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Requests that are answered at the same time. Default 4.
    pub slots: usize,
    /// Requests that wait; further ones are refused with 429. Default 64.
    pub queue: usize,
    /// Limit on a request's body in bytes. Default 32 MiB. The bodies that arrive and the bodies of the requests that wait have
    /// eight times as much together, beyond the first 64 KiB of each.
    pub max_body: usize,
    /// Connections at the same time; further ones are answered with 503. Default 2,048.
    pub max_connections: usize,
    /// Time from the start of a connection, or the end of its last request, to the end of the next headers. Default 30 s.
    pub header_timeout: Duration,
    /// Time from the headers to the end of the body. Default 30 s.
    pub body_timeout: Duration,
    /// Time that a client may leave written bytes unread. Default 30 s.
    pub write_timeout: Duration,
    /// Interval of the comments that keep a silent stream alive. Default 10 s.
    pub keep_alive: Duration,
    /// Time that running replies have after the server was asked to stop. Default 30 s.
    pub drain_timeout: Duration,
    /// Host names, besides loopback ones, that a server on a loopback address answers to.
    pub allowed_hosts: Vec<String>,
    /// Origins, besides loopback ones, whose pages may use the server: `https://example.org`, or `app://*` for all of a
    /// scheme. What [`check_origin`] refuses matches nothing.
    pub allowed_origins: Vec<String>,
    /// Hosts whose images are fetched for requests that name them by address: `images.example.org`, or with a port. They must
    /// have public addresses. Default empty: a request contains its images.
    pub image_hosts: Vec<String>,
    /// How long a sound may last. Default 1 hour.
    pub max_sound: Duration,
    /// Refuses requests with unknown fields, instead of listing the fields in the response's `x-ignored-fields`.
    pub strict_fields: bool,
    /// Refuses requests for another model than the one served, or for none, instead of naming the model in the response's
    /// `x-served-model`.
    pub strict_model: bool,
    /// Base path and keys of a hosted server. Default `None`: a local server.
    pub hosted: Option<Hosted>,
    /// Keys of a local server, of which each request needs one. Default `None`: everyone who reaches it may use it.
    pub local_keys: Option<LocalKeys>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            slots: 4,
            queue: 64,
            max_body: 32 << 20,
            max_connections: 2048,
            header_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            keep_alive: Duration::from_secs(10),
            drain_timeout: Duration::from_secs(30),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            image_hosts: Vec::new(),
            max_sound: Duration::from_secs(3_600),
            strict_fields: false,
            strict_model: false,
            hosted: None,
            local_keys: None,
        }
    }
}

/// A model served at an address.
///
/// ```no_run
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use causerie_server::serve::{Server, Settings};
///
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
/// let server = Server::new(listener, "causerie/demo", Settings::default())?;
/// let model = async { causerie::ModelRunner::load("models/demo.gguf") };
/// server.run(model, std::future::pending()).await?;
/// # Ok(())
/// # }
/// ```
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    service: Arc<Service>,
}

/// How far the download of a server's model is. While it is reported, `/readyz` answers with it.
#[derive(Debug, Default)]
pub struct DownloadGauge {
    done: AtomicU64,
    total: AtomicU64,
}

impl DownloadGauge {
    /// Reports the bytes downloaded so far, and the bytes of the whole model.
    ///
    /// ```
    /// let gauge = causerie_server::serve::DownloadGauge::default();
    /// gauge.report(10, 100);
    /// ```
    pub fn report(&self, done: u64, total: u64) {
        self.total.store(total, Ordering::Relaxed);
        self.done.store(done, Ordering::Relaxed);
    }

    /// The bytes downloaded so far and the bytes of the model; `None` if nothing is being downloaded.
    fn missing(&self) -> Option<(u64, u64)> {
        let (done, total) = (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed));
        (done < total).then_some((done, total))
    }
}

/// The state that all requests share.
struct Service {
    /// Set once the model is loaded.
    runner: OnceLock<ModelRunner>,
    /// Set before the server runs, if there is one.
    transcriber: OnceLock<ServedTranscriber>,
    download: Arc<DownloadGauge>,
    model_id: String,
    /// When the server started, in seconds since 1970.
    created: u64,
    settings: Settings,
    guard: Guard,
    admission: Arc<Admission>,
    metrics: Arc<Metrics>,
    /// Held while a large body is parsed and read.
    large_body: Arc<Mutex<()>>,
    /// The memory budget of the bodies that arrive and of the requests that wait.
    body_budget: Arc<Semaphore>,
    stored_responses: Arc<parking_lot::Mutex<StoredResponses>>,
    /// Permits for realtime sessions.
    sessions: Arc<Semaphore>,
    stored_speech: Arc<parking_lot::Mutex<StoredSpeech>>,
    /// `None` if no addresses of images are fetched.
    image_fetcher: Option<Arc<ImageFetcher>>,
}

impl Service {
    fn new(model_id: impl Into<String>, is_loopback: bool, settings: Settings) -> Self {
        let admission = Arc::new(Admission::new(settings.slots, settings.queue));
        Self {
            runner: OnceLock::new(),
            transcriber: OnceLock::new(),
            download: Arc::default(),
            model_id: model_id.into(),
            created: id::now(),
            guard: Guard::new(is_loopback, &settings),
            metrics: Arc::new(Metrics::new(Arc::clone(&admission))),
            admission,
            large_body: Arc::default(),
            body_budget: Arc::new(body::memory_budget(settings.max_body)),
            stored_responses: Arc::default(),
            sessions: Arc::new(Semaphore::new(realtime::MAX_SESSIONS)),
            stored_speech: Arc::default(),
            image_fetcher: (!settings.image_hosts.is_empty())
                .then(|| Arc::new(ImageFetcher::new(&settings.image_hosts, settings.max_body))),
            settings,
        }
    }

    fn runner(&self) -> Result<&ModelRunner, HttpError> {
        self.runner.get().ok_or_else(HttpError::loading)
    }
}

impl Server {
    /// Creates a server for one model, which clients call `model_id`.
    ///
    /// # Errors
    /// When the listener has no address.
    pub fn new(listener: TcpListener, model_id: impl Into<String>, settings: Settings) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let service = Service::new(model_id, address.ip().is_loopback(), settings);
        Ok(Self { listener, address, service: Arc::new(service) })
    }

    /// Serves a model that transcribes as well, which clients call `id`. The first one counts.
    ///
    /// ```no_run
    /// # async fn run(server: causerie_server::serve::Server) -> causerie::Result<()> {
    /// use causerie::transcribe::Transcriber;
    /// let server = server.with_transcriber("whisper-base", Transcriber::load("whisper-base")?);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_transcriber(self, id: impl Into<String>, transcriber: Transcriber) -> Self {
        let _ = self.service.transcriber.set(ServedTranscriber { id: id.into(), transcriber });
        self
    }

    /// The address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where a download of the model is reported while [`run`](Self::run) waits for the model.
    pub fn download_gauge(&self) -> Arc<DownloadGauge> {
        Arc::clone(&self.service.download)
    }

    /// Serves until `stop` is ready. Then new connections are refused, requests in the queue are answered with 503, and
    /// running replies have [`Settings::drain_timeout`] to end. Until `model` is loaded, the server is alive but not ready:
    /// requests that need the model are answered with 503.
    ///
    /// # Errors
    /// When `model` fails.
    pub async fn run<E>(
        self,
        model: impl Future<Output = Result<ModelRunner, E>>,
        stop: impl Future<Output = ()>,
    ) -> Result<(), E> {
        let service = Arc::clone(&self.service);
        let mut loading = pin!(async move {
            match model.await {
                Ok(runner) => {
                    let _ = service.runner.set(runner); // nobody else sets it
                    std::future::pending().await
                }
                Err(err) => err,
            }
        });
        tokio::select! {
            // First, so that requests after the model is loaded find it.
            biased;
            err = &mut loading => Err(err),
            () = connection::serve(self.listener, self.service, stop) => Ok(()),
        }
    }
}
