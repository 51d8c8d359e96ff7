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

    fn vector(&self, values: Vec<f32>) -> Result<Self::Vector>;

    /// Copies mapped matrices to memory that is read faster, until the deadline. They give the same results before and after.
    fn copy_mapped(&self, _deadline: Instant) -> CopyOutcome {
        CopyOutcome::Complete
    }
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
