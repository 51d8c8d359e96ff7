//! `causerie serve`: serves a model over HTTP until Ctrl-C.

pub(crate) mod signals;

use std::env::VarError;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use causerie::embedding::{EmbeddingModel, EmbeddingModelOptions};
use causerie::transcribe::{Transcriber, TranscriberOptions};
use causerie::{GenerationOptions, LoadOptions, ModelRunner};
use causerie_hub::PullProgress;
use causerie_server::access::keys::KeyRing;
use causerie_server::access::{Auth, Hosted, LocalKeys};
use causerie_server::serve::{DownloadGauge, Server, Settings};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::task::spawn_blocking;

use crate::arguments::{ServeArguments, ServerLimits};
use crate::failure::Failure;
use crate::folder::key_file;
use crate::models::pull;

/// Few threads suffice: they only wait for requests, and the engine computes on a thread of its own.
const THREADS: usize = 2;
/// The environment variable with the key of a local server.
const KEY_VARIABLE: &str = "CAUSERIE_API_KEY";

pub(crate) fn run(arguments: &ServeArguments, is_offline: bool) -> Result<(), Failure> {
    let hosted = hosted(arguments)?;
    let host = arguments.host.as_deref().unwrap_or(if hosted.is_some() { "0.0.0.0" } else { "127.0.0.1" });
    let port = match arguments.port {
        Some(port) => port,
        None => default_port(hosted.is_some())?,
    };
    let base_path = hosted.as_ref().map_or_else(String::new, |hosted| hosted.base_path.to_string());
    let name = arguments.model.name.as_deref();
    let model_id = arguments.model_id.clone().unwrap_or_else(|| model_id(name));
    let local_keys = if hosted.is_none() { local_keys(arguments)? } else { None };
    let settings = Settings { hosted, local_keys, ..settings(&arguments.limits) };
    let announced = model_id.clone();
    let transcriber = transcriber(arguments.transcriber.as_deref(), arguments.threads, is_offline)?;
    let embedding_models = embedding_models(&arguments.embedding_model, arguments.threads, is_offline)?;
    let model = (name, arguments.load_options(), is_offline);
    let others = OtherModels { transcriber, embedding_models };
    start((host, port), model, others, &model_id, settings, move |address| {
        let mut out = io::stdout();
        writeln!(out, "causerie serves {announced} at http://{address}{base_path}/v1")?;
        out.flush()
    })
}

pub(crate) fn settings(limits: &ServerLimits) -> Settings {
    Settings {
        slots: limits.slots,
        queue: limits.queue,
        max_body: limits.max_body << 20,
        max_sound: Duration::from_secs(limits.max_sound as u64 * 60), // of a small number
        max_connections: limits.max_connections,
        drain_timeout: Duration::from_secs(limits.drain_timeout),
        allowed_hosts: limits.allow_host.clone(),
        allowed_origins: limits.allow_origin.clone(),
        image_hosts: limits.allow_image_urls.clone(),
        strict_fields: limits.strict_fields,
        strict_model: limits.strict_model,
        ..Settings::default()
    }
}

/// The models that are served besides the one that writes, each with its id for clients.
#[derive(Default)]
pub(crate) struct OtherModels {
    pub(crate) transcriber: Option<(String, Transcriber)>,
    pub(crate) embedding_models: Vec<(String, EmbeddingModel)>,
}

/// Serves until a signal stops the server. `announce` gets the address once the model is loaded.
pub(crate) fn start(
    listen: (&str, u16),
    (model, options, is_offline): (Option<&str>, LoadOptions, bool),
    others: OtherModels,
    model_id: &str,
    settings: Settings,
    announce: impl FnOnce(SocketAddr) -> io::Result<()>,
) -> Result<(), Failure> {
    let runtime = Builder::new_multi_thread().worker_threads(THREADS).enable_all().build()?;
    let served = runtime.block_on(async {
        // Before the model is loaded, so that an address in use is reported at once.
        let listener = TcpListener::bind(listen)
            .await
            .map_err(|err| Failure(format!("cannot listen on {} port {}: {err}", listen.0, listen.1)))?;
        let stop = signals::signals()?;
        let is_hosted = settings.hosted.is_some();
        let mut server = Server::new(listener, model_id, settings)?;
        if let Some((id, transcriber)) = others.transcriber {
            server = server.with_transcriber(id, transcriber);
        }
        for (id, model) in others.embedding_models {
            server = server.with_embedding_model(id, model);
        }
        let (address, gauge) = (server.address(), server.download_gauge());
        let model = async {
            let name = (model.map(str::to_owned), is_offline);
            let runner = load(name, options, is_hosted, gauge).await?;
            announce(address)?;
            Ok(runner)
        };
        server.run(model, stop).await
    });
    // Remaining tasks must not delay the end.
    runtime.shutdown_timeout(Duration::ZERO);
    served
}

