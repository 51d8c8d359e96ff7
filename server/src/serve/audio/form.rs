//! The fields of a request about sound: of a form with several parts in any order, or of a JSON object.

use std::convert::Infallible;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_core::Stream;
use hyper::StatusCode;
use hyper::body::Bytes;
use multer::Multipart;
use serde_json::{Map, Value as Json};

use crate::serve::error::HttpError;

/// Parts of a form at most.
const MAX_PARTS: usize = 200;
/// Bytes of a field's text at most.
const MAX_TEXT: usize = 64 << 10;
/// The field with the sound, in JSON.
const INPUT_AUDIO: &str = "input_audio";

/// The fields that have not been taken yet.
#[derive(Debug, Default)]
pub(super) struct SoundForm {
    file: Option<Bytes>,
    /// Names and values, in order. Names may occur more than once, and end with `[]` then.
    fields: Vec<(String, String)>,
}

impl SoundForm {
    /// Reads a body of parts, which the boundary separates.
    pub(super) async fn read_parts(body: Bytes, boundary: &str) -> Result<Self, HttpError> {
        let mut parts = Multipart::new(Once(Some(body)), boundary);
        let mut form = Self::default();
        for _ in 0..MAX_PARTS {
            let Some(part) = parts.next_field().await.map_err(|err| malformed(&err))? else { return Ok(form) };
            let Some(name) = part.name().map(str::to_owned) else {
                return Err(invalid_form("each part must have a name"));
            };
            let bytes = part.bytes().await.map_err(|err| malformed(&err))?;
            if name == "file" {
                form.set_file(bytes, "file")?;
                continue;
            }
            if MAX_TEXT < bytes.len() {
                return Err(too_long(&name, bytes.len()));
            }
            let text = std::str::from_utf8(&bytes);
            let text = text.map_err(|_| HttpError::value(&name, format!("{name} must be text in UTF-8")))?;
            form.fields.push((name, text.to_owned()));
        }
        Err(invalid_form(&format!("the form must have at most {MAX_PARTS} parts")))
    }

    /// Reads a JSON object: `input_audio` with `data` in base64 is the file, and arrays are names that occur more than once.
    pub(super) fn read_json(body: &[u8]) -> Result<Self, HttpError> {
        let object: Map<String, Json> = serde_json::from_slice(body).map_err(|err| {
            let message = format!("the body must be a JSON object: {err}");
            HttpError::new(StatusCode::BAD_REQUEST, "invalid_json", message)
        })?;
        let mut form = Self::default();
        for (name, value) in object {
            match value {
                Json::Null => {}
                Json::Object(audio) if name == INPUT_AUDIO => form.set_file(sound_of(&audio)?, INPUT_AUDIO)?,
                Json::Array(values) => {
                    for value in values {
                        form.set_text(format!("{name}[]"), value)?;
                    }
                }
                value => form.set_text(name, value)?,
            }
        }
        Ok(form)
    }

    fn set_file(&mut self, bytes: Bytes, name: &str) -> Result<(), HttpError> {
        match self.file.replace(bytes) {
            None => Ok(()),
            Some(_) => Err(HttpError::value(name, format!("{name} must be given once, found several"))),
        }
    }

    fn set_text(&mut self, name: String, value: Json) -> Result<(), HttpError> {
        let text = match value {
            Json::String(text) => text,
            Json::Bool(_) | Json::Number(_) => value.to_string(),
            _ => return Err(HttpError::value(&name, format!("{name} must be a string, a number or a boolean"))),
        };
        if MAX_TEXT < text.len() {
            return Err(too_long(&name, text.len()));
        }
        self.fields.push((name, text));
        Ok(())
    }

    /// Takes the file.
    pub(super) fn take_file(&mut self) -> Result<Bytes, HttpError> {
        self.file.take().ok_or_else(|| HttpError::value("file", "file is required: a part with the sound"))
    }

    /// Takes a field that occurs at most once. Without text, it counts as absent.
    pub(super) fn take(&mut self, name: &str) -> Result<Option<String>, HttpError> {
        let mut found = self.take_all(name).into_iter();
        match (found.next(), found.next()) {
            (_, Some(_)) => Err(HttpError::value(name, format!("{name} must be given once, found several"))),
            (value, None) => Ok(value.filter(|value| !value.is_empty())),
        }
    }

    /// Takes all values of a field, whose name may end with `[]`.
    pub(super) fn take_all(&mut self, name: &str) -> Vec<String> {
        let mut found = Vec::new();
        self.fields.retain_mut(|(key, value)| {
            let is_it = key.strip_suffix("[]").unwrap_or(key) == name;
            if is_it {
                found.push(std::mem::take(value));
            }
            !is_it
        });
        found
    }

    /// The names of the fields that nobody took; an error if a strict server has one.
    pub(super) fn into_ignored(self, is_strict: bool) -> Result<Vec<String>, HttpError> {
        match self.fields.first() {
            Some((name, _)) if is_strict => {
                let message = format!("{name} must be left out: this server does not know it, or would ignore it");
                Err(HttpError::new(StatusCode::BAD_REQUEST, "unknown_field", message).at_exactly(name))
            }
            _ => Ok(self.fields.into_iter().map(|(name, _)| name).collect()),
        }
    }
}

/// The file of an object with its `data`. The file says which format it has, not its `format`.
fn sound_of(audio: &Map<String, Json>) -> Result<Bytes, HttpError> {
    let place = format!("{INPUT_AUDIO}.data");
    let Some(data) = audio.get("data").and_then(Json::as_str) else {
        return Err(HttpError::value(&place, format!("{place} must be a string in base64")));
    };
    let data = if data.starts_with("data:") { data.split_once(',').map_or(data, |(_, data)| data) } else { data };
    let bytes = STANDARD.decode(data.trim_ascii());
    bytes.map(Bytes::from).map_err(|_| HttpError::value(&place, format!("{place} must be valid base64")))
}

/// A body that is in memory.
struct Once(Option<Bytes>);

impl Stream for Once {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::task::Poll::Ready(self.0.take().map(Ok))
    }
}

fn malformed(err: &multer::Error) -> HttpError {
    invalid_form(&format!("the body must be a form of parts: {err}"))
}

fn invalid_form(message: &str) -> HttpError {
    HttpError::new(StatusCode::BAD_REQUEST, "invalid_form", message)
}

fn too_long(name: &str, found: usize) -> HttpError {
    HttpError::value(name, format!("{name} must have at most {MAX_TEXT} bytes, found {found}"))
}
