//! Describes a model and its memory use without loading it.

use std::collections::HashMap;
use std::path::Path;

use crate::checkpoint::{Checkpoint, HearingArchitecture, VisionArchitecture, is_sound_encoder, is_speech, is_vision};
use crate::error::Result;
use crate::model::{PREFILL_CHUNK, Sizes, UsedGpu, hearing_bytes, vision_bytes};
use crate::notation::FunctionCallParser;
use crate::options::CacheType;
use crate::projectors::{self, PartFiles};
use crate::prompt::PromptRenderer;
use crate::tokenizer::ModelTokenizer;
use crate::voice::{self, VoiceFiles};
use crate::weights::{ModelBytes, TemplateSources, Weights};

/// A description of a model, from the headers of its files. The weights themselves are not read.
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
    /// The model's name, if the files state it.
    pub name: Option<String>,
    /// The model family, as the files name it: `lfm2`, `qwen3`.
    pub architecture: String,
    /// Number of weights. Shared weights count once.
    pub n_parameters: u64,
    /// Number of layers of all kinds.
    pub n_layers: usize,
    /// Number of attention layers.
    pub n_attentions: usize,
    /// Number of short convolution layers.
    pub n_convolutions: usize,
    /// Number of gated delta net layers.
    pub n_delta_nets: usize,
    /// Size of the hidden state of a token.
    pub hidden_size: usize,
    /// Inner size of the widest feed-forward block, or of one expert.
    pub feed_forward_size: usize,
    /// Number of query heads of an attention layer.
    pub n_heads: usize,
    /// Number of key and value heads of an attention layer.
    pub n_key_heads: usize,
    /// Size of a head.
    pub head_size: usize,
    /// Number of tokens that layers with a sliding window attend to; `None` if all layers attend to the whole context.
    pub sliding_window: Option<usize>,
    /// Number of experts; 0 for a dense model.
    pub n_experts: usize,
    /// Number of experts used per token.
    pub n_experts_used: usize,
    /// The largest context in tokens that the model supports.
    pub context_size: usize,
    /// Number of logits per token.
    pub n_vocabulary: usize,
    /// The types of the weights, ordered by descending size.
    pub quantisation: Vec<QuantisationShare>,
    /// Size in bytes of the weights that are packed, as in a bundle that was made with packed weights; 0 for other files.
    pub packed_bytes: u64,
    /// The kind of tokenizer: `gpt2 (lfm2)` as GGUF files name it, `BPE` as tokenizer.json does.
    pub tokenizer: Option<String>,
    /// Whether the model has a chat template. Conversations require one.
    pub has_chat_template: bool,
    /// Whether the chat template supports functions.
    pub supports_function_calling: bool,
    /// The notation in which the model writes calls, recognised by its chat template, its vocabulary, or what the template
    /// prints for a call.
    pub function_call_parser: FunctionCallParser,
    /// Whether the chat template mentions reasoning.
    pub supports_reasoning: bool,
    /// Whether messages can contain images.
    pub supports_images: bool,
    /// Whether messages can contain sound.
    pub supports_audio: bool,
    /// Whether the model speaks: its replies may have [sound](crate::MessageResponse::AudioSample).
    pub supports_speech: bool,
    /// The part that was looked for and not found, if the model could speak with one more file.
    pub missing_speech: Option<String>,
    /// Names in the files of tensors that nothing reads, in order: layers that predict further tokens, tables of older programs, towers
    /// of other kinds.
    pub unused_tensors: Vec<String>,
    /// Problems with the tokenizer or chat template that prevent loading, one per entry; empty once loaded.
    pub problems: Vec<String>,
    /// The name of the GPU that computes the loaded model; `None` on the CPU, and before it is loaded.
    pub gpu: Option<String>,
    /// How the GPU's results may differ from the CPU's, one per entry; empty if they have the same bits.
    pub gpu_differences: Vec<String>,
    sizes: Sizes,
    /// Whether the chat template prints markers for images.
    prints_images: bool,
    /// Bytes of the vision tower once loaded.
    vision_bytes: u64,
    /// Rows of the largest image, if the rows of an image attend to each other and so are computed together; else 0.
    max_whole_rows: usize,
    /// Bytes of the encoder of sound once loaded.
    hearing_bytes: u64,
    /// Bytes of the parts that speak once loaded.
    speech_bytes: u64,
}

