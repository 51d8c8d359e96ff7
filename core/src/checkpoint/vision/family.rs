//! The kinds of vision towers, as data: their names in files, and what the files need not state.

use crate::checkpoint::families::Activation;
use crate::media::{ImageSizing, ResizeFilter, TilingRules};
use crate::position::MutualAttention;

/// One kind of tower with its projector.
#[derive(Debug, PartialEq)]
pub(crate) struct VisionFamily {
    /// `clip.projector_type` or `clip.vision.projector_type` in GGUF files.
    pub(super) projector_type: &'static str,
    /// `model_type` in config.json.
    pub(super) model_types: &'static [&'static str],
    /// `general.architecture` in the GGUF files of decoders.
    pub(crate) decoders: &'static [&'static str],
    pub(super) names: VisionNameTable,
    /// The norm of the embedding of patches.
    pub(crate) patch_norm: Option<&'static str>,
    /// The vectors that are added to patches; `None` for rotary positions alone.
    pub(crate) places: Option<PatchPlaces>,
    pub(crate) rows: RowRoles,
    /// The activation of gates in feed-forward blocks; `None` for blocks without gates, whose activation is GELU.
    pub(crate) gate: Option<Activation>,
    /// Factor of attention scores; `None` for one over the root of the head size.
    pub(crate) score_scale: Option<f32>,
    /// Whether the outputs of attention and of feed-forward blocks have norms.
    pub(crate) has_output_norms: bool,
    /// Whether every value head has a norm without weights.
    pub(crate) has_value_norms: bool,
    /// Whether the first half of a head rotates by the column and the second half by the row.
    pub(crate) rotates_by_halves: bool,
    /// Where rows of an image attend to each other in the decoder.
    pub(super) mutual: MutualAttention,
    /// Whether positions of images are counted by the rows and columns of their grid.
    pub(crate) counts_cells: bool,
    /// Whether the tower brings levels from 0 to 1 to levels from -1 to 1, after the conversion that the files state.
    pub(super) centres_levels: bool,
    /// Whether norms of the tower subtract the mean and have biases.
    pub(crate) has_layer_norms: bool,
    /// Whether folders have the values of a patch by channel, frame, row and column; else by row, column and channel.
    pub(crate) has_channels_first: bool,
    /// The base of rotary angles, one half of which count rows and the other columns; `None` for none.
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
/// A part may have had several names in folders. If the name of a part of a layer ends in `.linear` there, the ranges of a map's inputs
/// and outputs may lie beside it.
#[derive(Debug, PartialEq)]
pub(super) struct VisionNameTable {
    pub(super) tower: &'static [(&'static str, &'static str)],
    /// How names of layers begin in folders.
    pub(super) layers: &'static str,
    pub(super) in_layer: &'static [(&'static str, &'static str)],
    pub(super) projector: &'static [(&'static str, &'static str)],
    /// Parts whose names are complete.
    pub(super) vectors: &'static [(&'static str, &'static str)],
    /// The one of these whose values are one less in folders.
    pub(super) lacks_one: Option<&'static str>,
}

/// Vectors that are added to patches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PatchPlaces {
    /// One for each place of a square, mixed for grids of other sizes. If they are aligned, the patches of corners have the vectors
    /// of its corners.
    Square { is_aligned: bool },
    /// The sum of one for the column and one for the row.
    Axes,
}

/// What makes a row of the patches of a square, by the names of parts in GGUF files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RowRoles {
    /// They are joined, and mapped by two maps.
    Joined {
        /// The norm of patches before they are joined.
        patch_norm: &'static str,
        /// The norm of joined patches, which only some files have.
        joined_norm: Option<&'static str>,
        first: &'static str,
        second: &'static str,
    },
    /// Their mean is mapped.
    Pooled {
        map: &'static str,
        /// The norm of patches before the mean.
        patch_norm: Option<&'static str>,
        /// The norm of means; `None` for one without weights.
        mean_norm: Option<&'static str>,
        /// Whether the rows of the map are columns in the files.
        is_transposed: bool,
        /// Whether means are multiplied by the root of their size.
        is_raised: bool,
    },
}

/// The control tokens of images.
#[derive(Debug, PartialEq)]
pub(crate) struct ImageTokens {
    /// The tokens that templates may print for an image, one of which the vocabulary has.
    pub(crate) markers: &'static [&'static str],
    /// The tokens around the rows of an image, unless the template prints them itself.
    pub(crate) around: Option<(&'static str, &'static str)>,
    /// Text before and after these.
    pub(crate) text_around: &'static str,
    pub(crate) tiles: Option<TileTokens>,
}

/// The control tokens of a picture in several tiles, which not every vocabulary has.
#[derive(Debug, PartialEq)]
pub(crate) struct TileTokens {
    /// Before a tile, whose `{row}` and `{column}` count from 1.
    tile: &'static str,
    /// Before the smaller copy of the whole.
    pub(crate) thumbnail: &'static str,
}

impl TileTokens {
    pub(super) const fn new(tile: &'static str, thumbnail: &'static str) -> Self {
        Self { tile, thumbnail }
    }

    /// The token before a tile.
    pub(crate) fn tile(&self, row: usize, column: usize) -> String {
        self.tile.replace("{row}", &row.to_string()).replace("{column}", &column.to_string())
    }
}

impl VisionFamily {
    /// The map whose outputs are rows of the decoder's embedding, and whether its rows are columns in the files.
    pub(crate) fn last_map(&self) -> (&'static str, bool) {
        match self.rows {
            RowRoles::Joined { second, .. } => (second, false),
            RowRoles::Pooled { map, is_transposed, .. } => (map, is_transposed),
        }
    }
}

/// The usual rules of a family without tiles: a picture is one image of 64 to 16,384 rows.
pub(super) const UNDIVIDED: TilingRules = TilingRules {
    patch: 16,
    merge: 2,
    min_pixels: 64 * 32 * 32,
    max_pixels: 16_384 * 32 * 32,
    sizing: ImageSizing::Nearest,
    min_units: 0,
    filter: ResizeFilter::Bicubic,
    tile: 512,
    min_tiles: 1,
    max_tiles: 1,
    splits: false,
    has_thumbnail: false,
    tolerance: 1.0,
};
