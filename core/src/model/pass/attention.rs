//! Grouped-query attention.

use std::ops::Range;

use crate::checkpoint::Rope;
use crate::error::Result;
use crate::model::attention::{Attention, KeyValueMaps};
use crate::model::network::PerSequence;
use crate::model::operations::{AttentionPart, HeadPlace, NormFactors, Operations, Residual, SequencePart, Sight};
use crate::model::pass::buffers::Buffers;
use crate::model::pass::state::{LayerState, LayerStates};

impl<O: Operations> Attention<O> {
    /// `angles` is the index of the layer's rotary positions in the buffers. The states come with whether they have the keys and values
    /// of the rows already.
    pub(super) fn forward(
        &self,
        operations: &O,
        (states, is_remembered): (LayerStates<'_, '_, O>, bool),
        norm: NormFactors<'_, O>,
        angles: Option<usize>,
        residual: Residual<'_, O>,
        buffers: &mut Buffers<O>,
    ) -> Result<()> {
        let own = self.key_values.own().filter(|_| !is_remembered);
        self.project(operations, norm, own, buffers)?;
        let Buffers { stream, inputs, projected: [q, k, v], mixed, head_gates, angles: all_angles, .. } = buffers;
        let head_dim = self.heads.head_dim;
        let rotation = self.rope.as_ref().zip(angles.map(|at| &all_angles[at]));
        let with_epsilon = |weight| head_norm(weight, norm.1);
        let mut states: PerSequence<_> = states.collect();
        if let Some(KeyValueMaps { k_norm, v_norm, .. }) = own {
            operations.rotate(v, head_dim, with_epsilon(v_norm), None)?;
            let norms = [with_epsilon(&self.q_norm), with_epsilon(k_norm)];
            let mut pasts: PerSequence<_> = states.iter_mut().filter_map(past).collect();
            operations.append_heads([&mut *q, k, v], HeadPlace { head_dim, norms, rotation }, &mut pasts)?;
        } else {
            operations.rotate(q, head_dim, with_epsilon(&self.q_norm), rotation)?;
        }
        if let Some((rope, angles)) = rotation
            && rope.query_growth.is_some()
        {
            operations.grow_queries(q, angles)?;
        }
        let mut steps = PerSequence::new();
        for (state, rows, is_two_way) in &states {
            if let LayerState::Attention(past) = &**state {
                let is_two_way = self.is_two_way || *is_two_way;
                steps.push(AttentionPart { rows: (*rows).clone(), past, is_two_way });
            }
        }
        let sight = Sight { window: self.window, n_after: self.n_after, scale: self.scale };
        if self.has_query_gates || self.head_gates.is_some() {
            operations.attention(q, &steps, self.heads, sight, mixed)?;
            operations.gate_heads(mixed, head_gates, &self.out_proj, inputs)?;
        } else {
            operations.attention_inputs(q, &steps, (self.heads, sight, &self.out_proj), mixed, inputs)?;
        }
        operations.add_product(inputs, &self.out_proj, residual, q, stream)
    }

    /// Computes queries, keys and values if they are wanted, and the gates of heads.
    fn project(
        &self,
        operations: &O,
        norm: NormFactors<'_, O>,
        own: Option<&KeyValueMaps<O>>,
        buffers: &mut Buffers<O>,
    ) -> Result<()> {
        let Buffers { stream, inputs, projected: [q, k, v], head_gates, gated_queries, .. } = buffers;
        let projected = if self.has_query_gates { &mut *gated_queries } else { &mut *q };
        let query = (&self.q_proj, projected);
        match (own, &self.head_gates) {
            (Some(KeyValueMaps { k_proj, v_proj, .. }), None) => {
                operations.norm_product(stream, norm, [query, (k_proj, k), (v_proj, v)], inputs)?;
            }
            (Some(KeyValueMaps { k_proj, v_proj, .. }), Some(gates)) => {
                let products = [query, (k_proj, k), (v_proj, v), (gates, &mut *head_gates)];
                operations.norm_product(stream, norm, products, inputs)?;
            }
            (None, None) => operations.norm_product(stream, norm, [query], inputs)?,
            (None, Some(gates)) => {
                operations.norm_product(stream, norm, [query, (gates, &mut *head_gates)], inputs)?;
            }
        }
        if self.has_query_gates {
            operations.split_heads(gated_queries, self.heads.head_dim, q, head_gates)?;
            operations.sigmoid(head_gates)?;
        }
        if self.head_gates.is_some() {
            operations.sigmoid(head_gates)?;
        }
        Ok(())
    }
}

/// The keys and values of a sequence, and its rows.
fn past<'s, O: Operations>(
    (state, rows, _): &'s mut (&mut LayerState<O>, &Range<usize>, bool),
) -> Option<SequencePart<&'s mut O::KeyValues>> {
    match &mut **state {
        LayerState::Attention(memory) => Some(SequencePart { rows: (*rows).clone(), memory }),
        _ => None,
    }
}

impl<O: Operations> KeyValueMaps<O> {
    /// Appends the keys and values of all rows of the stream. The sizes are the elements of a head, and the norm of the layer's inputs.
    pub(super) fn remember<'a>(
        &self,
        operations: &O,
        states: &mut dyn Iterator<Item = (&'a mut LayerState<O>, &'a Range<usize>)>,
        (head_dim, norm): (usize, NormFactors<'_, O>),
        rotation: Option<(&Rope, usize)>,
        buffers: &mut Buffers<O>,
    ) -> Result<()> {
        let Buffers { stream, inputs, projected: [_, k, v], angles, .. } = buffers;
        operations.norm_product(stream, norm, [(&self.k_proj, &mut *k), (&self.v_proj, &mut *v)], inputs)?;
        let rotation = rotation.map(|(rope, at)| (rope, &angles[at]));
        operations.rotate(k, head_dim, head_norm(&self.k_norm, norm.1), rotation)?;
        operations.rotate(v, head_dim, head_norm(&self.v_norm, norm.1), None)?;
        for (state, rows) in states {
            if let LayerState::Attention(past) = state {
                operations.append(SequencePart { rows: rows.clone(), memory: &mut *past }, k, v)?;
            }
        }
        Ok(())
    }
}

fn head_norm<T>(weight: &Option<T>, epsilon: f32) -> Option<(&T, f32)> {
    weight.as_ref().map(|weight| (weight, epsilon))
}
