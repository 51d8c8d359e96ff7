//! The registers that hold a part of a tile.

use std::arch::aarch64::*;

/// Four columns of a tile's sixteen rows: one register for each four rows.
pub(super) type FourColumns = [int8x16_t; 4];
/// A float for each of a tile's rows.
pub(super) type RowFloats = [float32x4_t; 4];
/// An integer sum for each of a tile's rows.
pub(super) type RowSums = [int32x4_t; 4];
