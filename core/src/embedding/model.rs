//! A model that gives vectors of texts, or ranks texts.

use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crate::checkpoint::Pooling;
use crate::embedding::loaded::LoadedEmbedder;
use crate::embedding::options::{EmbedOptions, EmbeddingModelOptions, RerankOptions};
use crate::embedding::ranking::Ranking;
use crate::embedding::texts::FramedText;
use crate::embedding::vectors::{TextEmbeddings, TokenEmbeddings, normalise};
use crate::error::{ErrorKind, Result, SdkError};
use crate::plain_prompt::Prompt;
use crate::weights::Weights;

/// A model in memory that embeds texts, or ranks documents. Clones share it, and each can be used on any thread. It computes on the
/// thread that calls, for one call at a time.
///
/// ```
/// use causerie::embedding::{EmbedOptions, EmbeddingModel};
///
/// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/bert");
/// let model = EmbeddingModel::load(model)?;
/// let texts = model.embed(["A man eats bread."], EmbedOptions::default())?;
/// assert_eq!(texts.vectors[0].len(), model.info().dimensions);
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone)]
pub struct EmbeddingModel(Arc<LoadedEmbedder>);

/// What an embedding model is and can do.
///
/// ```
/// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/bert");
/// let model = causerie::embedding::EmbeddingModel::load(model)?;
/// assert!(model.info().embeds && !model.info().ranks);
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct EmbeddingModelInfo {
    /// The model family, as the files name it: `bert`, `qwen3`.
    pub architecture: String,
    /// Values of a vector.
    pub dimensions: usize,
    /// Tokens of a text at most, with the tokens around it.
    pub max_tokens: usize,
    /// Whether texts have one vector: [`EmbeddingModel::embed`].
    pub embeds: bool,
    /// Whether each token has a vector: [`EmbeddingModel::embed_tokens`].
    pub embeds_tokens: bool,
    /// Whether the model ranks: [`EmbeddingModel::rerank`].
    pub ranks: bool,
    /// The names of the prompts in the model's files.
    pub prompts: Vec<String>,
}

impl EmbeddingModel {
    /// Loads a model: a GGUF file or a Hugging Face folder, given as a path or a `file://` URL, or `<namespace>/<name>` in the
    /// local cache.
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/bert");
    /// let model = causerie::embedding::EmbeddingModel::load(model)?;
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::ModelNotFound`] if there is nothing at this location, [`ErrorKind::ModelLoad`] for files that are broken,
    /// incomplete or of an unsupported kind.
    pub fn load(model: impl AsRef<Path>) -> Result<Self> {
        Self::load_with(model, EmbeddingModelOptions::default())
    }

    /// As [`load`](Self::load), with options.
    ///
    /// ```
    /// use causerie::embedding::{EmbeddingModel, EmbeddingModelOptions};
    ///
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/bert");
    /// let model = EmbeddingModel::load_with(model, EmbeddingModelOptions { threads: Some(2), ..Default::default() })?;
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As [`load`](Self::load), and [`ErrorKind::InvalidOption`].
    pub fn load_with(model: impl AsRef<Path>, options: EmbeddingModelOptions) -> Result<Self> {
        Self::from_weights(&Weights::open(model)?, &options)
    }

    pub(super) fn from_weights(weights: &Weights, options: &EmbeddingModelOptions) -> Result<Self> {
        Ok(Self(Arc::new(LoadedEmbedder::load(weights, options)?)))
    }

    /// The description of the model.
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/bert");
    /// assert_eq!(causerie::embedding::EmbeddingModel::load(model)?.info().architecture, "bert");
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn info(&self) -> EmbeddingModelInfo {
        let facts = &self.0.facts;
        let is_pooled = self.0.is_pooled && facts.scoring.is_none();
        EmbeddingModelInfo {
            architecture: self.0.architecture.to_owned(),
            dimensions: self.0.network.n_outputs(),
            max_tokens: facts.max_tokens,
            embeds: is_pooled && facts.pooling != Some(Pooling::Rows),
            embeds_tokens: is_pooled && facts.pooling == Some(Pooling::Rows),
            ranks: self.0.ranks(),
            prompts: facts.prompts.named.iter().map(|(name, _)| name.clone()).collect(),
        }
    }

