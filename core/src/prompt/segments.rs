//! The segments of a rendered prompt.

use crate::position::Embedded;
use crate::tokenizer::Segment;

/// The prompt as one string.
pub(crate) fn joined(segments: &[Segment]) -> String {
    let mut text = String::new();
    for segment in segments {
        text.push_str(segment.text());
    }
    text
}

/// The embedded contents of a prompt.
pub(crate) fn embedded(segments: &[Segment]) -> impl Iterator<Item = &Embedded> {
    segments.iter().filter_map(|segment| match segment {
        Segment::Embedded(content) => Some(content),
        Segment::Text(_) | Segment::Control(_) => None,
    })
}
