//! Grouped-query attention.

use std::ops::Range;

use crate::checkpoint::Rope;
use crate::error::Result;
use crate::model::attention::{Attention, KeyValueMaps};
use crate::model::linear::Readers;
use crate::model::network::PerSequence;
use crate::model::operations::{AttentionPart, Operations, Residual, SequencePart, Sight};
use crate::model::pass::buffers::Buffers;
use crate::model::pass::state::{LayerState, LayerStates};

impl<O: Operations> Attention<O> {
    /// The maps that read the layer's inputs.
    pub(super) fn inputs(&self) -> Readers<'_, O> {
        let own = self.key_values.own().into_iter().flat_map(|maps| [&maps.k_proj, &maps.v_proj]);
        [&self.q_proj].into_iter().chain(own).chain(&self.head_gates).collect()
    }

    /// `angles` is the index of the layer's rotary positions in the buffers. The states come with whether they have the keys and values
    /// of the rows already.
    pub(super) fn forward(
        &self,
        operations: &O,
        (states, is_remembered): (LayerStates<'_, '_, O>, bool),
        norm_eps: f32,
        angles: Option<usize>,
        residual: Residual<'_, O>,
        buffers: &mut Buffers<O>,
    ) -> Result<()> {
        let own = self.key_values.own().filter(|_| !is_remembered);
        self.project(operations, own, buffers)?;
        let Buffers { stream, inputs, projected: [q, k, v], mixed, head_gates, angles: all_angles, .. } = buffers;
        let head_dim = self.heads.head_dim;
        let rotation = self.rope.as_ref().zip(angles.map(|at| &all_angles[at]));
        operations.rotate(q, head_dim, norm(&self.q_norm, norm_eps), rotation)?;
        if let Some((rope, angles)) = rotation
            && rope.query_growth.is_some()
        {
            operations.grow_queries(q, angles)?;
        }
        if let Some(maps) = own {
            maps.rotate(operations, (head_dim, norm_eps), rotation, (k, v))?;
        }
        let mut steps = PerSequence::new();
        for (state, rows, is_two_way) in states {
            if let LayerState::Attention(past) = state {
                if own.is_some() {
                    operations.append(SequencePart { rows: rows.clone(), memory: &mut *past }, k, v)?;
                }
                let is_two_way = self.is_two_way || is_two_way;
                steps.push(AttentionPart { rows: rows.clone(), past: &*past, is_two_way });
            }
        }
        let sight = Sight { window: self.window, n_after: self.n_after, scale: self.scale };
        operations.attention(q, &steps, self.heads, sight, mixed)?;
        match self.has_query_gates || self.head_gates.is_some() {
            true => operations.gate_heads(mixed, head_gates, &self.out_proj, inputs)?,
            false => operations.inputs(mixed, &[&self.out_proj], inputs)?,
        }
        operations.add_product(inputs, &self.out_proj, residual, q, stream)
    }

    /// Computes queries, keys and values if they are wanted, and the gates of heads.
    fn project(&self, operations: &O, own: Option<&KeyValueMaps<O>>, buffers: &mut Buffers<O>) -> Result<()> {
        let Buffers { inputs, projected: [q, k, v], head_gates, gated_queries, .. } = buffers;
        let projected = if self.has_query_gates { &mut *gated_queries } else { &mut *q };
        match own {
            Some(KeyValueMaps { k_proj, v_proj, .. }) => {
                operations.product(inputs, [(&self.q_proj, projected), (k_proj, k), (v_proj, v)])?;
            }
            None => operations.product(inputs, [(&self.q_proj, projected)])?,
        }
        if self.has_query_gates {
            operations.split_heads(gated_queries, self.heads.head_dim, q, head_gates)?;
            operations.sigmoid(head_gates)?;
        }
        if let Some(gates) = &self.head_gates {
            operations.product(inputs, [(gates, &mut *head_gates)])?;
            operations.sigmoid(head_gates)?;
        }
        Ok(())
    }
}

impl<O: Operations> KeyValueMaps<O> {
    /// Appends the keys and values of rows, whose inputs are in the buffers.
    pub(super) fn remember<'a>(
        &self,
        operations: &O,
        states: &mut dyn Iterator<Item = (&'a mut LayerState<O>, &'a Range<usize>)>,
        sizes: (usize, f32),
        rotation: Option<(&Rope, usize)>,
        buffers: &mut Buffers<O>,
    ) -> Result<()> {
        let Buffers { inputs, projected: [_, k, v], angles, .. } = buffers;
        operations.product(inputs, [(&self.k_proj, &mut *k), (&self.v_proj, &mut *v)])?;
        self.rotate(operations, sizes, rotation.map(|(rope, at)| (rope, &angles[at])), (k, v))?;
        for (state, rows) in states {
            if let LayerState::Attention(past) = state {
                operations.append(SequencePart { rows: rows.clone(), memory: &mut *past }, k, v)?;
            }
        }
        Ok(())
    }

    /// Normalises keys and values, and rotates keys. The sizes are the elements of a head, and the epsilon of norms.
    fn rotate(
        &self,
        operations: &O,
        (head_dim, norm_eps): (usize, f32),
        rotation: Option<(&Rope, &O::Angles)>,
        (k, v): (&mut O::Rows, &mut O::Rows),
    ) -> Result<()> {
        operations.rotate(k, head_dim, norm(&self.k_norm, norm_eps), rotation)?;
        operations.rotate(v, head_dim, norm(&self.v_norm, norm_eps), None)
    }
}

fn norm<T>(weight: &Option<T>, epsilon: f32) -> Option<(&T, f32)> {
    weight.as_ref().map(|weight| (weight, epsilon))
}
