//! Loads a tower, as its family's facts and its tensors say.

use crate::checkpoint::{PatchPlaces, RowRoles, VisionArchitecture, invalid};
use crate::error::Result;
use crate::model::heads::{Heads, STACKED};
use crate::model::linear::Linear;
use crate::model::tower::clipped::ClippedLinear;
use crate::model::tower::norm::TowerNorm;
use crate::model::tower::operations::TowerOperations;
use crate::model::tower::reader::TowerReader;
use crate::model::tower::weights::{
    AxialRotation, PlaceTable, RowHead, TowerAttention, TowerFeedForward, TowerLayer, TowerOperator, TowerWeights,
};
use crate::weights::Tensors;

/// Vectors for the places of patches.
const PLACES: &str = "v.position_embd";

impl<O: TowerOperations> TowerWeights<O> {
    pub(super) fn load(operations: &O, tensors: &Tensors, architecture: &VisionArchitecture) -> Result<Self> {
        let reader = TowerReader { operations, tensors, architecture };
        let family = architecture.family;
        let (patch, hidden, first_kernel) = reader.patch(architecture.rules.patch)?;
        let patch_norm = family.patch_norm.map(|name| reader.tower_norm(name, hidden));
        let (head, row_size, fingerprint) = reader.row_head(hidden, &first_kernel)?;
        Ok(Self {
            patch,
            patch_norm: patch_norm.transpose()?,
            places: family.places.map(|places| reader.places(places, hidden)).transpose()?,
            rotation: architecture.rope_theta.map(|theta| reader.rotation(theta, hidden)).transpose()?,
            layers: (0..architecture.n_layers).map(|layer| reader.layer(layer, hidden)).collect::<Result<_>>()?,
            head,
            hidden,
            row_size,
            fingerprint,
        })
    }
}

/// The name of a part of a layer.
fn in_layer(layer: usize, part: &str) -> String {
    format!("v.blk.{layer}.{part}")
}

