//! Embeddings and reranking. The engine computes on the thread that calls, so each call here gets a thread of its own.

use std::sync::Arc;

use causerie::embedding as core;

use crate::error::Result;
use crate::number::{SdkCount, count, counts};
use crate::options::Device;
use crate::thread::on_thread;

/// A model in memory that embeds texts, or ranks documents.
#[derive(Debug, uniffi::Object)]
pub struct EmbeddingModel {
    pub(crate) model: core::EmbeddingModel,
}

/// What an embedding model is and can do.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct EmbeddingModelInfo {
    /// The model family, as the files name it: `bert`, `qwen3`.
    pub architecture: String,
    /// Values of a vector.
    pub dimensions: SdkCount,
    /// Tokens of a text at most, with the tokens around it.
    pub max_tokens: SdkCount,
    /// Whether texts have one vector.
    pub embeds: bool,
    /// Whether each token has a vector.
    pub embeds_tokens: bool,
    /// Whether the model ranks.
    pub ranks: bool,
    /// The names of the prompts in the model's files.
    pub prompts: Vec<String>,
}

/// Options for loading an embedding model.
#[derive(Clone, Debug, Default, PartialEq, uniffi::Record)]
pub struct EmbeddingModelOptions {
    /// The device that computes. Default: the CPU.
    #[uniffi(default)]
    pub device: Option<Device>,
    /// Number of computing threads, 1 to 1024. Results do not depend on it. Default: the number of fast cores.
    #[uniffi(default)]
    pub threads: Option<SdkCount>,
    /// Tokens of a text at most, if the model can read more. A model that reads in both directions holds a whole text in memory.
    /// Default: 8,192.
    #[uniffi(default)]
    pub context_size: Option<SdkCount>,
}

/// What a text is used for. Many models put a prompt before queries, before documents, or before both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum TextUse {
    /// The prompt that the model's files name as the default, if they name one.
    Unspecified,
    /// A question, or another text that something is searched with.
    Query,
    /// A text that is searched.
    Document,
}

/// How texts are embedded.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct EmbedOptions {
    /// What the texts are used for, which chooses the prompt in the model's files. Default: unspecified.
    #[uniffi(default)]
    pub text_use: Option<TextUse>,
    /// Text that is put before each text, instead of the prompt in the model's files. Models in GGUF files have no prompts: the
    /// model's description says which it needs.
    #[uniffi(default)]
    pub prompt: Option<String>,
    /// Values of a vector to keep, of which at least one. The shorter vector is brought to the length 1 again. Only models that were
    /// trained for it keep most of their quality. Default: all.
    #[uniffi(default)]
    pub dimensions: Option<SdkCount>,
    /// Whether vectors are brought to the length 1. Default: as the model's files say; for a GGUF file, yes.
    #[uniffi(default)]
    pub normalises: Option<bool>,
    /// Whether a text that is too long is cut at its end. Otherwise it is an error.
    #[uniffi(default = true)]
    pub truncates: bool,
}

/// How documents are ranked.
#[derive(Clone, Debug, Default, PartialEq, Eq, uniffi::Record)]
pub struct RerankOptions {
    /// The number of results. Default: all documents.
    #[uniffi(default)]
    pub top_n: Option<SdkCount>,
    /// What makes a document relevant, for models that are asked in words. Default: that it answers the query. Other models refuse it.
    #[uniffi(default)]
    pub instruction: Option<String>,
}

/// The vectors of texts, in the order of the texts.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct TextEmbeddings {
    /// A vector for each text.
    pub vectors: Vec<Vec<f32>>,
    /// Tokens that were read, with prompts and the tokens around texts.
    pub token_count: SdkCount,
    /// The texts that were cut, as indices.
    pub truncated: Vec<SdkCount>,
}

/// The vectors of all tokens of texts, for models that compare texts token by token.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct TokenEmbeddings {
    /// For each text the vectors of its tokens, which have the length 1.
    pub texts: Vec<Vec<Vec<f32>>>,
    /// Tokens that were read, with prompts and the tokens around texts.
    pub token_count: SdkCount,
    /// The texts that were cut, as indices.
    pub truncated: Vec<SdkCount>,
}

/// The documents that fit a query best, the best first.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct Ranking {
    /// The documents, the best first; of equal ones, the earlier first.
    pub results: Vec<RankedDocument>,
    /// Tokens that were read, with prompts and the tokens around texts.
    pub token_count: SdkCount,
    /// The documents that were cut, as indices.
    pub truncated: Vec<SdkCount>,
}

