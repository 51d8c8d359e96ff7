//! Ctrl-C: cancels the reply under way; without one, ends the command.

use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use causerie::{CancelHandle, ResponseStream};

use crate::Failure;

static REPLY: Mutex<Option<CancelHandle>> = Mutex::new(None);
static PRESSED: AtomicBool = AtomicBool::new(false);

/// Takes over Ctrl-C.
pub(crate) fn install() -> Result<(), Failure> {
    let pressed = || match REPLY.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(reply) => {
            PRESSED.store(true, Ordering::Relaxed);
            reply.cancel();
        }
        None => exit(130), // as shells report a command that Ctrl-C ended
    };
    ctrlc::set_handler(pressed).map_err(|err| Failure(format!("cannot take over Ctrl-C: {err}")))
}

/// From now on Ctrl-C cancels this reply. A second one, should the first not suffice, ends the command.
pub(crate) fn cancels(reply: &ResponseStream) {
    PRESSED.store(false, Ordering::Relaxed);
    *REPLY.lock().unwrap_or_else(PoisonError::into_inner) = Some(reply.cancel_handle());
}

/// From now on Ctrl-C ends the command.
pub(crate) fn ends() {
    REPLY.lock().unwrap_or_else(PoisonError::into_inner).take();
}

/// A cancelled reply is over and done with: the command ends as if there had been none.
pub(crate) fn forget() {
    PRESSED.store(false, Ordering::Relaxed);
}

/// Whether the last reply was cancelled by Ctrl-C.
pub(crate) fn was_pressed() -> bool {
    PRESSED.load(Ordering::Relaxed)
}
