//! Grouped-query attention on the CPU.

use causerie_backend::{Activations, AttentionMask, AttentionStep, Cpu, Pairing, ResidualAddition, Rotation};

use crate::model::attention::{Attention, KeyValueMaps};
use crate::model::heads::Heads;
use crate::model::native::backend::Native;
use crate::model::native::buffers::{PassBuffers, RotaryAngles, resize};
use crate::model::native::state::{NativeLayerState, NativeLayerStates};
use crate::model::network::PerSequence;
use crate::model::rope::RopePairing;

impl Attention<Native> {
    /// Whether the inputs of the maps are quantised.
    pub(super) fn quantises(&self) -> bool {
        let own = self.key_values.own().into_iter().flat_map(|maps| [&maps.k_proj, &maps.v_proj]);
        own.chain(&self.head_gates).chain([&self.q_proj]).any(|linear| linear.is_quantised())
    }

    fn project(&self, cpu: &Cpu, inputs: &Activations, [q, k, v]: [&mut Vec<f32>; 3]) {
        let n_rows = inputs.n_rows();
        let q_product = self.q_proj.product(q, n_rows);
        match self.key_values.own() {
            Some(KeyValueMaps { k_proj, v_proj, .. }) => {
                cpu.product(inputs, [q_product, k_proj.product(k, n_rows), v_proj.product(v, n_rows)]);
                k_proj.add_bias(cpu, k);
                v_proj.add_bias(cpu, v);
            }
            None => cpu.product(inputs, [q_product]),
        }
        self.q_proj.add_bias(cpu, q);
    }

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
        let PassBuffers {
            stream,
            inputs,
            projected: [q, k, v],
            mixed,
            head_gates,
            gated_queries,
            angles: all_angles,
            ..
        } = buffers;
        let Heads { n_queries, n_keys, head_dim } = self.heads;
        let n_rows = inputs.n_rows();
        let projected = if self.has_query_gates { &mut *gated_queries } else { &mut *q };
        self.project(cpu, inputs, [projected, k, v]);
        if self.has_query_gates {
            split_queries(cpu, gated_queries, self.heads, (q, head_gates));
        }
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
        cpu.rotate(q, (n_queries * head_dim, head_dim), norm(self.q_norm.as_ref(), norm_eps), rotation);
        if let Some(RotaryAngles { query_factors, .. }) = angles.map(|at| &all_angles[at])
            && !query_factors.is_empty()
        {
            cpu.for_rows(q, n_queries * head_dim, |row, q| q.iter_mut().for_each(|q| *q *= query_factors[row]));
        }
        let width = n_keys * head_dim;
        let own = self.key_values.own();
        if let Some(KeyValueMaps { k_norm, v_norm, .. }) = own {
            cpu.rotate(k, (width, head_dim), norm(k_norm.as_ref(), norm_eps), rotation);
            cpu.rotate(v, (width, head_dim), norm(v_norm.as_ref(), norm_eps), None);
        }
        let mut steps = PerSequence::new();
        for (state, rows) in states {
            if let NativeLayerState::Attention(past) = state {
                let part = rows.start * width..rows.end * width;
                if own.is_some() {
                    past.append(&k[part.clone()], &v[part]);
                }
                steps.push(AttentionStep { rows: rows.clone(), past });
            }
        }
        resize(mixed, q.len());
        cpu.attention(
            q,
            &steps,
            (AttentionMask::Causal { window: self.window.unwrap_or(usize::MAX) }, self.scale),
            mixed,
        );
        let width = n_queries * head_dim;
        cpu.inputs(inputs, (n_rows, width), self.out_proj.is_quantised(), |row, x| {
            x.copy_from_slice(&mixed[row * width..][..width]);
            if self.has_query_gates {
                let gates = &head_gates[row * width..][..width];
                x.iter_mut().zip(gates).for_each(|(x, gate)| *x *= gate);
            } else if self.head_gates.is_some() {
                let gates = &head_gates[row * n_queries..][..n_queries];
                let heads = x.chunks_exact_mut(head_dim).zip(gates);
                heads.for_each(|(head, gate)| head.iter_mut().for_each(|x| *x *= gate));
            }
        });
        self.out_proj.add_to((cpu, inputs), how, q, stream);
    }
}

fn norm(weight: Option<&Vec<f32>>, epsilon: f32) -> Option<(&[f32], f32)> {
    weight.map(|weight| (weight.as_slice(), epsilon))
}

/// Splits query heads and the gates after them, `(rows, query heads, 2, head_dim)`, and computes the sigmoid of the gates.
fn split_queries(cpu: &Cpu, projected: &[f32], heads: Heads, (q, gates): (&mut Vec<f32>, &mut Vec<f32>)) {
    let Heads { n_queries, head_dim, .. } = heads;
    for (part, offset) in [(q, 0), (gates, head_dim)] {
        resize(part, projected.len() / 2);
        cpu.for_rows(part, n_queries * head_dim, |row, part| {
            let heads = projected.chunks_exact(2 * head_dim).skip(row * n_queries);
            for (part, head) in part.chunks_exact_mut(head_dim).zip(heads) {
                part.copy_from_slice(&head[offset..][..head_dim]);
            }
            if offset != 0 {
                cpu.sigmoid(part);
            }
        });
    }
}
