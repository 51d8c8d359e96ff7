//! What is stored with packed weights for other parts of a model.

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

/// The header of a GGUF file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StoredHeader {
    pub(crate) bytes: Vec<u8>,
    /// Length of the whole file.
    pub(crate) file_length: usize,
}
