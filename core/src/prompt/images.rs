//! Images in prompts: the marker that a template prints for an image is replaced by the image's positions.

use std::sync::Arc;

use crate::error::{ErrorKind, Result, SdkError};
use crate::tokenizer::Segment;

/// Reads image files for one model.
pub(crate) trait ImageReader: Send + Sync {
    /// Checks and measures an image: the rows that take its place, with the control tokens around them. The rows are computed
    /// later, if they are needed at all.
    ///
    /// # Errors
    /// [`ErrorKind::UnsupportedContent`] for a file that is damaged, too large, or of another format.
    fn read(&self, file: &[u8]) -> Result<Vec<Segment>>;
}

/// How images get into a model's prompts.
#[derive(Clone)]
pub(crate) struct ImageInput {
    /// The spelling of the control token that the template prints for an image.
    marker: String,
    reader: Arc<dyn ImageReader>,
}

impl ImageInput {
    pub(crate) fn new(marker: &str, reader: Arc<dyn ImageReader>) -> Self {
        Self { marker: marker.to_owned(), reader }
    }

    pub(super) fn read(&self, file: &[u8]) -> Result<Vec<Segment>> {
        self.reader.read(file)
    }

    /// Replaces the markers by the images, in their order.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidMessage`] when the template has printed more or fewer markers.
    pub(super) fn embed(&self, segments: Vec<Segment>, images: Vec<Vec<Segment>>) -> Result<Vec<Segment>> {
        let is_marker = |segment: &Segment| matches!(segment, Segment::Control(text) if *text == self.marker);
        let (n_images, n_markers) = (images.len(), segments.iter().filter(|segment| is_marker(segment)).count());
        if n_images != n_markers {
            return Err(SdkError::new(
                ErrorKind::InvalidMessage,
                format!("the prompt must have a marker for each of {n_images} images, found {n_markers}"),
            ));
        }
        let mut images = images.into_iter();
        let shown =
            |segment: Segment| if is_marker(&segment) { images.next().unwrap_or_default() } else { vec![segment] };
        Ok(segments.into_iter().flat_map(shown).collect())
    }
}
