//! The sizes in which a model reads a picture: as one image, or as a grid of tiles with a smaller copy of the whole.
//!
//! Sizes and ties are the same as in transformers' `Lfm2VlImageProcessor`; for an image without tiles, also as in its
//! `Qwen2VLImageProcessor` and `Gemma4ImageProcessor`.

use crate::media::decode::Picture;
use crate::media::resize::ResizeFilter;

/// The rules of a model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TilingRules {
    /// The side of a patch in pixels.
    pub(crate) patch: usize,
    /// Patches along each side of what becomes one row of the embedding.
    pub(crate) merge: usize,
    /// Pixels of an image that is not a tile.
    pub(crate) min_pixels: usize,
    pub(crate) max_pixels: usize,
    pub(crate) sizing: ImageSizing,
    /// Units of a rounded side at least when pixels are counted. With 0, a strip that is thinner than half a unit has no
    /// pixels, and grows.
    pub(crate) min_units: usize,
    pub(crate) filter: ResizeFilter,
    /// The side of a tile in pixels.
    pub(crate) tile: usize,
    pub(crate) min_tiles: usize,
    pub(crate) max_tiles: usize,
    /// Whether large pictures are cut into tiles.
    pub(crate) splits: bool,
    /// Whether tiles are followed by a smaller copy of the whole picture.
    pub(crate) has_thumbnail: bool,
    /// A picture is large if it has more pixels than the largest image, times this factor.
    pub(crate) tolerance: f64,
}

/// The size of an image that is not a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ImageSizing {
    /// That of the picture, unless it has too few or too many pixels.
    Nearest,
    /// The largest one in the ratio of the picture.
    Filled,
    /// The same square for all pictures.
    Square,
}

/// How one picture is shown to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PictureTiling {
    /// `None` for a picture that is one image.
    pub(crate) grid: Option<TileGrid>,
    /// The size of the image or, beside tiles, of the copy, in pixels; `None` if there is no copy.
    pub(crate) whole: Option<(usize, usize)>,
    /// The side of a tile in pixels.
    pub(crate) tile: usize,
    pub(crate) filter: ResizeFilter,
}

/// Columns and rows of tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TileGrid {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

impl TilingRules {
    /// How a picture of this size is shown.
    pub(crate) fn tiling(&self, width: usize, height: usize) -> PictureTiling {
        let grid = self.is_large(width, height).then(|| self.grid(width, height)).filter(|grid| 1 < grid.n_tiles());
        let whole = (grid.is_none() || self.has_thumbnail).then(|| self.whole(width, height));
        PictureTiling { grid, whole, tile: self.tile, filter: self.filter }
    }

    /// Rows of the embedding of an image of this size.
    pub(crate) fn n_rows(&self, size: (usize, usize)) -> usize {
        let (n_rows, n_columns) = self.grid_of(size);
        n_rows * n_columns
    }

    /// Rows of the embedding of the largest image that is not a tile.
    pub(crate) fn max_rows(&self) -> usize {
        self.max_pixels / (self.unit() * self.unit())
    }

    /// Rows and columns of the grid that the rows of the embedding of an image of this size lie in.
    pub(crate) fn grid_of(&self, (width, height): (usize, usize)) -> (usize, usize) {
        (height / self.unit(), width / self.unit())
    }

    /// Pixels along each side of what becomes one row.
    pub(crate) fn unit(&self) -> usize {
        self.patch * self.merge
    }

    fn is_large(&self, width: usize, height: usize) -> bool {
        let side = |length: usize| rounded(length, self.unit()).max(self.patch);
        let limit = self.max_pixels as f64 * self.tolerance;
        self.splits && limit < (side(width) * side(height)) as f64
    }

    /// The grid whose ratio is nearest. Of two that are equally near, a picture with enough pixels gets the larger one.
    fn grid(&self, width: usize, height: usize) -> TileGrid {
        let (ratio, area) = (width as f64 / height as f64, (width * height) as f64);
        let grids = (self.min_tiles..=self.max_tiles).flat_map(|n_tiles| {
            (1..=n_tiles)
                .filter(move |columns| n_tiles.is_multiple_of(*columns))
                .map(move |columns| TileGrid { columns, rows: n_tiles / columns })
        });
        let mut best = (f64::INFINITY, TileGrid { columns: 1, rows: 1 });
        for grid in grids {
            let distance = (ratio - grid.columns as f64 / grid.rows as f64).abs();
            let is_filled = 0.5 * (self.tile * self.tile * grid.n_tiles()) as f64;
            if distance < best.0 || distance == best.0 && is_filled < area {
                best = (distance, grid);
            }
        }
        best.1
    }

