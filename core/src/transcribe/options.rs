//! Options of loading a transcriber and of a transcription.

use crate::error::{ErrorKind, Result, SdkError};
use crate::options::{CacheType, Device};
use crate::quantise::GgufType;

/// How a [`Transcriber`](crate::transcribe::Transcriber) is loaded.
///
/// ```no_run
/// use causerie::GgufType;
/// use causerie::transcribe::{Transcriber, TranscriberOptions};
///
/// let options = TranscriberOptions { quantize: Some(GgufType::Q8_0), ..Default::default() };
/// let transcriber = Transcriber::load_with("whisper-base", options)?;
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TranscriberOptions {
    /// The device that computes. Default: the CPU.
    pub device: Device,
    /// Threads that compute on the CPU, 1 to 1024. No result depends on it. Default: the number of cores; if there are fast
    /// and slow ones, the number of fast ones.
    pub threads: Option<usize>,
    /// The storage format of the decoder's keys and values on the CPU. Default: F16.
    pub cache_type: CacheType,
    /// Stores the matrices of a model that is not quantised in this type, which makes it smaller and faster. Default: as in
    /// the files.
    pub quantize: Option<GgufType>,
}

/// What is written of what is heard.
///
/// ```
/// use causerie::transcribe::{SpeechTask, TranscribeOptions};
///
/// let options = TranscribeOptions { task: SpeechTask::Translate, ..Default::default() };
/// # assert!(options.check().is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpeechTask {
    /// The words in their own language.
    #[default]
    Transcribe,
    /// The words in English.
    Translate,
}

/// How a sound is transcribed. The defaults are the same as in the original Whisper.
///
/// ```
/// use causerie::transcribe::TranscribeOptions;
///
/// let options = TranscribeOptions { language: Some("de".to_owned()), ..Default::default() };
/// assert!(options.check().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TranscribeOptions {
    /// The code of the language that is spoken, such as `en`. Default: the model detects it.
    pub language: Option<String>,
    /// Whether the words are translated.
    pub task: SpeechTask,
    /// Text that may come before the sound: names and terms that occur, and the style of the transcript.
    pub prompt: Option<String>,
    /// Whether the text of a window is given to the next one, which keeps names and style, and sometimes repeats itself.
    /// Default: yes.
    pub uses_previous_text: bool,
    /// Whether the model writes times. Without them, a segment is a window of the sound. Default: yes.
    pub has_times: bool,
    /// Whether each word gets its times.
    pub has_word_times: bool,
    /// Temperatures, of which the next is tried while the text is not good enough by the thresholds. 0 picks the most
    /// probable token.
    pub temperatures: Vec<f32>,
    /// A text whose size divided by its compressed size is larger repeats itself. `None` for no limit.
    pub compression_ratio_threshold: Option<f32>,
    /// A text with a lower mean of its tokens' logarithmic probabilities is not good enough. `None` for no limit.
    pub logprob_threshold: Option<f32>,
    /// A window whose probability of no speech is larger, and whose text is not probable enough, is silent. `None` for no
    /// limit.
    pub no_speech_threshold: Option<f32>,
    /// The seed of temperatures above 0.
    pub seed: u64,
}

impl Default for TranscribeOptions {
    fn default() -> Self {
        Self {
            language: None,
            task: SpeechTask::default(),
            prompt: None,
            uses_previous_text: true,
            has_times: true,
            has_word_times: false,
            temperatures: vec![0.0, 0.2, 0.4, 0.6, 0.8, 1.0],
            compression_ratio_threshold: Some(2.4),
            logprob_threshold: Some(-1.0),
            no_speech_threshold: Some(0.6),
            seed: 0,
        }
    }
}

impl TranscribeOptions {
    /// Checks every field. A transcription does the same, and also checks that the model has the language.
    ///
    /// ```
    /// use causerie::ErrorKind;
    /// use causerie::transcribe::TranscribeOptions;
    ///
    /// let options = TranscribeOptions { temperatures: vec![-1.0], ..Default::default() };
    /// assert_eq!(options.check().unwrap_err().kind(), ErrorKind::InvalidOption("temperatures"));
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidOption`] with the name of the field that is out of range.
    pub fn check(&self) -> Result<()> {
        let out_of_range = |name: &'static str, expected: &str, found: String| {
            Err(SdkError::new(ErrorKind::InvalidOption(name), format!("{name} must be {expected}, found {found}")))
        };
        if self.temperatures.is_empty() {
            return out_of_range("temperatures", "one temperature or more", "none".to_owned());
        }
        if let Some(found) = self.temperatures.iter().find(|temperature| !(0.0..=10.0).contains(*temperature)) {
            return out_of_range("temperatures", "between 0 and 10", found.to_string());
        }
        let thresholds = [
            ("compression_ratio_threshold", self.compression_ratio_threshold),
            ("logprob_threshold", self.logprob_threshold),
            ("no_speech_threshold", self.no_speech_threshold),
        ];
        match thresholds.into_iter().find(|(_, threshold)| threshold.is_some_and(f32::is_nan)) {
            Some((name, _)) => out_of_range(name, "a number", "NaN".to_owned()),
            None => Ok(()),
        }
    }
}
