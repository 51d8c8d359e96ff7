//! Memory that operations on the CPU reuse.

use causerie_backend::{Activations, Product};

use crate::error::Result;
use crate::model::experts::Experts;
use crate::model::native::backend::Native;
use crate::model::native::rows::FloatRows;
use crate::model::operations::Operations;

#[derive(Default)]
pub(crate) struct Scratch {
    pub(super) experts: ExpertBuffers,
    /// One row of a table, and its bytes in the file.
    pub(super) row: Vec<f32>,
    pub(super) bytes: Vec<u8>,
}

#[derive(Default)]
pub(super) struct ExpertBuffers {
    shares: FloatRows,
    /// For each expert the rows that use it, with their weights.
    rows: Vec<Vec<(usize, f32)>>,
    order: Vec<usize>,
    inputs: Activations,
    gate: FloatRows,
    up: FloatRows,
    out: FloatRows,
}

impl ExpertBuffers {
    /// Adds the outputs of experts to the stream. All rows of an expert are computed together, and the experts one after the
    /// other, so that each row is summed in the same order whatever other rows there are.
    pub(super) fn add(
        &mut self,
        native: &Native,
        experts: &Experts<Native>,
        all: &Activations,
        stream: &mut FloatRows,
    ) -> Result<()> {
        let Self { shares, rows, order, inputs, gate, up, out } = self;
        let n_experts = experts.experts.len();
        native.product(all, [(&experts.router, &mut *shares)])?;
        native.cpu.sigmoid(&mut shares.values);
        rows.resize_with(n_experts, Vec::new);
        rows.iter_mut().for_each(Vec::clear);
        for (row, shares) in shares.values.chunks_exact(n_experts).enumerate() {
            experts.route(shares, order).for_each(|(expert, weight)| rows[expert].push((row, weight)));
        }
        for (expert, rows) in experts.experts.iter().zip(&*rows).filter(|(_, rows)| !rows.is_empty()) {
            let hidden = expert.gate.weight.n_columns();
            let quantises = expert.gate.is_quantised() || expert.up.is_quantised();
            native.cpu.inputs(inputs, (rows.len(), hidden), quantises, |at, x| x.copy_from_slice(all.row(rows[at].0)));
            native.product(inputs, [(&expert.gate, &mut *gate), (&expert.up, &mut *up)])?;
            native.gate(expert.activation, gate, up, &[&expert.down], inputs)?;
            out.reshape(rows.len(), hidden);
            let product = Product { matrix: &expert.down.weight, out: &mut out.values, adds: false };
            native.cpu.product(inputs, [product]);
            for ((row, weight), y) in rows.iter().zip(out.values.chunks_exact(hidden)) {
                let stream = &mut stream.values[row * hidden..][..hidden];
                stream.iter_mut().zip(y).for_each(|(x, y)| *x += weight * y);
            }
        }
        Ok(())
    }
}
