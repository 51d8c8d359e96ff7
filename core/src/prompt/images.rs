//! Images in prompts: the marker that a template prints for an image is replaced by the image's positions.

use std::sync::Arc;

use crate::error::{ErrorKind, Result, SdkError};
use crate::tokenizer::Segment;

pub(crate) const TEXT_ONLY: &str = "the model supports text only, not images or audio";
pub(crate) const NO_IMAGES_IN_TEMPLATE: &str = "the model's chat template does not support images";

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

    fn read(&self, file: &[u8]) -> Result<Vec<Segment>> {
        self.reader.read(file)
    }

    /// Replaces the markers by the images, in their order.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidMessage`] when the template has printed more or fewer markers.
    pub(super) fn embed(&self, segments: Vec<Segment>, images: Vec<Vec<Segment>>) -> Result<Vec<Segment>> {
        replace_markers(segments, (&self.marker, "images"), images)
    }
}

/// Replaces the control tokens of this spelling by contents, in their order.
///
/// # Errors
/// [`ErrorKind::InvalidMessage`] when the template has printed more or fewer markers. It names the contents.
pub(super) fn replace_markers(
    segments: Vec<Segment>,
    (marker, name): (&str, &str),
    contents: Vec<Vec<Segment>>,
) -> Result<Vec<Segment>> {
    let is_marker = |segment: &Segment| matches!(segment, Segment::Control(text) if *text == marker);
    let (n_contents, n_markers) = (contents.len(), segments.iter().filter(|segment| is_marker(segment)).count());
    if n_contents != n_markers {
        return Err(SdkError::new(
            ErrorKind::InvalidMessage,
            format!("the prompt must have a marker for each of {n_contents} {name}, found {n_markers}"),
        ));
    }
    let (mut contents, mut replaced, mut is_after_content) = (contents.into_iter(), Vec::new(), false);
    for segment in segments {
        let is_content = is_marker(&segment);
        let new = if is_content { contents.next().unwrap_or_default() } else { vec![segment] };
        for (at, segment) in new.into_iter().enumerate() {
            // Text of a content and text beside it are one text.
            match (replaced.last_mut(), segment) {
                (Some(Segment::Text(before)), Segment::Text(text)) if at == 0 && (is_content || is_after_content) => {
                    before.push_str(&text);
                }
                (_, segment) => replaced.push(segment),
            }
        }
        is_after_content = is_content;
    }
    Ok(replaced)
}

/// What becomes of images in messages.
#[derive(Clone)]
pub(crate) enum ImageSupport {
    /// They get into prompts.
    Input(ImageInput),
    /// The template prints its markers, which nothing replaces: for probes.
    Markers,
    /// They are refused, for this reason.
    Missing(String),
}

impl ImageSupport {
    /// Replaces the markers for images in a prompt by these files.
    pub(super) fn embed(&self, segments: Vec<Segment>, files: &[Vec<u8>]) -> Result<Vec<Segment>> {
        match self {
            _ if files.is_empty() => Ok(segments),
            Self::Missing(reason) => Err(unsupported(reason)),
            Self::Markers => Err(unsupported(TEXT_ONLY)),
            Self::Input(image_input) => {
                let images = files.iter().map(|file| image_input.read(file)).collect::<Result<_>>()?;
                image_input.embed(segments, images)
            }
        }
    }

    /// What takes an image's place in a prompt.
    pub(super) fn segments(&self, file: &[u8]) -> Result<Vec<Segment>> {
        match self {
            Self::Missing(reason) => Err(unsupported(reason)),
            Self::Markers => Err(unsupported(TEXT_ONLY)),
            Self::Input(image_input) => image_input.read(file),
        }
    }

    /// Whether the model reads images, or their markers.
    pub(super) fn has_input(&self) -> bool {
        !matches!(self, Self::Missing(_))
    }

    /// Reads an image, if it is to be in the prompt and not only its marker.
    pub(super) fn read(&self, file: &[u8], prints_images: bool, embeds: bool) -> Result<Option<Vec<Segment>>> {
        match self {
            Self::Missing(reason) => Err(unsupported(reason)),
            _ if !prints_images => Err(unsupported(NO_IMAGES_IN_TEMPLATE)),
            Self::Input(image_input) if embeds => image_input.read(file).map(Some),
            Self::Input(_) | Self::Markers => Ok(None),
        }
    }
}

pub(super) fn unsupported(message: &str) -> SdkError {
    SdkError::new(ErrorKind::UnsupportedContent, message)
}
