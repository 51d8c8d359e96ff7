//! Models by name: `causerie pull`, `causerie models`, and the download of a model that a command names.

mod report;

pub(crate) mod cache;

pub(crate) mod pull;
