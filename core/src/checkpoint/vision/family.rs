//! The kinds of vision towers, as data: their names in files, and what the files need not state.

use crate::media::{ResizeFilter, TilingRules};

/// One kind of tower with its projector.
#[derive(Debug, PartialEq)]
pub(crate) struct VisionFamily {
    /// `clip.projector_type` in GGUF files.
    pub(super) projector_type: &'static str,
    /// `model_type` in config.json.
    pub(super) model_types: &'static [&'static str],
    /// `general.architecture` in the GGUF files of decoders.
    pub(crate) decoders: &'static [&'static str],
    pub(super) names: VisionNameTable,
    /// Whether norms of the tower subtract the mean and have biases.
    pub(crate) has_layer_norms: bool,
    /// Whether the values of feed-forward blocks are gated.
    pub(crate) is_gated: bool,
    /// Whether folders have the values of a patch by channel, frame, row and column; else by row, column and channel.
    pub(crate) has_channels_first: bool,
    /// The base of rotary angles, one half of which count rows and the other columns; `None` for a table of positions.
    pub(super) rope_theta: Option<f32>,
    pub(super) norm_eps: f32,
    /// Epsilon of the projector's norm.
    pub(crate) projector_eps: f32,
    pub(super) rules: TilingRules,
    /// Mean and standard deviation of each channel.
    pub(super) mean: [f32; 3],
    pub(super) deviation: [f32; 3],
    pub(crate) tokens: ImageTokens,
}

/// Names of parts without `.weight`: in GGUF files, and in folders after the prefix of the tower, its layers or the projector.
/// A part may have had several names in folders.
#[derive(Debug, PartialEq)]
pub(super) struct VisionNameTable {
    pub(super) tower: &'static [(&'static str, &'static str)],
    /// How names of layers begin in folders.
    pub(super) layers: &'static str,
    pub(super) in_layer: &'static [(&'static str, &'static str)],
    pub(super) projector: &'static [(&'static str, &'static str)],
    pub(super) roles: VisionRoles,
}

/// The parts outside of layers, by their names in GGUF files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct VisionRoles {
    /// The norm of the embedding of patches.
    pub(crate) patch_norm: Option<&'static str>,
    /// The norm of patches before they are merged.
    pub(crate) output_norm: &'static str,
    /// The norm of merged patches, which only some files have.
    pub(crate) merged_norm: Option<&'static str>,
    pub(crate) first: &'static str,
    pub(crate) second: &'static str,
}

/// The control tokens of images.
#[derive(Debug, PartialEq)]
pub(crate) struct ImageTokens {
    /// The tokens that templates may print for an image, one of which the vocabulary has.
    pub(crate) markers: &'static [&'static str],
    /// The tokens around the rows of an image, unless the template prints them itself.
    pub(crate) around: Option<(&'static str, &'static str)>,
}

pub(super) static FAMILIES: [&VisionFamily; 2] = [&LFM2_VL, &LFM3_VL];

/// SigLIP 2, whose patches are merged.
static LFM2_VL: VisionFamily = VisionFamily {
    projector_type: "lfm2",
    model_types: &["lfm2_vl", "lfm2-vl"],
    decoders: &["lfm2", "lfm2moe"],
    names: VisionNameTable {
        tower: &[
            ("v.patch_embd", "embeddings.patch_embedding"),
            ("v.position_embd", "embeddings.position_embedding"),
            ("v.post_ln", "post_layernorm"),
        ],
        layers: "encoder.layers.",
        in_layer: &[
            ("ln1", "layer_norm1"),
            ("ln2", "layer_norm2"),
            ("attn_q", "self_attn.q_proj"),
            ("attn_k", "self_attn.k_proj"),
            ("attn_v", "self_attn.v_proj"),
            ("attn_out", "self_attn.out_proj"),
            ("ffn_up", "mlp.fc1"),
            ("ffn_down", "mlp.fc2"),
        ],
        projector: &[("mm.input_norm", "layer_norm"), ("mm.1", "linear_1"), ("mm.2", "linear_2")],
        roles: VisionRoles {
            patch_norm: None,
            output_norm: "v.post_ln",
            merged_norm: Some("mm.input_norm"),
            first: "mm.1",
            second: "mm.2",
        },
    },
    has_layer_norms: true,
    is_gated: false,
    has_channels_first: false,
    rope_theta: None,
    norm_eps: 1e-6,
    projector_eps: 1e-5,
    rules: TilingRules {
        patch: 16,
        merge: 2,
        min_pixels: 64 * 32 * 32,
        max_pixels: 256 * 32 * 32,
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
    tokens: ImageTokens { markers: &["<image>"], around: Some(("<|image_start|>", "<|image_end|>")) },
};

/// Layers of gated convolutions over the grid of patches, and of attention, without tiles.
static LFM3_VL: VisionFamily = VisionFamily {
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
        roles: VisionRoles {
            patch_norm: Some("v.embedding_norm"),
            output_norm: "mm.input_norm",
            merged_norm: None,
            first: "mm.0",
            second: "mm.2",
        },
    },
    has_layer_norms: false,
    is_gated: true,
    has_channels_first: true,
    rope_theta: Some(1e6),
    norm_eps: 1e-5,
    projector_eps: 1e-6,
    rules: TilingRules {
        patch: 16,
        merge: 2,
        min_pixels: 64 * 32 * 32,
        max_pixels: 16_384 * 32 * 32,
        min_units: 0,
        filter: ResizeFilter::Bicubic,
        tile: 512,
        min_tiles: 1,
        max_tiles: 1,
        splits: false,
        has_thumbnail: false,
        tolerance: 1.0,
    },
    // The means of CLIP.
    mean: [0.481_454_66, 0.457_827_5, 0.408_210_73],
    deviation: [0.268_629_54, 0.261_302_6, 0.275_777_1],
    tokens: ImageTokens { markers: &["<|image|>", "<|image_pad|>"], around: None },
};
