//! What operations on the CPU take: buffers, and the parts of several sequences in a step.

use std::ops::Range;

use crate::delta_memory::DeltaMemory;
use crate::matrix::Matrix;
use crate::ops::attention::AttentionMask;
use crate::ops::rotation::Pairing;
use crate::pages::KeyValues;

/// One of several products with the same inputs.
pub struct Product<'a> {
    /// The weights, `(outputs, inputs)`.
    pub matrix: &'a Matrix,
    /// The outputs, `(rows, outputs)`.
    pub out: &'a mut [f32],
    /// Whether to add to `out` instead of overwriting it.
    pub adds: bool,
}

/// A rotary position embedding of the first elements of each head: the cosines and sines of the angles, each
/// `(rows, n_pairs)`.
#[derive(Clone, Copy)]
pub struct Rotation<'a> {
    /// Cosines of the angles.
    pub cosines: &'a [f32],
    /// Sines of the angles.
    pub sines: &'a [f32],
    /// Pairs of each head that are rotated.
    pub n_pairs: usize,
    /// Which elements of a head form a pair.
    pub pairing: Pairing,
}

/// How outputs are added to the residual stream.
#[derive(Clone, Copy)]
pub struct ResidualAddition<'a> {
    /// The weight and the epsilon of the outputs' norm, if they have one.
    pub norm: Option<(&'a [f32], f32)>,
    /// Factor of the outputs.
    pub factor: f32,
}

/// A sequence's part in a step of attention.
pub struct AttentionStep<'a> {
    /// The sequence's rows among all rows.
    pub rows: Range<usize>,
    /// The sequence's keys and values, including these rows.
    pub past: &'a KeyValues,
    /// The tokens that the rows attend to.
    pub mask: AttentionMask,
}

/// A sequence's part in a step of a short convolution.
pub struct ConvolutionStep<'a> {
    /// The sequence's rows among all rows.
    pub rows: Range<usize>,
    /// The sequence's last inputs, `(window - 1, hidden)`, oldest first; the step updates them.
    pub past: &'a mut [f32],
}

/// A sequence's part in a step of a delta net.
pub struct DeltaStep<'a> {
    /// The sequence's rows among all rows.
    pub rows: Range<usize>,
    /// The sequence's matrices, which the step updates.
    pub memory: &'a mut DeltaMemory,
}
