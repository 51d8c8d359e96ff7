//! `POST /v1/audio/speech`: reads a text aloud.

use std::sync::Arc;

use causerie::{GenerationOptions, SoundFormat, SpeechVoice};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::serve::answer::{SpeechAnswer, SpeechForm};
use crate::serve::audio::voices;
use crate::serve::error::HttpError;
use crate::serve::models;
use crate::serve::request::RequestNotes;
use crate::serve::request::fields::RequestFields;
use crate::serve::request::types::{Integer, MAX_TOKENS, Seed};
use crate::serve::service::Service;

/// Characters of a text at most, as OpenAI has it.
const MAX_INPUT: usize = 4_096;

/// The fields of a request.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::serve) struct SpeechFields {
    /// The id of the model served. Other ids are answered by the same model, unless the server is strict.
    model: Option<String>,
    /// The text.
    #[schemars(length(min = 1, max = 4096))]
    input: String,
    /// The name of a voice, or an object with its id.
    #[schemars(with = "Option<String>", extend("default" = "us_female"))]
    voice: Option<Json>,
    /// wav, flac or pcm: 16 bits at 24 kHz; pcmu or pcma, for telephones: 8 bits at 8 kHz.
    #[schemars(extend("default" = "wav"))]
    response_format: Option<String>,
    /// audio, or sse: server-sent events.
    stream_format: Option<StreamFormat>,
    /// With false, the file is sent once it is complete, with its size in its header.
    #[schemars(extend("default" = true))]
    stream: Option<bool>,
    /// 1.
    #[schemars(range(min = 1, max = 1))]
    speed: Option<f64>,
    /// Randomness of the choice of sounds; 0 takes the most probable ones.
    #[schemars(range(min = 0, max = 2))]
    temperature: Option<f32>,
    /// Keeps the k most probable sounds; 0 and -1 keep all.
    top_k: Option<Integer<-1, MAX_TOKENS>>,
    seed: Option<Seed>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum StreamFormat {
    Audio,
    Sse,
}

/// Reads a request and prepares its answer.
pub(in crate::serve) fn read(service: &Arc<Service>, mut fields: RequestFields) -> Result<SpeechAnswer, HttpError> {
    let speech: SpeechFields = fields.read()?;
    let is_other_model = models::check(service, speech.model.as_deref())?;
    let runner = service.runner()?;
    if !runner.info().supports_speech {
        let message = format!("model must be one that speaks: the model {} does not", service.model_id);
        return Err(HttpError::unsupported("model", message));
    }
    let n_characters = speech.input.chars().count();
    if !(1..=MAX_INPUT).contains(&n_characters) || speech.input.trim().is_empty() {
        let message = format!("input must have 1 to {MAX_INPUT} characters that can be read, found {n_characters}");
        return Err(HttpError::value("input", message));
    }
    if speech.speed.is_some_and(|speed| speed != 1.0) {
        let message = "speed must be 1: the model speaks at its own speed, and players can change it";
        return Err(HttpError::unsupported("speed", message));
    }
    let voice = read_voice(speech.voice.as_ref())?;
    let form = SpeechForm {
        format: read_format(speech.response_format.as_deref())?,
        is_events: speech.stream_format == Some(StreamFormat::Sse),
        is_whole: speech.stream == Some(false),
    };
    // Published models were trained on the sentences that name their voices, without instructions.
    if fields.peek("instructions").is_some_and(|text| text == "") {
        fields.take("instructions");
    }
    if let Some(temperature) = speech.temperature.filter(|temperature| 2.0 < *temperature) {
        let message = format!("temperature must be between 0 and 2, found {temperature}");
        return Err(HttpError::value("temperature", message));
    }
    let options = GenerationOptions {
        seed: speech.seed.and_then(|seed| seed.0),
        speech_temperature: speech.temperature,
        speech_top_k: speech.top_k.map(Integer::count),
        ..Default::default()
    };
    options.check().map_err(|err| HttpError::from_engine(&err))?;
    let notes = RequestNotes { is_other_model, ignored: fields.into_ignored(service.settings.strict_fields)? };
    let stream = runner.speak(&speech.input, voice, options).map_err(|err| HttpError::from_engine(&err))?;
    Ok(SpeechAnswer::new(service, stream, form, notes))
}

fn read_voice(voice: Option<&Json>) -> Result<SpeechVoice, HttpError> {
    let Some(voice) = voice else { return Ok(SpeechVoice::default()) };
    let name = voice.as_str().or_else(|| voice["id"].as_str());
    name.and_then(voices::named).ok_or_else(|| {
        let names = SpeechVoice::ALL.map(SpeechVoice::name).join(", ");
        HttpError::value("voice", format!("voice must be one of {names}, or a name of OpenAI's, found {voice}"))
    })
}

/// Clients that name no format expect MP3, and look at the type of the answer.
fn read_format(format: Option<&str>) -> Result<SoundFormat, HttpError> {
    let Some(name) = format else { return Ok(SoundFormat::Wav) };
    SoundFormat::named(name).ok_or_else(|| {
        let message =
            format!("response_format must be wav, flac, pcm, pcmu or pcma: no other is written, found {name:?}");
        HttpError::unsupported("response_format", message)
    })
}
