//! `causerie serve`: a model behind an address, until Ctrl-C.

use std::future::Future;
use std::io::Write;
use std::path::Path;
use std::process::exit;
use std::sync::Arc;
use std::time::Duration;

use anstream::eprintln;
use causerie_server::serve::keys::KeyRing;
use causerie_server::serve::{Auth, Hosted, Server, Settings};
use tokio::net::TcpListener;
use tokio::runtime::Builder;

use crate::arguments::Serve;
use crate::{Failure, keys, model};

/// Requests are waited for, not computed, here: the engine has a thread of its own.
const THREADS: usize = 2;

pub(crate) fn run(arguments: &Serve) -> Result<(), Failure> {
    let runtime = Builder::new_multi_thread().worker_threads(THREADS).enable_all().build()?;
    let served = runtime.block_on(serve(arguments));
    // Tasks that are left must not hold up the end.
    runtime.shutdown_timeout(Duration::ZERO);
    served
}

async fn serve(arguments: &Serve) -> Result<(), Failure> {
    let hosted = hosted(arguments)?;
    let host = arguments.host.as_deref().unwrap_or(if hosted.is_some() { "0.0.0.0" } else { "127.0.0.1" });
    let port = match arguments.port {
        Some(port) => port,
        None => usual_port(hosted.is_some())?,
    };
    // First of all: an address that is taken is told at once, not after the model was loaded.
    let listener = TcpListener::bind((host, port))
        .await
        .map_err(|err| Failure(format!("cannot listen on {host} port {port}: {err}")))?;
    let signals = signals()?;
    let name = arguments.model.name.as_deref();
    let runner = model::load(name)?;
    let model_id = arguments.model_id.clone().unwrap_or_else(|| model_id(name));
    let settings = Settings {
        slots: arguments.slots,
        queue: arguments.queue,
        max_body: arguments.max_body << 20,
        drain_timeout: Duration::from_secs(arguments.drain_timeout),
        allowed_hosts: arguments.allow_host.clone(),
        allowed_origins: arguments.allow_origin.clone(),
        strict_fields: arguments.strict_fields,
        hosted: hosted.clone(),
        ..Settings::default()
    };
    let server = Server::new(listener, runner, &model_id, settings)?;
    let mut out = std::io::stdout();
    let base_path = hosted.map_or_else(String::new, |hosted| hosted.base_path.to_string());
    writeln!(out, "causerie serves {model_id} at http://{}{base_path}/v1", server.address())?;
    out.flush()?;
    server.run(signals).await;
    Ok(())
}

/// What the options of the hosted form say, if there are any.
fn hosted(arguments: &Serve) -> Result<Option<Hosted>, Failure> {
    let Some(base_path) = arguments.base_path.clone() else { return Ok(None) };
    let auth = arguments.auth.map_or(Auth::Private, Auth::from);
    let keys = match auth {
        Auth::Public => KeyRing::default(),
        Auth::Private | Auth::Shared => KeyRing::watch(keys::path(arguments.keys.as_deref()))?,
    };
    Ok(Some(Hosted { base_path, auth, keys: Arc::new(keys), open_metrics: arguments.open_metrics }))
}

/// 8080, or what a platform that starts containers says in `PORT`.
fn usual_port(is_hosted: bool) -> Result<u16, Failure> {
    match std::env::var("PORT") {
        Ok(port) if is_hosted => port.parse().map_err(|_| Failure(format!("PORT is {port}, expected a port"))),
        _ => Ok(8080),
    }
}

/// What clients call the model: its name in the cache, or of its file or folder, but never a path.
fn model_id(name: Option<&str>) -> String {
    let Some(name) = name else { return "causerie/demo".to_owned() };
    if !Path::new(name).exists() {
        return name.to_owned();
    }
    let resolved = Path::new(name).canonicalize().unwrap_or_else(|_| name.into());
    let name = if resolved.is_dir() { resolved.file_name() } else { resolved.file_stem() };
    name.map_or_else(|| "model".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Ready at the first Ctrl-C, or when the process is told to end; at the second, it ends at once.
fn signals() -> Result<impl Future<Output = ()>, Failure> {
    let mut told = Told::listen()?;
    Ok(async move {
        told.again().await;
        eprintln!("causerie: replies under way may finish; once more to end at once");
        tokio::spawn(async move {
            told.again().await;
            exit(130);
        });
    })
}

#[cfg(unix)]
struct Told {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Told {
    fn listen() -> Result<Self, Failure> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn again(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Told;

#[cfg(not(unix))]
impl Told {
    fn listen() -> Result<Self, Failure> {
        Ok(Self)
    }

    async fn again(&mut self) {
        // An error: there is no console, and nobody to press Ctrl-C.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
