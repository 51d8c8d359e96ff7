//! Models by name: which files a name means, their download into the cache that Hugging Face's tools share, and what it holds.
//!
//! - A file gets its final name only after its size and digest are checked. Interrupted downloads go on where they stopped.
//! - A cached model is loaded without a request; only [`Hub::pull`], [`Hub::plan`] and [`Hub::fetch`] send any.
//! - Without the feature `client` the crate has no network. An app brings a [`Transport`], or fetches the files of a
//!   [`DownloadPlan`] by itself and hands them to [`Hub::install`] and [`Hub::finish`].
//!
//! The order of the `mod` lines below is the order of dependence: a module uses only modules above it.
#![forbid(unsafe_code)]

mod fault;
mod digest;
mod address;
mod transport;
mod options;
#[cfg(feature = "client")]
mod client;
// The hub's answers.
mod requests;
mod listing;
mod plan;
// The cache.
mod space;
mod progress;
mod store;
mod part;
mod models;
// Plans for addresses.
mod addressed;
// Downloads.
mod transfer;
mod pull;
mod hub;

pub use digest::FileDigest;
pub use hub::Hub;
pub use models::{CachedModel, CachedPart, FileState, VerifiedFile};
pub use options::{AccessToken, HubOptions};
pub use plan::{DownloadPlan, ModelLock, PlannedFile};
pub use progress::{PullProgress, PullState};
pub use transport::{HttpRequest, HttpResponse, Transport};
