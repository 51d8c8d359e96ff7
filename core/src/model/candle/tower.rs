//! The operations of towers, with tensors.

use std::ops::Range;

use candle_core::quantized::QMatMul;
use candle_core::{D, Result as TensorResult, Tensor};

use crate::checkpoint::RopePairing;
use crate::error::Result;
use crate::model::candle::attention::attend_all;
use crate::model::candle::backend::Candle;
use crate::model::candle::memories::TensorKeyValues;
use crate::model::candle::operations::{added, normalised_and_rotated};
use crate::model::candle::rotation::TensorAngles;
use crate::model::candle::rows::{TensorRows, computation_failed};
use crate::model::heads::Heads;
use crate::model::linear::Linear;
use crate::model::operations::{NormFactors, Residual};
use crate::model::tower::{PatchGridConvolution, TowerActivation, TowerOperations};

impl TowerOperations for Candle {
    fn matrix_of(&self, values: &[f32], shape: (usize, usize)) -> Result<QMatMul> {
        Tensor::from_slice(values, shape, &self.device).map(QMatMul::Tensor).map_err(computation_failed)
    }

    fn upload(
        &self,
        (n_rows, width): (usize, usize),
        write: impl Fn(usize, &mut [f32]) + Sync,
        rows: &mut TensorRows,
    ) -> Result<()> {
        let mut values = vec![0.0; n_rows * width];
        values.chunks_exact_mut(width).enumerate().for_each(|(row, to)| write(row, to));
        rows.set(|| Tensor::from_vec(values, (n_rows, width), &self.device))
    }

    fn upload_angles(
        &self,
        cosines: Vec<f32>,
        sines: Vec<f32>,
        n_pairs: usize,
        angles: &mut TensorAngles,
    ) -> Result<()> {
        *angles = TensorAngles::from_values((cosines, sines), n_pairs, &self.device).map_err(computation_failed)?;
        Ok(())
    }

    fn layer_norm(
        &self,
        rows: &TensorRows,
        (weight, epsilon): NormFactors<'_, Self>,
        bias: &Tensor,
        _: &[&Linear<Self>],
        inputs: &mut TensorRows,
    ) -> Result<()> {
        // candle's own kernel computes the variance as a difference of large values, which loses digits.
        inputs.set(|| {
            let centred = rows.get()?.broadcast_sub(&rows.get()?.mean_keepdim(D::Minus1)?)?;
            let deviation = (centred.sqr()?.mean_keepdim(D::Minus1)? + f64::from(epsilon))?.sqrt()?;
            centred.broadcast_div(&deviation)?.broadcast_mul(weight)?.broadcast_add(bias)
        })
    }

    fn rotate_halves(
        &self,
        rows: &mut TensorRows,
        head_dim: usize,
        norm: Option<NormFactors<'_, Self>>,
        angles: Option<&TensorAngles>,
    ) -> Result<()> {
        let rotation = angles.map(|angles| ((head_dim / 2, RopePairing::Halves), angles));
        rows.map(|rows| normalised_and_rotated(rows, head_dim, norm, rotation))
    }

    fn rotate_parts(&self, rows: &mut TensorRows, part_dim: usize, angles: &TensorAngles) -> Result<()> {
        rows.map(|rows| {
            let parts = rows.reshape((rows.elem_count() / part_dim, part_dim))?;
            let rotation = Some(((part_dim / 2, RopePairing::Halves), angles));
            normalised_and_rotated(&parts, part_dim, None, rotation)?.reshape(rows.shape())
        })
    }

    fn bidirectional_attention(
        &self,
        queries: &TensorRows,
        past: &TensorKeyValues,
        heads: Heads,
        scale: f32,
        mixed: &mut TensorRows,
    ) -> Result<()> {
        mixed.set(|| attend_all(queries.get()?, &past.past, heads, scale))
    }

