//! What was written of a window.

/// A text of a window.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WindowText {
    /// Text and times, without the end.
    pub(super) tokens: Vec<u32>,
    /// The mean of the tokens' logarithmic probabilities, the end included.
    pub(super) avg_logprob: f32,
    pub(super) no_speech_prob: f32,
    pub(super) compression_ratio: f32,
    pub(super) temperature: f32,
}
