//! Ctrl-C, and being told to end.

use std::future::Future;
use std::process::exit;

use anstream::eprintln;

use crate::Failure;

/// Ready at the first Ctrl-C, or when the process is told to end; at the second, it ends at once.
pub(super) fn signals() -> Result<impl Future<Output = ()>, Failure> {
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
