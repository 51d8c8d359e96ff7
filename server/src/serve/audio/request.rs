//! What a request about sound asks for.

use causerie::transcribe::{SpeechTask, TranscribeOptions};
use hyper::body::Bytes;

use crate::serve::audio::form::SoundForm;
use crate::serve::audio::languages;
use crate::serve::error::HttpError;

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TranscriptFormat {
    Json,
    Text,
    Srt,
    Vtt,
    VerboseJson,
}

/// A transcription that is asked for.
pub(super) struct TranscriptionRequest {
    pub(super) file: Bytes,
    pub(super) model: Option<String>,
    pub(super) options: TranscribeOptions,
    pub(super) format: TranscriptFormat,
    pub(super) has_segments: bool,
    pub(super) is_stream: bool,
}

/// Fields that would change the reply, and why they cannot.
const REFUSED: [(&str, &str); 3] = [
    ("include", "log-probabilities of tokens are not reported; verbose_json has avg_logprob of segments"),
    ("known_speaker_names", "speakers are not told apart"),
    ("known_speaker_references", "speakers are not told apart"),
];

impl TranscriptionRequest {
    /// Takes the fields that are known.
    pub(super) fn take(form: &mut SoundForm, task: SpeechTask) -> Result<Self, HttpError> {
        for (name, reason) in REFUSED {
            if !form.take_all(name).is_empty() {
                return Err(HttpError::unsupported(name, format!("{name} must be left out: {reason}")));
            }
        }
        let format = format(form.take("response_format")?.as_deref())?;
        let is_stream = is_true(form.take("stream")?.as_deref(), "stream")?;
        if is_stream && !matches!(format, TranscriptFormat::Json | TranscriptFormat::Text) {
            let message = "stream must be false with this response_format: a stream has text only";
            return Err(HttpError::value("stream", message));
        }
        let granularities = form.take_all("timestamp_granularities");
        let (has_segments, has_word_times) = granularity(&granularities)?;
        let mut options = TranscribeOptions {
            language: form.take("language")?.map(|language| languages::code(&language)),
            task,
            prompt: form.take("prompt")?,
            has_word_times: has_word_times && format == TranscriptFormat::VerboseJson,
            ..TranscribeOptions::default()
        };
        if let Some(temperature) = temperature(form.take("temperature")?.as_deref())? {
            options.temperatures = vec![temperature];
        }
        Ok(Self { file: form.take_file()?, model: form.take("model")?, options, format, has_segments, is_stream })
    }
}

fn format(asked: Option<&str>) -> Result<TranscriptFormat, HttpError> {
    match asked {
        None | Some("json") => Ok(TranscriptFormat::Json),
        Some("text") => Ok(TranscriptFormat::Text),
        Some("srt") => Ok(TranscriptFormat::Srt),
        Some("vtt") => Ok(TranscriptFormat::Vtt),
        Some("verbose_json") => Ok(TranscriptFormat::VerboseJson),
        Some(found) => {
            let message = format!("response_format must be json, text, srt, vtt or verbose_json, found {found:?}");
            Err(HttpError::value("response_format", message))
        }
    }
}

fn is_true(asked: Option<&str>, name: &str) -> Result<bool, HttpError> {
    match asked {
        None | Some("false" | "False" | "0") => Ok(false),
        Some("true" | "True" | "1") => Ok(true),
        Some(found) => Err(HttpError::value(name, format!("{name} must be true or false, found {found:?}"))),
    }
}

/// Whether segments are reported, and whether words are.
fn granularity(asked: &[String]) -> Result<(bool, bool), HttpError> {
    if let Some(found) = asked.iter().find(|asked| !["word", "segment"].contains(&asked.as_str())) {
        let message = format!("timestamp_granularities must be word or segment, found {found:?}");
        return Err(HttpError::value("timestamp_granularities", message));
    }
    let has = |name: &str| asked.iter().any(|asked| asked == name);
    Ok((has("segment") || !has("word"), has("word")))
}

/// The temperature; `None` for 0, with which higher ones are tried where the text is not good enough.
fn temperature(asked: Option<&str>) -> Result<Option<f32>, HttpError> {
    let Some(asked) = asked else { return Ok(None) };
    match asked.trim().parse::<f32>() {
        Ok(temperature) if (0.0..=1.0).contains(&temperature) => Ok(Some(temperature).filter(|it| 0.0 < *it)),
        _ => Err(HttpError::value("temperature", format!("temperature must be between 0 and 1, found {asked:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fields: serde_json::Value) -> TranscriptionRequest {
        let mut body = fields;
        body["input_audio"] = serde_json::json!({ "data": "AAAA" });
        let mut form = SoundForm::read_json(body.to_string().as_bytes()).unwrap();
        TranscriptionRequest::take(&mut form, SpeechTask::Transcribe).unwrap()
    }

    #[test]
    fn words_are_found_for_the_format_that_has_them() {
        let asked = |format: &str, granularities: &[&str]| {
            let fields = serde_json::json!({ "response_format": format, "timestamp_granularities": granularities });
            let request = read(fields);
            (request.has_segments, request.options.has_word_times)
        };
        assert_eq!(asked("verbose_json", &[]), (true, false));
        assert_eq!(asked("verbose_json", &["word"]), (false, true));
        assert_eq!(asked("verbose_json", &["word", "segment"]), (true, true));
        assert_eq!(asked("json", &["word"]), (false, false));
    }

    #[test]
    fn a_temperature_of_0_tries_higher_ones() {
        let temperatures = |value: f32| read(serde_json::json!({ "temperature": value })).options.temperatures;
        assert_eq!(temperatures(0.0), TranscribeOptions::default().temperatures);
        assert_eq!(temperatures(0.5), [0.5]);
    }

    #[test]
    fn a_language_has_no_region() {
        for (asked, code) in [("en", "en"), ("pt-BR", "pt"), (" DE_at", "de")] {
            assert_eq!(read(serde_json::json!({ "language": asked })).options.language.as_deref(), Some(code));
        }
    }
}
