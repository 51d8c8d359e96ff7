//! Why a command failed.

/// One line for the person, which `main` prints.
pub(crate) struct Failure(pub(crate) String);

impl From<causerie::SdkError> for Failure {
    fn from(err: causerie::SdkError) -> Self {
        Self(err.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(err: std::io::Error) -> Self {
        Self(err.to_string())
    }
}
