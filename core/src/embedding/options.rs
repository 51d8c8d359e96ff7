//! Options of loading an embedding model, of embedding, and of reranking.

use crate::error::{ErrorKind, Result, SdkError};
use crate::options::{Device, LoadOptions};

/// How an [`EmbeddingModel`](crate::embedding::EmbeddingModel) is loaded.
///
/// ```
/// use causerie::embedding::EmbeddingModelOptions;
///
/// let options = EmbeddingModelOptions { context_size: Some(512), ..Default::default() };
/// assert_eq!(options.threads, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EmbeddingModelOptions {
    /// The device that computes. Default: the CPU.
    pub device: Device,
    /// Threads that compute on the CPU, 1 to 1024. No result depends on it. Default: the number of cores; if there are fast
    /// and slow ones, the number of fast ones.
    pub threads: Option<usize>,
    /// Tokens of a text at most, if the model can read more. A model that reads in both directions holds a whole text in memory.
    /// Default: 8,192.
    pub context_size: Option<usize>,
}

impl EmbeddingModelOptions {
    /// The same as options of models that write.
    pub(super) fn load_options(&self) -> LoadOptions {
        LoadOptions {
            device: self.device,
            threads: self.threads,
            context_size: Some(self.context_size.unwrap_or(LoadOptions::DEFAULT_CONTEXT_SIZE)),
            ..LoadOptions::default()
        }
    }
}

/// What a text is used for. Many models put a prompt before queries, before documents, or before both.
///
/// ```
/// use causerie::embedding::{EmbedOptions, TextUse};
///
/// let options = EmbedOptions { text_use: TextUse::Document, ..Default::default() };
/// assert_eq!(options.prompt, None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextUse {
    /// The prompt that the model's files name as the default, if they name one.
    #[default]
    Unspecified,
    /// A question, or another text that something is searched with.
    Query,
    /// A text that is searched.
    Document,
}

/// How texts are embedded.
///
/// ```
/// use causerie::embedding::EmbedOptions;
///
/// let options = EmbedOptions { prompt: Some("query: ".to_owned()), ..Default::default() };
/// assert!(options.truncates);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct EmbedOptions {
    /// What the texts are used for, which chooses the prompt in the model's files.
    pub text_use: TextUse,
    /// Text that is put before each text, instead of the prompt in the model's files. Models in GGUF files have no prompts: the
    /// model's description says which it needs.
    pub prompt: Option<String>,
    /// Values of a vector to keep, of which at least one. The shorter vector is brought to the length 1 again. Only models that were
    /// trained for it, such as EmbeddingGemma and Qwen3-Embedding, keep most of their quality. Default: all.
    pub dimensions: Option<usize>,
    /// Whether vectors are brought to the length 1. Default: as the model's files say; for a GGUF file, yes.
    pub normalises: Option<bool>,
    /// Whether a text that is too long is cut at its end. Otherwise it is an error. Default: yes.
    pub truncates: bool,
}

impl Default for EmbedOptions {
    fn default() -> Self {
        Self { text_use: TextUse::Unspecified, prompt: None, dimensions: None, normalises: None, truncates: true }
    }
}

impl EmbedOptions {
    /// Checks the options for vectors of this size.
    pub(super) fn check(&self, n_outputs: usize) -> Result<()> {
        match self.dimensions {
            Some(found) if !(1..=n_outputs).contains(&found) => {
                let message = format!("dimensions must be from 1 to {n_outputs}, found {found}");
                Err(SdkError::new(ErrorKind::InvalidOption("dimensions"), message))
            }
            _ => Ok(()),
        }
    }
}

/// How documents are ranked.
///
/// ```
/// use causerie::embedding::RerankOptions;
///
/// let options = RerankOptions { top_n: Some(3), ..Default::default() };
/// assert_eq!(options.instruction, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RerankOptions {
    /// The number of results. Default: all documents.
    pub top_n: Option<usize>,
    /// What makes a document relevant, for models that are asked in words, such as Qwen3-Reranker. Default: that it answers the
    /// query. Other models refuse it.
    pub instruction: Option<String>,
}
