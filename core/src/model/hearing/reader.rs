//! Reads the tensors of an encoder.

use crate::checkpoint::invalid;
use crate::error::Result;
use crate::model::linear::Linear;
use crate::model::tower::{ClippedLinear, TowerNorm, TowerOperations};
use crate::weights::{MatrixPlace, TensorPart, Tensors, dequantise};

pub(super) struct EncoderReader<'a, O> {
    pub(super) operations: &'a O,
    pub(super) tensors: &'a Tensors,
    pub(super) norm_eps: f32,
}

impl<O: TowerOperations> EncoderReader<'_, O> {
    /// The shape of a part's weight.
    pub(super) fn shape(&self, name: &str) -> Result<&[usize]> {
        let weight = format!("{name}.weight");
        self.tensors.shape(&weight).ok_or_else(|| self.tensors.missing(&weight))
    }

    /// The outputs of a map.
    pub(super) fn rows(&self, name: &str) -> Result<usize> {
        match *self.shape(name)? {
            [rows, _] => Ok(rows),
            ref shape => {
                let name = format!("{name}.weight");
                Err(invalid(format!(
                    "tensor {} must be a matrix, found shape {shape:?}",
                    self.tensors.file_name(&name)
                )))
            }
        }
    }

    pub(super) fn linear(&self, name: &str, shape: (usize, usize)) -> Result<Linear<O>> {
        let matrix = format!("{name}.weight");
        let weight =
            self.operations.matrix(self.tensors, &MatrixPlace { name: &matrix, shape, part: TensorPart::Whole })?;
        let bias = format!("{name}.bias");
        let bias = self.tensors.shape(&bias).map(|_| self.vector(&bias, shape.0)).transpose()?;
        Ok(Linear { weight, bias })
    }

    pub(super) fn clipped(&self, name: &str, shape: (usize, usize)) -> Result<ClippedLinear<O>> {
        ClippedLinear::new(self.linear(name, shape)?, self.tensors, name)
    }

    /// A convolution whose kernels are single places, or cover all inputs of a row, as a map.
    pub(super) fn kernels_as_map(&self, name: &str, (n_rows, n_columns): (usize, usize)) -> Result<Linear<O>> {
        let values = self.flat(&format!("{name}.weight"), n_rows * n_columns)?;
        let weight = self.operations.matrix_of(&values, (n_rows, n_columns))?;
        Ok(Linear { weight, bias: Some(self.vector(&format!("{name}.bias"), n_rows)?) })
    }

    /// The kernels of a depthwise convolution, `(channels, …)`, by their elements: `(places, channels)`.
    pub(super) fn taps(&self, name: &str, n_channels: usize, n_places: usize) -> Result<Vec<f32>> {
        let values = self.flat(&format!("{name}.weight"), n_channels * n_places)?;
        Ok((0..values.len()).map(|at| values[at % n_channels * n_places + at / n_channels]).collect())
    }

    pub(super) fn norm(&self, name: &str, length: usize) -> Result<TowerNorm<O>> {
        let values = |kind: &str| self.vector(&format!("{name}.{kind}"), length);
        Ok(TowerNorm { weight: values("weight")?, bias: Some(values("bias")?), epsilon: self.norm_eps })
    }

    /// A norm by the root of the mean square.
    pub(super) fn rms_norm(&self, name: &str, length: usize) -> Result<TowerNorm<O>> {
        let weight = self.vector(&format!("{name}.weight"), length)?;
        Ok(TowerNorm { weight, bias: None, epsilon: self.norm_eps })
    }

    pub(super) fn vector(&self, name: &str, length: usize) -> Result<O::Vector> {
        self.operations.vector(self.flat(name, length)?)
    }

    /// The values of a tensor of this many, whatever its shape: files differ in dimensions of one element.
    pub(super) fn flat(&self, name: &str, n_values: usize) -> Result<Vec<f32>> {
        let shape = self.tensors.shape(name).ok_or_else(|| self.tensors.missing(name))?.to_vec();
        if shape.iter().try_fold(1usize, |n, size| n.checked_mul(*size)) != Some(n_values) {
            let name = self.tensors.file_name(name);
            return Err(invalid(format!("tensor {name} must have {n_values} values, found shape {shape:?}")));
        }
        self.tensors.floats(name, &shape)
    }

    /// The first values of some parts' weights, with their types: they differ between encoders.
    pub(super) fn fingerprint(&self, names: &[&str]) -> Result<Vec<u8>> {
        /// Blocks of each tensor.
        const N_BLOCKS: usize = 32;
        let (mut floats, mut types) = (Vec::new(), String::new());
        for name in names {
            let name = format!("{name}.weight");
            let blocks = self.tensors.blocks_of(&name)?;
            let n_bytes = blocks.n_bytes().min(N_BLOCKS * blocks.tensor_type().block_bytes());
            let bytes = blocks.read(0..n_bytes).map_err(|err| blocks.unreadable(err))?;
            dequantise(blocks.tensor_type(), &bytes, &mut floats);
            types.push_str(blocks.tensor_type().name());
        }
        let floats = floats.iter().flat_map(|value| value.to_le_bytes());
        Ok(floats.chain(types.into_bytes()).collect())
    }
}
