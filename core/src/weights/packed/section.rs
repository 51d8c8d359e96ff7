//! Bytes that are stored with packed weights for another part of a model.

use causerie_backend::MappedFile;

/// Bytes that were made, read, or mapped.
pub(crate) enum SectionBytes {
    Owned(Vec<u8>),
    Mapped(MappedFile),
}

impl SectionBytes {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Owned(bytes) => bytes,
            Self::Mapped(file) => file.bytes(),
        }
    }
}