/// The weights of one type.
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
    /// Size of these weights in the files, in bytes.
    pub n_bytes: u64,
    /// Their fraction of the size of all weights, between 0 and 1.
    pub share: f64,
}

/// Estimated memory use of a loaded model with one sequence, in bytes. The tokenizer, the program itself and the prefix cache
/// are not included. During loading, the largest tensor of the file also needs memory.
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
    /// Length of the sequence in tokens.
    pub context_size: usize,
    /// The weights, in their storage format.
    pub weights: u64,
    /// The keys and values of the sequence.
    pub key_values: u64,
    /// The convolution states of the sequence.
    pub convolutions: u64,
    /// The states of the sequence in delta nets.
    pub delta_nets: u64,
    /// The vision part: its tower and its projector.
    pub vision: u64,
    /// The audio part: its encoder and its adapter.
    pub hearing: u64,
    /// The parts that speak: what writes frames of codes, and what turns them into sound.
    pub speech: u64,
    /// Intermediate values during prefill.
    pub working: u64,
}

impl MemoryEstimate {
    /// The sum, in bytes.
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// let estimate = causerie::ModelInfo::read(model)?.memory_estimate(1024);
    /// println!("about {} MiB", estimate.total() >> 20);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn total(&self) -> u64 {
        let states = [self.key_values, self.convolutions, self.delta_nets, self.working];
        let parts = [self.vision, self.hearing, self.speech];
        states.into_iter().chain(parts).fold(self.weights, u64::saturating_add)
    }
}

impl ModelInfo {
    /// Reads the headers of a model: a GGUF file, a Hugging Face folder, or `<namespace>/<name>` in the local cache. A
    /// tokenizer or a chat template that cannot be used is reported in [`problems`](Self::problems).
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// assert!(causerie::ModelInfo::read(model)?.supports_function_calling);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As [`ModelRunner::load`](crate::ModelRunner::load), for the weights.
    pub fn read(model: impl AsRef<Path>) -> Result<Self> {
        Self::from_weights(&Weights::open(model)?)
    }

