//! The routes of models that read whole texts: `POST /v1/embeddings` gives vectors of texts, and `/v1/rerank` orders documents by how
//! well they fit a query.

mod answer;
mod embed;
mod input;
mod rerank;

pub(super) use answer::ComputedAnswer;
pub(super) use embed::{EmbeddingFields, read as embed};
pub(super) use rerank::{RankingFields, read as rerank};