    /// The rules with as many rows for patches of another size, or for another number of them.
    pub(crate) fn with_unit(&self, patch: usize, merge: usize) -> Self {
        let unit = patch.saturating_mul(merge);
        let pixels = |usual: usize| (usual / (self.unit() * self.unit())).saturating_mul(unit).saturating_mul(unit);
        Self { patch, merge, min_pixels: pixels(self.min_pixels), max_pixels: pixels(self.max_pixels), ..self.clone() }
    }

    /// The rules with squares of this side, if all pictures are resized to one.
    pub(crate) fn with_square(self, side: Option<usize>) -> Self {
        match (self.sizing, side.map(|side| side.saturating_mul(side))) {
            (ImageSizing::Square, Some(pixels)) => Self { min_pixels: pixels, max_pixels: pixels, ..self },
            _ => self,
        }
    }

    /// The size in whole units.
    fn whole(&self, width: usize, height: usize) -> (usize, usize) {
        match self.sizing {
            ImageSizing::Nearest => self.nearest(width, height),
            ImageSizing::Filled => self.filled(width, height),
            ImageSizing::Square => (self.max_pixels.isqrt(), self.max_pixels.isqrt()),
        }
    }

    /// The largest size in whole units with not too many of them, in the ratio of the picture.
    fn filled(&self, width: usize, height: usize) -> (usize, usize) {
        let unit = self.unit();
        let factor = (self.max_pixels as f64 / (width * height) as f64).sqrt();
        let side = |length: usize| (factor * length as f64 / unit as f64).floor() as usize * unit; // small: pixels are limited
        let longest = self.max_pixels / unit / unit * unit;
        match (side(width), side(height)) {
            (0, 0) => (unit, unit),
            (0, _) => (unit, (height / width * unit).min(longest)),
            (_, 0) => ((width / height * unit).min(longest), unit),
            size => size,
        }
    }

    /// The nearest size in whole units that has neither too few nor too many of them.
    fn nearest(&self, width: usize, height: usize) -> (usize, usize) {
        let unit = self.unit();
        let (fewest, most) = (self.min_pixels, self.max_pixels);
        let near = [width, height].map(|side| rounded(side, unit).max(self.min_units * unit));
        let n_pixels = near[0] * near[1];
        let area = (width * height) as f64;
        let in_units = |side: usize, factor: f64, round: fn(f64) -> f64| {
            (round(side as f64 / factor / unit as f64) as usize * unit).max(unit) // small: sides of pictures are
        };
        let [width, height] = if most < n_pixels {
            let shrink = (area / most as f64).sqrt();
            [width, height].map(|side| in_units(side, shrink, f64::floor))
        } else if n_pixels < fewest {
            let growth = (fewest as f64 / area).sqrt();
            [width, height].map(|side| (((side as f64 * growth) / unit as f64).ceil() as usize) * unit)
        } else {
            near
        };
        (width, height)
    }
}

/// The nearest multiple of a unit; of two, the even one.
fn rounded(length: usize, unit: usize) -> usize {
    (length as f64 / unit as f64).round_ties_even() as usize * unit
}

impl TileGrid {
    pub(crate) fn n_tiles(self) -> usize {
        self.columns * self.rows
    }
}

impl PictureTiling {
    /// The sizes of the images, in order: tiles row by row, then the whole picture.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let n_tiles = self.grid.map_or(0, TileGrid::n_tiles);
        std::iter::repeat_n((self.tile, self.tile), n_tiles).chain(self.whole)
    }

    /// The images of a picture, in the same order.
    pub(crate) fn images(&self, picture: &Picture) -> Vec<Picture> {
        let mut images = Vec::new();
        if let Some(TileGrid { columns, rows }) = self.grid {
            let side = self.tile;
            let resized = picture.resized(columns * side, rows * side, self.filter);
            let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (column * side, row * side)));
            images.extend(places.map(|place| resized.part(place, (side, side))));
        }
        images.extend(self.whole.map(|(width, height)| picture.resized(width, height, self.filter)));
        images
    }
}
