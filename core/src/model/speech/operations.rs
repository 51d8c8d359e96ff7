//! The operations that only codecs need.

use crate::error::Result;
use crate::model::whisper::SpeechOperations;

pub(crate) trait CodecOperations: SpeechOperations {
    /// The exponential linear unit: `x` if it is positive, else `e^x - 1`.
    fn elu(&self, rows: &Self::Rows, to: &mut Self::Rows) -> Result<()>;

    /// Adds rows, times a factor for each column, to others.
    fn add_scaled(&self, rows: &Self::Rows, factors: &Self::Vector, stream: &mut Self::Rows) -> Result<()>;

    /// Cuts each row into this many rows of equal width, one after the other.
    fn split_rows(&self, rows: &mut Self::Rows, n_parts: usize) -> Result<()>;
}
