//! The weights of a vision tower and its projector.

use crate::checkpoint::{VisionArchitecture, invalid};
use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::heads::Heads;
use crate::model::linear::Linear;
use crate::model::tower::operations::TowerOperations;
use crate::weights::{MatrixPlace, TensorPart, Tensors, dequantise};

/// Frames that a patch may span; a picture fills them all.
const MAX_FRAMES: usize = 8;
/// The side of a convolution's kernel at most.
const MAX_KERNEL: usize = 15;

pub(super) struct TowerWeights<B: Backend> {
    /// `(hidden, patch * patch * 3)`: patches by row, column and channel.
    pub(super) patch: Linear<B>,
    pub(super) patch_norm: Option<TowerNorm<B>>,
    pub(super) positions: Positions,
    pub(super) layers: Vec<TowerLayer<B>>,
    pub(super) output_norm: TowerNorm<B>,
    pub(super) projector: Projector<B>,
    pub(super) hidden: usize,
    /// Values of a row that the projector gives.
    pub(super) row_size: usize,
    /// Values that differ between towers, with the types of their weights.
    pub(super) fingerprint: Vec<u8>,
}

/// How a patch knows its place.
pub(super) enum Positions {
    /// Vectors that are added to a square of patches, `(side * side, hidden)`, and its side.
    Table(Vec<f32>, usize),
    /// Frequencies of rotary angles, for rows and for columns: each half of a head's pairs.
    Axial(Vec<f32>),
}

pub(super) struct TowerLayer<B: Backend> {
    pub(super) operator_norm: TowerNorm<B>,
    pub(super) operator: TowerOperator<B>,
    pub(super) out: Linear<B>,
    pub(super) feed_forward_norm: TowerNorm<B>,
    pub(super) gate: Option<Linear<B>>,
    pub(super) up: Linear<B>,
    pub(super) down: Linear<B>,
}

/// What mixes patches.
pub(super) enum TowerOperator<B: Backend> {
    Attention {
        /// Queries, keys and values.
        projections: [Linear<B>; 3],
        /// Norms of the heads of queries and keys.
        head_norms: Option<[B::Vector; 2]>,
        heads: Heads,
    },
    Convolution {
        /// `(3 * hidden, hidden)`
        in_proj: Linear<B>,
        /// `(side * side, hidden)`
        taps: B::Vector,
        side: usize,
    },
}

pub(in crate::model) struct TowerNorm<B: Backend> {
    pub(in crate::model) weight: B::Vector,
    /// `None` for the root of the mean square, which does not subtract the mean.
    pub(in crate::model) bias: Option<B::Vector>,
    pub(in crate::model) epsilon: f32,
}

/// Patches that lie in a square are joined, and become one row.
pub(super) struct Projector<B: Backend> {
    pub(super) norm: Option<TowerNorm<B>>,
    pub(super) first: Linear<B>,
    pub(super) second: Linear<B>,
}

impl<O: TowerOperations> TowerWeights<O> {
    pub(super) fn load(operations: &O, tensors: &Tensors, architecture: &VisionArchitecture) -> Result<Self> {
        let reader = Reader { operations, tensors, architecture };
        let (roles, family) = (architecture.roles(), architecture.family);
        let (patch, hidden, first_kernel) = reader.patch(architecture.rules.patch)?;
        let tower_norm = |name: &str| reader.norm(name, hidden, architecture.norm_eps, family.has_layer_norms);
        let merged = architecture.rules.merge * architecture.rules.merge * hidden;
        let projector = |name: &str, columns: usize| reader.linear(name, (reader.rows(name)?, columns));
        let first = projector(roles.first, merged)?;
        let merged_norm = roles.merged_norm.filter(|name| reader.holds(name));
        let inner = reader.rows(roles.first)?;
        let fingerprint = reader.fingerprint(&first_kernel, [(roles.first, merged), (roles.second, inner)], hidden);
        Ok(Self {
            patch_norm: roles.patch_norm.map(&tower_norm).transpose()?,
            positions: match architecture.rope_theta {
                None => reader.positions(hidden)?,
                Some(theta) => Positions::Axial(axial_frequencies(theta, reader.heads(hidden)?.head_dim)?),
            },
            layers: (0..architecture.n_layers).map(|layer| reader.layer(layer, hidden)).collect::<Result<_>>()?,
            output_norm: match roles.merged_norm {
                Some(_) => tower_norm(roles.output_norm)?,
                None => reader.norm(roles.output_norm, hidden, family.projector_eps, true)?,
            },
            projector: Projector {
                norm: merged_norm.map(|name| reader.norm(name, merged, family.projector_eps, true)).transpose()?,
                second: projector(roles.second, inner)?,
                first,
            },
            patch,
            hidden,
            row_size: reader.rows(roles.second)?,
            fingerprint: fingerprint?,
        })
    }
}

