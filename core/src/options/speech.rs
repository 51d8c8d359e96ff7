//! Options of speech.

use crate::error::Result;
use crate::options::range::out_of_range;

/// Whether, and in which order, a model that speaks gives text and sound.
///
/// ```
/// use causerie::{GenerationOptions, SpeechMode, SpeechOptions};
///
/// let speech = SpeechOptions { mode: SpeechMode::Interleaved, ..Default::default() };
/// let options = GenerationOptions { speech, ..Default::default() };
/// # assert!(options.check().is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpeechMode {
    /// As the system prompt asks: interleaved after `Respond with interleaved text and audio.`, sequential otherwise.
    #[default]
    Auto,
    /// Text alone.
    Off,
    /// Text, until the model begins to speak: to read a text aloud, or to answer in text.
    Sequential,
    /// A few words and their sound in turn: to talk.
    Interleaved,
}

/// How a model speaks. Models that do not speak ignore it.
///
/// ```
/// let speech = causerie::SpeechOptions { temperature: Some(0.8), top_k: Some(64), ..Default::default() };
/// assert_eq!(speech.mode, causerie::SpeechMode::Auto);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpeechOptions {
    /// Whether, and in which order, text and sound come. Default: as the system prompt asks.
    pub mode: SpeechMode,
    /// Randomness of the choice of sounds; 0 always picks the most probable. Default 1.0 in interleaved replies, 0.8 in others.
    pub temperature: Option<f32>,
    /// Keeps the k most probable sounds; 0 keeps all. Default 4 in interleaved replies, 64 in others.
    pub top_k: Option<usize>,
}

/// How codes of sound are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FrameSampling {
    pub(crate) temperature: f32,
    /// 0 for all codes.
    pub(crate) top_k: usize,
    /// Divides positive logits, and multiplies others, of codes that the same codebook had in the last `penalty_window` frames.
    pub(crate) repetition_penalty: f32,
    pub(crate) penalty_window: usize,
}

impl SpeechMode {
    /// The system prompt after which published models give interleaved replies.
    ///
    /// ```no_run
    /// # let runner = causerie::ModelRunner::load("LFM2.5-Audio-1.5B-Q8_0.gguf")?;
    /// let conversation = runner.create_conversation(causerie::SpeechMode::INTERLEAVED_PROMPT);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub const INTERLEAVED_PROMPT: &str = "Respond with interleaved text and audio.";

    /// The mode, if it is not the system prompt that decides.
    pub(crate) fn resolved(self, system_prompt: &str) -> Self {
        match self {
            Self::Auto if system_prompt.contains(Self::INTERLEAVED_PROMPT) => Self::Interleaved,
            mode => mode,
        }
    }
}

impl SpeechOptions {
    /// How codes are drawn in a mode by a model whose files may say how.
    pub(crate) fn sampling(&self, mode: SpeechMode, of_files: Option<FrameSampling>) -> FrameSampling {
        let (temperature, top_k) = if mode == SpeechMode::Interleaved { (1.0, 4) } else { (0.8, 64) };
        let default = FrameSampling { temperature, top_k, repetition_penalty: 1.0, penalty_window: 0 };
        let default = of_files.unwrap_or(default);
        FrameSampling {
            temperature: self.temperature.unwrap_or(default.temperature),
            top_k: self.top_k.unwrap_or(default.top_k),
            ..default
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        match self.temperature {
            Some(value) if !(value.is_finite() && 0.0 <= value) => {
                Err(out_of_range("speech.temperature", value, "0 or more"))
            }
            _ => Ok(()),
        }
    }
}
