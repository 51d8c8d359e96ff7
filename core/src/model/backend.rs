//! What a backend makes of a model's tensors.
//!
//! Layers are read from files by code that all backends share ([`Decoder`](crate::model::decoder::Decoder) and its parts).
//! A backend supplies the types of a matrix and a vector, and computes with the layers in a folder of its own.

use std::time::Instant;

use crate::error::Result;
use crate::weights::{MatrixPlace, Tensors};

pub(crate) trait Backend {
    /// Weights of a product, `(outputs, inputs)`.
    type Matrix;
    /// Values that are added or multiplied, in f32.
    type Vector;

    fn matrix(&self, tensors: &Tensors, place: &MatrixPlace<'_>) -> Result<Self::Matrix>;

    /// Matrices of one size, which a tensor stacks.
    fn matrices(&self, tensors: &Tensors, places: &[MatrixPlace<'_>]) -> Result<Vec<Self::Matrix>> {
        places.iter().map(|place| self.matrix(tensors, place)).collect()
    }

    fn vector(&self, values: Vec<f32>) -> Result<Self::Vector>;

    /// The GPU that computes; `None` on the CPU.
    fn gpu(&self) -> Option<UsedGpu> {
        None
    }

    /// Copies mapped matrices to memory that is read faster, until the deadline. They give the same results before and after.
    fn copy_mapped(&self, _deadline: Instant) -> CopyOutcome {
        CopyOutcome::Complete
    }
}

/// A GPU that computes a model.
#[cfg_attr(not(feature = "gpu"), allow(dead_code, reason = "the CPU makes none"))]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UsedGpu {
    pub(crate) name: String,
    /// How its results may differ from the CPU's, in words.
    pub(crate) differences: Vec<String>,
}

/// How far copying mapped matrices is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyOutcome {
    Unfinished,
    /// Nothing is read from the mapped file any more.
    Complete,
    /// Memory is short: what has not been copied stays mapped.
    Stopped,
}