    /// The vectors of texts, or of token ids. Texts are computed together; no text's vector depends on the others, not in a bit.
    ///
    /// ```
    /// use causerie::embedding::{EmbedOptions, EmbeddingModel};
    ///
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/bert");
    /// let model = EmbeddingModel::load(model)?;
    /// let alone = model.embed(["A man eats bread."], EmbedOptions::default())?;
    /// let together = model.embed(["Hello", "A man eats bread."], EmbedOptions::default())?;
    /// assert_eq!(alone.vectors[0], together.vectors[1]);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::UnsupportedContent`] for a model that does not give vectors of texts, [`ErrorKind::InvalidOption`],
    /// [`ErrorKind::PromptExceedsContext`] for a text that is too long and must not be cut, [`ErrorKind::InvalidMessage`] for token
    /// ids outside of the vocabulary, [`ErrorKind::Generation`] if the computation fails.
    pub fn embed<T: Into<Prompt>>(
        &self,
        texts: impl IntoIterator<Item = T>,
        options: EmbedOptions,
    ) -> Result<TextEmbeddings> {
        self.embed_watched(texts, options, |_| ControlFlow::Continue(()))
    }

    /// As [`embed`](Self::embed), and reports the progress, from 0 to 1: for each text at the beginning, and after each part of the
    /// computation. `Break` cancels the call.
    ///
    /// ```
    /// use causerie::ErrorKind;
    /// use causerie::embedding::{EmbedOptions, EmbeddingModel};
    /// use std::ops::ControlFlow;
    ///
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/bert");
    /// let model = EmbeddingModel::load(model)?;
    /// let cancelled = model.embed_watched(["Hello"], EmbedOptions::default(), |_| ControlFlow::Break(()));
    /// assert_eq!(cancelled.unwrap_err().kind(), ErrorKind::LoadCancelled);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As [`embed`](Self::embed), and [`ErrorKind::LoadCancelled`] after `Break`.
    pub fn embed_watched<T: Into<Prompt>>(
        &self,
        texts: impl IntoIterator<Item = T>,
        options: EmbedOptions,
        mut progress: impl FnMut(f32) -> ControlFlow<()>,
    ) -> Result<TextEmbeddings> {
        let pooling = match self.0.facts.pooling {
            Some(pooling) if self.info().embeds => pooling,
            Some(Pooling::Rows) => return Err(self.unsupported("gives a vector for each token, not for a text")),
            _ => return Err(self.unsupported("does not say in its files how texts become vectors")),
        };
        options.check(self.0.network.n_outputs())?;
        let texts: Vec<Prompt> = texts.into_iter().map(Into::into).collect();
        let texts = self.0.framed(&texts, &options, &mut progress)?;
        let mut vectors = Vec::with_capacity(texts.len());
        self.0.for_each_vector(&texts, pooling, &mut progress, |_, vector| vectors.push(vector.to_vec()))?;
        let normalises = options.normalises.unwrap_or(self.0.facts.is_normalised);
        for vector in &mut vectors {
            if let Some(dimensions) = options.dimensions {
                vector.truncate(dimensions);
            }
            // A part of a vector of length 1 is shorter.
            if normalises {
                normalise(vector);
            }
        }
        Ok(TextEmbeddings { vectors, n_tokens: n_tokens(&texts), truncated: truncated(&texts) })
    }

