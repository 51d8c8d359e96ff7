//! The operations that only towers need.

use std::ops::Range;

use crate::error::Result;
use crate::model::heads::Heads;
use crate::model::linear::Linear;
use crate::model::operations::{NormFactors, Operations, Residual};

/// The activation of a block without a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TowerActivation {
    /// GELU, by the error function.
    Gelu,
    /// GELU, approximated by the hyperbolic tangent.
    GeluTanh,
    /// SiLU, `x / (1 + e^-x)`.
    Silu,
}

/// A gated convolution over a grid of patches.
pub(crate) struct PatchGridConvolution<'a, O: Operations> {
    /// Rows `[B; C; X]` of all patches, grid row by grid row.
    pub(crate) projected: &'a O::Rows,
    pub(crate) n_columns: usize,
    /// `(side * side * hidden)`
    pub(crate) taps: &'a O::Vector,
    /// The side of a kernel, which is odd.
    pub(crate) side: usize,
}

pub(crate) trait TowerOperations: Operations {
    /// A matrix of values that no tensor of the files has as they are.
    fn matrix_of(&self, values: &[f32], shape: (usize, usize)) -> Result<Self::Matrix>;

    /// Rows `(rows, width)` from the host. `write` receives the index of a row and the row, whose values are undefined; several
    /// threads may call it.
    fn upload(
        &self,
        shape: (usize, usize),
        write: impl Fn(usize, &mut [f32]) + Sync,
        rows: &mut Self::Rows,
    ) -> Result<()>;

    /// Angles from the host: cosines and sines, each `(rows, n_pairs)`.
    fn upload_angles(
        &self,
        cosines: Vec<f32>,
        sines: Vec<f32>,
        n_pairs: usize,
        angles: &mut Self::Angles,
    ) -> Result<()>;

    /// `(rows - mean(rows)) / sqrt(variance(rows) + epsilon) * weight + bias`, as inputs of the maps `next`.
    fn layer_norm(
        &self,
        rows: &Self::Rows,
        norm: NormFactors<'_, Self>,
        bias: &Self::Vector,
        next: &[&Linear<Self>],
        inputs: &mut Self::Inputs,
    ) -> Result<()>;

    /// Normalises the heads of rows in place, and rotates all of their pairs, whose elements lie in the two halves of a head.
    fn rotate_halves(
        &self,
        rows: &mut Self::Rows,
        head_dim: usize,
        norm: Option<NormFactors<'_, Self>>,
        angles: Option<&Self::Angles>,
    ) -> Result<()>;

    /// Rotates all pairs of parts of rows, whose elements lie in the two halves of a part. The angles have a row for each part.
    fn rotate_parts(&self, rows: &mut Self::Rows, part_dim: usize, angles: &Self::Angles) -> Result<()>;

    /// Attention of queries, `(rows, query heads * head_dim)`, over all keys and values.
    fn bidirectional_attention(
        &self,
        queries: &Self::Rows,
        past: &Self::KeyValues,
        heads: Heads,
        scale: f32,
        mixed: &mut Self::Rows,
    ) -> Result<()>;

    /// The convolution of some patches, as inputs of the map `next`: with `u = B * X`, and zeros beyond the edges, it is
    /// `C * Σ tap * u` over the square around each patch.
    fn convolve_grid(
        &self,
        grid: PatchGridConvolution<'_, Self>,
        patches: Range<usize>,
        next: &Linear<Self>,
        inputs: &mut Self::Inputs,
    ) -> Result<()>;

    /// `activation(rows)`, as inputs of the map `next`.
    fn activate(
        &self,
        activation: TowerActivation,
        rows: &Self::Rows,
        next: &Linear<Self>,
        inputs: &mut Self::Inputs,
    ) -> Result<()>;

    /// `activation(rows)`, as rows.
    fn activate_rows(&self, activation: TowerActivation, rows: &Self::Rows, activated: &mut Self::Rows) -> Result<()>;

    /// The values between the least and the largest of a range; values beyond it become its ends.
    fn clamp(&self, rows: &Self::Rows, range: (f32, f32), clamped: &mut Self::Rows) -> Result<()>;

    /// Replaces rows by `rows * factors + shifts`, column by column.
    fn scale_columns(&self, rows: &mut Self::Rows, factors: &Self::Vector, shifts: Option<&Self::Vector>)
    -> Result<()>;

    /// Adds rows to the residual stream.
    fn add_outputs(&self, rows: &Self::Rows, residual: Residual<'_, Self>, stream: &mut Self::Rows) -> Result<()>;

    /// Appends rows to the first `n_before` rows of others, whose further rows are dropped.
    fn extend(&self, part: &Self::Rows, n_before: usize, all: &mut Self::Rows) -> Result<()>;

    /// Joins the patches of each square of a grid to one row, grid row by grid row.
    fn join_squares(&self, patches: &Self::Rows, n_columns: usize, side: usize, joined: &mut Self::Rows) -> Result<()>;
}
