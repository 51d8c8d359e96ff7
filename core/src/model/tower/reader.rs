//! Reads the tensors of a tower.

use crate::checkpoint::{VisionArchitecture, invalid};
use crate::error::Result;
use crate::model::heads::Heads;
use crate::model::linear::Linear;
use crate::model::tower::clipped::ClippedLinear;
use crate::model::tower::norm::TowerNorm;
use crate::model::tower::operations::TowerOperations;
use crate::weights::{MatrixPlace, TensorPart, Tensors, dequantise};

/// Frames that a patch may span; a picture fills them all.
const MAX_FRAMES: usize = 8;
/// The side of a convolution's kernel at most.
const MAX_KERNEL: usize = 15;

pub(super) struct TowerReader<'a, O> {
    pub(super) operations: &'a O,
    pub(super) tensors: &'a Tensors,
    pub(super) architecture: &'a VisionArchitecture,
}

impl<O: TowerOperations> TowerReader<'_, O> {
    pub(super) fn heads(&self, hidden: usize) -> Result<Heads> {
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
    pub(super) fn patch(&self, side: usize) -> Result<(Linear<O>, usize, Vec<f32>)> {
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

    /// The kernels of a convolution with one for each channel, `(hidden, 1, side, side)`, by their elements.
    pub(super) fn taps(&self, name: &str, hidden: usize) -> Result<(O::Vector, usize)> {
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

    pub(super) fn holds(&self, name: &str) -> bool {
        self.tensors.shape(&format!("{name}.weight")).is_some()
    }

    /// The rows and columns of a matrix.
    pub(super) fn shape(&self, name: &str) -> Result<(usize, usize)> {
        let name = format!("{name}.weight");
        match self.tensors.shape(&name) {
            Some(&[rows, columns]) => Ok((rows, columns)),
            Some(shape) => Err(invalid(format!("tensor {name} must be a matrix, found shape {shape:?}"))),
            None => Err(self.tensors.missing(&name)),
        }
    }

    pub(super) fn rows(&self, name: &str) -> Result<usize> {
        Ok(self.shape(name)?.0)
    }

    pub(super) fn linear(&self, name: &str, shape: (usize, usize)) -> Result<Linear<O>> {
        let matrix = format!("{name}.weight");
        let place = MatrixPlace { name: &matrix, shape, part: TensorPart::Whole };
        let weight = self.operations.matrix(self.tensors, &place)?;
        Ok(Linear { weight, bias: self.bias(name, shape.0)? })
    }

    /// Some rows of a matrix that stacks several maps, `(first row, rows, columns)`.
    pub(super) fn stacked(
        &self,
        name: &str,
        n_rows: usize,
        (first, rows, columns): (usize, usize, usize),
    ) -> Result<Linear<O>> {
        let matrix = format!("{name}.weight");
        let part = TensorPart::Rows { first, n_rows };
        let weight =
            self.operations.matrix(self.tensors, &MatrixPlace { name: &matrix, shape: (rows, columns), part })?;
        let bias = format!("{name}.bias");
        let bias = self.tensors.shape(&bias).is_some().then(|| {
            let values = self.tensors.floats(&bias, &[n_rows])?;
            self.operations.vector(values[first..first + rows].to_vec())
        });
        Ok(Linear { weight, bias: bias.transpose()? })
    }

    /// A map with the ranges of its inputs and outputs.
    pub(super) fn clipped(&self, name: &str, shape: (usize, usize)) -> Result<ClippedLinear<O>> {
        ClippedLinear::new(self.linear(name, shape)?, self.tensors, name)
    }

    /// A map whose matrix the files have with its rows as columns.
    pub(super) fn transposed(&self, name: &str, (rows, columns): (usize, usize)) -> Result<Linear<O>> {
        let values = self.tensors.floats(&format!("{name}.weight"), &[columns, rows])?;
        let values: Vec<f32> = (0..rows * columns).map(|at| values[at % columns * rows + at / columns]).collect();
        Ok(Linear { weight: self.operations.matrix_of(&values, (rows, columns))?, bias: None })
    }

    fn bias(&self, name: &str, length: usize) -> Result<Option<O::Vector>> {
        let name = format!("{name}.bias");
        self.tensors.shape(&name).map(|_| self.vector(&name, length)).transpose()
    }

    pub(super) fn vector(&self, name: &str, length: usize) -> Result<O::Vector> {
        self.operations.vector(self.tensors.floats(name, &[length])?)
    }

    pub(super) fn norm(&self, name: &str, length: usize, epsilon: f32, has_bias: bool) -> Result<TowerNorm<O>> {
        let values = |kind: &str| self.vector(&format!("{name}.{kind}"), length);
        let bias = has_bias.then(|| values("bias")).transpose()?;
        Ok(TowerNorm { weight: values("weight")?, bias, epsilon })
    }

    /// Values that tell towers apart: the first row of the patch's map, the first rows of some maps, and a norm if there is one; with
    /// the type of the first map.
    pub(super) fn fingerprint(
        &self,
        patch: &[f32],
        maps: &[(&str, usize)],
        norm: Option<(&str, usize)>,
    ) -> Result<Vec<u8>> {
        let mut floats = patch.to_vec();
        let mut first_type = None;
        for (name, n_columns) in maps {
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
        if let Some((name, length)) = norm {
            floats.extend(self.tensors.floats(&format!("{name}.weight"), &[length])?);
        }
        let mut bytes: Vec<u8> = floats.iter().flat_map(|value| value.to_le_bytes()).collect();
        if let Some(first_type) = first_type {
            bytes.extend(format!("{first_type:?} {:?}", self.architecture).into_bytes());
        }
        Ok(bytes)
    }
}
