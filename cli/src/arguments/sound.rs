//! The arguments of `causerie transcribe`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::arguments::options::small_count;

#[derive(Args)]
#[command(after_help = TRANSCRIBE_EXAMPLES)]
pub(crate) struct TranscribeArguments {
    /// WAV, FLAC, MP3 or Ogg Opus files; - reads standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Whisper model: its Hugging Face folder, ggml file, or NAMESPACE/NAME, which is downloaded if needed.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: String,
    /// Code of the language that is spoken, such as en [default: it is detected].
    #[arg(long, value_name = "CODE")]
    pub(crate) language: Option<String>,
    /// Write the words in English.
    #[arg(long)]
    pub(crate) translate: bool,
    /// Names and terms that occur, in a text that could come before the sound.
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// Form of the transcripts.
    #[arg(long, value_name = "FORM", default_value = "txt")]
    pub(crate) format: TranscriptForm,
    /// Find the times of each word, for the form json.
    #[arg(long)]
    pub(crate) words: bool,
    /// Write each transcript to a file in this folder, instead of standard output.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    /// Threads to compute with [default: one per core].
    #[arg(long, value_name = "N", value_parser = small_count)]
    pub(crate) threads: Option<usize>,
}

/// The form of a transcript.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum TranscriptForm {
    /// The text alone.
    Txt,
    /// Subtitles in the SubRip form.
    Srt,
    /// Subtitles in the WebVTT form.
    Vtt,
    /// Text, language and segments with their times.
    Json,
}

const TRANSCRIBE_EXAMPLES: &str = "\
Examples:
  causerie transcribe --model whisper-base talk.mp3
  causerie transcribe --model whisper-base --format srt --output subtitles *.flac
  arecord -f S16_LE -r 16000 -d 5 | causerie transcribe --model whisper-base --language en -

Ctrl-C cancels the transcription.";
