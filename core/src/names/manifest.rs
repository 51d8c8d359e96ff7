//! The form of manifests: JSON files that name the files of a model, as LEAP publishes them and bundles contain them.
//!
//! ```
//! use causerie::names::manifest;
//!
//! let json = serde_json::json!({"load_time_parameters": {"model": "https://example.org/model.gguf"}});
//! let files = &json[manifest::FILES];
//! assert_eq!(files[manifest::MODEL], "https://example.org/model.gguf");
//! assert!(files.get(manifest::PROJECTOR).is_none());
//! ```

/// The name of a manifest in a bundle, and beside the files of its model.
pub const FILE_NAME: &str = "manifest.json";
/// The largest manifest in bytes.
pub const MAX_BYTES: usize = 4 << 20;
/// The key of the object with the files.
pub const FILES: &str = "load_time_parameters";
/// The key of the model's file, or of its folder.
pub const MODEL: &str = "model";
/// The key of the projector file.
pub const PROJECTOR: &str = "multimodal_projector";
/// The key of the projector file with the audio part, if it is another one.
pub const AUDIO_PROJECTOR: &str = "audio_projector";
/// The key of the file that writes frames of sound (vocoder).
pub const AUDIO_DECODER: &str = "audio_decoder";
/// The key of the file, or of the folder, that turns frames into samples.
pub const AUDIO_TOKENIZER: &str = "audio_tokenizer";
