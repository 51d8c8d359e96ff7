//! What networks say, in the terms of the GPU's kernels.

use causerie_gpu::{AttentionRow, DeltaSizes, GateCurve, GpuKeyValues, GpuMatrix, LargestValue, PairForm, RowRotation};

use crate::checkpoint::{Activation, Rope, RopePairing};
use crate::model::delta_net::DeltaHeads;
use crate::model::gpu::backend::Wgsl;
use crate::model::gpu::memories::WgslKeyValues;
use crate::model::linear::Linear;
use crate::model::network::TokenChoice;
use crate::model::operations::{AttentionPart, Sight};

/// Where the angles of a step's rows stand in the step's table, for one kind of rotary positions.
#[derive(Default)]
pub(crate) struct WgslAngles {
    pub(super) cosines: u32,
    pub(super) sines: u32,
    /// Factors of the queries of each row, if they grow.
    pub(super) query_factors: u32,
}

/// The matrices of maps that have no biases.
pub(super) fn unbiased<const N: usize>(maps: [&Linear<Wgsl>; N]) -> Option<[&GpuMatrix; N]> {
    maps.iter().all(|map| map.bias.is_none()).then(|| maps.map(|map| &map.weight))
}

pub(super) fn curve(activation: Activation) -> GateCurve {
    match activation {
        Activation::Silu => GateCurve::Silu,
        Activation::GeluTanh => GateCurve::GeluTanh,
    }
}

pub(super) fn row_rotation((rope, angles): (&Rope, &WgslAngles)) -> RowRotation {
    RowRotation {
        n_pairs: rope.n_pairs(),
        pairs: match rope.pairing {
            RopePairing::Halves => PairForm::Halves,
            RopePairing::Neighbours => PairForm::Neighbours,
        },
        cosines: angles.cosines,
        sines: angles.sines,
    }
}

/// Whether inputs of these maps are quantised.
pub(super) fn are_quantised(maps: &[&Linear<Wgsl>]) -> bool {
    maps.iter().any(|map| map.weight.is_quantised())
}

/// The tokens that each row of a sequence attends to.
pub(super) fn seen<'a>(
    part: &AttentionPart<'a, WgslKeyValues>,
    sight: Sight,
) -> impl Iterator<Item = AttentionRow<'a>> + use<'a> {
    let (past, n_rows): (&'a GpuKeyValues, usize) = (&part.past.past, part.rows.len());
    let (n_tokens, n_before) = (past.n_tokens(), past.n_tokens() - n_rows);
    let n_after = if part.is_two_way { sight.n_after.unwrap_or(usize::MAX) } else { 0 };
    (0..n_rows).map(move |row| {
        let end = n_before + row + 1;
        let start = sight.window.map_or(0, |window| end.saturating_sub(window));
        AttentionRow { past, seen: start..end.saturating_add(n_after).min(n_tokens) }
    })
}

pub(super) fn delta_sizes(heads: DeltaHeads) -> DeltaSizes {
    let DeltaHeads { n_keys, n_values, key_dim, value_dim } = heads;
    DeltaSizes { n_keys, n_values, key_dim, value_dim }
}

pub(super) fn token_choice(largest: LargestValue) -> TokenChoice {
    match largest {
        LargestValue::At(token) => TokenChoice::Token(token),
        LargestValue::Nowhere => TokenChoice::Nothing,
        LargestValue::NotFinite => TokenChoice::NotFinite,
    }
}
