//! The state that all requests of a server share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use causerie::ModelRunner;
use causerie::embedding::EmbeddingModel;
use causerie::transcribe::Transcriber;
use hyper::StatusCode;
use tokio::sync::{Mutex, Semaphore};

use crate::serve::admission::Admission;
use crate::serve::error::HttpError;
use crate::serve::guard::Guard;
use crate::serve::metrics::Metrics;
use crate::serve::remote_images::ImageFetcher;
use crate::serve::response_store::StoredResponses;
use crate::serve::settings::Settings;
use crate::serve::spoken_replies::StoredSpeech;
use crate::serve::{budget, id};

/// Realtime sessions at the same time.
pub(super) const MAX_SESSIONS: usize = 64;

/// A model that transcribes.
pub(super) struct ServedTranscriber {
    /// What clients call it.
    pub(super) id: String,
    pub(super) transcriber: Transcriber,
}

/// A model that embeds or ranks texts.
pub(super) struct ServedEmbedder {
    /// What clients call it.
    pub(super) id: String,
    pub(super) model: EmbeddingModel,
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
    pub(super) fn missing(&self) -> Option<(u64, u64)> {
        let (done, total) = (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed));
        (done < total).then_some((done, total))
    }
}

/// The state that all requests share.
pub(super) struct Service {
    /// Set once the model is loaded.
    pub(super) runner: OnceLock<ModelRunner>,
    /// Set before the server runs, if there is one.
    pub(super) transcriber: OnceLock<ServedTranscriber>,
    /// The models that embed and rank texts, set likewise.
    pub(super) embedder: OnceLock<ServedEmbedder>,
    pub(super) ranker: OnceLock<ServedEmbedder>,
    pub(super) download: Arc<DownloadGauge>,
    pub(super) model_id: String,
    /// When the server started, in seconds since 1970.
    pub(super) created: u64,
    pub(super) settings: Settings,
    pub(super) guard: Guard,
    pub(super) admission: Arc<Admission>,
    pub(super) metrics: Arc<Metrics>,
    /// Held while a large body is parsed and read.
    pub(super) large_body: Arc<Mutex<()>>,
    /// The memory budget of the bodies that arrive and of the requests that wait.
    pub(super) body_budget: Arc<Semaphore>,
    pub(super) stored_responses: Arc<parking_lot::Mutex<StoredResponses>>,
    /// Permits for realtime sessions.
    pub(super) sessions: Arc<Semaphore>,
    pub(super) stored_speech: Arc<parking_lot::Mutex<StoredSpeech>>,
    /// `None` if no addresses of images are fetched.
    pub(super) image_fetcher: Option<Arc<ImageFetcher>>,
}

impl Service {
    pub(super) fn new(model_id: impl Into<String>, is_loopback: bool, settings: Settings) -> Self {
        let admission = Arc::new(Admission::new(settings.slots, settings.queue));
        Self {
            runner: OnceLock::new(),
            transcriber: OnceLock::new(),
            embedder: OnceLock::new(),
            ranker: OnceLock::new(),
            download: Arc::default(),
            model_id: model_id.into(),
            created: id::now(),
            guard: Guard::new(is_loopback, &settings),
            metrics: Arc::new(Metrics::new(Arc::clone(&admission))),
            admission,
            large_body: Arc::default(),
            body_budget: Arc::new(budget::memory_budget(settings.max_body)),
            stored_responses: Arc::default(),
            sessions: Arc::new(Semaphore::new(MAX_SESSIONS)),
            stored_speech: Arc::default(),
            image_fetcher: (!settings.image_hosts.is_empty())
                .then(|| Arc::new(ImageFetcher::new(&settings.image_hosts, settings.max_body))),
            settings,
        }
    }

    pub(super) fn transcriber(&self) -> Result<&ServedTranscriber, HttpError> {
        self.transcriber.get().ok_or_else(|| {
            let message = "this server has no model that transcribes; it is started with --transcriber";
            HttpError::new(StatusCode::NOT_FOUND, "not_found", message)
        })
    }

    pub(super) fn embedder(&self) -> Result<&ServedEmbedder, HttpError> {
        self.embedder.get().ok_or_else(|| missing("embeds texts"))
    }

    pub(super) fn ranker(&self) -> Result<&ServedEmbedder, HttpError> {
        self.ranker.get().ok_or_else(|| missing("ranks documents"))
    }

    pub(super) fn runner(&self) -> Result<&ModelRunner, HttpError> {
        self.runner.get().ok_or_else(HttpError::loading)
    }
}

/// The error for a model that the server was started without.
fn missing(what: &str) -> HttpError {
    HttpError::not_found(format!("this server has no model that {what}; it is started with --embedding-model"))
}
