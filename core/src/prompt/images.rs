//! Images in prompts: the marker that a template prints for an image is replaced by the image's positions.

use std::sync::Arc;

use crate::error::{ErrorKind, Result, SdkError};
use crate::position::Embedded;
use crate::tokenizer::Segment;

/// Reads image files for one model.
pub(crate) trait ImageReader: Send + Sync {
    /// Checks and measures an image. Its rows are computed later, if they are needed at all.
    ///
    /// # Errors
    /// [`ErrorKind::UnsupportedContent`] for a file that is damaged, too large, or of another format.
    fn read(&self, file: &[u8]) -> Result<Embedded>;
}

/// How images get into a model's prompts.
pub(crate) struct ImageInput {
    /// The spelling of the control token that the template prints for an image.
    marker: String,
    reader: Arc<dyn ImageReader>,
}

impl ImageInput {
    #[cfg_attr(not(test), expect(dead_code, reason = "no model that takes images is supported yet"))]
    pub(crate) fn new(marker: &str, reader: Arc<dyn ImageReader>) -> Self {
        Self { marker: marker.to_owned(), reader }
    }

    pub(super) fn read(&self, file: &[u8]) -> Result<Embedded> {
        self.reader.read(file)
    }

    /// Replaces the markers by the images, in their order.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidMessage`] when the template has printed more or fewer markers.
    pub(super) fn embed(&self, mut segments: Vec<Segment>, images: Vec<Embedded>) -> Result<Vec<Segment>> {
        let is_marker = |segment: &&mut Segment| matches!(segment, Segment::Control(text) if *text == self.marker);
        let markers: Vec<&mut Segment> = segments.iter_mut().filter(is_marker).collect();
        if markers.len() != images.len() {
            let (n_images, n_markers) = (images.len(), markers.len());
            return Err(SdkError::new(
                ErrorKind::InvalidMessage,
                format!("the chat template must print {n_images} image markers, found {n_markers}"),
            ));
        }
        for (marker, image) in markers.into_iter().zip(images) {
            *marker = Segment::Embedded(image);
        }
        Ok(segments)
    }
}
