//! Mixtures of experts. For a few rows, the device chooses the experts and their weights; for many, the host does, and each expert's
//! rows are computed together.

use causerie_gpu::{ChosenExperts, ExpertChoice, GpuInputs, GpuRows, Recorder};

use crate::error::Result;
use crate::model::experts::Experts;
use crate::model::gpu::backend::{Wgsl, failed_step};
use crate::model::operations::Operations;

/// Rows up to which each reads the weights of its experts by itself.
const MAX_FEW: usize = 8;

/// Memory that experts reuse.
#[derive(Default)]
pub(crate) struct ExpertRows {
    shares: GpuRows,
    chosen: ChosenExperts,
    /// The rows that use an expert.
    selected: GpuRows,
    of_expert: GpuInputs,
    gate: GpuRows,
    up: GpuRows,
    out: GpuRows,
}

/// Whether the device can choose among these experts.
pub(super) fn fit(recorder: &Recorder, experts: &Experts<Wgsl>) -> bool {
    let Some(first) = experts.experts.first() else { return false };
    let stacks = [&first.gate, &first.up, &first.down].map(|map| &map.weight);
    recorder.fits_chosen(stacks, experts.experts.len(), experts.mixture.n_used)
}

impl ExpertRows {
    /// Adds the outputs of each row's experts to the stream, in the order of the CPU: ascending.
    pub(super) fn add(
        &mut self,
        wgsl: &Wgsl,
        experts: &Experts<Wgsl>,
        inputs: &GpuInputs,
        stream: &mut GpuRows,
    ) -> Result<()> {
        wgsl.product(inputs, [(&experts.router, &mut self.shares)])?;
        wgsl.sigmoid(&mut self.shares)?;
        match self.shares.n_rows() <= MAX_FEW && fit(&wgsl.recorder, experts) {
            true => self.add_chosen_there(wgsl, experts, inputs, stream),
            false => self.add_chosen_here(wgsl, experts, inputs, stream),
        }
    }

    fn add_chosen_there(
        &mut self,
        wgsl: &Wgsl,
        experts: &Experts<Wgsl>,
        inputs: &GpuInputs,
        stream: &mut GpuRows,
    ) -> Result<()> {
        let Self { shares, chosen, of_expert, gate, up, out, .. } = self;
        let Some(first) = experts.experts.first() else { return Ok(()) };
        let (recorder, mixture) = (&wgsl.recorder, &experts.mixture);
        let (n_used, is_normalised, scale) = (mixture.n_used, mixture.is_normalised, mixture.scale);
        let choice = ExpertChoice { n_used, is_normalised, scale };
        recorder.choose_experts(shares, &experts.bias_vector, choice, chosen).map_err(failed_step)?;
        recorder.quantised_inputs(inputs, of_expert).map_err(failed_step)?;
        recorder.product_of_chosen(of_expert, &first.gate.weight, chosen, gate).map_err(failed_step)?;
        recorder.product_of_chosen(of_expert, &first.up.weight, chosen, up).map_err(failed_step)?;
        wgsl.gate(first.activation, gate, up, &[&first.down], of_expert)?;
        recorder.product_of_chosen(of_expert, &first.down.weight, chosen, out).map_err(failed_step)?;
        recorder.add_chosen(out, chosen, stream).map_err(failed_step)
    }

    fn add_chosen_here(
        &mut self,
        wgsl: &Wgsl,
        experts: &Experts<Wgsl>,
        inputs: &GpuInputs,
        stream: &mut GpuRows,
    ) -> Result<()> {
        let Self { shares, selected, of_expert, gate, up, out, .. } = self;
        let recorder = &wgsl.recorder;
        let mut values = Vec::new();
        recorder.read(shares, 0..shares.n_rows(), &mut values).map_err(failed_step)?;
        let n_experts = experts.experts.len();
        let (mut rows, mut order) = (vec![Vec::new(); n_experts], Vec::new());
        for (row, shares) in values.chunks_exact(n_experts).enumerate() {
            experts.route(shares, &mut order).for_each(|(expert, weight)| rows[expert].push((row, weight)));
        }
        for (expert, rows) in experts.experts.iter().zip(&rows).filter(|(_, rows)| !rows.is_empty()) {
            let places = rows.iter().map(|(row, _)| *row);
            recorder.select_inputs(inputs, places, selected).map_err(failed_step)?;
            wgsl.inputs(selected, &[&expert.gate, &expert.up], of_expert)?;
            wgsl.product(of_expert, [(&expert.gate, &mut *gate), (&expert.up, &mut *up)])?;
            wgsl.gate(expert.activation, gate, up, &[&expert.down], of_expert)?;
            wgsl.product(of_expert, [(&expert.down, &mut *out)])?;
            recorder.add_weighted(out, rows, stream).map_err(failed_step)?;
        }
        Ok(())
    }
}
