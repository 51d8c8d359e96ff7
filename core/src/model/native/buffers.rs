//! Memory that is reused.

/// Sets the length of a buffer, whose values are undefined afterwards.
pub(super) fn resize(buffer: &mut Vec<f32>, length: usize) {
    buffer.resize(length, 0.0);
}
