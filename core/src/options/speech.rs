//! Speech: how codes of sound are drawn, and the system prompts that models were trained on.

use super::choices::{SpeechMode, SpeechVoice};
use super::generation::GenerationOptions;

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

/// How an app wants codes of sound to be drawn; see [`GenerationOptions`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpeechSampling {
    temperature: Option<f32>,
    top_k: Option<usize>,
}

impl GenerationOptions {
    pub(crate) fn speech_sampling(&self) -> SpeechSampling {
        SpeechSampling { temperature: self.speech_temperature, top_k: self.speech_top_k }
    }
}

impl SpeechSampling {
    /// How codes are drawn in a mode by a model whose files may say how.
    pub(crate) fn frames(&self, mode: SpeechMode, of_files: Option<FrameSampling>) -> FrameSampling {
        let (temperature, top_k) = if mode == SpeechMode::Interleaved { (1.0, 4) } else { (0.8, 64) };
        let default = FrameSampling { temperature, top_k, repetition_penalty: 1.0, penalty_window: 0 };
        let default = of_files.unwrap_or(default);
        FrameSampling {
            temperature: self.temperature.unwrap_or(default.temperature),
            top_k: self.top_k.unwrap_or(default.top_k),
            ..default
        }
    }
}

impl SpeechVoice {
    /// The system prompt after which LFM2.5-Audio reads the user's message aloud in this voice. It was trained on these four
    /// sentences.
    ///
    /// ```
    /// assert_eq!(causerie::SpeechVoice::UkMale.system_prompt(), "Perform TTS. Use the UK male voice.");
    /// ```
    pub const fn system_prompt(self) -> &'static str {
        match self {
            Self::UsMale => "Perform TTS. Use the US male voice.",
            Self::UsFemale => "Perform TTS. Use the US female voice.",
            Self::UkMale => "Perform TTS. Use the UK male voice.",
            Self::UkFemale => "Perform TTS. Use the UK female voice.",
        }
    }
}
