//! Grouped-query attention on the CPU.

use causerie_backend::{AttentionStep, Cpu, Pairing, ResidualAddition, Rotation};

use crate::model::attention::{Attention, Heads};
use crate::model::native::backend::Native;
use crate::model::native::buffers::{PassBuffers, RotaryAngles, resize};
use crate::model::native::state::{NativeLayerState, NativeLayerStates};
use crate::model::network::PerSequence;
use crate::model::rope::RopePairing;

impl Attention<Native> {
    /// `angles` is the index of the layer's rotary positions in the buffers.
    pub(super) fn forward(
        &self,
        cpu: &Cpu,
        states: NativeLayerStates<'_, '_>,
        norm_eps: f32,
        angles: Option<usize>,
        how: ResidualAddition<'_>,
        buffers: &mut PassBuffers,
    ) {
        let PassBuffers { stream, inputs, projected: [q, k, v], mixed, head_gates, angles: all_angles, .. } = buffers;
        let Heads { n_queries, n_keys, head_dim } = self.heads;
        let n_rows = inputs.n_rows();
        cpu.product(
            inputs,
            [self.q_proj.product(q, n_rows), self.k_proj.product(k, n_rows), self.v_proj.product(v, n_rows)],
        );
        self.q_proj.add_bias(cpu, q);
        self.k_proj.add_bias(cpu, k);
        self.v_proj.add_bias(cpu, v);
        if let Some(gates) = &self.head_gates {
            cpu.product(inputs, [gates.product(head_gates, n_rows)]);
            gates.add_bias(cpu, head_gates);
            cpu.sigmoid(head_gates);
        }
        let rotation = angles.zip(self.rope.as_ref()).map(|(at, rope)| {
            let RotaryAngles { cosines, sines, .. } = &all_angles[at];
            let pairing = match rope.pairing {
                RopePairing::Halves => Pairing::Halves,
                RopePairing::Neighbours => Pairing::Neighbours,
            };
            Rotation { cosines, sines, n_pairs: rope.n_pairs(), pairing }
        });
        let norms = self.norms.as_ref();
        cpu.rotate(q, (n_queries * head_dim, head_dim), norms.map(|(norm, _)| (norm.as_slice(), norm_eps)), rotation);
        cpu.rotate(k, (n_keys * head_dim, head_dim), norms.map(|(_, norm)| (norm.as_slice(), norm_eps)), rotation);
        if let Some(RotaryAngles { query_factors, .. }) = angles.map(|at| &all_angles[at])
            && !query_factors.is_empty()
        {
            cpu.for_rows(q, n_queries * head_dim, |row, q| q.iter_mut().for_each(|q| *q *= query_factors[row]));
        }
        let width = n_keys * head_dim;
        let mut steps = PerSequence::new();
        for (state, rows) in states {
            if let NativeLayerState::Attention(past) = state {
                let part = rows.start * width..rows.end * width;
                past.append(&k[part.clone()], &v[part]);
                steps.push(AttentionStep { rows: rows.clone(), past });
            }
        }
        resize(mixed, q.len());
        cpu.attention(q, &steps, (self.window.unwrap_or(usize::MAX), self.scale), mixed);
        let width = n_queries * head_dim;
        cpu.inputs(inputs, (n_rows, width), self.out_proj.is_quantised(), |row, x| {
            x.copy_from_slice(&mixed[row * width..][..width]);
            if self.head_gates.is_some() {
                let gates = &head_gates[row * n_queries..][..n_queries];
                x.chunks_exact_mut(head_dim)
                    .zip(gates)
                    .for_each(|(head, gate)| head.iter_mut().for_each(|x| *x *= gate));
            }
        });
        self.out_proj.add_to((cpu, inputs), how, q, stream);
    }
}
