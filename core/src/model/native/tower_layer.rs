//! The layers of a vision tower, in pieces of some rows: first all rows are projected, then each row is mixed with the others.

use std::ops::Range;

use causerie_backend::{
    Activations, AttentionMask, AttentionStep, CacheShape, CacheType, Cpu, GateFunction, KeyValues, Pairing, PatchGrid,
    ResidualAddition, Rotation,
};

use crate::model::linear::Linear;
use crate::model::native::backend::Native;
use crate::model::native::buffers::resize;
use crate::model::native::tower_weights::{TowerLayer, TowerNorm, TowerOperator};

/// How outputs are added to the residual stream: as they are.
pub(super) const PLAINLY: ResidualAddition<'static> = ResidualAddition { norm: None, factor: 1.0 };

/// Values between operations, in memory that is reused.
#[derive(Default)]
pub(super) struct TowerBuffers {
    pub(super) inputs: Activations,
    /// Queries, keys and values, or the values of a feed-forward block.
    pub(super) projected: [Vec<f32>; 3],
    pub(super) mixed: Vec<f32>,
}

/// An image on its way through the layers.
#[derive(Default)]
pub(super) struct TowerStream {
    /// `(patches, hidden)`
    pub(super) rows: Vec<f32>,
    pub(super) hidden: usize,
    /// Columns of the grid of patches.
    pub(super) n_columns: usize,
    /// Angles of axial rotary positions, `(patches, pairs)`: those of the row, then those of the column. Empty without them.
    pub(super) cosines: Vec<f32>,
    pub(super) sines: Vec<f32>,
    /// What a layer has projected so far: queries, `(patches, heads * head_dim)`, or `(patches, 3 * hidden)` of a convolution.
    projected: Vec<f32>,
    past: Option<KeyValues>,
}

impl TowerStream {
    pub(super) fn new(hidden: usize, n_columns: usize) -> Self {
        Self { hidden, n_columns, ..Self::default() }
    }

    pub(super) fn n_rows(&self) -> usize {
        self.rows.len() / self.hidden
    }

    fn of(&self, rows: &Range<usize>) -> Range<usize> {
        rows.start * self.hidden..rows.end * self.hidden
    }
}

impl TowerNorm {
    pub(super) fn apply(&self, cpu: &Cpu, rows: &[f32], quantises: bool, inputs: &mut Activations) {
        match &self.bias {
            Some(bias) => cpu.layer_norm(rows, (&self.weight, bias, self.epsilon), quantises, inputs),
            None => cpu.norm(rows, &self.weight, self.epsilon, quantises, inputs),
        }
    }
}

impl TowerLayer {
    /// Projects some rows. `n_heads` are those of queries, and of keys and values.
    pub(super) fn project(
        &self,
        cpu: &Cpu,
        stream: &mut TowerStream,
        rows: Range<usize>,
        (n_heads, n_key_heads): (usize, usize),
        buffers: &mut TowerBuffers,
    ) {
        let TowerBuffers { inputs, projected: [out, keys, values], .. } = buffers;
        let part = &stream.rows[stream.of(&rows)];
        match &self.operator {
            TowerOperator::Attention { projections, head_norms, head_dim } => {
                let [q_proj, k_proj, v_proj] = projections;
                let quantises = projections.iter().any(|map| map.is_quantised());
                self.operator_norm.apply(cpu, part, quantises, inputs);
                let n = rows.len();
                cpu.product(inputs, [q_proj.product(out, n), k_proj.product(keys, n), v_proj.product(values, n)]);
                q_proj.add_bias(cpu, out);
                k_proj.add_bias(cpu, keys);
                v_proj.add_bias(cpu, values);
                let n_pairs = head_dim / 2;
                let rotation = (!stream.cosines.is_empty()).then(|| Rotation {
                    cosines: &stream.cosines[rows.start * n_pairs..rows.end * n_pairs],
                    sines: &stream.sines[rows.start * n_pairs..rows.end * n_pairs],
                    n_pairs,
                    pairing: Pairing::Halves,
                });
                let norm =
                    |at: usize| head_norms.as_ref().map(|norms| (norms[at].as_slice(), self.operator_norm.epsilon));
                if rotation.is_some() || head_norms.is_some() {
                    cpu.rotate(out, (n_heads * head_dim, *head_dim), norm(0), rotation);
                    cpu.rotate(keys, (n_key_heads * head_dim, *head_dim), norm(1), rotation);
                }
                let shape = CacheShape { n_heads: n_key_heads, head_dim: *head_dim, cache_type: CacheType::F32 };
                let past = stream.past.get_or_insert_with(|| KeyValues::new(shape));
                past.append(keys, values);
            }
            TowerOperator::Convolution { in_proj, .. } => {
                self.operator_norm.apply(cpu, part, in_proj.is_quantised(), inputs);
                cpu.product(inputs, [in_proj.product(out, rows.len())]);
                in_proj.add_bias(cpu, out);
            }
        }
        if rows.start == 0 {
            stream.projected.clear();
        }
        stream.projected.extend_from_slice(out);
    }

