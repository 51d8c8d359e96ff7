//! What a model is and what it takes, told without loading it.

use std::collections::HashMap;

use crate::error::Result;
use crate::model::{PREFILL_CHUNK, Sizes};
use crate::options::{CacheType, FunctionCallParser};
use crate::prompt::{PromptRenderer, TemplateSources};
use crate::tokenizer::ModelTokenizer;
use crate::weights::Weights;

/// What a model is, from the headers of its files: the weights themselves are not read.
///
/// ```
/// use causerie::ModelInfo;
///
/// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
/// let info = ModelInfo::read(model)?;
/// assert_eq!((info.architecture.as_str(), info.n_layers), ("lfm2", info.n_convolutions + info.n_attentions));
/// let memory = info.memory_estimate(4096);
/// println!("{} parameters, {} MiB with 4,096 tokens", info.n_parameters, memory.total() >> 20);
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelInfo {
    /// What its makers call it, where the files say.
    pub name: Option<String>,
    /// The family, by the name that its files give it: `lfm2`, `qwen3`.
    pub architecture: String,
    /// Weights, each counted once.
    pub n_parameters: u64,
    /// Layers, of either kind.
    pub n_layers: usize,
    /// Layers that attend to earlier tokens.
    pub n_attentions: usize,
    /// Layers that are short convolutions.
    pub n_convolutions: usize,
    /// Numbers that stand for a token between layers.
    pub hidden_size: usize,
    /// Numbers inside of the widest feed-forward block; of experts, each counts as one.
    pub feed_forward_size: usize,
    /// Query heads of an attention layer.
    pub n_heads: usize,
    /// Key and value heads of an attention layer.
    pub n_key_heads: usize,
    /// Numbers of a head.
    pub head_size: usize,
    /// Tokens that layers with a window see; `None` when all see the whole context.
    pub sliding_window: Option<usize>,
    /// Experts of a mixture; 0 for a dense model.
    pub n_experts: usize,
    /// Experts that each token takes.
    pub n_experts_used: usize,
    /// Tokens that the model was made to hold in view.
    pub context_size: usize,
    /// Logits of a token.
    pub n_vocabulary: usize,
    /// The types of the weights, the one with the most bytes first.
    pub quantisation: Vec<QuantisationShare>,
    /// How text is cut into tokens: `gpt2 (lfm2)` as GGUF files name it, `BPE` as tokenizer.json does.
    pub tokenizer: Option<String>,
    /// Whether it has a chat template, without which it holds no conversations.
    pub has_chat_template: bool,
    /// Whether the chat template offers functions.
    pub supports_function_calling: bool,
    /// How the model writes calls, as its vocabulary tells.
    pub function_call_parser: FunctionCallParser,
    /// Whether the chat template speaks of reasoning.
    pub supports_reasoning: bool,
    /// Why the model cannot be loaded although its weights could be, a line each.
    pub problems: Vec<String>,
    sizes: Sizes,
}

/// Weights of one type.
///
/// ```
/// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
/// for share in causerie::ModelInfo::read(model)?.quantisation {
///     println!("{}: {:.0} %", share.name, share.share * 100.0);
/// }
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct QuantisationShare {
    /// The type's name: `Q4_K`.
    pub name: String,
    /// Their bytes in the files.
    pub n_bytes: u64,
    /// Their share of the bytes of all weights, in 0 to 1.
    pub share: f64,
}

/// What a loaded model takes in memory with one sequence, in bytes. An estimate: the tokenizer, the program itself, and
/// states that are kept for later prompts come on top. While it is loading, so does the largest of its weights as it
/// stands in the file.
///
/// ```
/// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
/// let info = causerie::ModelInfo::read(model)?;
/// let (short, long) = (info.memory_estimate(1024), info.memory_estimate(2048));
/// assert!(short.weights == long.weights && short.key_values < long.key_values);
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryEstimate {
    /// Tokens of the sequence.
    pub context_size: usize,
    /// The weights, in the order that products read.
    pub weights: u64,
    /// Keys and values of the sequence.
    pub key_values: u64,
    /// What convolutions remember of the sequence.
    pub convolutions: u64,
    /// Numbers between the weights, while a prompt is read.
    pub working: u64,
}

impl MemoryEstimate {
    /// All together, in bytes.
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// let estimate = causerie::ModelInfo::read(model)?.memory_estimate(1024);
    /// println!("about {} MiB", estimate.total() >> 20);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn total(&self) -> u64 {
        let parts = [self.key_values, self.convolutions, self.working];
        parts.into_iter().fold(self.weights, u64::saturating_add)
    }
}

impl ModelInfo {
    /// Reads the headers of a model: a GGUF file, a Hugging Face folder, or `<namespace>/<name>` in the local cache. A
    /// tokenizer or a chat template that cannot be used is among the [problems](Self::problems).
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// assert!(causerie::ModelInfo::read(model)?.supports_function_calling);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As [`ModelRunner::load`](crate::ModelRunner::load), for the weights.
    pub fn read(model: &str) -> Result<Self> {
        Self::of(&Weights::open(model)?)
    }

