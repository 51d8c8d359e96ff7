//! Runs code of the tokenizers library so that neither its errors nor its panics get out.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{ErrorKind, Result, SdkError};

/// Runs code of the tokenizers library, which panics on some invalid vocabularies. `what` is what it processes.
pub(super) fn guarded<T>(what: &str, run: impl FnOnce() -> Result<T, tokenizers::Error>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(err)) => Err(SdkError::new(ErrorKind::ModelLoad, format!("the tokenizer cannot process {what}: {err}"))),
        Err(_) => Err(SdkError::new(ErrorKind::ModelLoad, format!("the tokenizer failed on {what}"))),
    }
}
