//! Reads the tensors of Mimi, under the names that its files have.

use crate::checkpoint::{MimiCheckpoint, invalid};
use crate::error::Result;
use crate::model::linear::Linear;
use crate::model::speech::operations::CodecOperations;
use crate::model::tower::TowerNorm;
use crate::weights::{MatrixPlace, TensorPart};

/// Epsilon of all norms.
const EPSILON: f32 = 1e-5;

pub(super) struct MimiReader<'a, O> {
    pub(super) operations: &'a O,
    pub(super) checkpoint: &'a MimiCheckpoint,
}

impl<O: CodecOperations> MimiReader<'_, O> {
    /// A map without bias that is some rows of a matrix of `n_rows`.
    pub(super) fn rows(&self, name: &str, first: usize, n_rows: usize, shape: (usize, usize)) -> Result<Linear<O>> {
        let place = MatrixPlace { name, shape, part: TensorPart::Rows { first, n_rows } };
        Ok(Linear { weight: self.operations.matrix(&self.checkpoint.tensors, &place)?, bias: None })
    }

    /// A map without bias.
    pub(super) fn linear(&self, name: &str, shape: (usize, usize)) -> Result<Linear<O>> {
        let place = MatrixPlace { name, shape, part: TensorPart::Whole };
        Ok(Linear { weight: self.operations.matrix(&self.checkpoint.tensors, &place)?, bias: None })
    }

    /// A map of values that no tensor of the files has as they are.
    pub(super) fn linear_of(&self, values: &[f32], shape: (usize, usize), bias: Option<Vec<f32>>) -> Result<Linear<O>> {
        let bias = bias.map(|bias| self.operations.vector(bias)).transpose()?;
        Ok(Linear { weight: self.operations.matrix_of(values, shape)?, bias })
    }

    pub(super) fn norm(&self, name: &str, length: usize) -> Result<TowerNorm<O>> {
        let values = |kind: &str| self.operations.vector(self.values(&format!("{name}.{kind}"), length)?);
        Ok(TowerNorm { weight: values("weight")?, bias: Some(values("bias")?), epsilon: EPSILON })
    }

    pub(super) fn vector(&self, name: &str, length: usize) -> Result<O::Vector> {
        self.operations.vector(self.values(name, length)?)
    }

    /// The values of a tensor of this many, whatever its shape: the forms of files differ in dimensions of one element.
    pub(super) fn values(&self, name: &str, n_values: usize) -> Result<Vec<f32>> {
        let tensors = &self.checkpoint.tensors;
        let shape = tensors.shape(name).ok_or_else(|| tensors.missing(name))?.to_vec();
        if shape.iter().try_fold(1usize, |n, size| n.checked_mul(*size)) != Some(n_values) {
            let name = tensors.file_name(name);
            return Err(invalid(format!("tensor {name} must have {n_values} values, found shape {shape:?}")));
        }
        tensors.floats(name, &shape)
    }

    /// The three dimensions of the kernels of a convolution, the last of which is at most `most`.
    pub(super) fn kernels(&self, name: &str, most: usize) -> Result<[usize; 3]> {
        let tensors = &self.checkpoint.tensors;
        match tensors.shape(name) {
            Some(&[first, second, n_places]) if (1..=most).contains(&n_places) => Ok([first, second, n_places]),
            // The middle dimension of kernels over one channel is left out.
            Some(&[first, n_places]) if (1..=most).contains(&n_places) => Ok([first, 1, n_places]),
            Some(shape) => Err(invalid(format!(
                "tensor {} must have kernels of 1 to {most} elements, found shape {shape:?}",
                tensors.file_name(name)
            ))),
            None => Err(tensors.missing(name)),
        }
    }
}
