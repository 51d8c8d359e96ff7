//! What a transcription gives.

use std::time::Duration;

/// The text of a sound.
///
/// ```no_run
/// # let transcriber = causerie::transcribe::Transcriber::load("whisper-tiny")?;
/// # let sound = causerie::Sound::from_samples(vec![0.0; 16_000], 16_000)?;
/// let transcript = transcriber.transcribe(&sound, Default::default())?;
/// for segment in &transcript.segments {
///     println!("{:6.2} {}", segment.start.as_secs_f64(), segment.text);
/// }
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    /// The texts of all segments, one after the other, without white space around.
    pub text: String,
    /// The code of the language that is spoken.
    pub language: String,
    /// How long the sound plays.
    pub duration: Duration,
    /// The parts of the text, in order.
    pub segments: Vec<TranscriptSegment>,
    /// Whether the transcription was cancelled; the segments are those before.
    pub was_cancelled: bool,
}

/// A part of a transcript: a sentence, or a part of one.
///
/// ```
/// use causerie::transcribe::TranscriptSegment;
///
/// fn is_uncertain(segment: &TranscriptSegment) -> bool {
///     segment.avg_logprob < -1.0 || 0.6 < segment.no_speech_prob
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TranscriptSegment {
    /// When it begins.
    pub start: Duration,
    /// When it ends.
    pub end: Duration,
    /// The text, mostly with a space before it.
    pub text: String,
    /// The tokens of the text, with the tokens of its times.
    pub tokens: Vec<u32>,
    /// The mean of the logarithmic probabilities of the window's tokens.
    pub avg_logprob: f32,
    /// The probability that nobody speaks in the window.
    pub no_speech_prob: f32,
    /// The size of the window's text divided by its compressed size.
    pub compression_ratio: f32,
    /// The temperature that the text was written with.
    pub temperature: f32,
    /// The words with their times, if they were asked for.
    pub words: Vec<TranscriptWord>,
}

/// A word with its times.
///
/// ```
/// use causerie::transcribe::TranscriptWord;
///
/// fn length(word: &TranscriptWord) -> std::time::Duration {
///     word.end - word.start
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TranscriptWord {
    /// The word, mostly with a space before it.
    pub word: String,
    /// When it begins.
    pub start: Duration,
    /// When it ends.
    pub end: Duration,
    /// The mean probability of its tokens.
    pub probability: f32,
}

/// An event of a transcription. The last one is `Complete`, or an error.
///
/// ```no_run
/// # use causerie::transcribe::TranscriptEvent;
/// # let transcriber = causerie::transcribe::Transcriber::load("whisper-tiny")?;
/// # let sound = causerie::Sound::from_samples(vec![0.0; 16_000], 16_000)?;
/// for event in transcriber.stream(&sound, Default::default())? {
///     match event? {
///         TranscriptEvent::Segment(segment) => println!("{}", segment.text),
///         TranscriptEvent::Partial(text) => eprint!("\r{text}"),
///         _ => {}
///     }
/// }
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub enum TranscriptEvent {
    /// The language that is spoken: its code, and its probability if it was detected.
    Language {
        /// The code of the language.
        code: String,
        /// The probability among all languages; 1 if it was given.
        probability: f32,
    },
    /// The text after the last segment so far. It replaces the one before, and may still change.
    Partial(String),
    /// A segment, which does not change any more.
    Segment(TranscriptSegment),
    /// The whole transcript, which comes last.
    Complete(Transcript),
}
