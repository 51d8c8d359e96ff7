//! Speech to text: models that write what they hear, for recordings and while someone speaks.
//!
//! A [`Transcriber`] is a Whisper model in memory. Recordings of any length are heard in windows of 30 seconds; the times
//! that the model writes say where the next window begins.
//!
//! ```
//! use causerie::Sound;
//! use causerie::transcribe::{TranscribeOptions, Transcriber};
//!
//! # let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/models/whisper");
//! # let file = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/sounds/tones.wav")).unwrap();
//! let transcriber = Transcriber::load(model)?;
//! let transcript = transcriber.transcribe(&Sound::read(&file)?, TranscribeOptions::default())?;
//! for segment in &transcript.segments {
//!     println!("{:?}: {}", segment.start, segment.text);
//! }
//! # Ok::<(), causerie::SdkError>(())
//! ```

mod formats;
mod live;
mod loaded;
mod options;
mod quality;
mod quantised;
mod rules;
mod segments;
mod stream;
#[cfg(test)]
mod tests;
mod text;
mod transcriber;
mod transcript;
mod transcription;
mod vocabulary;
mod window;

pub use live::LiveTranscription;
pub use options::{SpeechTask, TranscribeOptions, TranscriberOptions};
pub use stream::TranscriptStream;
pub use transcriber::Transcriber;
pub use transcript::{Transcript, TranscriptEvent, TranscriptSegment, TranscriptWord};
