//! Pictures: files are decoded within limits, and resized and cut as vision models expect. Sound is in its own folder.
//!
//! Nothing here knows a model: the sizes come as [`TilingRules`].

mod decode;
mod resize;
// Until models hear.
#[allow(dead_code, unused_imports)]
pub(crate) mod sound;
mod tiling;
mod whole;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub(crate) use decode::{Picture, Transparency, decode};
pub(crate) use resize::{AxisWeights, ResizeFilter};
#[cfg(test)]
pub(crate) use tiling::TileGrid;
pub(crate) use tiling::{ImageSizing, PictureTiling, TilingRules};
