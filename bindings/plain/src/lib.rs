//! What the interfaces for C and Node share, which have no types of their own for options: they set them by name.

mod options;
mod reading;
mod words;

pub use options::NamedOptions;
pub use words::{error_word, finish_word};