impl<O: TowerOperations> TowerReader<'_, O> {
    /// A norm of the kind that the tower has.
    fn tower_norm(&self, name: &str, length: usize) -> Result<TowerNorm<O>> {
        self.norm(name, length, self.architecture.norm_eps, self.architecture.family.has_layer_norms)
    }

    fn places(&self, places: PatchPlaces, hidden: usize) -> Result<PlaceTable> {
        let name = format!("{PLACES}.weight");
        let wrong = |expected: &str| {
            let (name, shape) = (self.tensors.file_name(&name), self.tensors.shape(&name));
            invalid(format!("tensor {name} must have {expected}, found shape {:?}", shape.unwrap_or_default()))
        };
        let shape = self.tensors.shape(&name).ok_or_else(|| self.tensors.missing(&name))?.to_vec();
        match (places, &shape[..]) {
            (PatchPlaces::Axes, &[2, n_places, _]) => {
                let values = self.tensors.floats(&name, &[2, n_places, hidden])?;
                Ok(PlaceTable::Axes { values, n_places })
            }
            (PatchPlaces::Axes, _) => Err(wrong("vectors for columns and for rows")),
            (PatchPlaces::Square { is_aligned }, &[n_places, _]) => {
                let side = n_places.isqrt();
                if side == 0 || side * side != n_places {
                    return Err(wrong("a square number of rows"));
                }
                let values = self.tensors.floats(&name, &[n_places, hidden])?;
                Ok(PlaceTable::Square { values, side, is_aligned })
            }
            (PatchPlaces::Square { .. }, _) => Err(wrong("a row for each place of a square")),
        }
    }

    /// The frequencies of axial rotary positions, `theta^(-2i / (head_dim / 2))`, which both axes share.
    fn rotation(&self, theta: f32, hidden: usize) -> Result<AxialRotation> {
        let Heads { n_queries, n_keys, head_dim } = self.heads(hidden)?;
        let is_by_halves = self.architecture.family.rotates_by_halves;
        if !head_dim.is_multiple_of(4) || !theta.is_finite() || theta <= 0.0 {
            return Err(invalid(format!(
                "heads of {head_dim} with a rope_theta of {theta} are not supported in images"
            )));
        }
        if is_by_halves && n_queries != n_keys {
            return Err(invalid(format!("{n_queries} heads with {n_keys} key heads are not supported in images")));
        }
        let half = head_dim / 2;
        let frequencies = (0..half / 2).map(|pair| theta.powf(2.0 * pair as f32 / half as f32).recip()).collect();
        Ok(AxialRotation { frequencies, is_by_halves })
    }

    fn layer(&self, layer: usize, hidden: usize) -> Result<TowerLayer<O>> {
        let norm = |part: &str| self.tower_norm(&in_layer(layer, part), hidden);
        let out_norm = |part: &str| self.architecture.family.has_output_norms.then(|| norm(part)).transpose();
        Ok(TowerLayer {
            operator_norm: norm("ln1")?,
            operator: self.operator(layer, hidden, out_norm("attn_post_norm")?)?,
            feed_forward_norm: norm("ln2")?,
            feed_forward: self.feed_forward(layer, hidden)?,
            out_norm: out_norm("ffn_post_norm")?,
        })
    }

    /// What mixes patches.
    fn operator(&self, layer: usize, hidden: usize, out_norm: Option<TowerNorm<O>>) -> Result<TowerOperator<O>> {
        let name = |part: &str| in_layer(layer, part);
        if self.holds(&name("conv2d_in_proj")) {
            let (taps, side) = self.taps(&name("conv2d_spatial"), hidden)?;
            let in_proj = self.linear(&name("conv2d_in_proj"), (3 * hidden, hidden))?;
            let out = self.linear(&name("conv2d_out_proj"), (hidden, hidden))?;
            return Ok(TowerOperator::Convolution { in_proj, taps, side, out });
        }
        let heads = self.heads(hidden)?;
        let head_dim = heads.head_dim;
        let head_norm = |part: &str| self.vector(&format!("{}.weight", name(part)), head_dim);
        let head_norms = || -> Result<_> { Ok([head_norm("attn_q_norm")?, head_norm("attn_k_norm")?]) };
        let ones = || self.operations.vector(vec![1.0; head_dim]);
        let family = self.architecture.family;
        Ok(TowerOperator::Attention(Box::new(TowerAttention {
            projections: self.projections(layer, hidden, heads)?,
            head_norms: self.holds(&name("attn_q_norm")).then(head_norms).transpose()?,
            value_norm: family.has_value_norms.then(ones).transpose()?,
            heads,
            scale: family.score_scale.unwrap_or_else(|| (head_dim as f32).sqrt().recip()),
            out: self.clipped(&name("attn_out"), (hidden, hidden))?,
            out_norm,
        })))
    }

    /// The maps of queries, keys and values, which one tensor may stack.
    fn projections(&self, layer: usize, hidden: usize, heads: Heads) -> Result<[ClippedLinear<O>; 3]> {
        let name = |part: &str| in_layer(layer, part);
        let [n_queries, n_keys] = [heads.n_queries, heads.n_keys].map(|n_heads| n_heads * heads.head_dim);
        if self.holds(&name(STACKED)) {
            let n_rows = n_queries + 2 * n_keys;
            let part = |first: usize, rows: usize| {
                let linear = self.stacked(&name(STACKED), n_rows, (first, rows, hidden))?;
                ClippedLinear::new(linear, self.tensors, &name(STACKED))
            };
            return Ok([part(0, n_queries)?, part(n_queries, n_keys)?, part(n_queries + n_keys, n_keys)?]);
        }
        let map = |part: &str, n_rows: usize| self.clipped(&name(part), (n_rows, hidden));
        Ok([map("attn_q", n_queries)?, map("attn_k", n_keys)?, map("attn_v", n_keys)?])
    }

    fn feed_forward(&self, layer: usize, hidden: usize) -> Result<TowerFeedForward<O>> {
        let name = |part: &str| in_layer(layer, part);
        let [up_rows, down_rows] = ["ffn_up", "ffn_down"].map(|part| self.rows(&name(part)));
        let (up_rows, down_rows) = (up_rows?, down_rows?);
        if let Some(activation) = self.architecture.family.gate {
            let map = |part: &str, shape: (usize, usize)| self.clipped(&name(part), shape);
            let (gate, up) = (map("ffn_gate", (up_rows, hidden))?, map("ffn_up", (up_rows, hidden))?);
            return Ok(TowerFeedForward::Gated { activation, gate, up, down: map("ffn_down", (hidden, up_rows))? });
        }
        // Some old files have the two maps under each other's names.
        let is_swapped = up_rows == hidden && down_rows != hidden;
        let (up, down, width) =
            if is_swapped { ("ffn_down", "ffn_up", down_rows) } else { ("ffn_up", "ffn_down", up_rows) };
        Ok(TowerFeedForward::Plain {
            up: self.linear(&name(up), (width, hidden))?,
            down: self.linear(&name(down), (hidden, width))?,
        })
    }

    /// What makes rows of patches, with the size of a row, and values that differ between towers.
    fn row_head(&self, hidden: usize, first_kernel: &[f32]) -> Result<(RowHead<O>, usize, Vec<u8>)> {
        let family = self.architecture.family;
        let merge = self.architecture.rules.merge * self.architecture.rules.merge;
        match family.rows {
            RowRoles::Joined { patch_norm, joined_norm, first, second } => {
                let (joined, inner, row_size) = (merge * hidden, self.rows(first)?, self.rows(second)?);
                let epsilon = if joined_norm.is_some() { self.architecture.norm_eps } else { family.projector_eps };
                let joined_norm = joined_norm.filter(|name| self.holds(name));
                let head = RowHead::Joined {
                    patch_norm: self.norm(patch_norm, hidden, epsilon, true)?,
                    joined_norm: joined_norm
                        .map(|name| self.norm(name, joined, family.projector_eps, true))
                        .transpose()?,
                    first: self.linear(first, (inner, joined))?,
                    second: self.linear(second, (row_size, inner))?,
                };
                let maps = [(first, joined), (second, inner)];
                Ok((head, row_size, self.fingerprint(first_kernel, &maps, Some((patch_norm, hidden)))?))
            }
            RowRoles::Pooled { map, patch_norm, mean_norm, is_transposed, is_raised } => {
                let (rows, columns) = self.shape(map)?;
                let row_size = if is_transposed { columns } else { rows };
                let linear: Linear<O> = match is_transposed {
                    true => self.transposed(map, (row_size, hidden))?,
                    false => self.linear(map, (row_size, hidden))?,
                };
                let epsilon = family.projector_eps;
                let mean_norm = match mean_norm {
                    Some(name) => self.norm(name, hidden, epsilon, false)?,
                    None => TowerNorm { weight: self.operations.vector(vec![1.0; hidden])?, bias: None, epsilon },
                };
                let raise = if is_raised { (hidden as f32).sqrt() } else { 1.0 };
                let head = RowHead::Pooled {
                    patch_norm: patch_norm.map(|name| self.tower_norm(name, hidden)).transpose()?,
                    factor: raise / merge as f32, // at most 64
                    standard: self.standard(hidden)?,
                    mean_norm,
                    map: linear,
                };
                let fingerprint =
                    self.fingerprint(first_kernel, &[(map, columns)], patch_norm.map(|it| (it, hidden)))?;
                Ok((head, row_size, fingerprint))
            }
        }
    }

    /// Factors and shifts of the columns of means, of which the files have the factors and what is subtracted before.
    fn standard(&self, hidden: usize) -> Result<Option<[O::Vector; 2]>> {
        let [factors, means] = ["v.std_scale", "v.std_bias"];
        if self.tensors.shape(factors).is_none() {
            return Ok(None);
        }
        let (factors, means) = (self.tensors.floats(factors, &[hidden])?, self.tensors.floats(means, &[hidden])?);
        let shifts = factors.iter().zip(means).map(|(factor, mean)| -mean * factor).collect();
        Ok(Some([self.operations.vector(factors)?, self.operations.vector(shifts)?]))
    }
}
