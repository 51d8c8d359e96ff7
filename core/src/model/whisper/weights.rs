//! The weights of a Whisper model.

use crate::checkpoint::{WhisperArchitecture, WhisperCheckpoint, invalid};
use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::heads::Heads;
use crate::model::linear::Linear;
use crate::weights::{MatrixPlace, TensorPart, Tensors};

/// The epsilon of all norms.
const EPSILON: f32 = 1e-5;
/// Rows of a convolution's window.
pub(super) const KERNEL: usize = 3;

pub(super) struct WhisperWeights<B: Backend> {
    /// `(hidden, kernel * bins)` and `(hidden, kernel * hidden)`.
    pub(super) convolutions: [Linear<B>; 2],
    pub(super) sound_positions: PositionTable,
    pub(super) sound_layers: Vec<SoundLayer<B>>,
    pub(super) sound_norm: LayerNormWeights<B>,
    pub(super) text_positions: PositionTable,
    pub(super) text_layers: Vec<TextLayer<B>>,
    pub(super) text_norm: LayerNormWeights<B>,
    /// The embedding of tokens, which is also the map to logits.
    pub(super) tokens: Linear<B>,
}

/// Vectors that are added to rows by their position.
pub(super) struct PositionTable {
    /// `(positions, hidden)`
    pub(super) values: Vec<f32>,
    pub(super) hidden: usize,
}

pub(super) struct SoundLayer<B: Backend> {
    pub(super) attention: AttentionWeights<B>,
    pub(super) block: InnerBlock<B>,
}

pub(super) struct TextLayer<B: Backend> {
    pub(super) attention: AttentionWeights<B>,
    /// Its queries are text, its keys and values are sound.
    pub(super) cross: AttentionWeights<B>,
    pub(super) block: InnerBlock<B>,
}

pub(super) struct AttentionWeights<B: Backend> {
    pub(super) norm: LayerNormWeights<B>,
    pub(super) query: Linear<B>,
    pub(super) key: Linear<B>,
    pub(super) value: Linear<B>,
    pub(super) out: Linear<B>,
    pub(super) heads: Heads,
}

/// The feed-forward block of a layer.
pub(super) struct InnerBlock<B: Backend> {
    pub(super) norm: LayerNormWeights<B>,
    pub(super) up: Linear<B>,
    pub(super) down: Linear<B>,
}

pub(super) struct LayerNormWeights<B: Backend> {
    pub(super) weight: B::Vector,
    pub(super) bias: B::Vector,
    pub(super) epsilon: f32,
}

impl<B: Backend> WhisperWeights<B> {
    /// Reads all tensors, whose sizes must agree.
    ///
    /// # Errors
    /// [`ErrorKind::ModelLoad`](crate::error::ErrorKind::ModelLoad) for a tensor that is missing or has another shape.
    pub(super) fn load(backend: &B, checkpoint: &WhisperCheckpoint) -> Result<Self> {
        let WhisperCheckpoint { architecture, tensors, .. } = checkpoint;
        let WhisperArchitecture { hidden, n_bins, n_sound_positions, n_text_positions, n_vocabulary, .. } =
            *architecture;
        let reader = WhisperReader { backend, tensors, hidden };
        let heads = |n: usize| Heads { n_queries: n, n_keys: n, head_dim: hidden / n };
        let (sound_heads, text_heads) = (heads(architecture.n_sound_heads), heads(architecture.n_text_heads));
        let sound_layer = |layer: usize| {
            let layer = format!("encoder.blocks.{layer}");
            Ok(SoundLayer { attention: reader.attention(&layer, "attn", sound_heads)?, block: reader.block(&layer)? })
        };
        let text_layer = |layer: usize| {
            let layer = format!("decoder.blocks.{layer}");
            Ok(TextLayer {
                attention: reader.attention(&layer, "attn", text_heads)?,
                cross: reader.attention(&layer, "cross_attn", text_heads)?,
                block: reader.block(&layer)?,
            })
        };
        Ok(Self {
            convolutions: [
                reader.linear("encoder.conv1", (hidden, KERNEL * n_bins), true)?,
                reader.linear("encoder.conv2", (hidden, KERNEL * hidden), true)?,
            ],
            sound_positions: reader.positions("encoder", n_sound_positions)?,
            sound_layers: (0..architecture.n_sound_layers).map(sound_layer).collect::<Result<_>>()?,
            sound_norm: reader.norm("encoder.ln_post")?,
            text_positions: reader.positions("decoder", n_text_positions)?,
            text_layers: (0..architecture.n_text_layers).map(text_layer).collect::<Result<_>>()?,
            text_norm: reader.norm("decoder.ln")?,
            tokens: reader.linear("decoder.token_embedding", (n_vocabulary, hidden), false)?,
        })
    }
}

/// Reads the tensors of a model.
struct WhisperReader<'a, B> {
    backend: &'a B,
    tensors: &'a Tensors,
    hidden: usize,
}

impl<B: Backend> WhisperReader<'_, B> {
    fn attention(&self, layer: &str, kind: &str, heads: Heads) -> Result<AttentionWeights<B>> {
        let linear = |part: &str, has_bias: bool| {
            self.linear(&format!("{layer}.{kind}.{part}"), (self.hidden, self.hidden), has_bias)
        };
        Ok(AttentionWeights {
            norm: self.norm(&format!("{layer}.{kind}_ln"))?,
            query: linear("query", true)?,
            key: linear("key", false)?,
            value: linear("value", true)?,
            out: linear("out", true)?,
            heads,
        })
    }

    fn block(&self, layer: &str) -> Result<InnerBlock<B>> {
        let up = format!("{layer}.mlp.0");
        let matrix = format!("{up}.weight");
        let width = match self.tensors.shape(&matrix) {
            Some(&[width, _]) => width,
            Some(found) => {
                let matrix = self.tensors.file_name(&matrix);
                return Err(invalid(format!("tensor {matrix} must be a matrix, found shape {found:?}")));
            }
            None => return Err(self.tensors.missing(&matrix)),
        };
        Ok(InnerBlock {
            norm: self.norm(&format!("{layer}.mlp_ln"))?,
            up: self.linear(&up, (width, self.hidden), true)?,
            down: self.linear(&format!("{layer}.mlp.2"), (self.hidden, width), true)?,
        })
    }

    fn linear(&self, name: &str, shape: (usize, usize), has_bias: bool) -> Result<Linear<B>> {
        let matrix = format!("{name}.weight");
        let weight =
            self.backend.matrix(self.tensors, &MatrixPlace { name: &matrix, shape, part: TensorPart::Whole })?;
        let bias = has_bias.then(|| self.vector(&format!("{name}.bias"), shape.0)).transpose()?;
        Ok(Linear { weight, bias })
    }

    fn positions(&self, side: &str, n_positions: usize) -> Result<PositionTable> {
        let values = self.tensors.floats(&format!("{side}.positional_embedding"), &[n_positions, self.hidden])?;
        Ok(PositionTable { values, hidden: self.hidden })
    }

    fn vector(&self, name: &str, length: usize) -> Result<B::Vector> {
        self.backend.vector(self.tensors.floats(name, &[length])?)
    }

    fn norm(&self, name: &str) -> Result<LayerNormWeights<B>> {
        let values = |kind: &str| self.vector(&format!("{name}.{kind}"), self.hidden);
        Ok(LayerNormWeights { weight: values("weight")?, bias: values("bias")?, epsilon: EPSILON })
    }
}
