//! Pictures: files are decoded within limits, and resized and cut as vision models expect.
//!
//! Nothing here knows a model: the sizes come as [`TilingRules`].

mod decode;
mod istft;
mod resize;
mod tiling;
mod whole;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub(crate) use decode::{Picture, Transparency, decode};
pub(crate) use istft::InverseStft;
pub(crate) use resize::{AxisWeights, ResizeFilter};
#[cfg(test)]
pub(crate) use tiling::TileGrid;
pub(crate) use tiling::{PictureTiling, TilingRules};
