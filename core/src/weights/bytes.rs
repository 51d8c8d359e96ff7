//! Files of a model that are held in memory.

use std::borrow::Cow;

/// A model held in memory, for example in the program: a GGUF file, and perhaps the one with the projector (mmproj).
///
/// ```
/// use causerie::{ModelBytes, ModelInfo};
/// static MODEL: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf"));
/// static PROJECTOR: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo-mmproj.gguf"));
///
/// assert!(!ModelInfo::read_from_bytes(MODEL)?.supports_images);
/// assert!(ModelInfo::read_from_bytes(ModelBytes::from(MODEL).with_projector(PROJECTOR))?.supports_images);
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelBytes {
    pub(super) model: Cow<'static, [u8]>,
    pub(super) projector: Option<Cow<'static, [u8]>>,
}

impl ModelBytes {
    /// Adds the projector of a vision model.
    ///
    /// ```
    /// # let [model, projector] = ["demo.gguf", "demo-mmproj.gguf"]
    /// #     .map(|file| format!("{}/../models/{file}", env!("CARGO_MANIFEST_DIR")));
    /// use causerie::{LoadOptions, ModelBytes, ModelRunner};
    ///
    /// let model = ModelBytes::from(std::fs::read(model).unwrap()).with_projector(std::fs::read(projector).unwrap());
    /// assert!(ModelRunner::load_from_bytes(model, LoadOptions::default())?.info().supports_images);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    #[must_use]
    pub fn with_projector(self, projector: impl Into<Cow<'static, [u8]>>) -> Self {
        Self { projector: Some(projector.into()), ..self }
    }
}

impl From<Cow<'static, [u8]>> for ModelBytes {
    fn from(model: Cow<'static, [u8]>) -> Self {
        Self { model, projector: None }
    }
}

impl From<&'static [u8]> for ModelBytes {
    fn from(model: &'static [u8]) -> Self {
        Cow::from(model).into()
    }
}

impl From<Vec<u8>> for ModelBytes {
    fn from(model: Vec<u8>) -> Self {
        Cow::from(model).into()
    }
}
