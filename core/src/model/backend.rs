//! The seam between what a model is and what computes it.
//!
//! Layers are read from files once for all ([`Decoder`](crate::model::decoder::Decoder) and what it is made of); a backend
//! says what a matrix and a vector are, and computes with them in a folder of its own: [`candle`](crate::model::candle)
//! with tensors, on Metal and as the reference, [`native`](crate::model::native) with the kernels of `causerie-backend`,
//! on the CPU.

use crate::error::Result;
use crate::weights::{MatrixPlace, Weights};

pub(crate) trait Backend {
    /// Weights of a product, `(outputs, inputs)`.
    type Matrix;
    /// Numbers that are added or multiplied, in f32.
    type Vector;

    fn matrix(&self, weights: &Weights, place: &MatrixPlace<'_>) -> Result<Self::Matrix>;

    fn vector(&self, numbers: Vec<f32>) -> Result<Self::Vector>;
}
