//! The layout of a GGUF file to be written: its header, and where each tensor begins.

use crate::weights::gguf::metadata_value::{MetadataValue, write_text};
use crate::weights::tensor_type::TensorType;

/// Tensors begin at multiples of this.
const ALIGNMENT: usize = 32;

/// A tensor to be written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TensorLayout {
    pub(crate) name: String,
    /// Outermost first. The last dimension is a multiple of the type's block.
    pub(crate) shape: Vec<usize>,
    pub(crate) tensor_type: TensorType,
}

impl TensorLayout {
    pub(crate) fn n_values(&self) -> usize {
        self.shape.iter().product() // no overflow: a tensor of this shape exists
    }

    pub(crate) fn n_bytes(&self) -> usize {
        self.n_values() / self.tensor_type.block() * self.tensor_type.block_bytes()
    }
}

/// The header of a file of version 3, with the padding after it. The bytes of the tensors follow in their order, each padded
/// by [`padding`].
pub(crate) fn gguf_header(metadata: &[(String, MetadataValue)], tensors: &[TensorLayout]) -> Vec<u8> {
    let mut out = b"GGUF".to_vec();
    out.extend(3u32.to_le_bytes());
    out.extend((tensors.len() as u64).to_le_bytes());
    out.extend((metadata.len() as u64).to_le_bytes());
    for (key, value) in metadata {
        write_text(key, &mut out);
        value.write(&mut out);
    }
    let mut offset = 0;
    for tensor in tensors {
        write_text(&tensor.name, &mut out);
        out.extend((tensor.shape.len() as u32).to_le_bytes()); // at most 4
        for size in tensor.shape.iter().rev() {
            out.extend((*size as u64).to_le_bytes());
        }
        out.extend(tensor.tensor_type.number().to_le_bytes());
        out.extend((offset as u64).to_le_bytes());
        offset += tensor.n_bytes().next_multiple_of(ALIGNMENT);
    }
    out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
    out
}

/// The zeros between the end of a tensor of this size and the next one.
pub(crate) fn padding(n_bytes: usize) -> &'static [u8] {
    &[0; ALIGNMENT][..n_bytes.next_multiple_of(ALIGNMENT) - n_bytes]
}
