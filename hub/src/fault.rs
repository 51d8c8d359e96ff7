//! Errors of downloads, and which of them are worth another try.

use std::io;
use std::path::Path;
use std::time::Duration;

use causerie::{AccessFault, DownloadFault, ErrorKind, SdkError};

/// Why a request or a transfer did not succeed.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The same request can succeed later: at once, if the pause is zero; after a pause of the caller's choice without one.
    Passing(SdkError, Option<Duration>),
    /// The server has no bytes from the asked one on.
    OutOfRange(SdkError),
    /// Trying again is of no use.
    Final(SdkError),
}

impl Trouble {
    pub(crate) fn into_error(self) -> SdkError {
        match self {
            Self::Passing(err, _) | Self::OutOfRange(err) | Self::Final(err) => err,
        }
    }
}

impl From<SdkError> for Trouble {
    fn from(err: SdkError) -> Self {
        Self::Final(err)
    }
}

pub(crate) fn access_denied(fault: AccessFault) -> ErrorKind {
    ErrorKind::Download(DownloadFault::AccessDenied(fault))
}

/// An error of the network, or of a server whose answer makes no sense.
pub(crate) fn network(is_retryable: bool, message: impl Into<String>) -> SdkError {
    SdkError::new(ErrorKind::Download(DownloadFault::Network { is_retryable }), message)
}

pub(crate) fn corrupt(message: impl Into<String>) -> SdkError {
    SdkError::new(ErrorKind::Download(DownloadFault::Corrupt), message)
}

pub(crate) fn cancelled() -> SdkError {
    SdkError::new(
        ErrorKind::Download(DownloadFault::Cancelled),
        "the download was cancelled; what was received is kept",
    )
}

pub(crate) fn storage(message: impl Into<String>, cause: Option<io::Error>) -> SdkError {
    let err = SdkError::new(ErrorKind::Download(DownloadFault::Storage), message);
    match cause {
        Some(cause) => err.caused_by(cause),
        None => err,
    }
}

/// The error of a file that cannot be read or written: `act` is "write" or the like.
pub(crate) fn file_error(act: &str, path: &Path, err: io::Error) -> SdkError {
    storage(format!("cannot {act} {}", path.display()), Some(err))
}

pub(crate) fn no_space(needed: u64, free: u64) -> SdkError {
    let mebibytes = |n_bytes: u64| n_bytes.div_ceil(1 << 20);
    let message = format!("the download needs {} MiB of disk space, found {} MiB", mebibytes(needed), free >> 20);
    SdkError::new(ErrorKind::Download(DownloadFault::NoSpace { needed, free }), message)
}
