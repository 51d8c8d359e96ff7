//! The weights of a vision tower and its projector.

use causerie_backend::Matrix;

use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::invalid::invalid;
use crate::model::linear::Linear;
use crate::model::native::backend::Native;
use crate::model::native::storage;
use crate::model::vision::{VisionArchitecture, VisionNames};
use crate::weights::{MatrixPlace, TensorPart, Weights};

/// Epsilon of the projector's norm, which files do not state.
const PROJECTOR_EPS: f32 = 1e-5;

pub(super) struct TowerWeights {
    /// `(hidden, patch * patch * 3)`: patches by row, column and channel.
    pub(super) patch: Linear<Native>,
    /// `(side * side, hidden)`, and the side.
    pub(super) positions: (Vec<f32>, usize),
    pub(super) layers: Vec<TowerLayer>,
    pub(super) output_norm: LayerNormWeights,
    pub(super) projector: Projector,
    pub(super) hidden: usize,
}

pub(super) struct TowerLayer {
    pub(super) attention_norm: LayerNormWeights,
    /// Queries, keys and values.
    pub(super) projections: [Linear<Native>; 3],
    pub(super) out: Linear<Native>,
    pub(super) feed_forward_norm: LayerNormWeights,
    pub(super) up: Linear<Native>,
    pub(super) down: Linear<Native>,
}

pub(super) struct LayerNormWeights {
    pub(super) weight: Vec<f32>,
    pub(super) bias: Vec<f32>,
    pub(super) epsilon: f32,
}

/// Patches that lie in a square are joined, and become one row.
pub(super) struct Projector {
    pub(super) norm: Option<LayerNormWeights>,
    pub(super) first: Linear<Native>,
    pub(super) second: Linear<Native>,
}

impl TowerWeights {
    pub(super) fn load(native: &Native, weights: &Weights, architecture: &VisionArchitecture) -> Result<Self> {
        let reader = Reader { native, names: VisionNames::new(weights) };
        let patch = reader.patch(architecture.rules.patch)?;
        let hidden = patch.weight.n_rows();
        if architecture.n_heads == 0 || !hidden.is_multiple_of(architecture.n_heads) {
            let n_heads = architecture.n_heads;
            return Err(invalid(format!("the heads of the vision tower must divide {hidden}, found {n_heads}")));
        }
        let merged = architecture.rules.merge * architecture.rules.merge * hidden;
        let projector = |part: &str, rows: Option<usize>, columns: usize| {
            let name = reader.names.part(part);
            let rows = rows.map_or_else(|| reader.rows(&name), Ok)?;
            reader.linear(&name, (rows, columns))
        };
        let first = projector("mm.1", None, merged)?;
        let norm = reader.names.part("mm.input_norm");
        Ok(Self {
            positions: reader.positions(hidden)?,
            layers: (0..architecture.n_layers)
                .map(|layer| reader.layer(layer, hidden, architecture.norm_eps))
                .collect::<Result<_>>()?,
            output_norm: reader.norm(&reader.names.part("v.post_ln"), hidden, architecture.norm_eps)?,
            projector: Projector {
                norm: match weights.shape(&format!("{norm}.weight")) {
                    Some(_) => Some(reader.norm(&norm, merged, PROJECTOR_EPS)?),
                    None => None,
                },
                second: projector("mm.2", None, first.weight.n_rows())?,
                first,
            },
            patch,
            hidden,
        })
    }
}

/// Reads the tensors of a tower.
struct Reader<'a> {
    native: &'a Native,
    names: VisionNames<'a>,
}