/// The frequencies of axial rotary positions, `theta^(-2i / (head_dim / 2))`, which both axes share.
fn axial_frequencies(theta: f32, head_dim: usize) -> Result<Vec<f32>> {
    if !head_dim.is_multiple_of(4) || !theta.is_finite() || theta <= 0.0 {
        return Err(invalid(format!("heads of {head_dim} with a rope_theta of {theta} are not supported in images")));
    }
    let half = head_dim / 2;
    Ok((0..half / 2).map(|pair| theta.powf(2.0 * pair as f32 / half as f32).recip()).collect())
}

/// The name of a part of a layer.
fn in_layer(layer: usize, part: &str) -> String {
    format!("v.blk.{layer}.{part}")
}

/// Reads the tensors of a tower.
struct Reader<'a, O> {
    operations: &'a O,
    tensors: &'a Tensors,
    architecture: &'a VisionArchitecture,
}

impl<O: TowerOperations> Reader<'_, O> {
    fn layer(&self, layer: usize, hidden: usize) -> Result<TowerLayer<O>> {
        let VisionArchitecture { family, norm_eps, .. } = self.architecture;
        let linear = |part: &str, shape| self.linear(&in_layer(layer, part), shape);
        let norm = |part: &str| self.norm(&in_layer(layer, part), hidden, *norm_eps, family.has_layer_norms);
        // Some old files have the two maps under each other's names.
        let [up_rows, down_rows] = ["ffn_up", "ffn_down"].map(|part| self.rows(&in_layer(layer, part)));
        let (up_rows, down_rows) = (up_rows?, down_rows?);
        let is_swapped = up_rows == hidden && down_rows != hidden;
        let (up, down, width) =
            if is_swapped { ("ffn_down", "ffn_up", down_rows) } else { ("ffn_up", "ffn_down", up_rows) };
        let (operator, out) = self.operator(layer, hidden)?;
        Ok(TowerLayer {
            operator_norm: norm("ln1")?,
            operator,
            out,
            feed_forward_norm: norm("ln2")?,
            gate: family.is_gated.then(|| linear("ffn_gate", (width, hidden))).transpose()?,
            up: linear(up, (width, hidden))?,
            down: linear(down, (hidden, width))?,
        })
    }

    /// What mixes patches, and the map of its outputs.
    fn operator(&self, layer: usize, hidden: usize) -> Result<(TowerOperator<O>, Linear<O>)> {
        let name = |part: &str| in_layer(layer, part);
        if self.holds(&name("conv2d_in_proj")) {
            let (taps, side) = self.taps(&name("conv2d_spatial"), hidden)?;
            let in_proj = self.linear(&name("conv2d_in_proj"), (3 * hidden, hidden))?;
            let out = self.linear(&name("conv2d_out_proj"), (hidden, hidden))?;
            return Ok((TowerOperator::Convolution { in_proj, taps, side }, out));
        }
        let heads = self.heads(hidden)?;
        let Heads { n_queries, n_keys, head_dim } = heads;
        let linear = |part: &str, n_heads: usize| self.linear(&name(part), (n_heads * head_dim, hidden));
        let head_norm = |part: &str| self.vector(&format!("{}.weight", name(part)), head_dim);
        let has_head_norms = self.holds(&name("attn_q_norm"));
        let operator = TowerOperator::Attention {
            projections: [linear("attn_q", n_queries)?, linear("attn_k", n_keys)?, linear("attn_v", n_keys)?],
            head_norms: match has_head_norms {
                true => Some([head_norm("attn_q_norm")?, head_norm("attn_k_norm")?]),
                false => None,
            },
            heads,
        };
        Ok((operator, self.linear(&name("attn_out"), (hidden, hidden))?))
    }

    fn heads(&self, hidden: usize) -> Result<Heads> {
        let VisionArchitecture { n_heads, n_key_heads, .. } = *self.architecture;
        if n_heads == 0 || !hidden.is_multiple_of(n_heads) {
            return Err(invalid(format!("the heads of the vision tower must divide {hidden}, found {n_heads}")));
        }
        if n_key_heads == 0 || !n_heads.is_multiple_of(n_key_heads) {
            return Err(invalid(format!(
                "the key heads of the vision tower must divide {n_heads}, found {n_key_heads}"
            )));
        }
        Ok(Heads { n_queries: n_heads, n_keys: n_key_heads, head_dim: hidden / n_heads })
    }

    /// The kernels of a convolution, `(hidden, 3, side, side)`, one for each frame that a patch spans, as one map. A picture fills all
    /// frames, so their weights are added. With the size of the stream, and the first row.
    fn patch(&self, side: usize) -> Result<(Linear<O>, usize, Vec<f32>)> {
        let name = "v.patch_embd";
        let matrix = format!("{name}.weight");
        let hidden = match self.tensors.shape(&matrix) {
            Some(&[hidden, 3, height, width]) if (height, width) == (side, side) => hidden,
            Some(found) => {
                let matrix = self.tensors.file_name(&matrix);
                return Err(invalid(format!("tensor {matrix} must have kernels of {side} x {side}, found {found:?}")));
            }
            None => return Err(self.tensors.missing(&matrix)),
        };
        let further = (1..MAX_FRAMES).map(|frame| format!("{matrix}.{frame}"));
        let further = further.take_while(|name| self.tensors.shape(name).is_some());
        let frames = std::iter::once(matrix.clone()).chain(further);
        let frames = frames.map(|name| self.tensors.floats(&name, &[hidden, 3, side, side]));
        let frames = frames.collect::<Result<Vec<_>>>()?;
        let n_columns = 3 * side * side;
        let value = |at: usize| frames.iter().map(|frame: &Vec<f32>| frame[at]).sum::<f32>();
        let mut values = Vec::with_capacity(hidden * n_columns);
        for kernel in 0..hidden {
            values.extend((0..n_columns).map(|at| value(kernel * n_columns + at % 3 * side * side + at / 3)));
        }
        let weight = self.operations.matrix_of(&values, (hidden, n_columns))?;
        values.truncate(n_columns);
        Ok((Linear { weight, bias: self.bias(name, hidden)? }, hidden, values))
    }

    fn positions(&self, hidden: usize) -> Result<Positions> {
        let name = "v.position_embd.weight";
        let n_positions = match self.tensors.shape(name) {
            Some(&[n_positions, _]) => n_positions,
            Some(shape) => return Err(invalid(format!("tensor {name} must be a matrix, found shape {shape:?}"))),
            None => return Err(self.tensors.missing(name)),
        };
        let side = n_positions.isqrt();
        if side * side != n_positions {
            return Err(invalid(format!("tensor {name} must have a square number of rows, found {n_positions}")));
        }
        Ok(Positions::Table(self.tensors.floats(name, &[n_positions, hidden])?, side))
    }

    /// The kernels of a convolution with one for each channel, `(hidden, 1, side, side)`, by their elements.
    fn taps(&self, name: &str, hidden: usize) -> Result<(O::Vector, usize)> {
        let (name, weights) = (format!("{name}.weight"), self.tensors);
        let shape = weights.shape(&name).ok_or_else(|| weights.missing(&name))?.to_vec();
        let side = match shape[..] {
            [.., side, width] if side == width && side % 2 == 1 && side <= MAX_KERNEL => side,
            _ => {
                return Err(invalid(format!(
                    "tensor {name} must have square kernels with an odd side up to {MAX_KERNEL}, found shape {shape:?}"
                )));
            }
        };
        let n_taps = side * side;
        let values = weights.floats(&name, &shape)?;
        if values.len() != hidden * n_taps {
            return Err(invalid(format!("tensor {name} must have {hidden} kernels, found shape {shape:?}")));
        }
        let by_element = (0..hidden * n_taps).map(|at| values[at % hidden * n_taps + at / hidden]);
        Ok((self.operations.vector(by_element.collect())?, side))
    }

    fn holds(&self, name: &str) -> bool {
        self.tensors.shape(&format!("{name}.weight")).is_some()
    }

    fn rows(&self, name: &str) -> Result<usize> {
        let name = format!("{name}.weight");
        match self.tensors.shape(&name) {
            Some(&[rows, _]) => Ok(rows),
            Some(shape) => Err(invalid(format!("tensor {name} must be a matrix, found shape {shape:?}"))),
            None => Err(self.tensors.missing(&name)),
        }
    }

    fn linear(&self, name: &str, shape: (usize, usize)) -> Result<Linear<O>> {
        let matrix = format!("{name}.weight");
        let place = MatrixPlace { name: &matrix, shape, part: TensorPart::Whole };
        let weight = self.operations.matrix(self.tensors, &place)?;
        Ok(Linear { weight, bias: self.bias(name, shape.0)? })
    }

    fn bias(&self, name: &str, length: usize) -> Result<Option<O::Vector>> {
        let name = format!("{name}.bias");
        self.tensors.shape(&name).map(|_| self.vector(&name, length)).transpose()
    }

    fn vector(&self, name: &str, length: usize) -> Result<O::Vector> {
        self.operations.vector(self.tensors.floats(name, &[length])?)
    }

    fn norm(&self, name: &str, length: usize, epsilon: f32, has_bias: bool) -> Result<TowerNorm<O>> {
        let values = |kind: &str| self.vector(&format!("{name}.{kind}"), length);
        let bias = has_bias.then(|| values("bias")).transpose()?;
        Ok(TowerNorm { weight: values("weight")?, bias, epsilon })
    }

    /// The first rows of the patch's map and of the projector's, the output's norm, and the type of the projector.
    fn fingerprint(&self, patch: &[f32], projector: [(&str, usize); 2], hidden: usize) -> Result<Vec<u8>> {
        let mut floats = patch.to_vec();
        let mut first_type = None;
        for (name, n_columns) in projector {
            let name = format!("{name}.weight");
            let blocks = self.tensors.blocks_of(&name)?;
            let tensor_type = blocks.tensor_type();
            first_type.get_or_insert(tensor_type);
            let n_bytes = n_columns.div_ceil(tensor_type.block()) * tensor_type.block_bytes();
            let bytes = blocks.read(0..n_bytes.min(blocks.n_bytes())).map_err(|err| blocks.unreadable(err))?;
            let n_before = floats.len();
            dequantise(tensor_type, &bytes, &mut floats);
            floats.truncate(n_before + n_columns);
        }
        let norm = format!("{}.weight", self.architecture.roles().output_norm);
        floats.extend(self.tensors.floats(&norm, &[hidden])?);
        let mut bytes: Vec<u8> = floats.iter().flat_map(|value| value.to_le_bytes()).collect();
        if let Some(first_type) = first_type {
            bytes.extend(format!("{first_type:?} {:?}", self.architecture).into_bytes());
        }
        Ok(bytes)
    }
}
