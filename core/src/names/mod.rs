//! Names of models on a hub, the files that they mean, and where the local cache has them. Nothing here uses a network.
//!
//! ```
//! use causerie::names::ModelName;
//!
//! let name = ModelName::parse("hf.co/LiquidAI/LFM2-350M-GGUF:Q4_K_M").unwrap();
//! assert_eq!(name.repository(), "LiquidAI/LFM2-350M-GGUF");
//! assert_eq!(name.tag.as_deref(), Some("Q4_K_M"));
//! ```

mod address;
mod cache;
mod choice;
// For this project's own crates.
#[doc(hidden)]
pub mod environment;
#[doc(hidden)]
pub mod manifest;
mod model_name;
mod projector;
mod quantisation;

pub use address::file_name_of_address;
pub use cache::{RepositoryFolder, cache_folder, find_in_cache, weights_of_index};
pub use choice::{ListedFile, ModelFiles, choose_files, list_models};
pub use model_name::{ModelName, is_plain_path};

pub(crate) use cache::{files_below, find_by_name_or_path};
pub(crate) use choice::choose_gguf;
pub(crate) use model_name::percent_decoded;
pub(crate) use projector::{
    AUDIO_DECODER_WORDS, AUDIO_TOKENIZER_WORDS, PROJECTOR_WORDS, choose_projector, has_word, is_projector,
    ranked_parts, without_type,
};
