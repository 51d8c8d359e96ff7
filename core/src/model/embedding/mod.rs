//! Networks that read whole texts: BERT, and decoders without their logits, some of which read in both directions.
//!
//! A network gives the rows of texts. The host pools them, and the network maps what comes of it. Decision models that read in both
//! directions have a part that scores some of the rows.

mod bert;
mod maps;
mod network;
mod scorer;
mod text;

pub(crate) use network::EmbeddingModelNetwork;
pub(crate) use text::{TextTokens, WantedRows};
