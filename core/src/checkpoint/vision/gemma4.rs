//! Gemma 4: attention with rotary positions of both axes, and rows that are means of squares of patches. A picture is always as large as
//! the number of its rows allows. The maps of E2B and E4B have clamped inputs and outputs. The larger models bring the columns of rows to
//! one scale, and the rows of an image attend to each other in layers with a window.

use crate::checkpoint::config_object::Config;
use crate::checkpoint::families::Activation;
use crate::checkpoint::invalid::invalid;
use crate::checkpoint::vision::family::{ImageTokens, PatchPlaces, RowRoles, UNDIVIDED, VisionFamily, VisionNameTable};
use crate::error::Result;
use crate::media::{ImageSizing, TilingRules};
use crate::position::MutualAttention;
use crate::weights::GgufFile;

/// Where rows of an image attend to each other in the larger models.
pub(super) const LARGE: MutualAttention = MutualAttention::InWindows;
/// Pixels of a row.
const ROW_PIXELS: usize = 48 * 48;

pub(super) static GEMMA4: VisionFamily = VisionFamily {
    projector_type: "gemma4v",
    model_types: &["gemma4"],
    decoders: &["gemma4"],
    names: VisionNameTable {
        tower: &[("v.patch_embd", "patch_embedder.input_proj")],
        layers: "encoder.layers.",
        in_layer: &[
            ("ln1", "input_layernorm"),
            ("attn_post_norm", "post_attention_layernorm"),
            ("ln2", "pre_feedforward_layernorm"),
            ("ffn_post_norm", "post_feedforward_layernorm"),
            ("attn_q", "self_attn.q_proj.linear"),
            ("attn_k", "self_attn.k_proj.linear"),
            ("attn_v", "self_attn.v_proj.linear"),
            ("attn_out", "self_attn.o_proj.linear"),
            ("attn_q_norm", "self_attn.q_norm"),
            ("attn_k_norm", "self_attn.k_norm"),
            ("ffn_gate", "mlp.gate_proj.linear"),
            ("ffn_up", "mlp.up_proj.linear"),
            ("ffn_down", "mlp.down_proj.linear"),
        ],
        projector: &[("mm.input_projection", "embedding_projection")],
        vectors: &[
            ("v.position_embd.weight", "patch_embedder.position_embedding_table"),
            ("v.std_bias", "std_bias"),
            ("v.std_scale", "std_scale"),
        ],
        lacks_one: None,
    },
    patch_norm: None,
    places: Some(PatchPlaces::Axes),
    rows: RowRoles::Pooled {
        map: "mm.input_projection",
        patch_norm: None,
        mean_norm: None,
        is_transposed: false,
        is_raised: true,
    },
    gate: Some(Activation::GeluTanh),
    score_scale: Some(1.0),
    has_output_norms: true,
    has_value_norms: true,
    rotates_by_halves: true,
    mutual: MutualAttention::Nowhere,
    counts_cells: false,
    centres_levels: true,
    has_layer_norms: false,
    has_channels_first: false,
    rope_theta: Some(100.0),
    norm_eps: 1e-6,
    projector_eps: 1e-6,
    rules: TilingRules {
        merge: 3,
        min_pixels: ROW_PIXELS,
        max_pixels: 280 * ROW_PIXELS,
        sizing: ImageSizing::Filled,
        min_units: 1,
        ..UNDIVIDED
    },
    mean: [0.0; 3],
    deviation: [1.0; 3],
    tokens: ImageTokens {
        markers: &["<|image|>"],
        around: Some(("<|image>", "<image|>")),
        text_around: "",
        tiles: None,
    },
};

/// Whether the rows of an image attend to each other, in the larger models.
pub(super) fn is_two_way(whole: Config<'_>) -> Result<bool> {
    let text = whole.object("text_config")?.unwrap_or(whole);
    match text.text("use_bidirectional_attention")? {
        None => Ok(false),
        Some("vision") => Ok(true),
        Some(other) => Err(invalid(format!("use_bidirectional_attention must be \"vision\", found {other:?}"))),
    }
}

/// Whether a projector file is one of a larger model.
pub(super) fn is_large(file: &GgufFile) -> bool {
    file.tensors().any(|tensor| tensor.name == "v.std_scale")
}
