//! Text, or text and sound: what a reply of chat completions consists of.

use causerie::{ChatMessage, ChatMessageContent, GenerationOptions, ModelRunner, Role, SoundFormat, SpeechMode};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::serve::error::HttpError;
use crate::serve::request::fields::RequestFields;

/// A modality of a reply.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(in crate::serve) enum ReplyModality {
    Text,
    Audio,
}

/// How the sound of a reply is sent.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(in crate::serve) struct ReplyAudio {
    /// wav, flac, pcm16, or pcmu and pcma for telephones; in a stream, pcm16.
    format: Option<String>,
    /// No effect: the voice of a conversation is up to the model.
    voice: Option<Json>,
}

/// The beginning of the system prompts after which published models read a text aloud.
const READING_PROMPT: &str = "Perform TTS.";

/// The format of the sound, if a reply is to have any.
pub(in crate::serve) fn read_modalities(
    modalities: Option<Vec<ReplyModality>>,
    audio: Option<ReplyAudio>,
    is_stream: bool,
    fields: &RequestFields,
) -> Result<Option<SoundFormat>, HttpError> {
    let is_spoken = modalities.is_some_and(|modalities| modalities.contains(&ReplyModality::Audio));
    match audio {
        Some(_) if !is_spoken => {
            Err(HttpError::unsupported("audio", "audio must be left out unless modalities contains \"audio\""))
        }
        _ if !is_spoken => Ok(None),
        audio => {
            let ReplyAudio { format, voice } = audio.unwrap_or_default();
            if voice.is_some() {
                fields.ignore("audio.voice");
            }
            read_format(format.as_deref(), is_stream).map(Some)
        }
    }
}

fn read_format(format: Option<&str>, is_stream: bool) -> Result<SoundFormat, HttpError> {
    let known = match format {
        None if is_stream => Some(SoundFormat::Pcm),
        None => Some(SoundFormat::Wav),
        Some("pcm16") => Some(SoundFormat::Pcm),
        Some(name) => SoundFormat::named(name),
    };
    match known {
        Some(SoundFormat::Pcm) => Ok(SoundFormat::Pcm),
        Some(format) if !is_stream => Ok(format),
        _ => {
            let rule = if is_stream { "pcm16 in a stream" } else { "wav, flac, pcm16, pcmu or pcma" };
            let found = format.unwrap_or_default();
            Err(HttpError::unsupported("audio.format", format!("audio.format must be {rule}, found {found:?}")))
        }
    }
}

/// Lets a reply to this history speak. Without a system prompt, the model gets the one that it talks after.
///
/// # Errors
/// When the model does not speak, or the reply must be JSON.
pub(in crate::serve) fn speak(
    history: &mut Vec<ChatMessage>,
    options: &mut GenerationOptions,
    runner: &ModelRunner,
    model_id: &str,
) -> Result<(), HttpError> {
    if !runner.info().supports_speech {
        let message = format!("modalities must be [\"text\"]: the model {model_id} does not speak");
        return Err(HttpError::unsupported("modalities", message));
    }
    if options.json_schema_constraint.is_some() {
        let message = "modalities must be [\"text\"] where the form of the reply is constrained";
        return Err(HttpError::unsupported("modalities", message));
    }
    let reads = |part: &ChatMessageContent| matches!(part, ChatMessageContent::Text(text) if text.trim_start().starts_with(READING_PROMPT));
    let system = history.first().filter(|first| first.role == Role::System);
    let is_reading = system.is_some_and(|system| system.content.first().is_some_and(reads));
    if system.is_none() {
        history.insert(0, ChatMessage::system(SpeechMode::INTERLEAVED_PROMPT));
    }
    let mode = if is_reading { SpeechMode::Sequential } else { SpeechMode::Interleaved };
    options.speech_mode = mode;
    Ok(())
}
