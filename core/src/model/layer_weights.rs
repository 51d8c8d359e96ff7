//! The tensors of one layer, by name.

use crate::error::Result;
use crate::model::architecture::Architecture;
use crate::model::backend::Backend;
use crate::model::family::Family;
use crate::model::invalid::invalid;
use crate::model::linear::Linear;
use crate::weights::{MatrixPlace, TensorPart, Weights};

/// A tensor that stacks the rows of several linear maps with the same inputs.
#[derive(Clone, Copy)]
pub(crate) struct StackedRows {
    pub(crate) part: &'static str,
    pub(crate) n_rows: usize,
}

/// Looks up the tensors of a layer by the part's name in GGUF files.
pub(crate) struct LayerWeights<'a, B> {
    pub(crate) backend: &'a B,
    pub(crate) weights: &'a Weights,
    pub(crate) architecture: &'a Architecture,
    /// How the names of the decoder's tensors begin in a folder.
    pub(crate) prefix: &'static str,
    pub(crate) layer: usize,
    pub(crate) hidden: usize,
}

impl<B> LayerWeights<'_, B> {
    /// The name of a tensor in the model's files; `kind` is `weight`, `bias` or nothing.
    pub(crate) fn tensor(&self, part: &str, kind: &str) -> String {
        let end = if kind.is_empty() { String::new() } else { format!(".{kind}") };
        let layer = self.layer;
        match self.weights {
            Weights::Gguf(_) => format!("blk.{layer}.{part}{end}"),
            Weights::Folder(_) => {
                let name = |part: &str| format!("{}layers.{layer}.{part}{end}", self.prefix);
                let mut names = self.architecture.family.folder_names(part).map(name);
                let first = names.next().unwrap_or_else(|| name(part));
                if self.weights.shape(&first).is_some() {
                    return first;
                }
                names.find(|name| self.weights.shape(name).is_some()).unwrap_or(first)
            }
        }
    }

    pub(crate) fn name(&self, part: &str) -> String {
        self.tensor(part, "weight")
    }

    pub(crate) fn bias_name(&self, part: &str) -> String {
        self.tensor(part, "bias")
    }

    /// The name of a tensor that is neither a weight nor a bias by its name.
    pub(crate) fn bare_name(&self, part: &str) -> String {
        self.tensor(part, "")
    }

    pub(crate) fn shape(&self, part: &str) -> Option<&[usize]> {
        self.weights.shape(&self.name(part))
    }

    /// The rows of a matrix whose columns are known.
    pub(crate) fn rows(&self, part: &str) -> Result<usize> {
        match self.shape(part) {
            Some(&[rows, _]) => Ok(rows),
            Some(shape) => Err(invalid(format!("tensor {} must be a matrix, found shape {shape:?}", self.name(part)))),
            None => Err(self.weights.missing(&self.name(part))),
        }
    }

    /// The tensor `part`, which stacks several maps, if the file has it instead of `own`.
    pub(crate) fn stacked(&self, part: &'static str, own: &str) -> Result<Option<StackedRows>> {
        match (self.shape(own), self.shape(part)) {
            (None, Some(_)) => Ok(Some(StackedRows { part, n_rows: self.rows(part)? })),
            _ => Ok(None),
        }
    }

    /// The name of an expert's tensor. Folders have a tensor for each expert, GGUF files one for all.
    pub(crate) fn expert_name(&self, part: &str, expert: usize) -> String {
        self.name(part).replace('*', &expert.to_string())
    }

    /// Rows of an expert's gate.
    pub(crate) fn expert_width(&self) -> Result<usize> {
        let name = self.expert_name("ffn_gate_exps", 0);
        match self.weights.shape(&name) {
            Some(&[_, width, _] | &[width, _]) => Ok(width),
            _ => Err(self.weights.missing(&name)),
        }
    }

    /// Checks that a bias is there, for families that always have one.
    pub(crate) fn expect_bias(&self, part: &str) -> Result<()> {
        let name = self.bias_name(part);
        self.weights.shape(&name).map(drop).ok_or_else(|| self.weights.missing(&name))
    }
}

impl<B: Backend> LayerWeights<'_, B> {
    pub(crate) fn linear(&self, part: &str, rows: usize, columns: usize) -> Result<Linear<B>> {
        let name = self.name(part);
        let place = MatrixPlace { name: &name, shape: (rows, columns), part: TensorPart::Whole };
        Ok(Linear { weight: self.backend.matrix(self.weights, &place)?, bias: self.bias(part, rows)? })
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
        let weight = self.backend.matrix(self.weights, &place)?;
        let bias = self.bias_values(part, n_rows)?.map(|bias| bias[first..first + shape.0].to_vec());
        Ok(Linear { weight, bias: bias.map(|bias| self.backend.vector(bias)).transpose()? })
    }

    /// The bias of a part, if it has one.
    pub(crate) fn bias(&self, part: &str, length: usize) -> Result<Option<B::Vector>> {
        self.bias_values(part, length)?.map(|bias| self.backend.vector(bias)).transpose()
    }

    fn bias_values(&self, part: &str, length: usize) -> Result<Option<Vec<f32>>> {
        let name = self.bias_name(part);
        self.weights.shape(&name).map(|_| self.weights.floats(&name, &[length])).transpose()
    }

    pub(crate) fn norm(&self, part: &str, length: usize) -> Result<B::Vector> {
        self.backend.vector(norm_weight(self.weights, self.architecture.family, &self.name(part), length)?)
    }
}

/// The factors of a norm.
pub(crate) fn norm_weight(weights: &Weights, family: &Family, name: &str, length: usize) -> Result<Vec<f32>> {
    let mut factors = weights.floats(name, &[length])?;
    if family.folder_norms_lack_one && matches!(weights, Weights::Folder(_)) {
        factors.iter_mut().for_each(|factor| *factor += 1.0);
    }
    Ok(factors)
}
