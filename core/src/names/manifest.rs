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
/// The keys of files that loading has no use for.
pub const UNUSED: [&str; 2] = ["audio_decoder", "audio_tokenizer"];
