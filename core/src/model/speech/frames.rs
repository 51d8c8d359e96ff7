//! What writes frames of codes, whatever network it is.

use crate::error::Result;

/// Draws the codes of frames.
pub(crate) trait FrameChooser {
    /// The order in which codebooks are written by networks that could write them in any: each of them once.
    fn order(&mut self, n_codebooks: usize) -> Vec<usize>;

    /// Chooses a code of a codebook by its logits.
    fn code(&mut self, codebook: usize, logits: &mut [f32]) -> Result<u32>;
}

/// What writes frames of codes.
pub(crate) trait FrameNetwork: Send + Sync {
    /// Codes of a frame.
    fn n_codebooks(&self) -> usize;

    /// The code that ends the sound; codes with a sound are below it.
    fn end_code(&self) -> u32;

    /// Whether a frame ends the sound.
    fn ends_sound(&self, frame: &[u32]) -> bool;

    /// Writes the frame that follows from a vector of the decoder.
    fn frame(&self, hidden: &[f32], chooser: &mut dyn FrameChooser) -> Result<Vec<u32>>;

    /// The row that stands for a frame in the decoder's inputs.
    fn row(&self, frame: &[u32]) -> Result<Vec<f32>>;
}

/// The sum of rows of this width.
pub(super) fn sum_of_rows(rows: &[f32], width: usize) -> Vec<f32> {
    let mut sum = vec![0.0; width];
    for row in rows.chunks_exact(width.max(1)) {
        sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
    }
    sum
}

/// The rows of codes in a table that has all codebooks, one after the other.
pub(super) fn places_in_table(frame: &[u32], n_codes: usize) -> Vec<u32> {
    frame.iter().zip(0..).map(|(code, at)| code + at * n_codes as u32).collect()
}
