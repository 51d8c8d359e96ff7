//! The demo model of causerie, as bytes that become a part of the program. It needs no download, and no file beside the program.
//!
//! With the crate `causerie`, `ModelRunner::load_from_bytes(causerie_demo::MODEL, LoadOptions::default())` loads it, and
//! `ModelBytes::from(causerie_demo::MODEL).with_projector(causerie_demo::PROJECTOR)` is the model with pictures and sound.
//! What it can do, and what it cannot, is in the README.

/// The model: a GGUF file with tokenizer and chat template.
pub static MODEL: &[u8] = include_bytes!("../demo.gguf");

/// Its projector (mmproj), for pictures and sound.
pub use causerie_demo_projector::PROJECTOR;
