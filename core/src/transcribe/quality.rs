//! Whether a text is good enough.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::transcribe::options::TranscribeOptions;
use crate::transcribe::text::WindowText;

/// The size of a text divided by its compressed size. Text that repeats itself has a large one.
pub(super) fn compression_ratio(text: &str) -> f32 {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    // Writing to memory cannot fail.
    let compressed = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish()).unwrap_or_default();
    text.len() as f32 / compressed.len().max(1) as f32
}

/// Whether a text must be tried again at a higher temperature.
pub(super) fn is_bad(text: &WindowText, options: &TranscribeOptions) -> bool {
    let is_improbable = options.logprob_threshold.is_some_and(|threshold| text.avg_logprob < threshold);
    let repeats = options.compression_ratio_threshold.is_some_and(|threshold| threshold < text.compression_ratio);
    (is_improbable || repeats) && !(is_improbable && is_quiet(text, options))
}

/// Whether the window has no speech, so that its text is dropped.
pub(super) fn is_silent(text: &WindowText, options: &TranscribeOptions) -> bool {
    // A probable text is kept whatever the probability of no speech is.
    let is_probable = options.logprob_threshold.is_some_and(|threshold| threshold < text.avg_logprob);
    is_quiet(text, options) && !is_probable
}

fn is_quiet(text: &WindowText, options: &TranscribeOptions) -> bool {
    options.no_speech_threshold.is_some_and(|threshold| threshold < text.no_speech_prob)
}
