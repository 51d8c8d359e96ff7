//! The norms of towers and of encoders of sound.

use crate::error::Result;
use crate::model::backend::Backend;
use crate::model::linear::Linear;
use crate::model::operations::Residual;
use crate::model::tower::operations::TowerOperations;

pub(in crate::model) struct TowerNorm<B: Backend> {
    pub(in crate::model) weight: B::Vector,
    /// `None` for the root of the mean square, which does not subtract the mean.
    pub(in crate::model) bias: Option<B::Vector>,
    pub(in crate::model) epsilon: f32,
}

impl<O: TowerOperations> TowerNorm<O> {
    pub(in crate::model) fn apply(
        &self,
        operations: &O,
        rows: &O::Rows,
        next: &[&Linear<O>],
        inputs: &mut O::Inputs,
    ) -> Result<()> {
        match &self.bias {
            Some(bias) => operations.layer_norm(rows, (&self.weight, self.epsilon), bias, next, inputs),
            None => operations.norm(rows, (&self.weight, self.epsilon), next, inputs),
        }
    }
}

/// How outputs are added to the residual stream: as they are, or normalised by the root of their mean square.
pub(super) fn residual<O: TowerOperations>(norm: Option<&TowerNorm<O>>) -> Residual<'_, O> {
    Residual { norm: norm.map(|norm| (&norm.weight, norm.epsilon)), factor: 1.0 }
}
