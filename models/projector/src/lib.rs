//! The projector of causerie's demo model. Use the crate `causerie-demo`, which has the model as well.

/// A GGUF file with the vision tower and the encoder of sound (mmproj).
pub static PROJECTOR: &[u8] = include_bytes!("../demo-mmproj.gguf");