    fn convolve_grid(
        &self,
        PatchGridConvolution { projected, n_columns, taps, side }: PatchGridConvolution<'_, Self>,
        patches: Range<usize>,
        _: &Linear<Self>,
        inputs: &mut TensorRows,
    ) -> Result<()> {
        inputs.set(|| {
            let projected = projected.get()?;
            let (n_patches, hidden, reach) = (projected.dim(0)?, projected.dim(1)? / 3, side / 2);
            // The grid rows of the patches, and those that they see.
            let (first, end) = (patches.start / n_columns, patches.end.div_ceil(n_columns));
            let (top, bottom) = (first.saturating_sub(reach), (n_patches / n_columns).min(end + reach));
            let seen = projected.narrow(0, top * n_columns, (bottom - top) * n_columns)?;
            let gated = (seen.narrow(1, 0, hidden)? * seen.narrow(1, 2 * hidden, hidden)?)?;
            let padded = gated.reshape((bottom - top, n_columns, hidden))?;
            let padded = padded.pad_with_zeros(0, reach + top - first, reach + end - bottom)?;
            let padded = padded.pad_with_zeros(1, reach, reach)?;
            let mut sum = Tensor::zeros((end - first, n_columns, hidden), padded.dtype(), &self.device)?;
            for (row, column) in (0..side).flat_map(|row| (0..side).map(move |column| (row, column))) {
                let tap = taps.narrow(0, (row * side + column) * hidden, hidden)?;
                let neighbours = padded.narrow(0, row, end - first)?.narrow(1, column, n_columns)?;
                sum = (sum + neighbours.broadcast_mul(&tap)?)?;
            }
            let sum = sum.reshape(((end - first) * n_columns, hidden))?;
            let sum = sum.narrow(0, patches.start - first * n_columns, patches.len())?;
            sum * projected.narrow(0, patches.start, patches.len())?.narrow(1, hidden, hidden)?
        })
    }

    fn activate(
        &self,
        activation: TowerActivation,
        rows: &TensorRows,
        _: &Linear<Self>,
        inputs: &mut TensorRows,
    ) -> Result<()> {
        inputs.set(|| activate(activation, rows.get()?))
    }

    fn activate_rows(&self, activation: TowerActivation, rows: &TensorRows, activated: &mut TensorRows) -> Result<()> {
        activated.set(|| activate(activation, rows.get()?))
    }

    fn clamp(&self, rows: &TensorRows, (least, largest): (f32, f32), clamped: &mut TensorRows) -> Result<()> {
        clamped.set(|| rows.get()?.clamp(least, largest))
    }

    fn scale_columns(&self, rows: &mut TensorRows, factors: &Tensor, shifts: Option<&Tensor>) -> Result<()> {
        rows.map(|rows| {
            let scaled = rows.broadcast_mul(factors)?;
            shifts.map_or(Ok(scaled.clone()), |shifts| scaled.broadcast_add(shifts))
        })
    }

    fn add_outputs(&self, rows: &TensorRows, residual: Residual<'_, Self>, stream: &mut TensorRows) -> Result<()> {
        stream.map(|stream| added(stream, rows.get()?.clone(), residual))
    }

    fn extend(&self, part: &TensorRows, n_before: usize, all: &mut TensorRows) -> Result<()> {
        match n_before {
            0 => all.set(|| part.get().cloned()),
            _ => all.map(|all| Tensor::cat(&[&all.narrow(0, 0, n_before)?, part.get()?], 0)),
        }
    }

    fn join_squares(&self, patches: &TensorRows, n_columns: usize, side: usize, joined: &mut TensorRows) -> Result<()> {
        joined.set(|| join(patches.get()?, n_columns, side))
    }
}

fn join(patches: &Tensor, n_columns: usize, side: usize) -> TensorResult<Tensor> {
    let (n_patches, hidden) = patches.dims2()?;
    let (down, across) = (n_patches / n_columns / side, n_columns / side);
    let squares = patches.reshape((down, side, across, side * hidden))?.transpose(1, 2)?.contiguous()?;
    squares.reshape((down * across, side * side * hidden))
}

fn activate(activation: TowerActivation, rows: &Tensor) -> TensorResult<Tensor> {
    match activation {
        TowerActivation::Gelu => rows.gelu_erf(),
        TowerActivation::GeluTanh => rows.gelu(),
        TowerActivation::Silu => rows.silu(),
    }
}
