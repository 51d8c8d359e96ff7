//! How far loading is.

use std::ops::ControlFlow;

use crate::error::{ErrorKind, Result, SdkError};

/// Receives the share that is loaded, from 0 to 1; `Break` cancels loading.
pub(crate) type LoadProgress<'a> = &'a mut dyn FnMut(f32) -> ControlFlow<()>;

/// Reports the share that is loaded.
///
/// # Errors
/// [`ErrorKind::LoadCancelled`] after `Break`.
pub(crate) fn report_progress(progress: LoadProgress<'_>, share: f32) -> Result<()> {
    match progress(share) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(SdkError::new(ErrorKind::LoadCancelled, "loading was cancelled")),
    }
}
