//! LFM2-Audio and LFM2.5-Audio: a FastConformer, whose rows stand bare in the prompt.

use serde_json::Value as Json;

use crate::checkpoint::config_object::Config;
use crate::checkpoint::invalid::invalid;
use crate::checkpoint::sound::family::{EncoderFacts, EncoderKind, HearingFamily, HearingNameTable, check};
use crate::error::Result;
use crate::media::sound::MelRules;

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
        folded_norm: Some(("conv_norm", "conv.batch_norm")),
        softplus: None,
    },
    last_map: "mm.a.mlp.3.weight",
    rules: MelRules::LFM2,
    frames: 8,
    min_samples: MelRules::LFM2.hop,
    max_samples: None,
    norm_eps: 1e-5,
    misstates_eps: false,
    marker: None,
    around: None,
};

/// What config.json says of the encoder.
pub(super) fn facts(whole: Config<'_>) -> Result<EncoderFacts> {
    let encoder = whole.object("encoder")?.ok_or_else(|| invalid("config.json must have encoder"))?;
    check_encoder(encoder.0)?;
    if let Some(preprocessor) = whole.object("preprocessor")? {
        check_preprocessor(preprocessor.0)?;
    }
    Ok(EncoderFacts {
        n_layers: encoder.needed_count(&["n_layers"])?,
        n_heads: encoder.needed_count(&["n_heads"])?,
        norm_eps: LFM2_AUDIO.norm_eps,
        n_bins: encoder.count(&["feat_in"])?.unwrap_or(LFM2_AUDIO.rules.bins),
    })
}

/// Refuses an encoder that would be computed in another way.
fn check_encoder(encoder: &Json) -> Result<()> {
    check("encoder", encoder, "subsampling", &"dw_striding".into())?;
    check("encoder", encoder, "subsampling_factor", &8.into())?;
    check("encoder", encoder, "causal_downsampling", &false.into())?;
    check("encoder", encoder, "reduction", &Json::Null)?;
    check("encoder", encoder, "self_attention_model", &"rel_pos".into())?;
    check("encoder", encoder, "att_context_size", &Json::from(vec![-1, -1]))?;
    check("encoder", encoder, "xscaling", &false.into())?;
    check("encoder", encoder, "untie_biases", &true.into())?;
    check("encoder", encoder, "conv_norm_type", &"batch_norm".into())?;
    check("encoder", encoder, "conv_context_size", &Json::Null)?;
    check("encoder", encoder, "feat_out", &(-1).into())
}

/// Refuses features that would be computed in another way.
fn check_preprocessor(preprocessor: &Json) -> Result<()> {
    check("preprocessor", preprocessor, "sample_rate", &16_000.into())?;
    check("preprocessor", preprocessor, "normalize", &"per_feature".into())?;
    check("preprocessor", preprocessor, "window_size", &0.025.into())?;
    check("preprocessor", preprocessor, "window_stride", &0.01.into())?;
    check("preprocessor", preprocessor, "window", &"hann".into())?;
    check("preprocessor", preprocessor, "n_fft", &512.into())?;
    check("preprocessor", preprocessor, "log", &true.into())?;
    check("preprocessor", preprocessor, "frame_splicing", &1.into())?;
    check("preprocessor", preprocessor, "pad_to", &0.into())
}
