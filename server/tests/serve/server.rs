//! A server in this process, with a scripted model.

use std::future::ready;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use causerie::embedding::{EmbeddingModel, EmbeddingModelOptions};
use causerie::testing::{ScriptedModel, ScriptedReply};
use causerie::transcribe::{Transcriber, TranscriberOptions};
use causerie::{ModelRunner, SdkError};
use causerie_server::serve::{DownloadGauge, Server, Settings};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::client::{Client, HttpReply};

pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) download: Arc<DownloadGauge>,
    runtime: Runtime,
    stop: Option<oneshot::Sender<()>>,
    run: JoinHandle<Result<(), SdkError>>,
}

impl TestServer {
    /// Serves a script under the name `test/script`.
    pub(crate) fn scripted<R: Into<ScriptedReply>>(replies: impl IntoIterator<Item = R>, settings: Settings) -> Self {
        let model = replies.into_iter().fold(ScriptedModel::new(), ScriptedModel::reply);
        Self::start(model.load().unwrap(), "test/script", settings)
    }

    pub(crate) fn demo() -> Self {
        let runner = ModelRunner::load(concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf")).unwrap();
        Self::start(runner, "causerie/demo", Settings::default())
    }

    pub(crate) fn start(runner: ModelRunner, model_id: &str, settings: Settings) -> Self {
        Self::loading(ready(Ok(runner)), model_id, settings)
    }

    /// Serves a model that transcribes as well, under the name `test/whisper`.
    pub(crate) fn hearing(settings: Settings) -> Self {
        Self::hearing_with(Vec::<ScriptedReply>::new(), settings)
    }

    /// Serves a script besides.
    pub(crate) fn hearing_with<R: Into<ScriptedReply>>(
        replies: impl IntoIterator<Item = R>,
        settings: Settings,
    ) -> Self {
        let script = replies.into_iter().fold(ScriptedModel::new(), ScriptedModel::reply).load();
        Self::serving(ready(script), "test/script", settings, |server| {
            server.with_transcriber("test/whisper", transcriber())
        })
    }

    /// Serves a model that embeds and one that ranks as well, under the names `test/bert` and `test/ranker`.
    pub(crate) fn embedding(settings: Settings) -> Self {
        Self::serving(ready(ScriptedModel::new().load()), "test/script", settings, with_embedding_models)
    }

    /// Serves all kinds of models, so that every route has one.
    pub(crate) fn with_all_models(settings: Settings) -> Self {
        Self::serving(ready(ScriptedModel::new().load()), "test/script", settings, |server| {
            with_embedding_models(server.with_transcriber("test/whisper", transcriber()))
        })
    }

    /// Serves before the model is loaded.
    pub(crate) fn loading(
        model: impl Future<Output = Result<ModelRunner, SdkError>> + Send + 'static,
        model_id: &str,
        settings: Settings,
    ) -> Self {
        Self::serving(model, model_id, settings, |server| server)
    }

    fn serving(
        model: impl Future<Output = Result<ModelRunner, SdkError>> + Send + 'static,
        model_id: &str,
        settings: Settings,
        change: impl FnOnce(Server) -> Server,
    ) -> Self {
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let _entered = runtime.enter();
        let server = change(Server::new(listener, model_id, settings).unwrap());
        let (stop, stopped) = oneshot::channel();
        let (address, download) = (server.address(), server.download_gauge());
        let run = runtime.spawn(async move { server.run(model, async { drop(stopped.await) }).await });
        Self { address, download, runtime, stop: Some(stop), run }
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.address)
    }

    pub(crate) fn get(&self, path: &str) -> HttpReply {
        self.client().get(path)
    }

    pub(crate) fn delete(&self, path: &str) -> HttpReply {
        self.client().delete(path)
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> HttpReply {
        self.client().post(path, body)
    }

    /// A chat request with one message, and further fields: `, "n": 2`.
    pub(crate) fn chat(&self, fields: &str) -> HttpReply {
        self.post("/v1/chat/completions", &ask(fields))
    }

    /// Asks the server to stop.
    pub(crate) fn stop(&mut self) {
        drop(self.stop.take());
    }

    /// Waits until the server has ended.
    pub(crate) fn join(self) {
        self.end().unwrap();
    }

    /// Waits until the server has ended; returns its result.
    pub(crate) fn end(self) -> Result<(), SdkError> {
        self.runtime.block_on(self.run).unwrap()
    }

    /// Waits until a metric has a value, for what the server does after the client has finished.
    #[track_caller]
    pub(crate) fn wait_for(&self, metric: &str, value: &str) {
        let line = format!("causerie_{metric} {value}");
        let has_come = || self.get("/metrics").text().lines().any(|found| found == line);
        wait_until(&line, has_come);
    }
}

/// Asks until something holds. The time limit only ends a failing test.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what} never came");
    }
}

fn transcriber() -> Transcriber {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/whisper");
    let options = TranscriberOptions { threads: Some(1), ..Default::default() };
    Transcriber::load_with(model, options).unwrap()
}

fn with_embedding_models(server: Server) -> Server {
    let load = |name: &str| {
        let options = EmbeddingModelOptions { threads: Some(1), ..Default::default() };
        let place = format!("{}/../tests/fixtures/models/{name}", env!("CARGO_MANIFEST_DIR"));
        EmbeddingModel::load_with(place, options).unwrap()
    };
    let server = server.with_embedding_model("test/bert", load("bert"));
    server.with_embedding_model("test/ranker", load("bert-rank-f16.gguf"))
}

/// The body of a chat request with one message, and further fields: `, "n": 2`.
pub(crate) fn ask(fields: &str) -> String {
    format!(r#"{{"model": "test/script", "messages": [{{"role": "user", "content": "Hi"}}]{fields}}}"#)
}