impl Reader<'_> {
    fn layer(&self, layer: usize, hidden: usize, epsilon: f32) -> Result<TowerLayer> {
        let linear = |part: &str, shape| self.linear(&self.names.in_layer(layer, part), shape);
        let norm = |part: &str| self.norm(&self.names.in_layer(layer, part), hidden, epsilon);
        let square = |part: &str| linear(part, (hidden, hidden));
        // Some old files have the two maps under each other's names.
        let [up_rows, down_rows] = ["ffn_up", "ffn_down"].map(|part| self.rows(&self.names.in_layer(layer, part)));
        let (up_rows, down_rows) = (up_rows?, down_rows?);
        let is_swapped = up_rows == hidden && down_rows != hidden;
        let (up, down, width) =
            if is_swapped { ("ffn_down", "ffn_up", down_rows) } else { ("ffn_up", "ffn_down", up_rows) };
        Ok(TowerLayer {
            attention_norm: norm("ln1")?,
            projections: [square("attn_q")?, square("attn_k")?, square("attn_v")?],
            out: square("attn_out")?,
            feed_forward_norm: norm("ln2")?,
            up: linear(up, (width, hidden))?,
            down: linear(down, (hidden, width))?,
        })
    }

    /// GGUF files have a convolution kernel, `(hidden, 3, side, side)`, folders a map of patches, `(hidden, side * side * 3)`.
    fn patch(&self, side: usize) -> Result<Linear<Native>> {
        let weights = self.names.weights;
        let name = self.names.part("v.patch_embd");
        let matrix = format!("{name}.weight");
        let n_columns = 3 * side * side;
        let Some(&[hidden, 3, height, width]) = weights.shape(&matrix) else {
            return self.linear(&name, (self.rows(&name)?, n_columns));
        };
        let kernels = weights.floats(&matrix, &[hidden, 3, height, width])?;
        if (height, width) != (side, side) {
            return Err(invalid(format!(
                "tensor {matrix} must have kernels of {side} x {side}, found {height} x {width}"
            )));
        }
        let mut values = Vec::with_capacity(kernels.len());
        for kernel in kernels.chunks_exact(n_columns) {
            values.extend((0..n_columns).map(|at| kernel[at % 3 * side * side + at / 3]));
        }
        let weight = storage::matrix_of(&self.native.cpu, &values, (hidden, n_columns))?;
        Ok(Linear { weight, bias: self.bias(&name, hidden)? })
    }

    fn positions(&self, hidden: usize) -> Result<(Vec<f32>, usize)> {
        let name = format!("{}.weight", self.names.part("v.position_embd"));
        let n_positions = match self.names.weights.shape(&name) {
            Some(&[n_positions, _]) => n_positions,
            Some(shape) => return Err(invalid(format!("tensor {name} must be a matrix, found shape {shape:?}"))),
            None => return Err(self.names.weights.missing(&name)),
        };
        let side = n_positions.isqrt();
        if side * side != n_positions {
            return Err(invalid(format!("tensor {name} must have a square number of rows, found {n_positions}")));
        }
        Ok((self.names.weights.floats(&name, &[n_positions, hidden])?, side))
    }

    fn rows(&self, name: &str) -> Result<usize> {
        let name = format!("{name}.weight");
        match self.names.weights.shape(&name) {
            Some(&[rows, _]) => Ok(rows),
            Some(shape) => Err(invalid(format!("tensor {name} must be a matrix, found shape {shape:?}"))),
            None => Err(self.names.weights.missing(&name)),
        }
    }

    fn linear(&self, name: &str, shape: (usize, usize)) -> Result<Linear<Native>> {
        let matrix = format!("{name}.weight");
        let place = MatrixPlace { name: &matrix, shape, part: TensorPart::Whole };
        let weight: Matrix = self.native.matrix(self.names.weights, &place)?;
        Ok(Linear { weight, bias: self.bias(name, shape.0)? })
    }

    fn bias(&self, name: &str, length: usize) -> Result<Option<Vec<f32>>> {
        let (name, weights) = (format!("{name}.bias"), self.names.weights);
        weights.shape(&name).map(|_| weights.floats(&name, &[length])).transpose()
    }

    fn norm(&self, name: &str, length: usize, epsilon: f32) -> Result<LayerNormWeights> {
        let values = |kind: &str| self.names.weights.floats(&format!("{name}.{kind}"), &[length]);
        Ok(LayerNormWeights { weight: values("weight")?, bias: values("bias")?, epsilon })
    }
}
