//! Limits of a block of calls.

/// Brackets that may be open at once in an argument.
pub(crate) const MAX_DEPTH: usize = 64;
/// Bytes in the body of a block.
pub(crate) const MAX_BLOCK_BYTES: usize = 1 << 20;
/// Calls in one block.
pub(crate) const MAX_CALLS: usize = 128;
