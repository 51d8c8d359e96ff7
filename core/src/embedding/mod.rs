//! Embeddings and reranking: models that read whole texts, and give vectors or scores.
//!
//! An [`EmbeddingModel`] is loaded apart from models that write, and holds no conversations.
//!
//! ```
//! use causerie::embedding::{EmbedOptions, EmbeddingModel, TextUse};
//!
//! # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/bert");
//! let model = EmbeddingModel::load(model)?;
//! let options = EmbedOptions { text_use: TextUse::Query, ..Default::default() };
//! let question = model.embed(["Who eats?"], options)?;
//! let texts = model.embed(["A man eats bread.", "The rocket flies."], EmbedOptions::default())?;
//! println!("{}", question.similarity(0, &texts, 1)?);
//! # Ok::<(), causerie::SdkError>(())
//! ```

mod functions;
mod loaded;
mod model;
mod options;
mod pooling;
mod ranking;
#[cfg(test)]
mod tests;
mod texts;
mod vectors;

pub use model::{EmbeddingModel, EmbeddingModelInfo};
pub use options::{EmbedOptions, EmbeddingModelOptions, RerankOptions, TextUse};
pub use ranking::{RankedDocument, Ranking};
pub use vectors::{TextEmbeddings, TokenEmbeddings, cosine_similarity};