/// One document of a ranking.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct RankedDocument {
    /// Its place among the documents that were given.
    pub index: SdkCount,
    /// How well it fits: a probability for most models; for some cross-encoders a logit, and for models with a vector for each token a
    /// sum of cosines.
    pub relevance: f32,
}

/// Loads an embedding model: a GGUF file, a Hugging Face folder, or `<namespace>/<name>` in the local cache.
#[uniffi::export]
pub async fn load_embedding_model(path: String, options: EmbeddingModelOptions) -> Result<Arc<EmbeddingModel>> {
    let load = move || Ok(core::EmbeddingModel::load_with(&path, options.into())?);
    Ok(Arc::new(EmbeddingModel { model: on_thread("causerie-load", load).await? }))
}

/// The cosine of the angle between two vectors, from -1 to 1. `InvalidArgument` for vectors of different sizes.
#[uniffi::export]
pub fn cosine_similarity(of: Vec<f32>, to: Vec<f32>) -> Result<f32> {
    Ok(core::cosine_similarity(&of, &to)?)
}

#[uniffi::export]
impl EmbeddingModel {
    /// The description of the model.
    pub fn info(&self) -> EmbeddingModelInfo {
        let info = self.model.info();
        EmbeddingModelInfo {
            architecture: info.architecture,
            dimensions: count(info.dimensions),
            max_tokens: count(info.max_tokens),
            embeds: info.embeds,
            embeds_tokens: info.embeds_tokens,
            ranks: info.ranks,
            prompts: info.prompts,
        }
    }

    /// The vectors of texts. Texts are computed together; no text's vector depends on the others, not in a bit.
    pub async fn embed(&self, texts: Vec<String>, options: EmbedOptions) -> Result<TextEmbeddings> {
        let model = self.model.clone();
        let found = on_thread("causerie-embed", move || Ok(model.embed(texts, options.into())?)).await?;
        Ok(TextEmbeddings {
            vectors: found.vectors,
            token_count: count(found.n_tokens),
            truncated: counts(found.truncated),
        })
    }

    /// The vectors of the tokens of texts, for models that compare texts token by token.
    pub async fn embed_tokens(&self, texts: Vec<String>, options: EmbedOptions) -> Result<TokenEmbeddings> {
        let model = self.model.clone();
        let found = on_thread("causerie-embed", move || Ok(model.embed_tokens(texts, options.into())?)).await?;
        Ok(TokenEmbeddings {
            texts: found.texts,
            token_count: count(found.n_tokens),
            truncated: counts(found.truncated),
        })
    }

    /// Ranks documents by how well they fit a query. A document that is too long is cut at its end.
    pub async fn rerank(&self, query: String, documents: Vec<String>, options: RerankOptions) -> Result<Ranking> {
        let model = self.model.clone();
        let found = on_thread("causerie-rerank", move || Ok(model.rerank(&query, documents, options.into())?)).await?;
        let result = |document: core::RankedDocument| RankedDocument {
            index: count(document.index),
            relevance: document.relevance,
        };
        Ok(Ranking {
            results: found.results.into_iter().map(result).collect(),
            token_count: count(found.n_tokens),
            truncated: counts(found.truncated),
        })
    }
}

impl From<EmbeddingModelOptions> for core::EmbeddingModelOptions {
    fn from(options: EmbeddingModelOptions) -> Self {
        Self {
            device: options.device.map_or_else(Default::default, Into::into),
            threads: options.threads.map(SdkCount::size),
            context_size: options.context_size.map(SdkCount::size),
        }
    }
}

impl From<EmbedOptions> for core::EmbedOptions {
    fn from(options: EmbedOptions) -> Self {
        Self {
            text_use: match options.text_use {
                Some(TextUse::Query) => core::TextUse::Query,
                Some(TextUse::Document) => core::TextUse::Document,
                Some(TextUse::Unspecified) | None => core::TextUse::Unspecified,
            },
            prompt: options.prompt,
            dimensions: options.dimensions.map(SdkCount::size),
            normalises: options.normalises,
            truncates: options.truncates,
        }
    }
}

impl From<RerankOptions> for core::RerankOptions {
    fn from(options: RerankOptions) -> Self {
        Self { top_n: options.top_n.map(SdkCount::size), instruction: options.instruction }
    }
}
