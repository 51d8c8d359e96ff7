//! The HTTP service: chat completions and their relatives, as the usual clients speak them.
//!
//! A thin layer: each request becomes a conversation made from its messages, is answered, and is forgotten. Only `response_store`
//! and `spoken_replies` keep replies for a while, for requests that continue from one. The runner's prefix cache makes the next
//! turn cheap. What all requests share is in `service`.
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
//! `decisions` is apart: its answers are probabilities, which come all at once.
//!
//! `realtime` is apart: a WebSocket, over which one client has one conversation.
//!
//! To add a field to a dialect, add it to a struct of its handler: the OpenAPI document comes from the same structs.

mod admission;
mod answer;
mod audio;
mod body;
mod budget;
mod chat;
mod completions;
mod connection;
mod decisions;
mod dialect;
mod embeddings;
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
mod service;
mod settings;
mod socket;
mod spoken_replies;

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use causerie::ModelRunner;
use causerie::embedding::EmbeddingModel;
use causerie::transcribe::Transcriber;
use tokio::net::TcpListener;

pub use decisions::decision_question;
pub use guard::check_origin;
pub use service::DownloadGauge;
use service::{ServedEmbedder, ServedTranscriber, Service};
pub use settings::Settings;

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

    /// Serves a model that embeds or ranks texts as well, which clients call `id`. The first one that embeds counts, and the first one
    /// that ranks.
    ///
    /// ```no_run
    /// # async fn run(server: causerie_server::serve::Server) -> causerie::Result<()> {
    /// use causerie::embedding::EmbeddingModel;
    /// let server = server.with_embedding_model("bge-small", EmbeddingModel::load("bge-small-en-v1.5")?);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_embedding_model(self, id: impl Into<String>, model: EmbeddingModel) -> Self {
        let (id, info) = (id.into(), model.info());
        for (has, place) in [(info.embeds, &self.service.embedder), (info.ranks, &self.service.ranker)] {
            if has {
                let _ = place.set(ServedEmbedder { id: id.clone(), model: model.clone() });
            }
        }
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
                    if let Some(embedder) = service.embedder.get() {
                        let _ = runner.set_function_ranker(&embedder.model); // it embeds
                    }
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
