//! Qwen3.5: a tower with vectors and rotary positions for the places of patches, whose squares of patches are joined. The decoder counts
//! the positions of an image by the rows and columns of its grid.

use crate::checkpoint::config_object::Config;
use crate::checkpoint::invalid::invalid;
use crate::checkpoint::vision::family::{ImageTokens, PatchPlaces, RowRoles, UNDIVIDED, VisionFamily, VisionNameTable};
use crate::error::Result;
use crate::position::MutualAttention;

pub(super) static QWEN35: VisionFamily = VisionFamily {
    projector_type: "qwen3vl_merger",
    model_types: &["qwen3_5"],
    decoders: &["qwen35"],
    names: VisionNameTable {
        tower: &[
            ("v.patch_embd", "patch_embed.proj"),
            ("v.position_embd", "pos_embed"),
            ("v.post_ln", "merger.norm"),
            ("mm.0", "merger.linear_fc1"),
            ("mm.2", "merger.linear_fc2"),
        ],
        layers: "blocks.",
        in_layer: &[
            ("ln1", "norm1"),
            ("ln2", "norm2"),
            ("attn_qkv", "attn.qkv"),
            ("attn_out", "attn.proj"),
            ("ffn_up", "mlp.linear_fc1"),
            ("ffn_down", "mlp.linear_fc2"),
        ],
        projector: &[],
        vectors: &[],
        lacks_one: None,
    },
    patch_norm: None,
    places: Some(PatchPlaces::Square { is_aligned: true }),
    rows: RowRoles::Joined { patch_norm: "v.post_ln", joined_norm: None, first: "mm.0", second: "mm.2" },
    gate: None,
    score_scale: None,
    has_output_norms: false,
    has_value_norms: false,
    rotates_by_halves: false,
    mutual: MutualAttention::Nowhere,
    counts_cells: true,
    centres_levels: false,
    has_layer_norms: true,
    has_channels_first: true,
    rope_theta: Some(10_000.0),
    norm_eps: 1e-6,
    projector_eps: 1e-6,
    rules: UNDIVIDED,
    mean: [0.5; 3],
    deviation: [0.5; 3],
    tokens: ImageTokens { markers: &["<|image_pad|>"], around: None, text_around: "", tiles: None },
};

/// Refuses a tower whose layers give further rows, as in Qwen3-VL.
pub(super) fn check(vision: Config<'_>) -> Result<()> {
    match vision.list("deepstack_visual_indexes")? {
        Some(layers) if !layers.is_empty() => {
            Err(invalid(format!("deepstack_visual_indexes must be empty, found {} entries", layers.len())))
        }
        _ => Ok(()),
    }
}
