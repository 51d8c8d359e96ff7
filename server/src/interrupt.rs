//! Ctrl-C: cancels the running reply, or ends the command if there is none.

use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use causerie::{CancelHandle, ResponseStream};

use crate::failure::Failure;

static REPLY: Mutex<Option<CancelHandle>> = Mutex::new(None);
static PRESSED: AtomicBool = AtomicBool::new(false);

/// Installs the handler of Ctrl-C.
pub(crate) fn install() -> Result<(), Failure> {
    let pressed = || match REPLY.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(reply) => {
            PRESSED.store(true, Ordering::Relaxed);
            reply.cancel();
        }
        None => exit(130), // as shells report a command that Ctrl-C ended
    };
    ctrlc::set_handler(pressed).map_err(|err| Failure(format!("cannot install a handler of Ctrl-C: {err}")))
}

/// From now on, Ctrl-C cancels this reply. A second Ctrl-C ends the command.
pub(crate) fn cancel_on_press(reply: &ResponseStream) {
    PRESSED.store(false, Ordering::Relaxed);
    *REPLY.lock().unwrap_or_else(PoisonError::into_inner) = Some(reply.cancel_handle());
}

/// From now on, Ctrl-C ends the command.
pub(crate) fn end_on_press() {
    REPLY.lock().unwrap_or_else(PoisonError::into_inner).take();
}

/// Forgets that a reply was cancelled, so that the command ends as if it had not been.
pub(crate) fn forget_press() {
    PRESSED.store(false, Ordering::Relaxed);
}

/// Whether the last reply was cancelled by Ctrl-C.
pub(crate) fn was_pressed() -> bool {
    PRESSED.load(Ordering::Relaxed)
}