    /// Reads the headers of a model that is held in memory.
    ///
    /// ```
    /// # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    /// let bytes = std::fs::read(model).unwrap();
    /// assert_eq!(causerie::ModelInfo::read_from_bytes(bytes)?.name, causerie::ModelInfo::read(model)?.name);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_from_bytes(bytes: impl Into<ModelBytes>) -> Result<Self> {
        Self::from_weights(&Weights::from_bytes(bytes.into())?)
    }

    fn from_weights(weights: &Weights) -> Result<Self> {
        let mut info = Self::of_weights(weights)?;
        match ModelTokenizer::load(weights) {
            Ok(tokenizer) => {
                info.set_tokenizer(&tokenizer);
                let read = info.read_template(weights, &tokenizer).and_then(|()| info.read_parts(weights));
                if let Err(err) = read {
                    info.problems.push(err.to_string());
                }
            }
            Err(err) => info.problems.push(err.to_string()),
        }
        Ok(info)
    }

    /// Sets what computes the loaded model.
    pub(crate) fn set_gpu(&mut self, used: UsedGpu) {
        (self.gpu, self.gpu_differences) = (Some(used.name), used.differences);
    }

    /// Sets the storage format of keys and values, if it is not the default.
    pub(crate) fn set_cache_type(&mut self, cache_type: CacheType) {
        self.sizes.cache_type = cache_type;
    }

    /// The part of the description that the weights determine.
    pub(crate) fn of_weights(weights: &Weights) -> Result<Self> {
        let mut sizes = Sizes::read(&Checkpoint::read(weights)?)?;
        let heads = sizes.heads.first().copied().unwrap_or_default();
        Ok(Self {
            name: weights.metadata_text("general.name")?.map(str::to_owned),
            architecture: sizes.architecture.to_owned(),
            n_parameters: weights.tensors().map(|tensor| tensor.n_values()).sum(),
            n_layers: sizes.heads.len() + sizes.convolutions.len() + sizes.delta_nets.len(),
            n_attentions: sizes.heads.len(),
            n_convolutions: sizes.convolutions.len(),
            n_delta_nets: sizes.delta_nets.len(),
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
            packed_bytes: weights.packed().map_or(0, |packed| packed.n_bytes().1),
            function_call_parser: FunctionCallParser::DefaultFunctionCallParser,
            unused_tensors: std::mem::take(&mut sizes.unread),
            sizes,
            ..Self::default()
        })
    }

    pub(crate) fn set_tokenizer(&mut self, tokenizer: &ModelTokenizer) {
        self.tokenizer = Some(tokenizer.name().to_owned());
        if self.n_vocabulary < tokenizer.n_tokens() {
            let (tokens, rows) = (tokenizer.n_tokens(), self.n_vocabulary);
            self.problems.push(format!("the vocabulary must have at most {rows} tokens, found {tokens}"));
        }
    }

    fn read_template(&mut self, weights: &Weights, tokenizer: &ModelTokenizer) -> Result<()> {
        if let Some(sources) = TemplateSources::read(weights)? {
            self.set_template(&sources.chat, &PromptRenderer::from_sources(&sources, tokenizer)?);
        }
        Ok(())
    }

    fn read_parts(&mut self, weights: &Weights) -> Result<()> {
        if !self.has_chat_template {
            return self.read_voice(weights, None);
        }
        let parts = projectors::find(weights, None, self.hidden_size)?;
        if self.prints_images
            && let PartFiles::Found(found, architecture) = &parts.vision
        {
            self.set_vision(found.weights(), architecture);
        }
        if let PartFiles::Found(found, architecture) = &parts.hearing {
            self.set_hearing(found.weights(), architecture);
        }
        self.read_voice(weights, parts.projector())
    }

    fn read_voice(&mut self, weights: &Weights, projector: Option<&Weights>) -> Result<()> {
        self.set_voice(&voice::find(weights, projector, None, None)?);
        Ok(())
    }

    /// Sets whether the model speaks.
    pub(crate) fn set_voice(&mut self, voice: &VoiceFiles) {
        self.speech_bytes = voice.n_bytes();
        match voice {
            VoiceFiles::Found(_) => {
                self.supports_speech = true;
                self.unused_tensors.retain(|name| !is_speech(name));
            }
            VoiceFiles::Missing(reason) => self.missing_speech = Some(reason.clone()),
            VoiceFiles::None => {}
        }
    }

    /// Sets that this is a vision model, with these weights.
    pub(crate) fn set_vision(&mut self, weights: &Weights, architecture: &VisionArchitecture) {
        self.supports_images = true;
        self.max_whole_rows = architecture.max_whole_rows();
        self.vision_bytes = vision_bytes(weights);
        self.unused_tensors.retain(|name| !is_vision(name));
    }

    /// Sets that this is an audio model, with these weights. The tensors for sound that the encoder does not read are unused ones.
    pub(crate) fn set_hearing(&mut self, weights: &Weights, architecture: &HearingArchitecture) {
        self.supports_audio = true;
        self.hearing_bytes = hearing_bytes(weights);
        self.unused_tensors.retain(|name| !is_sound_encoder(name));
        self.unused_tensors.extend(architecture.unread(weights));
        self.unused_tensors.sort_unstable();
    }

    pub(crate) fn set_template(&mut self, source: &str, renderer: &PromptRenderer) {
        self.has_chat_template = true;
        self.prints_images = renderer.prints_images();
        self.supports_function_calling = renderer.offers_functions();
        self.function_call_parser = renderer.function_call_parser();
        self.supports_reasoning = ["<think>", "enable_thinking"].iter().any(|word| source.contains(word));
    }

    /// Estimates the memory use with a sequence of `context_size` tokens. For a model that is not loaded, keys and values are
    /// counted in the default cache type.
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
            delta_nets: self.sizes.delta_net_bytes(),
            vision: self.vision_bytes,
            hearing: self.hearing_bytes,
            speech: self.speech_bytes,
            working: self.sizes.working_bytes(PREFILL_CHUNK.max(self.max_whole_rows).min(context_size)),
        }
    }
}

fn quantisation(weights: &Weights) -> Vec<QuantisationShare> {
    let mut bytes: HashMap<&str, u64> = HashMap::new();
    for tensor in weights.tensors() {
        *bytes.entry(tensor.tensor_type.name()).or_default() += tensor.n_bytes as u64;
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
