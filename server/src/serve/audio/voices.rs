//! `GET /v1/audio/voices`: the voices that texts are read aloud in.

use causerie::SpeechVoice;
use serde_json::{Value as Json, json};

use crate::serve::error::HttpError;
use crate::serve::service::Service;

/// Voices of OpenAI's that clients name, and those that stand for them. Some clients send no other names.
const OTHER_NAMES: [(&str, SpeechVoice); 13] = {
    use SpeechVoice::{UkFemale, UkMale, UsFemale, UsMale};
    [
        ("alloy", UsFemale),
        ("ash", UsMale),
        ("ballad", UkMale),
        ("cedar", UsMale),
        ("coral", UsFemale),
        ("echo", UsMale),
        ("fable", UkMale),
        ("marin", UsFemale),
        ("nova", UsFemale),
        ("onyx", UsMale),
        ("sage", UsFemale),
        ("shimmer", UkFemale),
        ("verse", UsMale),
    ]
};

/// The voice of a name.
pub(super) fn named(name: &str) -> Option<SpeechVoice> {
    let others = || OTHER_NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, voice)| voice);
    SpeechVoice::named(name).or_else(others)
}

/// The model's own voices; none if it does not speak.
pub(in crate::serve) fn list(service: &Service) -> Result<Json, HttpError> {
    let speaks = service.runner()?.info().supports_speech;
    let voices = SpeechVoice::ALL.into_iter().filter(|_| speaks);
    let voices: Vec<Json> = voices.map(|voice| json!({ "id": voice.name(), "name": label(voice) })).collect();
    Ok(json!({ "voices": voices }))
}

fn label(voice: SpeechVoice) -> &'static str {
    match voice {
        SpeechVoice::UsMale => "US male",
        SpeechVoice::UsFemale => "US female",
        SpeechVoice::UkMale => "UK male",
        SpeechVoice::UkFemale => "UK female",
        _ => voice.name(),
    }
}
