//! Files of packed weights: matrices as the kernels read them, so that loading maps them instead of converting them.
//! docs/packed-weights.md describes the format.

mod file;
mod sample;
mod section;
mod table;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use file::{PackedFile, PackedWeights};
pub(crate) use section::{SectionBytes, StoredHeader};
pub(crate) use table::PackedMatrix;
#[cfg(test)]
pub(crate) use table::head as packed_head;
pub(crate) use writer::PackedWriter;
