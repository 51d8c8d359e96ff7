//! Twins of the types of speech to text.

use causerie::transcribe as core;

use crate::number::{SdkCount, SdkLong};
use crate::options::{CacheType, Device};

/// Options for loading a transcriber.
#[derive(Clone, Debug, Default, PartialEq, uniffi::Record)]
pub struct TranscriberOptions {
    /// The device that computes. Default: the CPU.
    #[uniffi(default)]
    pub device: Option<Device>,
    /// Number of computing threads, 1 to 1024. Results do not depend on it. Default: the number of fast cores.
    #[uniffi(default)]
    pub threads: Option<SdkCount>,
    /// The storage format of the decoder's keys and values. Default: F16.
    #[uniffi(default)]
    pub cache_type: Option<CacheType>,
    /// Stores the matrices of a model that is not quantised in this type, which makes it smaller and faster. Default: as in the
    /// files.
    #[uniffi(default)]
    pub quantize: Option<GgufType>,
}

/// A type of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum GgufType {
    /// 8.5 bits per weight: hardly distinguishable from the original.
    Q8_0,
    /// 6.6 bits per weight.
    Q6K,
    /// 5.7 bits per weight.
    Q5KM,
    /// 4.8 bits per weight.
    Q4KM,
    /// 4.5 bits per weight.
    Q4_0,
}

/// What is written of what is heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum SpeechTask {
    /// The words in their own language.
    Transcribe,
    /// The words in English.
    Translate,
}

/// How a sound is transcribed. The defaults are the same as in the original Whisper.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct TranscribeOptions {
    /// The code of the language that is spoken, such as `en`. Default: the model detects it.
    #[uniffi(default)]
    pub language: Option<String>,
    /// Whether the words are translated. Default: they are not.
    #[uniffi(default)]
    pub task: Option<SpeechTask>,
    /// Text that may come before the sound: names and terms that occur, and the style of the transcript.
    #[uniffi(default)]
    pub prompt: Option<String>,
    /// Whether the text of a window is given to the next one, which keeps names and style, and sometimes repeats itself.
    #[uniffi(default = true)]
    pub uses_previous_text: bool,
    /// Whether the model writes times. Without them, a segment is a window of the sound.
    #[uniffi(default = true)]
    pub has_times: bool,
    /// Whether each word gets its times.
    #[uniffi(default = false)]
    pub has_word_times: bool,
    /// Temperatures, of which the next is tried while the text is not good enough by the thresholds. 0 picks the most probable
    /// token. Default: 0, 0.2, 0.4, 0.6, 0.8 and 1.
    #[uniffi(default)]
    pub temperatures: Option<Vec<f32>>,
    /// A text whose size divided by its compressed size is larger repeats itself; infinity for no limit. Default 2.4.
    #[uniffi(default)]
    pub compression_ratio_threshold: Option<f32>,
    /// A text with a lower mean of its tokens' log-probabilities is not good enough; minus infinity for no limit. Default -1.
    #[uniffi(default)]
    pub logprob_threshold: Option<f32>,
    /// A window whose probability of no speech is larger, and whose text is not probable enough, is silent; infinity for no limit.
    /// Default 0.6.
    #[uniffi(default)]
    pub no_speech_threshold: Option<f32>,
    /// The seed of temperatures above 0. Default 0.
    #[uniffi(default)]
    pub seed: Option<SdkLong>,
}

/// The text of a sound.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct Transcript {
    /// The texts of all segments, one after the other, without white space around.
    pub text: String,
    /// The code of the language that is spoken.
    pub language: String,
    /// How long the sound plays, in seconds.
    pub duration: f64,
    /// The parts of the text, in order.
    pub segments: Vec<TranscriptSegment>,
    /// Whether the transcription was cancelled; the segments are those before.
    pub was_cancelled: bool,
}

/// A part of a transcript: a sentence, or a part of one.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct TranscriptSegment {
    /// When it begins, in seconds.
    pub start: f64,
    /// When it ends, in seconds.
    pub end: f64,
    /// The text, mostly with a space before it.
    pub text: String,
    /// The tokens of the text, with the tokens of its times.
    pub tokens: Vec<SdkCount>,
    /// The mean of the log-probabilities of the window's tokens.
    pub avg_logprob: f32,
    /// The probability that nobody speaks in the window.
    pub no_speech_prob: f32,
    /// The size of the window's text divided by its compressed size.
    pub compression_ratio: f32,
    /// The temperature that the text was written with.
    pub temperature: f32,
    /// The words with their times, if they were requested.
    pub words: Vec<TranscriptWord>,
}

