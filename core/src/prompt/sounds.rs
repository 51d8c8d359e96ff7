//! Sound in prompts. Where the model's template prints no marker for it, a character that occurs in no text stands for it. Both are
//! replaced by its positions.

use std::sync::Arc;

use crate::error::{ErrorKind, Result, SdkError};
use crate::message::Role;
use crate::prompt::images::{TEXT_ONLY, unsupported};
use crate::tokenizer::Segment;

pub(crate) const NO_AUDIO: &str = "the model does not support audio";

/// Reads sound files for one model.
pub(crate) trait SoundReader: Send + Sync {
    /// Checks and measures a recording in a message by an author: the rows that take its place, with the control tokens around them. The rows are computed
    /// later, if they are needed at all.
    ///
    /// # Errors
    /// [`ErrorKind::UnsupportedContent`] for a file that is damaged, too large, or of another format.
    fn read(&self, file: &[u8], role: Role) -> Result<Vec<Segment>>;

    /// The spelling of the control token that templates of the model print for a recording, if they print one.
    fn marker(&self) -> Option<&str> {
        None
    }
}

/// What becomes of sound in messages.
#[derive(Clone)]
pub(super) enum SoundSupport {
    /// It gets into prompts.
    Read(Arc<dyn SoundReader>),
    /// The template prints its markers, which nothing replaces: for probes.
    Markers,
    /// It is left out of prompts, which are only shown.
    Hidden,
    /// It is refused, for this reason if it is a particular one.
    Missing(Option<String>),
}

impl SoundSupport {
    /// Reads the recording of a message by an author, if it is to be in the prompt. `takes_images` is whether the model reads images.
    pub(super) fn read(&self, (file, author): (&[u8], Role), takes_images: bool, embeds: bool) -> Result<Vec<Segment>> {
        match self {
            Self::Read(reader) if embeds => reader.read(file, author),
            Self::Read(_) | Self::Markers | Self::Hidden => Ok(Vec::new()),
            Self::Missing(Some(reason)) => Err(unsupported(reason)),
            Self::Missing(None) => Err(unsupported(if takes_images { NO_AUDIO } else { TEXT_ONLY })),
        }
    }

    /// Whether a recording is passed to the template as a part of its own, for which it prints a marker.
    pub(super) fn has_marker(&self) -> bool {
        matches!(self, Self::Markers) || self.marker().is_some()
    }

    pub(super) fn marker(&self) -> Option<&str> {
        match self {
            Self::Read(reader) => reader.marker(),
            _ => None,
        }
    }
}

/// Replaces the character that stands for sound by recordings, in their order.
///
/// # Errors
/// [`ErrorKind::InvalidMessage`] when the template has printed more or fewer of them.
pub(super) fn embed_recordings(
    segments: Vec<Segment>,
    stand_in: char,
    recordings: Vec<Vec<Segment>>,
) -> Result<Vec<Segment>> {
    if recordings.is_empty() {
        return Ok(segments);
    }
    let n_in = |segment: &Segment| segment.text().chars().filter(|character| *character == stand_in).count();
    let (n_recordings, n_places) = (recordings.len(), segments.iter().map(n_in).sum::<usize>());
    if n_recordings != n_places {
        return Err(SdkError::new(
            ErrorKind::InvalidMessage,
            format!("the chat template must print each of {n_recordings} recordings once, found {n_places}"),
        ));
    }
    let (mut recordings, mut embedded) = (recordings.into_iter(), Vec::new());
    for segment in segments {
        match segment {
            Segment::Text(text) if text.contains(stand_in) => {
                for (at, text) in text.split(stand_in).enumerate() {
                    if 0 < at {
                        embedded.extend(recordings.next().unwrap_or_default());
                    }
                    if !text.is_empty() {
                        embedded.push(Segment::Text(text.to_owned()));
                    }
                }
            }
            segment => embedded.push(segment),
        }
    }
    Ok(embedded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Segment {
        Segment::Text(text.to_owned())
    }

    #[test]
    fn recordings_take_the_places_of_their_stand_ins_in_order() {
        let control = Segment::Control("<|im_end|>".to_owned());
        let segments = vec![text("hear .. this"), control.clone(), text(".")];
        let recordings = ["1", "2", "3"].map(|name| vec![Segment::Control(name.to_owned())]);
        let embedded = embed_recordings(segments, '.', recordings.to_vec()).unwrap();
        let [first, second, third] = recordings.map(|mut recording| recording.remove(0));
        assert_eq!(embedded, [text("hear "), first, second, text(" this"), control, third]);
    }

    #[test]
    fn a_template_that_leaves_sound_out_is_refused() {
        let err = embed_recordings(vec![text("a")], '.', vec![Vec::new()]).unwrap_err();
        assert_eq!(err.kind(), ErrorKind::InvalidMessage);
    }
}
