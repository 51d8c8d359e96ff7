//! What the interfaces for C and Node share, which have no types of their own: options by name, and requests and answers as JSON.

mod decisions;
mod embedding;
mod options;
mod reading;
mod requests;
mod words;

pub use decisions::{DecideRequest, decisions_json};
pub use embedding::{
    EmbedRequest, RerankRequest, embedding_info_json, embedding_options, embeddings_json, ranking_json,
};
pub use options::NamedOptions;
pub use words::{error_word, finish_word};
