//! The arguments of `causerie transcribe` and `speak`.

use std::path::PathBuf;

use causerie::SpeechVoice;
use clap::{Args, ValueEnum};

use crate::arguments::options::{ContextOption, small_count};

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

#[derive(Args)]
#[command(after_help = SPEAK_EXAMPLES)]
pub(crate) struct SpeakArguments {
    /// The text; - reads standard input.
    pub(crate) text: String,
    /// GGUF file, Hugging Face folder, or NAMESPACE/NAME[:TAG], which is downloaded if needed. The model must speak.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: String,
    /// Write the sound to this file: WAV, or FLAC or bare samples if its name ends with .flac or .pcm; - writes WAV to standard
    /// output while the model speaks.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Voice: us_male, us_female, uk_male or uk_female.
    #[arg(long, value_name = "VOICE", default_value = "us_female", value_parser = voice)]
    pub(crate) voice: SpeechVoice,
    /// Randomness of the choice of sounds; 0 always takes the most probable one [default: 0.8].
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub(crate) temperature: Option<f32>,
    /// Keep the k most probable sounds; 0 keeps all [default: 64].
    #[arg(long, value_name = "K")]
    pub(crate) top_k: Option<usize>,
    /// Seed of the sampler; the same seed gives the same sound [default: random].
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) context: ContextOption,
}

fn voice(name: &str) -> Result<SpeechVoice, String> {
    let names = || SpeechVoice::ALL.map(SpeechVoice::name).join(", ");
    SpeechVoice::named(name).ok_or_else(|| format!("the voice must be one of {}", names()))
}

const SPEAK_EXAMPLES: &str = "\
Examples:
  causerie speak --model LFM2.5-Audio-1.5B-Q8_0.gguf \"Dinner is ready.\" -o dinner.wav
  causerie speak --model LFM2.5-Audio-1.5B-Q8_0.gguf --voice uk_male - -o letter.flac < letter.txt
  causerie speak --model LFM2.5-Audio-1.5B-Q8_0.gguf \"Dinner is ready.\" -o - | aplay

Ctrl-C cancels the reply, and writes no file.";
