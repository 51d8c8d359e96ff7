//! The operations of towers on the CPU.

use std::ops::Range;

use causerie_backend::{
    Activations, AttentionMask, AttentionStep, GateFunction, KeyValues, Matrix, Pairing, PatchGrid, ResidualAddition,
    Rotation,
};

use crate::error::Result;
use crate::model::heads::Heads;
use crate::model::linear::Linear;
use crate::model::native::backend::Native;
use crate::model::native::operations::{RotaryAngles, are_quantised};
use crate::model::native::rows::FloatRows;
use crate::model::native::storage;
use crate::model::operations::{NormFactors, Residual};
use crate::model::tower::{PatchGridConvolution, TowerActivation, TowerOperations};

impl TowerOperations for Native {
    fn matrix_of(&self, values: &[f32], shape: (usize, usize)) -> Result<Matrix> {
        storage::matrix_of(&self.cpu, values, shape)
    }

    fn upload(
        &self,
        (n_rows, width): (usize, usize),
        write: impl Fn(usize, &mut [f32]) + Sync,
        rows: &mut FloatRows,
    ) -> Result<()> {
        rows.reshape(n_rows, width);
        self.cpu.for_rows(&mut rows.values, width, write);
        Ok(())
    }

    fn upload_angles(&self, cosines: Vec<f32>, sines: Vec<f32>, _: usize, angles: &mut RotaryAngles) -> Result<()> {
        *angles = RotaryAngles { cosines, sines, ..RotaryAngles::default() };
        Ok(())
    }

    fn layer_norm(
        &self,
        rows: &FloatRows,
        (weight, epsilon): NormFactors<'_, Self>,
        bias: &Vec<f32>,
        next: &[&Linear<Self>],
        inputs: &mut Activations,
    ) -> Result<()> {
        self.cpu.layer_norm(&rows.values, (weight, bias, epsilon), are_quantised(next), inputs);
        Ok(())
    }

    fn rotate_halves(
        &self,
        rows: &mut FloatRows,
        head_dim: usize,
        norm: Option<NormFactors<'_, Self>>,
        angles: Option<&RotaryAngles>,
    ) -> Result<()> {
        let rotation = angles.map(|RotaryAngles { cosines, sines, .. }| Rotation {
            cosines,
            sines,
            n_pairs: head_dim / 2,
            pairing: Pairing::Halves,
        });
        let norm = norm.map(|(weight, epsilon)| (weight.as_slice(), epsilon));
        self.cpu.rotate(&mut rows.values, (rows.width, head_dim), norm, rotation);
        Ok(())
    }

    fn rotate_parts(&self, rows: &mut FloatRows, part_dim: usize, angles: &RotaryAngles) -> Result<()> {
        let RotaryAngles { cosines, sines, .. } = angles;
        let rotation = Rotation { cosines, sines, n_pairs: part_dim / 2, pairing: Pairing::Halves };
        self.cpu.rotate(&mut rows.values, (part_dim, part_dim), None, Some(rotation));
        Ok(())
    }

    fn bidirectional_attention(
        &self,
        queries: &FloatRows,
        past: &KeyValues,
        _: Heads,
        scale: f32,
        mixed: &mut FloatRows,
    ) -> Result<()> {
        mixed.reshape(queries.n_rows(), queries.width);
        let steps = [AttentionStep { rows: 0..queries.n_rows(), past, mask: AttentionMask::Bidirectional }];
        self.cpu.attention(&queries.values, &steps, scale, &mut mixed.values);
        Ok(())
    }

    fn convolve_grid(
        &self,
        PatchGridConvolution { projected, n_columns, taps, side }: PatchGridConvolution<'_, Self>,
        patches: Range<usize>,
        next: &Linear<Self>,
        inputs: &mut Activations,
    ) -> Result<()> {
        let grid = PatchGrid { projected: &projected.values, n_columns, taps, side, hidden: projected.width / 3 };
        self.cpu.grid_convolution(grid, patches, next.is_quantised(), inputs);
        Ok(())
    }

    fn activate(
        &self,
        activation: TowerActivation,
        rows: &FloatRows,
        next: &Linear<Self>,
        inputs: &mut Activations,
    ) -> Result<()> {
        self.cpu.activate(function(activation), (&rows.values, rows.width), next.is_quantised(), inputs);
        Ok(())
    }

    fn activate_rows(&self, activation: TowerActivation, rows: &FloatRows, activated: &mut FloatRows) -> Result<()> {
        activated.reshape(rows.n_rows(), rows.width);
        self.cpu.activate_rows(function(activation), &rows.values, &mut activated.values, rows.width);
        Ok(())
    }

    fn clamp(&self, rows: &FloatRows, (least, largest): (f32, f32), clamped: &mut FloatRows) -> Result<()> {
        // Not `max` and `min`, which would hide NaN.
        let within = |x: f32| match x {
            x if x < least => least,
            x if largest < x => largest,
            x => x,
        };
        clamped.reshape(rows.n_rows(), rows.width);
        self.cpu.for_rows(&mut clamped.values, rows.width, |row, to| {
            to.iter_mut().zip(rows.row(row)).for_each(|(to, x)| *to = within(*x));
        });
        Ok(())
    }

    fn scale_columns(&self, rows: &mut FloatRows, factors: &Vec<f32>, shifts: Option<&Vec<f32>>) -> Result<()> {
        self.cpu.for_rows(&mut rows.values, rows.width, |_, row| {
            row.iter_mut().zip(factors).for_each(|(x, factor)| *x *= factor);
            row.iter_mut().zip(shifts.into_iter().flatten()).for_each(|(x, shift)| *x += shift);
        });
        Ok(())
    }

    fn add_outputs(
        &self,
        rows: &FloatRows,
        Residual { norm, factor }: Residual<'_, Self>,
        stream: &mut FloatRows,
    ) -> Result<()> {
        let norm = norm.map(|(weight, epsilon)| (weight.as_slice(), epsilon));
        self.cpu.add_outputs(&mut stream.values, &rows.values, rows.width, ResidualAddition { norm, factor });
        Ok(())
    }

    fn extend(&self, part: &FloatRows, n_before: usize, all: &mut FloatRows) -> Result<()> {
        all.width = part.width;
        all.values.truncate(n_before * part.width);
        all.values.extend_from_slice(&part.values);
        Ok(())
    }

    fn join_squares(&self, patches: &FloatRows, n_columns: usize, side: usize, joined: &mut FloatRows) -> Result<()> {
        let (n_squares, across, hidden) = (patches.n_rows() / (side * side), n_columns / side, patches.width);
        let write = |at: usize, to: &mut [f32]| {
            let (top, left) = (at / across * side, at % across * side);
            for (part, to) in to.chunks_exact_mut(hidden).enumerate() {
                to.copy_from_slice(patches.row((top + part / side) * n_columns + left + part % side));
            }
        };
        self.upload((n_squares, side * side * hidden), write, joined)
    }
}

fn function(activation: TowerActivation) -> GateFunction {
    match activation {
        TowerActivation::Gelu => GateFunction::Gelu,
        TowerActivation::GeluTanh => GateFunction::GeluTanh,
        TowerActivation::Silu => GateFunction::Silu,
    }
}