    /// The vectors of the tokens of texts, for models that compare texts token by token.
    ///
    /// ```no_run
    /// use causerie::embedding::{EmbedOptions, EmbeddingModel, TextUse};
    ///
    /// let model = EmbeddingModel::load("LFM2.5-ColBERT-350M")?;
    /// let options = EmbedOptions { text_use: TextUse::Query, ..Default::default() };
    /// println!("{} vectors", model.embed_tokens(["Who eats?"], options)?.texts[0].len());
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As [`embed`](Self::embed).
    pub fn embed_tokens<T: Into<Prompt>>(
        &self,
        texts: impl IntoIterator<Item = T>,
        options: EmbedOptions,
    ) -> Result<TokenEmbeddings> {
        if !self.info().embeds_tokens {
            return Err(self.unsupported("gives no vectors of tokens"));
        }
        if options.dimensions.is_some() || options.normalises == Some(false) {
            let message = "dimensions and normalises must be left out for vectors of tokens, which have the length 1";
            return Err(SdkError::new(ErrorKind::InvalidOption("dimensions"), message));
        }
        let texts: Vec<Prompt> = texts.into_iter().map(Into::into).collect();
        let framed = self.0.framed(&texts, &options, &mut |_| ControlFlow::Continue(()))?;
        let vectors = self.0.token_vectors(&framed, options.text_use)?;
        Ok(TokenEmbeddings { texts: vectors, n_tokens: n_tokens(&framed), truncated: truncated(&framed) })
    }

    /// Ranks documents by how well they fit a query. A document that is too long is cut at its end. A model with a head for scores
    /// reads both as one text, of which the longer is cut first.
    ///
    /// ```no_run
    /// use causerie::embedding::{EmbeddingModel, RerankOptions};
    ///
    /// let model = EmbeddingModel::load("Qwen3-Reranker-0.6B")?;
    /// let options = RerankOptions { top_n: Some(1), ..Default::default() };
    /// let ranking = model.rerank("Who eats?", ["The rocket flies.", "A man eats bread."], options)?;
    /// println!("{:?}", ranking.results);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::UnsupportedContent`] for a model that has neither a head for scores, nor vectors of tokens, nor a chat template
    /// and the labels yes and no; [`ErrorKind::InvalidOption`]; [`ErrorKind::PromptExceedsContext`] for a query that leaves no space
    /// for a document in the question of a model that is asked; [`ErrorKind::Generation`] if the computation fails.
    pub fn rerank<T: AsRef<str>>(
        &self,
        query: &str,
        documents: impl IntoIterator<Item = T>,
        options: RerankOptions,
    ) -> Result<Ranking> {
        self.rerank_watched(query, documents, options, |_| ControlFlow::Continue(()))
    }

    /// As [`rerank`](Self::rerank), and reports the progress, from 0 to 1: for each document at the beginning, and after each part of
    /// the computation. `Break` cancels the call.
    ///
    /// ```
    /// use causerie::ErrorKind;
    /// use causerie::embedding::{EmbeddingModel, RerankOptions};
    /// use std::ops::ControlFlow;
    ///
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/bert-rank-f16.gguf");
    /// let model = EmbeddingModel::load(model)?;
    /// let options = RerankOptions::default();
    /// let cancelled = model.rerank_watched("Who eats?", ["A man eats."], options, |_| ControlFlow::Break(()));
    /// assert_eq!(cancelled.unwrap_err().kind(), ErrorKind::LoadCancelled);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As [`rerank`](Self::rerank), and [`ErrorKind::LoadCancelled`] after `Break`.
    pub fn rerank_watched<T: AsRef<str>>(
        &self,
        query: &str,
        documents: impl IntoIterator<Item = T>,
        options: RerankOptions,
        mut progress: impl FnMut(f32) -> ControlFlow<()>,
    ) -> Result<Ranking> {
        let documents: Vec<T> = documents.into_iter().collect();
        let documents: Vec<&str> = documents.iter().map(AsRef::as_ref).collect();
        self.0.rank(query, &documents, &options, &mut progress)
    }

    fn unsupported(&self, rule: &str) -> SdkError {
        let message = format!("the model {:?} {rule}", self.0.architecture);
        SdkError::new(ErrorKind::UnsupportedContent, message)
    }
}

fn n_tokens(texts: &[FramedText]) -> usize {
    texts.iter().map(|text| text.ids.len()).sum()
}

fn truncated(texts: &[FramedText]) -> Vec<usize> {
    texts.iter().enumerate().filter(|(_, text)| text.is_cut).map(|(at, _)| at).collect()
}

impl fmt::Debug for EmbeddingModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddingModel").field("info", &self.info()).finish_non_exhaustive()
    }
}
