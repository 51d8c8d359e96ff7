//! What kinds of encoders of sound differ in, as data: their names in files, and what the files need not state.

use serde_json::Value as Json;

use crate::checkpoint::invalid::invalid;
use crate::error::Result;
use crate::media::sound::{FrameLayout, MelRules};

/// One kind of encoder with its adapter.
#[derive(Debug, PartialEq)]
pub(crate) struct HearingFamily {
    /// `clip.projector_type` or `clip.audio.projector_type` in GGUF files.
    pub(super) projector_type: &'static str,
    /// Among `architectures` in config.json.
    pub(super) class: &'static str,
    /// `general.architecture` in the GGUF files of decoders.
    pub(crate) decoders: &'static [&'static str],
    pub(crate) kind: EncoderKind,
    pub(super) names: HearingNameTable,
    /// The map whose outputs are rows of the decoder's embedding.
    pub(crate) last_map: &'static str,
    /// How features are computed.
    pub(crate) rules: MelRules,
    /// Frames that become one row.
    pub(crate) frames: usize,
    /// Samples of a recording.
    pub(crate) min_samples: usize,
    pub(crate) max_samples: Option<usize>,
    pub(super) norm_eps: f32,
    /// Whether GGUF files state a wrong epsilon of norms.
    pub(super) misstates_eps: bool,
    /// The control token that chat templates print for a recording.
    pub(crate) marker: Option<&'static str>,
    /// The control tokens around the rows of a recording.
    pub(crate) around: Option<(&'static str, &'static str)>,
}

/// How an encoder computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EncoderKind {
    /// A conformer over the whole recording, and an adapter.
    FastConformer,
    /// A conformer that reaches backwards only, over a few rows.
    LocalConformer,
    /// A stack of causal layers, and an adapter.
    Causal,
}

/// What the files say of an encoder.
pub(super) struct EncoderFacts {
    pub(super) n_layers: usize,
    pub(super) n_heads: usize,
    pub(super) norm_eps: f32,
    /// Features of a frame.
    pub(super) n_bins: usize,
}

/// Names of parts without `.weight`: in GGUF files, and in folders.
#[derive(Debug, PartialEq)]
pub(super) struct HearingNameTable {
    pub(super) outside: &'static [(&'static str, &'static str)],
    /// How names of layers begin in folders.
    pub(super) layers: &'static str,
    /// Parts of layers. If the name in folders ends in `.linear`, the ranges of a map's inputs and outputs may lie beside it.
    pub(super) in_layer: &'static [(&'static str, &'static str)],
    /// Parts of layers whose names are complete.
    pub(super) vectors: &'static [(&'static str, &'static str)],
    /// The norm after a layer's convolution, if it is one by means and variances.
    pub(super) folded_norm: Option<(&'static str, &'static str)>,
    /// Factors in a layer of which folders have `x`, and GGUF files `ln(1 + e^x)`. The names are complete.
    pub(super) softplus: Option<(&'static str, &'static str)>,
}

impl HearingFamily {
    /// The frames of so many samples that the encoder reads.
    pub(crate) fn n_frames(&self, n_samples: usize) -> usize {
        let (n_frames, n_valid) = self.rules.n_frames(n_samples);
        match self.rules.layout {
            FrameLayout::Delayed => n_valid,
            _ => n_frames,
        }
    }
}

/// Refuses a setting with another value than the expected one. A missing setting is the expected one.
pub(super) fn check(part: &str, settings: &Json, key: &str, expected: &Json) -> Result<()> {
    let is_same = |found: &Json| match (found.as_f64(), expected.as_f64()) {
        (Some(found), Some(expected)) => found == expected,
        _ => found == expected,
    };
    match settings.get(key) {
        Some(found) if !is_same(found) && !found.is_null() => {
            Err(invalid(format!("{key} of the {part} in config.json must be {expected}, found {found}")))
        }
        _ => Ok(()),
    }
}
