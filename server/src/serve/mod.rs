//! The HTTP service: chat completions and their relatives, as the usual clients speak them.
//!
//! A thin door: each request becomes a conversation made from its messages, is answered, and is forgotten; only `recent`
//! keeps responses for a while, for requests that go on from one. What makes the next turn cheap is the runner's own prefix cache.
//!
//! Follow a request: `connection` reads it from a socket with a time limit on everything, `guard` looks at its host
//! and origin, `access` at its key, `route` finds who answers it, `body` and `fields` read its JSON, `chat` or `completions` make
//! replies of it, `admission` gives it a slot, and `answer` writes the replies, whole or as a stream. `messages` and
//! `responses` tell requests of other forms as ones of chat completions; their replies are written in their own form.

mod access;
mod admission;
mod answer;
mod body;
mod chat;
mod completions;
mod connection;
mod demands;
mod fault;
mod fields;
mod guard;
mod id;
pub mod keys;
mod messages;
mod metrics;
mod models;
mod openapi;
mod options;
mod page;
mod recent;
mod refusal;
mod responses;
mod route;

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use causerie::ModelRunner;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, Semaphore};

pub use access::{Auth, BasePath, Hosted};
use admission::Admission;
use fault::Fault;
use guard::Guard;
pub use guard::check_origin;
use metrics::Metrics;
use recent::Recent;

/// What a server allows. `Settings::default()` is what `causerie serve` uses.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Requests that are answered at the same time. Default 4.
    pub slots: usize,
    /// Requests that wait for a slot; beyond them, 429. Default 64.
    pub queue: usize,
    /// Bytes of a request's body. Default 32 MiB.
    pub max_body: usize,
    /// From the opening of a connection, or the end of the request before, to the end of the next headers. Default 30 s.
    pub header_timeout: Duration,
    /// From the headers to the end of the body. Default 30 s.
    pub body_timeout: Duration,
    /// How long a client may leave what is written to it unread. Default 30 s.
    pub write_timeout: Duration,
    /// How often a stream that has nothing to say shows that it is alive. Default 10 s.
    pub keep_alive: Duration,
    /// How long replies under way may go on after the server was told to stop. Default 30 s.
    pub drain_timeout: Duration,
    /// Host names, besides loopback ones, under which a server on a loopback address is reached.
    pub allowed_hosts: Vec<String>,
    /// Origins, besides loopback ones, whose pages may use the server: `https://example.org`, or `app://*` for all of a
    /// scheme. What [`check_origin`] refuses matches nothing.
    pub allowed_origins: Vec<String>,
    /// Refuses requests with fields that are not known, instead of naming them in the reply's `x-ignored-fields`.
    pub strict_fields: bool,
    /// What makes the server a hosted one, with a base path and keys. Default `None`: a local one.
    pub hosted: Option<Hosted>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            slots: 4,
            queue: 64,
            max_body: 32 << 20,
            header_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            keep_alive: Duration::from_secs(10),
            drain_timeout: Duration::from_secs(30),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            strict_fields: false,
            hosted: None,
        }
    }
}

/// A model behind an address.
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

/// What all requests share.
struct Service {
    /// Once it is loaded.
    runner: OnceLock<ModelRunner>,
    model_id: String,
    /// When the server began, in seconds since 1970.
    created: u64,
    settings: Settings,
    guard: Guard,
    admission: Arc<Admission>,
    metrics: Arc<Metrics>,
    /// Held while a large body is made sense of.
    large: Arc<Mutex<()>>,
    /// Room in memory for bodies.
    bodies: Semaphore,
    recent: Arc<std::sync::Mutex<Recent>>,
}

impl Service {
    fn new(model_id: impl Into<String>, is_loopback: bool, settings: Settings) -> Self {
        let admission = Arc::new(Admission::new(settings.slots, settings.queue));
        Self {
            runner: OnceLock::new(),
            model_id: model_id.into(),
            created: id::now(),
            guard: Guard::new(is_loopback, &settings),
            metrics: Arc::new(Metrics::new(Arc::clone(&admission))),
            admission,
            large: Arc::default(),
            bodies: body::room(settings.max_body),
            recent: Arc::default(),
            settings,
        }
    }

    fn runner(&self) -> Result<&ModelRunner, Fault> {
        self.runner.get().ok_or_else(Fault::loading)
    }
}

impl Server {
    /// A server for one model, which its clients call `model_id`.
    ///
    /// # Errors
    /// When the listener has no address.
    pub fn new(listener: TcpListener, model_id: impl Into<String>, settings: Settings) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let service = Service::new(model_id, address.ip().is_loopback(), settings);
        Ok(Self { listener, address, service: Arc::new(service) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is ready. Then new connections are refused, requests in the queue are answered with 503, and
    /// replies under way may go on for [`Settings::drain_timeout`]. Until there is a `model`, the server lives but is not
    /// ready: what needs one is answered with 503.
    ///
    /// # Errors
    /// When `model` fails: there is nothing to serve.
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
            // First: who comes once the model is there finds it.
            biased;
            err = &mut loading => Err(err),
            () = connection::serve(self.listener, self.service, stop) => Ok(()),
        }
    }
}
