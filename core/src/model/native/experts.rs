//! A mixture of experts on the CPU. All rows of an expert are computed together, and the experts one after the other, so
//! that each row is summed in the same order whatever other rows there are.

use causerie_backend::{Cpu, Product};

use crate::model::experts::Experts;
use crate::model::native::backend::Native;
use crate::model::native::buffers::{ExpertBuffers, PassBuffers, resize};

impl Experts<Native> {
    pub(super) fn forward(&self, cpu: &Cpu, buffers: &mut PassBuffers) {
        let PassBuffers { stream, inputs: all, experts: buffers, .. } = buffers;
        let ExpertBuffers { shares, rows, order, inputs, gate, up, out } = buffers;
        let (n_experts, n_rows) = (self.experts.len(), all.n_rows());
        cpu.product(all, [self.router.product(shares, n_rows)]);
        self.router.add_bias(cpu, shares);
        shares.iter_mut().for_each(|share| *share = 1.0 / (1.0 + (-*share).exp()));
        rows.resize_with(n_experts, Vec::new);
        rows.iter_mut().for_each(Vec::clear);
        for (row, shares) in shares.chunks_exact(n_experts).enumerate() {
            self.route(shares, order).for_each(|(expert, weight)| rows[expert].push((row, weight)));
        }
        for (expert, rows) in self.experts.iter().zip(&*rows).filter(|(_, rows)| !rows.is_empty()) {
            let (hidden, quantises) = (expert.gate.weight.n_columns(), expert.quantises());
            cpu.inputs(inputs, (rows.len(), hidden), quantises, |at, x| x.copy_from_slice(all.row(rows[at].0)));
            expert.gated(cpu, inputs, gate, up);
            resize(out, rows.len() * hidden);
            cpu.product(inputs, [Product { matrix: &expert.down.weight, out, adds: false }]);
            for ((row, weight), y) in rows.iter().zip(out.chunks_exact(hidden)) {
                let stream = &mut stream[row * hidden..][..hidden];
                stream.iter_mut().zip(y).for_each(|(x, y)| *x += weight * y);
            }
        }
    }
}
