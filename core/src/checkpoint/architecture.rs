//! The description of a model, from the files of either form. It has no shapes: those come from the tensors.

use crate::checkpoint::families::Family;
use crate::checkpoint::invalid::invalid;
use crate::checkpoint::rope::RopeSettings;
use crate::checkpoint::stated::StatedSizes;
use crate::error::Result;

/// More than any model has; a file with more is damaged.
const MAX_LAYERS: usize = 1024;
/// Positions up to here are exact in f32.
const MAX_CONTEXT: usize = 1 << 24;
pub(crate) const MAX_HEAD: usize = 1 << 16;
/// Factors between operations. Known models have 0.002 to 100.
const MIN_SCALE: f32 = 1e-6;
const MAX_SCALE: f32 = 1e6;
/// Known models have 1e-6 and 1e-5.
const MAX_EPSILON: f32 = 0.1;

#[derive(Debug)]
pub(crate) struct Architecture {
    pub(crate) family: &'static Family,
    /// The family's name in the files.
    pub(crate) name: &'static str,
    /// Layers after the last one that predict further tokens, and are not computed, or that score options.
    pub(crate) n_further_layers: usize,
    pub(crate) stated: StatedSizes,
    pub(crate) norm_eps: f32,
    /// Positions that the model was made for; fewer if a caller has limited them.
    pub(crate) context_size: usize,
    /// Whether tokens attend to those after them, too, in a window around each of them if a layer has a window, and whether short
    /// convolutions are centred: the model reads whole texts, and writes none.
    pub(crate) is_bidirectional: bool,
    /// Query heads, if the files say.
    pub(crate) n_heads: Option<usize>,
    /// Values of a head, if the files say.
    pub(crate) head_dim: Option<usize>,
    /// Key heads of delta nets, if the files say.
    pub(crate) n_delta_keys: Option<usize>,
    /// Rotary positions of layers with full attention.
    pub(crate) rope: RopeSettings,
    /// Rotary positions of layers with a sliding window.
    pub(crate) sliding_rope: RopeSettings,
    /// One entry for each layer; short convolutions and delta nets ignore theirs.
    pub(crate) layers: Vec<LayerPlan>,
    pub(crate) mixture: Option<Mixture>,
    pub(crate) scales: Scales,
}

/// The kind of attention in one layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LayerPlan {
    /// Tokens that a token attends to, including itself; `None` for all tokens before it.
    pub(crate) window: Option<usize>,
    pub(crate) has_rope: bool,
    /// The earlier layer whose keys and values this one reads, if it has none of its own.
    pub(crate) key_values_of: Option<usize>,
}

/// Factors of values between operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scales {
    /// Factor of the embeddings of tokens.
    pub(crate) embedding: f32,
    /// Factor of attention scores; `None` for one over the root of the head size.
    pub(crate) attention: Option<f32>,
    /// Factor of what layers add to the residual stream.
    pub(crate) residual: f32,
    pub(crate) logits: f32,
    /// The bound `c` of logits, `c * tanh(logit / c)`, if they have one.
    pub(crate) logit_softcap: Option<f32>,
}

impl Default for Scales {
    fn default() -> Self {
        Self { embedding: 1.0, attention: None, residual: 1.0, logits: 1.0, logit_softcap: None }
    }
}

impl Scales {
    fn check(&self) -> Result<()> {
        let optional = [self.attention, self.logit_softcap].into_iter().flatten();
        let mut scales = [self.embedding, self.residual, self.logits].into_iter().chain(optional);
        match scales.find(|scale| !(MIN_SCALE..=MAX_SCALE).contains(scale)) {
            Some(scale) => Err(invalid(format!("scales must be between {MIN_SCALE} and {MAX_SCALE}, found {scale}"))),
            None => Ok(()),
        }
    }
}

/// How the experts of a layer are chosen and weighted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mixture {
    /// Experts that each token uses.
    pub(crate) n_used: usize,
    /// Whether the weights of the used experts are divided by their sum.
    pub(crate) is_normalised: bool,
    pub(crate) scale: f32,
    /// Whether a bias is added when experts are chosen.
    pub(crate) has_bias: bool,
}

impl Architecture {
    /// Limits the positions of a sequence.
    pub(crate) fn limit_context(&mut self, context_size: usize) {
        self.context_size = self.context_size.min(context_size);
        for rope in [&mut self.rope, &mut self.sliding_rope] {
            rope.limit_context(self.context_size);
        }
    }

    /// Refuses values that no model has.
    pub(crate) fn check(&self) -> Result<()> {
        let in_range = |what: &str, value: usize, max: usize| match (1..=max).contains(&value) {
            true => Ok(()),
            false => Err(invalid(format!("{what} must be from 1 to {max}, found {value}"))),
        };
        if self.is_bidirectional && !self.family.may_be_bidirectional {
            return Err(invalid(format!(
                "attention in both directions is not supported in architecture {:?}",
                self.name
            )));
        }
        in_range("the context size", self.context_size, MAX_CONTEXT)?;
        self.head_dim.map_or(Ok(()), |size| in_range("the size of a head", size, MAX_HEAD))?;
        self.n_heads.map_or(Ok(()), |count| in_range("the number of heads", count, MAX_HEAD))?;
        for window in self.layers.iter().filter_map(|layer| layer.window) {
            in_range("the attention window", window, usize::MAX)?;
        }
        if !(0.0 < self.norm_eps && self.norm_eps <= MAX_EPSILON) {
            let found = self.norm_eps;
            return Err(invalid(format!(
                "the epsilon of norms must be above 0 and at most {MAX_EPSILON}, found {found}"
            )));
        }
        let expert_scale = self.mixture.as_ref().map(|mixture| mixture.scale);
        if let Some(scale) = expert_scale.filter(|scale| !(MIN_SCALE..=MAX_SCALE).contains(scale)) {
            return Err(invalid(format!(
                "the scale of experts must be between {MIN_SCALE} and {MAX_SCALE}, found {scale}"
            )));
        }
        self.scales.check()?;
        self.rope.check()?;
        self.sliding_rope.check()
    }
}

/// Makes the last `n_sharing` layers reuse the keys and values of the nearest earlier layer of their kind, windowed or full.
pub(crate) fn share_key_values(layers: &mut [LayerPlan], n_sharing: usize) -> Result<()> {
    let n_layers = layers.len();
    let first = n_layers.saturating_sub(n_sharing);
    let (own, sharing) = layers.split_at_mut(first);
    for (at, layer) in sharing.iter_mut().enumerate() {
        let source = own.iter().rposition(|own| own.window.is_some() == layer.window.is_some());
        let Some(source) = source else {
            return Err(invalid(format!(
                "layer {} must have an earlier layer of its kind with keys and values, found {n_sharing} of {n_layers} layers without",
                first + at
            )));
        };
        layer.key_values_of = Some(source);
    }
    Ok(())
}

/// Checks the number of layers before anything is allocated for each of them.
pub(crate) fn check_layers(n_layers: usize) -> Result<usize> {
    match (1..=MAX_LAYERS).contains(&n_layers) {
        true => Ok(n_layers),
        false => Err(invalid(format!("the number of layers must be from 1 to {MAX_LAYERS}, found {n_layers}"))),
    }
}
