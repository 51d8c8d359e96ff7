//! What a family of models is: properties that its files leave out, and how its folders name tensors.

use crate::checkpoint::rope::RopePairing;

/// The names of the norm before the logits in GGUF files. Newer files of LFM2 name it after the embedding.
pub(crate) const OUTPUT_NORMS: [&str; 2] = ["output_norm", "token_embd_norm"];

/// Properties of a family of models that its files leave out.
#[derive(Debug)]
pub(crate) struct Family {
    /// `general.architecture` of GGUF files, which also begins the keys of their metadata.
    pub(crate) gguf: &'static str,
    /// `model_type` of config.json.
    pub(crate) model_type: &'static str,
    /// The architecture that a GGUF file is written with, if it is not `gguf`.
    pub(crate) exported_as: Option<&'static str>,
    pub(super) names: &'static TensorNames,
    /// The norm before the logits, in GGUF files without `.weight`. Other files may have another of [`OUTPUT_NORMS`].
    pub(crate) output_norm: &'static str,
    /// Whether GGUF files keep the tensors that stack maps of the same inputs.
    pub(crate) keeps_stacks: bool,
    /// Whether GGUF files always list the key heads of each layer.
    pub(crate) lists_key_heads: bool,
    /// The key of the width of feed-forward blocks in config.json; `None` if it does not give the width.
    pub(crate) width_key: Option<&'static str>,
    /// The rule by which text is split into words, in GGUF files, where several have the same effect; `None` for the one that is
    /// named as the architecture.
    pub(super) word_rule: Option<&'static str>,
    /// Whether GGUF files spell a SentencePiece-like vocabulary as merges.
    pub(crate) has_spelled_merges: bool,
    /// Which values of a head make a pair. The rows of folders, where it is always the halves, are reordered.
    pub(crate) pairing: RopePairing,
    /// The base of rotary positions if config.json has none.
    pub(crate) default_theta: f32,
    /// The base of rotary positions in layers with a window, if these layers have settings of their own: scaling then applies
    /// only to layers with full attention.
    pub(crate) sliding_theta: Option<f32>,
    /// Whether only the first elements of each head may be rotated.
    pub(crate) rotates_part: bool,
    /// The part of each head that is rotated if config.json does not say.
    pub(crate) default_rotated_part: f64,
    /// The share of pairs that are rotated, the fastest ones, in layers with full attention, if config.json has no
    /// settings.
    pub(crate) rotated_share: Option<f64>,
    /// Whether some pairs count the rows and the columns of images.
    pub(crate) has_sections: bool,
    /// The positions that the model was made for, and the epsilon of norms, if config.json has none.
    pub(crate) default_context: Option<usize>,
    pub(crate) default_norm_eps: Option<f64>,
    pub(crate) window: WindowRule,
    /// The window if config.json has no key for it.
    pub(crate) default_window: Option<usize>,
    /// Whether every query and key head has a norm.
    pub(crate) has_head_norms: bool,
    /// Whether every value head has a norm without weights.
    pub(crate) has_value_norms: bool,
    /// Whether queries, keys and values always have a bias.
    pub(crate) has_biases: bool,
    /// Whether feed-forward blocks may be mixtures of experts.
    pub(crate) has_experts: bool,
    /// Every Nth layer has no positional encoding (NoPE), unless the files list the layers.
    pub(crate) no_rope_interval: Option<usize>,
    pub(crate) activation: Activation,
    /// Whether norms multiply by one more than the weights in folders. GGUF files hold the sums.
    pub(crate) folder_norms_lack_one: bool,
    /// Whether the outputs of operators and feed-forward blocks have norms.
    pub(crate) has_output_norms: bool,
    /// The norm before feed-forward blocks.
    pub(crate) feed_forward_norm: &'static str,
    /// Whether each attention head has a gate.
    pub(crate) has_head_gates: bool,
    /// Whether models may read in both directions: with a window around each token, and with centred short convolutions.
    pub(crate) may_be_bidirectional: bool,
    /// Whether only full attention does so in such models: windows and short convolutions stay causal.
    pub(crate) keeps_windows_causal: bool,
    /// Whether a model reads in both directions if a GGUF file does not say.
    pub(crate) is_encoder: bool,
    /// Whether positions of a step attend to each other in both directions.
    pub(crate) is_two_way: bool,
    /// Whether the rows of each query head are followed by as many rows of a gate.
    pub(crate) has_query_gates: bool,
    /// Whether GGUF files have divisors of the frequencies, for layers with full attention.
    pub(crate) has_divisors: bool,
    /// Whether the files have factors of embeddings, attention scores, residuals and logits.
    pub(crate) has_multipliers: bool,
    /// Factor of attention scores; `None` for one over the root of the head size.
    pub(crate) attention_scale: Option<f32>,
    /// The number of layers of the one size of GGUF files whose factor of attention scores is the root of the number of heads over
    /// the hidden size instead.
    pub(crate) odd_scale_layers: Option<usize>,
    /// Whether embeddings of tokens are multiplied by the root of the hidden size.
    pub(crate) scales_embedding: bool,
}

/// The function of gates in feed-forward blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activation {
    Silu,
    /// GELU with its approximation by the hyperbolic tangent.
    GeluTanh,
}

/// The layers with a sliding window, if the files do not list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowRule {
    /// No layer, unless listed.
    Listed,
    /// Every layer, even if config.json lists others.
    All,
    /// With `use_sliding_window`, the layers from `max_window_layers` on.
    FromLayer,
    /// With `use_sliding_window`, the layers without positional encoding.
    WithoutRope,
    /// Every layer except every Nth, unless listed.
    AllBut(usize),
    /// The files must list the layers.
    AlwaysListed,
}

impl Activation {
    /// The function's names in config.json.
    pub(crate) fn names(self) -> &'static [&'static str] {
        match self {
            Self::Silu => &["silu", "swish"],
            Self::GeluTanh => &["gelu_pytorch_tanh"],
        }
    }
}

/// How folders name tensors.
#[derive(Debug)]
pub(super) struct TensorNames {
    pub(super) output_norm: &'static str,
    /// Names in GGUF files and in folders; a part may have several in folders. `*` stands for the number of an expert.
    pub(super) in_layer: &'static [(&'static str, &'static str)],
}

impl Family {
    /// The norm before the logits, in folders, after the decoder's prefix.
    pub(crate) fn folder_output_norm(&self) -> &'static str {
        self.names.output_norm
    }

    /// The architecture that a GGUF file is written with.
    pub(crate) fn exported_name(&self) -> &'static str {
        self.exported_as.unwrap_or(self.gguf)
    }

    /// The preferred one of the rules that split text into words in the same way.
    pub(crate) fn word_rule(&self) -> &'static str {
        self.word_rule.unwrap_or(self.exported_name())
    }

    /// The parts of layers, by their names in GGUF files.
    pub(crate) fn parts(&self) -> Vec<&'static str> {
        let mut parts: Vec<_> = self.names.in_layer.iter().map(|(gguf, _)| *gguf).collect();
        parts.dedup();
        parts
    }

    /// The names of a part of a layer in folders; none for a part that folders do not have.
    pub(crate) fn folder_names(&self, part: &str) -> impl Iterator<Item = &'static str> {
        self.names.in_layer.iter().filter(move |(gguf, _)| *gguf == part).map(|(_, folder)| *folder)
    }
}
