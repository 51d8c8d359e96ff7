//! The tensors of one layer, by name.

use crate::checkpoint::Architecture;
use crate::checkpoint::invalid;
use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::linear::Linear;
use crate::weights::{MatrixPlace, TensorPart, Tensors};

/// A tensor that stacks the rows of several linear maps with the same inputs.
#[derive(Clone, Copy)]
pub(crate) struct StackedRows {
    pub(crate) part: &'static str,
    pub(crate) n_rows: usize,
}

/// Looks up the tensors of a layer by the part's name in GGUF files.
pub(crate) struct LayerWeights<'a, B> {
    pub(crate) backend: &'a B,
    pub(crate) tensors: &'a Tensors,
    pub(crate) architecture: &'a Architecture,
    pub(crate) layer: usize,
    pub(crate) hidden: usize,
}

impl<B: Backend> LayerWeights<'_, B> {
    /// The name of a part's weights.
    pub(crate) fn name(&self, part: &str) -> String {
        format!("blk.{}.{part}.weight", self.layer)
    }

    pub(crate) fn bias_name(&self, part: &str) -> String {
        format!("blk.{}.{part}.bias", self.layer)
    }

    /// The name of a part's weights in the files, for messages.
    pub(crate) fn file_name(&self, part: &str) -> String {
        self.tensors.file_name(&self.name(part)).to_owned()
    }

    pub(crate) fn shape(&self, part: &str) -> Option<&[usize]> {
        self.tensors.shape(&self.name(part))
    }

    /// The rows of a matrix whose columns are known.
    pub(crate) fn rows(&self, part: &str) -> Result<usize> {
        match self.shape(part) {
            Some(&[rows, _]) => Ok(rows),
            Some(shape) => {
                Err(invalid(format!("tensor {} must be a matrix, found shape {shape:?}", self.file_name(part))))
            }
            None => Err(self.tensors.missing(&self.name(part))),
        }
    }

    /// The tensor `part`, which stacks several maps, if the file has it instead of `own`.
    pub(crate) fn stacked(&self, part: &'static str, own: &str) -> Result<Option<StackedRows>> {
        match (self.shape(own), self.shape(part)) {
            (None, Some(_)) => Ok(Some(StackedRows { part, n_rows: self.rows(part)? })),
            _ => Ok(None),
        }
    }

    /// Rows of an expert's gate.
    pub(crate) fn expert_width(&self) -> Result<usize> {
        match self.shape("ffn_gate_exps") {
            Some(&[_, width, _]) => Ok(width),
            _ => Err(self.tensors.missing(&self.name("ffn_gate_exps"))),
        }
    }

    /// Checks that there is a bias, for families that always have one.
    pub(crate) fn expect_bias(&self, part: &str) -> Result<()> {
        let name = self.bias_name(part);
        self.tensors.shape(&name).map(drop).ok_or_else(|| self.tensors.missing(&name))
    }

    pub(crate) fn linear(&self, part: &str, rows: usize, columns: usize) -> Result<Linear<B>> {
        let name = self.name(part);
        let place = MatrixPlace { name: &name, shape: (rows, columns), part: TensorPart::Whole };
        Ok(Linear { weight: self.backend.matrix(self.tensors, &place)?, bias: self.bias(part, rows)? })
    }

    /// A linear map that is a tensor of its own, or the rows from `first` on of one that stacks several.
    pub(crate) fn linear_of(
        &self,
        stacked: Option<StackedRows>,
        (part, first): (&str, usize),
        shape: (usize, usize),
    ) -> Result<Linear<B>> {
        let Some(StackedRows { part, n_rows }) = stacked else { return self.linear(part, shape.0, shape.1) };
        let name = self.name(part);
        let place = MatrixPlace { name: &name, shape, part: TensorPart::Rows { first, n_rows } };
        let weight = self.backend.matrix(self.tensors, &place)?;
        let bias = self.bias_values(part, n_rows)?.map(|bias| bias[first..first + shape.0].to_vec());
        Ok(Linear { weight, bias: bias.map(|bias| self.backend.vector(bias)).transpose()? })
    }

    /// The bias of a part, if it has one.
    pub(crate) fn bias(&self, part: &str, length: usize) -> Result<Option<B::Vector>> {
        self.bias_values(part, length)?.map(|bias| self.backend.vector(bias)).transpose()
    }

    fn bias_values(&self, part: &str, length: usize) -> Result<Option<Vec<f32>>> {
        let name = self.bias_name(part);
        self.tensors.shape(&name).map(|_| self.tensors.floats(&name, &[length])).transpose()
    }

    pub(crate) fn norm(&self, part: &str, length: usize) -> Result<B::Vector> {
        self.backend.vector(self.tensors.floats(&self.name(part), &[length])?)
    }
}
