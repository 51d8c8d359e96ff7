//! Gemma 4 E2B and E4B: a conformer that reaches backwards only, whose maps have clamped inputs and outputs.

use crate::checkpoint::config_object::Config;
use crate::checkpoint::sound::family::{EncoderFacts, EncoderKind, HearingFamily, HearingNameTable, check};
use crate::error::Result;
use crate::media::sound::MelRules;

pub(super) static GEMMA4: HearingFamily = HearingFamily {
    projector_type: "gemma4a",
    class: "Gemma4ForConditionalGeneration",
    decoders: &["gemma4"],
    kind: EncoderKind::LocalConformer,
    names: HearingNameTable {
        outside: &[
            ("a.conv1d.0", "model.audio_tower.subsample_conv_projection.layer0.conv"),
            ("a.conv1d.0.norm", "model.audio_tower.subsample_conv_projection.layer0.norm"),
            ("a.conv1d.1", "model.audio_tower.subsample_conv_projection.layer1.conv"),
            ("a.conv1d.1.norm", "model.audio_tower.subsample_conv_projection.layer1.norm"),
            ("a.input_projection", "model.audio_tower.subsample_conv_projection.input_proj_linear"),
            ("a.pre_encode.out", "model.audio_tower.output_proj"),
            ("mm.a.input_projection", "model.embed_audio.embedding_projection"),
        ],
        layers: "model.audio_tower.layers.",
        in_layer: &[
            ("ffn_norm", "feed_forward1.pre_layer_norm"),
            ("ffn_up", "feed_forward1.ffw_layer_1.linear"),
            ("ffn_down", "feed_forward1.ffw_layer_2.linear"),
            ("ffn_post_norm", "feed_forward1.post_layer_norm"),
            ("attn_pre_norm", "norm_pre_attn"),
            ("attn_q", "self_attn.q_proj.linear"),
            ("attn_k", "self_attn.k_proj.linear"),
            ("attn_v", "self_attn.v_proj.linear"),
            ("attn_out", "self_attn.post.linear"),
            ("attn_k_rel", "self_attn.relative_k_proj"),
            ("attn_post_norm", "norm_post_attn"),
            // GGUF files have these two norms under each other's names.
            ("conv_norm", "lconv1d.pre_layer_norm"),
            ("norm_conv", "lconv1d.conv_norm"),
            ("conv_pw1", "lconv1d.linear_start.linear"),
            ("conv_dw", "lconv1d.depthwise_conv1d"),
            ("conv_pw2", "lconv1d.linear_end.linear"),
            ("ffn_norm_1", "feed_forward2.pre_layer_norm"),
            ("ffn_up_1", "feed_forward2.ffw_layer_1.linear"),
            ("ffn_down_1", "feed_forward2.ffw_layer_2.linear"),
            ("ffn_post_norm_1", "feed_forward2.post_layer_norm"),
            ("ln2", "norm_out"),
        ],
        vectors: &[],
        folded_norm: None,
        softplus: Some(("per_dim_scale.weight", "self_attn.per_dim_scale")),
    },
    last_map: "mm.a.input_projection.weight",
    rules: MelRules::GEMMA4,
    frames: 4,
    // A frame counts if the sample after it is there; half of the first frame is zeros.
    min_samples: MelRules::GEMMA4.window / 2 + 1,
    max_samples: Some(30 * MelRules::GEMMA4.sample_rate as usize),
    norm_eps: 1e-6,
    misstates_eps: true,
    marker: Some("<|audio|>"),
    around: Some(("<|audio>", "<audio|>")),
};

/// What config.json says of the encoder; `None` for the larger models, which have none.
pub(super) fn facts(whole: Config<'_>) -> Result<Option<EncoderFacts>> {
    let Some(encoder) = whole.object("audio_config")? else { return Ok(None) };
    // Other values would be computed in another way.
    for (key, expected) in [
        ("hidden_act", "silu".into()),
        ("attention_chunk_size", 12.into()),
        // It counts one more than the rows before a query.
        ("attention_context_left", 13.into()),
        ("attention_context_right", 0.into()),
        ("attention_logit_cap", 50.0.into()),
        ("residual_weight", 0.5.into()),
    ] {
        check("audio_config", encoder.0, key, &expected)?;
    }
    Ok(Some(EncoderFacts {
        n_layers: encoder.count(&["num_hidden_layers"])?.unwrap_or(12),
        n_heads: encoder.count(&["num_attention_heads"])?.unwrap_or(8),
        norm_eps: encoder.number(&["rms_norm_eps"])?.map_or(GEMMA4.norm_eps, |epsilon| epsilon as f32), // far from its ends
        n_bins: GEMMA4.rules.bins,
    }))
}
