//! The encoder of LFM3-Audio and LFM3-Omni, which projector files hold. No folder with one is known, so their class has no name.

use crate::checkpoint::sound::family::{EncoderKind, HearingFamily, HearingNameTable};
use crate::media::sound::MelRules;

/// A stack of causal layers, whose rows stand bare in the prompt. Its tensors are named in [`causal`](super::causal).
pub(crate) static LFM3_AUDIO: HearingFamily = LFM3;

/// The same encoder beside a vision tower, whose control tokens also stand around sound.
pub(super) static LFM3_OMNI: HearingFamily =
    HearingFamily { around: Some(("<|vision_start|>", "<|vision_end|>")), ..LFM3 };

const LFM3: HearingFamily = HearingFamily {
    projector_type: "lfm3a",
    class: "",
    decoders: &["lfm3"],
    kind: EncoderKind::Causal,
    names: HearingNameTable {
        outside: &[],
        layers: "",
        in_layer: &[],
        vectors: &[],
        folded_norm: None,
        softplus: None,
    },
    last_map: "mm.a.mlp.3.weight",
    rules: MelRules::LFM3,
    frames: 8,
    min_samples: 1,
    max_samples: None,
    norm_eps: 1e-5,
    misstates_eps: false,
    marker: None,
    around: None,
};
