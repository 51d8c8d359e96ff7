//! Ctrl-C: cancels the running reply or work, or ends the command if there is none.

use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};

use causerie::{CancelHandle, ResponseStream};
use parking_lot::Mutex;

use crate::failure::Failure;

static UNDER_WAY: Mutex<Option<UnderWay>> = Mutex::new(None);
static PRESSED: AtomicBool = AtomicBool::new(false);

/// What Ctrl-C cancels.
enum UnderWay {
    Reply(CancelHandle),
    /// Work that asks by itself whether Ctrl-C was pressed.
    Work,
}

/// Installs the handler of Ctrl-C.
pub(crate) fn install() -> Result<(), Failure> {
    let pressed = || {
        if ends_command() {
            exit(130); // as shells report a command that Ctrl-C ended
        }
    };
    ctrlc::set_handler(pressed).map_err(|err| Failure(format!("cannot install a handler of Ctrl-C: {err}")))
}

/// Reacts to Ctrl-C; returns whether it ends the command.
fn ends_command() -> bool {
    let Some(under_way) = UNDER_WAY.lock().take() else { return true };
    PRESSED.store(true, Ordering::Relaxed);
    if let UnderWay::Reply(reply) = under_way {
        reply.cancel();
    }
    false
}

/// From now on, Ctrl-C cancels this reply. A second Ctrl-C ends the command.
pub(crate) fn cancel_on_press(reply: &ResponseStream) {
    cancel_work(reply.cancel_handle());
}

/// From now on, Ctrl-C cancels the work of this handle. A second Ctrl-C ends the command.
pub(crate) fn cancel_work(handle: CancelHandle) {
    PRESSED.store(false, Ordering::Relaxed);
    *UNDER_WAY.lock() = Some(UnderWay::Reply(handle));
}

/// From now on, the first Ctrl-C is only remembered, for [`was_pressed`]. A second Ctrl-C ends the command.
pub(crate) fn remember_press() {
    PRESSED.store(false, Ordering::Relaxed);
    *UNDER_WAY.lock() = Some(UnderWay::Work);
}

/// From now on, the first Ctrl-C changes nothing more: one that was meant for the last reply must not end a chat.
pub(crate) fn outlive_press() {
    *UNDER_WAY.lock() = Some(UnderWay::Work);
}

/// From now on, Ctrl-C ends the command.
pub(crate) fn end_on_press() {
    UNDER_WAY.lock().take();
}

/// Forgets that a reply was cancelled, so that the command ends as if it had not been.
pub(crate) fn forget_press() {
    PRESSED.store(false, Ordering::Relaxed);
}

/// Whether Ctrl-C was pressed during the last reply or work.
pub(crate) fn was_pressed() -> bool {
    PRESSED.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_press_between_two_replies_is_remembered_and_the_next_ends_the_command() {
        outlive_press();
        assert!(!ends_command() && was_pressed());
        assert!(ends_command());
        remember_press();
        assert!(!was_pressed());
        end_on_press();
        assert!(ends_command() && !was_pressed());
    }
}
