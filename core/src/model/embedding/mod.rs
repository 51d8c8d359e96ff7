//! Networks that read whole texts: BERT, and decoders without their logits, some of which read in both directions.
//!
//! A network gives the rows of texts. The host pools them, and the network maps what comes of it.

mod bert;
mod maps;
mod network;
mod text;

pub(crate) use network::EmbeddingModelNetwork;
pub(crate) use text::{TextTokens, WantedRows};
