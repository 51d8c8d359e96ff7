//! Model files: a GGUF file, or a Hugging Face folder. Their headers are checked before anything else reads them.
//!
//! Tensors are handed out as blocks in the types of the files; how they are stored in memory is the matter of what computes.

mod bundle;
mod bytes;
mod content;
mod dequantise;
mod files;
mod folder;
mod ggml;
mod gguf;
#[cfg(test)]
mod golden_blocks;
mod identity;
mod listing;
mod location;
mod origin;
mod packed;
mod row_table;
mod source;
mod speech_files;
mod templates;
mod tensor_type;
mod tensors;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tiny_gguf;
mod tokenizer_source;

pub(crate) use bundle::{
    ALIGNMENT, Bundle, CENTRAL, END, END_64, FORMAT, FORMAT_VERSION, LOCAL, LOCAL_LENGTH, LOCATOR_64, Manifest,
    ManifestPart, WIDE,
};
pub use bytes::ModelBytes;
pub(crate) use dequantise::{IQ4_LEVELS, dequantise, half_at, iq4_xs_scale, q3_k_scale, q3_k_value};
pub(crate) use files::Weights;
pub(crate) use folder::Folder;
pub(crate) use ggml::{GgmlFile, GgmlSizes};
pub(crate) use gguf::{GgufFile, MetadataValue, TensorLayout, embedding_length, gguf_header, padding};
#[cfg(test)]
pub(crate) use golden_blocks::golden_blocks;
pub(crate) use listing::ListedModel;
pub(crate) use origin::ModelOrigin;
#[cfg(test)]
pub(crate) use packed::packed_head;
pub(crate) use packed::{PackedFile, PackedMatrix, PackedWeights, PackedWriter, SectionBytes};
pub(crate) use row_table::RowTable;
pub(crate) use source::{FileBytes, MappedRows, TensorSource};
pub(crate) use speech_files::SpeechFiles;
pub(crate) use templates::{TemplateSources, decision_template};
pub(crate) use tensor_type::{GROUP, SUPER, TensorType};
pub(crate) use tensors::{MatrixPlace, Tensor, TensorBlocks, TensorDescription, TensorPart, Tensors};
#[cfg(test)]
pub(crate) use tiny_gguf::TinyGguf;
pub(crate) use tokenizer_source::{TokenizerFiles, TokenizerSource};
