//! LFM2-VL and LFM2.5-VL: SigLIP 2, whose patches are merged. Large pictures become tiles.

use crate::checkpoint::vision::family::{
    ImageTokens, PatchPlaces, RowRoles, TileTokens, VisionFamily, VisionNameTable,
};
use crate::checkpoint::vision::siglip;
use crate::media::{ImageSizing, ResizeFilter, TilingRules};
use crate::position::MutualAttention;

pub(super) static LFM2_VL: VisionFamily = VisionFamily {
    projector_type: "lfm2",
    model_types: &["lfm2_vl", "lfm2-vl"],
    decoders: &["lfm2", "lfm2moe"],
    names: VisionNameTable {
        tower: siglip::TOWER,
        layers: siglip::LAYERS,
        in_layer: siglip::IN_LAYER,
        projector: &[("mm.input_norm", "layer_norm"), ("mm.1", "linear_1"), ("mm.2", "linear_2")],
        vectors: &[],
        lacks_one: None,
    },
    patch_norm: None,
    places: Some(PatchPlaces::Square { is_aligned: false }),
    rows: RowRoles::Joined {
        patch_norm: "v.post_ln",
        joined_norm: Some("mm.input_norm"),
        first: "mm.1",
        second: "mm.2",
    },
    gate: None,
    score_scale: None,
    has_output_norms: false,
    has_value_norms: false,
    rotates_by_halves: false,
    mutual: MutualAttention::Nowhere,
    counts_cells: false,
    centres_levels: false,
    has_layer_norms: true,
    has_channels_first: false,
    rope_theta: None,
    norm_eps: 1e-6,
    projector_eps: 1e-5,
    rules: TilingRules {
        patch: 16,
        merge: 2,
        min_pixels: 64 * 32 * 32,
        max_pixels: 256 * 32 * 32,
        sizing: ImageSizing::Nearest,
        min_units: 1,
        filter: ResizeFilter::Bilinear,
        tile: 512,
        min_tiles: 2,
        max_tiles: 10,
        splits: true,
        has_thumbnail: true,
        tolerance: 2.0,
    },
    mean: [0.5; 3],
    deviation: [0.5; 3],
    tokens: ImageTokens {
        markers: &["<image>"],
        around: Some(("<|image_start|>", "<|image_end|>")),
        text_around: "",
        tiles: Some(TileTokens::new("<|img_row_{row}_col_{column}|>", "<|img_thumbnail|>")),
    },
};
