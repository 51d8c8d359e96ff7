//! The kinds of encoders of sound, as data: their names in files, and what the files need not state.

use crate::media::sound::MelRules;

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
    /// How features are computed.
    pub(crate) rules: MelRules,
    /// Frames that become one row.
    pub(crate) frames: usize,
    /// Samples of a recording.
    pub(crate) min_samples: usize,
    pub(super) norm_eps: f32,
    /// The control tokens around the rows of a recording.
    pub(crate) around: Option<(&'static str, &'static str)>,
}

/// How an encoder computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EncoderKind {
    /// A conformer over the whole recording, and an adapter.
    FastConformer,
    /// A stack of causal layers, and an adapter.
    Causal,
}

/// Names of parts without `.weight`: in GGUF files, and in folders.
#[derive(Debug, PartialEq)]
pub(super) struct HearingNameTable {
    pub(super) outside: &'static [(&'static str, &'static str)],
    /// How names of layers begin in folders.
    pub(super) layers: &'static str,
    pub(super) in_layer: &'static [(&'static str, &'static str)],
    /// Parts of layers whose names are complete.
    pub(super) vectors: &'static [(&'static str, &'static str)],
    /// The norm after a layer's convolution.
    pub(super) folded_norm: (&'static str, &'static str),
}

/// A FastConformer, whose rows stand bare in the prompt.
pub(super) static LFM2_AUDIO: HearingFamily = HearingFamily {
    projector_type: "lfm2a",
    class: "Lfm2AudioForConditionalGeneration",
    decoders: &["lfm2"],
    kind: EncoderKind::FastConformer,
    names: HearingNameTable {
        outside: &[
            ("a.conv1d.0", "conformer.pre_encode.conv.0"),
            ("a.conv1d.2", "conformer.pre_encode.conv.2"),
            ("a.conv1d.3", "conformer.pre_encode.conv.3"),
            ("a.conv1d.5", "conformer.pre_encode.conv.5"),
            ("a.conv1d.6", "conformer.pre_encode.conv.6"),
            ("a.pre_encode.out", "conformer.pre_encode.out"),
            ("mm.a.mlp.0", "audio_adapter.model.0"),
            ("mm.a.mlp.1", "audio_adapter.model.1"),
            ("mm.a.mlp.3", "audio_adapter.model.3"),
        ],
        layers: "conformer.layers.",
        in_layer: &[
            ("ffn_norm", "norm_feed_forward1"),
            ("ffn_up", "feed_forward1.linear1"),
            ("ffn_down", "feed_forward1.linear2"),
            ("ln1", "norm_self_att"),
            ("attn_q", "self_attn.linear_q"),
            ("attn_k", "self_attn.linear_k"),
            ("attn_v", "self_attn.linear_v"),
            ("attn_out", "self_attn.linear_out"),
            ("linear_pos", "self_attn.linear_pos"),
            ("norm_conv", "norm_conv"),
            ("conv_pw1", "conv.pointwise_conv1"),
            ("conv_dw", "conv.depthwise_conv"),
            ("conv_pw2", "conv.pointwise_conv2"),
            ("ffn_norm_1", "norm_feed_forward2"),
            ("ffn_up_1", "feed_forward2.linear1"),
            ("ffn_down_1", "feed_forward2.linear2"),
            ("ln2", "norm_out"),
        ],
        vectors: &[("pos_bias_u", "self_attn.pos_bias_u"), ("pos_bias_v", "self_attn.pos_bias_v")],
        folded_norm: ("conv_norm", "conv.batch_norm"),
    },
    rules: MelRules::LFM2,
    frames: 8,
    min_samples: 160,
    norm_eps: 1e-5,
    around: None,
};
