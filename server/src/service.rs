//! `causerie serve`: a model behind an address, until Ctrl-C.

use std::future::Future;
use std::io::Write;
use std::path::Path;
use std::process::exit;
use std::time::Duration;

use anstream::eprintln;
use causerie_server::serve::{Server, Settings};
use tokio::net::TcpListener;
use tokio::runtime::Builder;

use crate::arguments::Serve;
use crate::{Failure, model};

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
    let (host, port) = (arguments.host.as_str(), arguments.port);
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
        ..Settings::default()
    };
    let server = Server::new(listener, runner, &model_id, settings)?;
    let mut out = std::io::stdout();
    writeln!(out, "causerie serves {model_id} at http://{}/v1", server.address())?;
    out.flush()?;
    server.run(signals).await;
    Ok(())
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
