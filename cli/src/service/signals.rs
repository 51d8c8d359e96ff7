//! Signals that stop a server: Ctrl-C and SIGTERM.

use std::future::Future;
use std::process::exit;

use causerie_server::log;

use crate::failure::Failure;

/// Resolves at the first Ctrl-C or SIGTERM; a second signal ends the process at once.
pub(crate) fn signals() -> Result<impl Future<Output = ()>, Failure> {
    let mut signals = StopSignals::listen()?;
    Ok(async move {
        signals.next().await;
        log::line("waiting for running replies to finish; press Ctrl-C again to exit at once");
        tokio::spawn(async move {
            signals.next().await;
            exit(130);
        });
    })
}

#[cfg(unix)]
struct StopSignals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl StopSignals {
    fn listen() -> Result<Self, Failure> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct StopSignals;

#[cfg(not(unix))]
impl StopSignals {
    fn listen() -> Result<Self, Failure> {
        Ok(Self)
    }

    async fn next(&mut self) {
        // An error means that there is no console, so Ctrl-C cannot be pressed.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
