//! Gemma 3 of 4 billion parameters and more: SigLIP over a square into which every picture is resized, and rows that are means of squares
//! of patches. The rows of an image attend to each other in all layers of the decoder.

use crate::checkpoint::config_object::Config;
use crate::checkpoint::invalid::invalid;
use crate::checkpoint::vision::family::{ImageTokens, PatchPlaces, RowRoles, UNDIVIDED, VisionFamily, VisionNameTable};
use crate::checkpoint::vision::siglip;
use crate::error::Result;
use crate::media::{ImageSizing, ResizeFilter, TilingRules};
use crate::position::MutualAttention;

/// Pixels of the square.
const PIXELS: usize = 896 * 896;
/// Rows of an image, if config.json does not say.
const N_ROWS: usize = 256;

pub(super) static GEMMA3: VisionFamily = VisionFamily {
    projector_type: "gemma3",
    model_types: &["gemma3"],
    decoders: &["gemma3"],
    names: VisionNameTable {
        tower: siglip::TOWER,
        layers: siglip::LAYERS,
        in_layer: siglip::IN_LAYER,
        projector: &[],
        vectors: &[
            ("mm.input_projection.weight", "mm_input_projection_weight"),
            ("mm.soft_emb_norm.weight", "mm_soft_emb_norm.weight"),
        ],
        lacks_one: Some("mm.soft_emb_norm.weight"),
    },
    patch_norm: None,
    places: Some(PatchPlaces::Square { is_aligned: false }),
    rows: RowRoles::Pooled {
        map: "mm.input_projection",
        patch_norm: Some("v.post_ln"),
        mean_norm: Some("mm.soft_emb_norm"),
        is_transposed: true,
        is_raised: false,
    },
    gate: None,
    score_scale: None,
    has_output_norms: false,
    has_value_norms: false,
    rotates_by_halves: false,
    mutual: MutualAttention::Everywhere,
    counts_cells: false,
    centres_levels: false,
    has_layer_norms: true,
    has_channels_first: true,
    rope_theta: None,
    norm_eps: 1e-6,
    projector_eps: 1e-6,
    rules: TilingRules {
        patch: 14,
        merge: 4,
        min_pixels: PIXELS,
        max_pixels: PIXELS,
        sizing: ImageSizing::Square,
        min_units: 1,
        filter: ResizeFilter::Bilinear,
        ..UNDIVIDED
    },
    mean: [0.5; 3],
    deviation: [0.5; 3],
    tokens: ImageTokens {
        markers: &["<start_of_image>"],
        around: Some(("<start_of_image>", "<end_of_image>")),
        text_around: "\n\n",
        tiles: None,
    },
};

/// Patches along each side of what becomes one row, which follow from the number of rows.
pub(super) fn merge(whole: Config<'_>, vision: Config<'_>) -> Result<usize> {
    let n_rows = whole.count(&["mm_tokens_per_image"])?.unwrap_or(N_ROWS);
    let side = vision.needed_count(&["image_size"])? / vision.needed_count(&["patch_size"])?.max(1);
    match n_rows.isqrt() {
        root if root != 0 && root * root == n_rows && side.is_multiple_of(root) && side != 0 => Ok(side / root),
        _ => Err(invalid(format!(
            "mm_tokens_per_image must be the square of a divisor of {side} patches, found {n_rows}"
        ))),
    }
}

/// Refuses pictures that are also shown in parts.
pub(super) fn check(settings: Config<'_>) -> Result<()> {
    match settings.boolean(&["do_pan_and_scan"])? {
        Some(true) => Err(invalid("do_pan_and_scan true of the image processor is not supported")),
        _ => Ok(()),
    }
}
