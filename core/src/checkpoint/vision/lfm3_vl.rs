//! LFM3-VL: layers of gated convolutions over the grid of patches, and of attention, without tiles.

use crate::checkpoint::families::Activation;
use crate::checkpoint::vision::family::{ImageTokens, RowRoles, UNDIVIDED, VisionFamily, VisionNameTable};
use crate::position::MutualAttention;

pub(super) static LFM3_VL: VisionFamily = VisionFamily {
    projector_type: "lfm3vl",
    model_types: &["lfm3_vl"],
    decoders: &["lfm3"],
    names: VisionNameTable {
        tower: &[
            ("v.patch_embd", "patchifier"),
            ("v.patch_embd", "patch_embed"),
            ("v.embedding_norm", "embedding_norm"),
        ],
        layers: "layers.",
        in_layer: &[
            ("ln1", "operator_norm"),
            ("ln2", "ffn_norm"),
            ("attn_q", "self_attn.q_proj"),
            ("attn_k", "self_attn.k_proj"),
            ("attn_v", "self_attn.v_proj"),
            ("attn_out", "self_attn.out_proj"),
            ("attn_q_norm", "self_attn.q_layernorm"),
            ("attn_q_norm", "self_attn.q_norm"),
            ("attn_k_norm", "self_attn.k_layernorm"),
            ("attn_k_norm", "self_attn.k_norm"),
            ("ffn_gate", "feed_forward.w1"),
            ("ffn_up", "feed_forward.w3"),
            ("ffn_down", "feed_forward.w2"),
            ("conv2d_in_proj", "conv.in_proj"),
            ("conv2d_spatial", "conv.spatial_conv"),
            ("conv2d_out_proj", "conv.out_proj"),
        ],
        projector: &[("mm.input_norm", "layer_norm"), ("mm.0", "linear_1"), ("mm.2", "linear_2")],
        vectors: &[],
        lacks_one: None,
    },
    patch_norm: Some("v.embedding_norm"),
    places: None,
    rows: RowRoles::Joined { patch_norm: "mm.input_norm", joined_norm: None, first: "mm.0", second: "mm.2" },
    gate: Some(Activation::Silu),
    score_scale: None,
    has_output_norms: false,
    has_value_norms: false,
    rotates_by_halves: false,
    mutual: MutualAttention::Nowhere,
    counts_cells: false,
    centres_levels: false,
    has_layer_norms: false,
    has_channels_first: true,
    rope_theta: Some(1e6),
    norm_eps: 1e-5,
    projector_eps: 1e-6,
    rules: UNDIVIDED,
    // The means of CLIP.
    mean: [0.481_454_66, 0.457_827_5, 0.408_210_73],
    deviation: [0.268_629_54, 0.261_302_6, 0.275_777_1],
    tokens: ImageTokens { markers: &["<|image|>", "<|image_pad|>"], around: None, text_around: "", tiles: None },
};