/// A word with its times.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct TranscriptWord {
    /// The word, mostly with a space before it.
    pub word: String,
    /// When it begins, in seconds.
    pub start: f64,
    /// When it ends, in seconds.
    pub end: f64,
    /// The mean probability of its tokens.
    pub probability: f32,
}

/// An event of a transcription. The last one is `Complete`, or an error.
#[derive(Clone, Debug, PartialEq, uniffi::Enum)]
pub enum TranscriptEvent {
    /// The language that is spoken.
    Language {
        /// The code of the language.
        code: String,
        /// Its probability among all languages; 1 if it was given.
        probability: f32,
    },
    /// The text after the last segment so far. It replaces the one before, and may still change.
    Partial {
        /// The text.
        text: String,
    },
    /// A segment, which does not change any more.
    Segment {
        /// The segment.
        segment: TranscriptSegment,
    },
    /// The whole transcript, which comes last.
    Complete {
        /// The transcript.
        transcript: Transcript,
    },
}

impl From<TranscriberOptions> for core::TranscriberOptions {
    fn from(options: TranscriberOptions) -> Self {
        Self {
            device: options.device.map_or_else(Default::default, Into::into),
            threads: options.threads.map(SdkCount::size),
            cache_type: options.cache_type.map_or_else(Default::default, Into::into),
            quantize: options.quantize.map(|quantize| match quantize {
                GgufType::Q8_0 => causerie::GgufType::Q8_0,
                GgufType::Q6K => causerie::GgufType::Q6K,
                GgufType::Q5KM => causerie::GgufType::Q5KM,
                GgufType::Q4KM => causerie::GgufType::Q4KM,
                GgufType::Q4_0 => causerie::GgufType::Q4_0,
            }),
        }
    }
}

impl From<TranscribeOptions> for core::TranscribeOptions {
    fn from(options: TranscribeOptions) -> Self {
        let defaults = Self::default();
        Self {
            language: options.language,
            task: match options.task {
                Some(SpeechTask::Translate) => core::SpeechTask::Translate,
                Some(SpeechTask::Transcribe) | None => core::SpeechTask::Transcribe,
            },
            prompt: options.prompt,
            uses_previous_text: options.uses_previous_text,
            has_times: options.has_times,
            has_word_times: options.has_word_times,
            temperatures: options.temperatures.unwrap_or(defaults.temperatures),
            compression_ratio_threshold: options.compression_ratio_threshold.or(defaults.compression_ratio_threshold),
            logprob_threshold: options.logprob_threshold.or(defaults.logprob_threshold),
            no_speech_threshold: options.no_speech_threshold.or(defaults.no_speech_threshold),
            seed: options.seed.map_or(defaults.seed, |seed| seed.0),
        }
    }
}

impl From<core::Transcript> for Transcript {
    fn from(transcript: core::Transcript) -> Self {
        Self {
            text: transcript.text,
            language: transcript.language,
            duration: transcript.duration.as_secs_f64(),
            segments: transcript.segments.into_iter().map(Into::into).collect(),
            was_cancelled: transcript.was_cancelled,
        }
    }
}

impl From<core::TranscriptSegment> for TranscriptSegment {
    fn from(segment: core::TranscriptSegment) -> Self {
        Self {
            start: segment.start.as_secs_f64(),
            end: segment.end.as_secs_f64(),
            text: segment.text,
            tokens: segment.tokens.into_iter().map(SdkCount).collect(),
            avg_logprob: segment.avg_logprob,
            no_speech_prob: segment.no_speech_prob,
            compression_ratio: segment.compression_ratio,
            temperature: segment.temperature,
            words: segment.words.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<core::TranscriptWord> for TranscriptWord {
    fn from(word: core::TranscriptWord) -> Self {
        Self {
            word: word.word,
            start: word.start.as_secs_f64(),
            end: word.end.as_secs_f64(),
            probability: word.probability,
        }
    }
}

impl From<core::TranscriptEvent> for TranscriptEvent {
    fn from(event: core::TranscriptEvent) -> Self {
        match event {
            core::TranscriptEvent::Language { code, probability } => Self::Language { code, probability },
            core::TranscriptEvent::Partial(text) => Self::Partial { text },
            core::TranscriptEvent::Segment(segment) => Self::Segment { segment: segment.into() },
            core::TranscriptEvent::Complete(transcript) => Self::Complete { transcript: transcript.into() },
            // The core has no other event. One without text changes nothing for the reader.
            _ => Self::Partial { text: String::new() },
        }
    }
}