    /// Mixes some rows with all that were projected, and adds the feed-forward block.
    pub(super) fn mix(&self, cpu: &Cpu, stream: &mut TowerStream, rows: Range<usize>, buffers: &mut TowerBuffers) {
        let TowerBuffers { inputs, projected: [outputs, ..], mixed } = buffers;
        let quantises = self.out.is_quantised();
        match (&self.operator, &stream.past) {
            (TowerOperator::Attention { head_dim, .. }, Some(past)) => {
                let width = stream.projected.len() / stream.n_rows();
                let queries = &stream.projected[rows.start * width..rows.end * width];
                resize(mixed, queries.len());
                let scale = (*head_dim as f32).sqrt().recip();
                let steps = [AttentionStep { rows: 0..rows.len(), past }];
                cpu.attention(queries, &steps, (AttentionMask::Bidirectional, scale), mixed);
                cpu.inputs(inputs, (rows.len(), width), quantises, |row, x| {
                    x.copy_from_slice(&mixed[row * width..][..width]);
                });
            }
            (TowerOperator::Convolution { taps, side, .. }, _) => {
                let (n_columns, hidden) = (stream.n_columns, stream.hidden);
                let grid = PatchGrid { projected: &stream.projected, n_columns, taps, side: *side, hidden };
                cpu.grid_convolution(grid, rows.clone(), quantises, inputs);
            }
            // Rows are projected before they are mixed.
            (TowerOperator::Attention { .. }, None) => return,
        }
        if rows.end == stream.n_rows() {
            stream.past = None;
        }
        let part = stream.of(&rows);
        let part = &mut stream.rows[part];
        self.out.add_to((cpu, inputs), PLAINLY, outputs, part);
        self.feed_forward(cpu, part, buffers);
    }

    fn feed_forward(&self, cpu: &Cpu, rows: &mut [f32], buffers: &mut TowerBuffers) {
        let TowerBuffers { inputs, projected: [outputs, up, gate], .. } = buffers;
        let quantises = self.up.is_quantised() || self.gate.as_ref().is_some_and(Linear::<Native>::is_quantised);
        self.feed_forward_norm.apply(cpu, rows, quantises, inputs);
        let (n_rows, width, quantises) = (inputs.n_rows(), self.up.weight.n_rows(), self.down.is_quantised());
        match &self.gate {
            Some(map) => {
                cpu.product(inputs, [map.product(gate, n_rows), self.up.product(up, n_rows)]);
                map.add_bias(cpu, gate);
                self.up.add_bias(cpu, up);
                cpu.gate(GateFunction::Silu, (gate, up, width), quantises, inputs);
            }
            None => {
                cpu.product(inputs, [self.up.product(up, n_rows)]);
                self.up.add_bias(cpu, up);
                cpu.activate(GateFunction::GeluTanh, (up, width), quantises, inputs);
            }
        }
        self.down.add_to((cpu, inputs), PLAINLY, outputs, rows);
    }
}
