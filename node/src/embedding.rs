//! Embedding models.

use causerie::embedding::EmbeddingModel;
use causerie_plain::{
    EmbedRequest, RerankRequest, embedding_info_json, embedding_options, embeddings_json, ranking_json,
};
use napi::bindgen_prelude::{Float32Array, spawn_blocking};
use napi_derive::napi;

use crate::failure::{failed, failed_with};

/// A model that embeds texts, or ranks documents.
#[napi]
pub struct NativeEmbeddingModel {
    pub(crate) model: EmbeddingModel,
}

/// Vectors one after the other, and what is known beside them as JSON.
#[napi(object)]
pub struct NativeEmbeddings {
    /// The values of all vectors.
    pub values: Float32Array,
    /// Values of a vector.
    pub dimensions: u32,
    /// Counts.
    pub json: String,
}

/// Runs what computes long on another thread.
async fn beside<T: Send + 'static>(work: impl FnOnce() -> causerie::Result<T> + Send + 'static) -> napi::Result<T> {
    spawn_blocking(work).await.map_err(|err| failed_with("internal", &err.to_string()))?.map_err(failed)
}

/// Loads an embedding model. Options are a JSON object.
#[napi]
pub async fn load_embedding_model(path: String, options: String) -> napi::Result<NativeEmbeddingModel> {
    let options = embedding_options(&options).map_err(failed)?;
    Ok(NativeEmbeddingModel { model: beside(move || EmbeddingModel::load_with(&path, options)).await? })
}

#[napi]
impl NativeEmbeddingModel {
    /// The model's description, as JSON.
    #[napi]
    pub fn info(&self) -> String {
        embedding_info_json(&self.model.info())
    }

    /// The vectors of texts.
    #[napi]
    pub async fn embed(&self, request: String) -> napi::Result<NativeEmbeddings> {
        let EmbedRequest { texts, options } = EmbedRequest::from_json(&request).map_err(failed)?;
        let model = self.model.clone();
        let found = beside(move || model.embed(texts, options)).await?;
        let dimensions = found.vectors.first().map_or(0, Vec::len);
        Ok(NativeEmbeddings {
            json: embeddings_json(&found),
            values: Float32Array::new(found.vectors.concat()),
            dimensions: u32::try_from(dimensions).unwrap_or(u32::MAX),
        })
    }

    /// The documents that fit a query best, as JSON.
    #[napi]
    pub async fn rerank(&self, request: String) -> napi::Result<String> {
        let RerankRequest { query, documents, options } = RerankRequest::from_json(&request).map_err(failed)?;
        let model = self.model.clone();
        Ok(ranking_json(&beside(move || model.rerank(&query, documents, options)).await?))
    }
}