/// Loads the models that embed or rank texts, with their ids for clients.
fn embedding_models(
    names: &[String],
    threads: Option<usize>,
    is_offline: bool,
) -> Result<Vec<(String, EmbeddingModel)>, Failure> {
    let load = |name: &String| {
        let model = pull::ensure(Some(name), is_offline, |_| {})?;
        let options = EmbeddingModelOptions { threads, ..EmbeddingModelOptions::default() };
        Ok((model_id(Some(name)), EmbeddingModel::load_with(model.to_load().unwrap_or(name), options)?))
    };
    names.iter().map(load).collect()
}

/// Loads the model that transcribes, with its id for clients, if one was named.
fn transcriber(
    name: Option<&str>,
    threads: Option<usize>,
    is_offline: bool,
) -> Result<Option<(String, Transcriber)>, Failure> {
    let Some(name) = name else { return Ok(None) };
    let model = pull::ensure(Some(name), is_offline, |_| {})?;
    let options = TranscriberOptions { threads, ..TranscriberOptions::default() };
    let transcriber = Transcriber::load_with(model.to_load().unwrap_or(name), options)?;
    Ok(Some((model_id(Some(name)), transcriber)))
}

/// Loads the model on another thread, while the server already answers liveness probes. The hosted form is ready only
/// after it has generated one token, because the weights are in memory then.
async fn load(
    (name, is_offline): (Option<String>, bool),
    options: LoadOptions,
    is_hosted: bool,
    gauge: Arc<DownloadGauge>,
) -> Result<ModelRunner, Failure> {
    let loaded = spawn_blocking(move || {
        let watch = |progress: &PullProgress| gauge.report(progress.done, progress.total);
        let runner = pull::ensure(name.as_deref(), is_offline, watch)?.load(options)?;
        if is_hosted {
            let options = GenerationOptions { max_tokens: Some(1), ..GenerationOptions::default() };
            runner.complete("\n", options).into_iter().try_for_each(|event| event.map(drop))?;
        }
        Ok(runner)
    });
    loaded.await.unwrap_or_else(|err| std::panic::resume_unwind(err.into_panic()))
}

/// Refuses the key of a local server for a hosted one, which does not ask for it.
pub(crate) fn check_no_local_key() -> Result<(), Failure> {
    match std::env::var_os(KEY_VARIABLE) {
        None => Ok(()),
        Some(_) => Err(Failure(format!(
            "{KEY_VARIABLE} must not be set for a hosted server, which does not ask for this key: it has keys of its own, \
             see `causerie keys`"
        ))),
    }
}

/// Reads the options of the hosted form; `None` without a base path.
fn hosted(arguments: &ServeArguments) -> Result<Option<Hosted>, Failure> {
    let Some(base_path) = arguments.base_path.clone() else { return Ok(None) };
    check_no_local_key()?;
    let auth = arguments.auth.map_or(Auth::Private, Auth::from);
    let keys = match auth {
        Auth::Public => KeyRing::default(),
        Auth::Private | Auth::Shared => KeyRing::watch(key_file(arguments.keys.as_deref()))?,
    };
    Ok(Some(Hosted { base_path, auth, keys: Arc::new(keys), open_metrics: arguments.open_metrics }))
}

/// The keys of a server on a local network; `None` if it needs none.
fn local_keys(arguments: &ServeArguments) -> Result<Option<LocalKeys>, Failure> {
    let (source, text) = match (&arguments.api_key, &arguments.api_key_file) {
        (Some(key), _) => ("--api-key".to_owned(), key.clone()),
        (None, Some(path)) => {
            let unreadable = |err| Failure(format!("cannot read the API keys at {}: {err}", path.display()));
            (path.display().to_string(), std::fs::read_to_string(path).map_err(unreadable)?)
        }
        (None, None) => match std::env::var(KEY_VARIABLE) {
            Ok(key) => (KEY_VARIABLE.to_owned(), key),
            Err(VarError::NotPresent) => return Ok(None),
            Err(err) => return Err(Failure(format!("{KEY_VARIABLE}: {err}"))),
        },
    };
    let is_file = arguments.api_key_file.is_some();
    let keys: Vec<&str> = match is_file {
        true => text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect(),
        false => vec![text.as_str()],
    };
    LocalKeys::new(keys).map(Some).map_err(|err| Failure(format!("{source}: {err}")))
}

/// Returns 8080, or the port in `PORT`, which container platforms set.
fn default_port(is_hosted: bool) -> Result<u16, Failure> {
    match std::env::var("PORT") {
        Ok(port) if is_hosted => port.parse().map_err(|_| Failure(format!("PORT must be a port number, found {port}"))),
        _ => Ok(8080),
    }
}

/// Returns the model id for clients: the name in the cache, or of the file or folder, but never a path.
pub(crate) fn model_id(name: Option<&str>) -> String {
    let Some(name) = name else { return "causerie/demo".to_owned() };
    if !Path::new(name).exists() {
        return name.to_owned();
    }
    let resolved = Path::new(name).canonicalize().unwrap_or_else(|_| name.into());
    let name = if resolved.is_dir() { resolved.file_name() } else { resolved.file_stem() };
    name.map_or_else(|| "model".to_owned(), |name| name.to_string_lossy().into_owned())
}