    /// Reads the header of a GGUF file that is held in memory.
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// let bytes = std::fs::read(model).unwrap();
    /// assert_eq!(causerie::ModelInfo::read_from_bytes(bytes)?, causerie::ModelInfo::read(model)?);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_from_bytes(bytes: impl Into<std::borrow::Cow<'static, [u8]>>) -> Result<Self> {
        Self::of(&Weights::from_bytes(bytes.into())?)
    }

    fn of(weights: &Weights) -> Result<Self> {
        let mut info = Self::of_weights(weights)?;
        match ModelTokenizer::load(weights) {
            Ok(tokenizer) => {
                info.set_tokenizer(weights, &tokenizer)?;
                if let Err(err) = info.read_template(weights, &tokenizer) {
                    info.problems.push(err.to_string());
                }
            }
            Err(err) => info.problems.push(err.to_string()),
        }
        Ok(info)
    }

    /// Says what keys and values are kept as, where it is not as usual.
    pub(crate) fn set_cache_type(&mut self, cache_type: CacheType) {
        self.sizes.cache_type = cache_type;
    }

    /// What the weights tell.
    pub(crate) fn of_weights(weights: &Weights) -> Result<Self> {
        let sizes = Sizes::read(weights)?;
        let heads = sizes.heads.first().copied().unwrap_or_default();
        Ok(Self {
            name: name(weights)?,
            architecture: sizes.architecture.to_owned(),
            n_parameters: weights.tensors().map(|tensor| tensor.n_values()).sum(),
            n_layers: sizes.heads.len() + sizes.convolutions.len(),
            n_attentions: sizes.heads.len(),
            n_convolutions: sizes.convolutions.len(),
            hidden_size: sizes.hidden,
            feed_forward_size: sizes.feed_forward,
            n_heads: heads.n_queries,
            n_key_heads: heads.n_keys,
            head_size: heads.head_dim,
            sliding_window: sizes.window,
            n_experts: sizes.n_experts,
            n_experts_used: sizes.n_experts_used,
            context_size: sizes.context_size,
            n_vocabulary: sizes.n_vocabulary,
            quantisation: quantisation(weights),
            sizes,
            ..Self::default()
        })
    }

    pub(crate) fn set_tokenizer(&mut self, weights: &Weights, tokenizer: &ModelTokenizer) -> Result<()> {
        let name = match weights {
            Weights::Gguf(file) => {
                let kind = file.text("tokenizer.ggml.model")?.unwrap_or_default();
                file.text("tokenizer.ggml.pre")?.map_or(kind.to_owned(), |cut| format!("{kind} ({cut})"))
            }
            Weights::Folder(_) => tokenizer.kind().to_owned(),
        };
        self.tokenizer = Some(name);
        if self.n_vocabulary < tokenizer.n_tokens() {
            let (tokens, rows) = (tokenizer.n_tokens(), self.n_vocabulary);
            self.problems.push(format!("the vocabulary has {tokens} tokens, and the model knows {rows}"));
        }
        Ok(())
    }

    fn read_template(&mut self, weights: &Weights, tokenizer: &ModelTokenizer) -> Result<()> {
        if let Some(sources) = TemplateSources::read(weights)? {
            self.set_template(&sources.chat, &PromptRenderer::of(&sources, tokenizer, None)?);
        }
        Ok(())
    }

    pub(crate) fn set_template(&mut self, source: &str, renderer: &PromptRenderer) {
        self.has_chat_template = true;
        self.supports_function_calling = renderer.offers_functions();
        self.function_call_parser = renderer.function_call_parser();
        self.supports_reasoning = ["<think>", "enable_thinking"].iter().any(|word| source.contains(word));
    }

    /// What the model takes in memory with a sequence of so many tokens. Where it is not loaded, keys and values count as
    /// they are kept by default.
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// let info = causerie::ModelInfo::read(model)?;
    /// assert!(info.memory_estimate(1024).total() < info.memory_estimate(8192).total());
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn memory_estimate(&self, context_size: usize) -> MemoryEstimate {
        MemoryEstimate {
            context_size,
            weights: self.sizes.n_weight_bytes,
            key_values: self.sizes.key_value_bytes(context_size),
            convolutions: self.sizes.convolution_bytes(),
            working: self.sizes.working_bytes(PREFILL_CHUNK.min(context_size)),
        }
    }
}

fn name(weights: &Weights) -> Result<Option<String>> {
    match weights {
        Weights::Gguf(file) => Ok(file.text("general.name")?.map(str::to_owned)),
        Weights::Folder(_) => Ok(None),
    }
}

fn quantisation(weights: &Weights) -> Vec<QuantisationShare> {
    let mut bytes: HashMap<&str, u64> = HashMap::new();
    for tensor in weights.tensors() {
        *bytes.entry(tensor.tensor_type.name).or_default() += tensor.n_bytes as u64;
    }
    let total: u64 = bytes.values().sum();
    let share = |n_bytes: u64| n_bytes as f64 / total.max(1) as f64;
    let mut shares: Vec<_> = bytes
        .into_iter()
        .map(|(name, n_bytes)| QuantisationShare { name: name.to_owned(), n_bytes, share: share(n_bytes) })
        .collect();
    shares.sort_by(|a, b| b.n_bytes.cmp(&a.n_bytes).then_with(|| a.name.cmp(&b.name)));
    shares
}
