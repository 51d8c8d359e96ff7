//! The routes of sound, whose bodies are forms.

use serde_json::{Map, Value as Json, json};

use crate::serve::openapi::{get, operation, reference, responses};

/// Adds the paths.
pub(super) fn describe(paths: &mut Map<String, Json>) {
    for (path, summary) in [
        ("/v1/audio/transcriptions", "Write what is said in a sound"),
        ("/v1/audio/translations", "Write in English what is said in a sound"),
    ] {
        paths.insert(path.to_owned(), json!({ "post": transcribe(path, summary) }));
    }
    let path = "/v1/audio/models";
    let list = get(path, "The models that transcribe", "application/json", &json!({ "type": "object" }));
    paths.insert(path.to_owned(), json!({ "get": list }));
}

fn transcribe(path: &str, summary: &str) -> Json {
    let text = json!({ "schema": { "type": "string" } });
    let content = json!({
        "application/json": { "schema": reference("Transcription") },
        "text/plain": text,
        "text/vtt": text,
        "text/event-stream": text,
    });
    json!({
        "summary": summary,
        "operationId": operation(path),
        "requestBody": { "required": true, "content": { "multipart/form-data": { "schema": form() } } },
        "responses": responses(content, "Error"),
    })
}

fn form() -> Json {
    json!({
        "type": "object",
        "required": ["file"],
        "properties": {
            "file": { "type": "string", "format": "binary", "description": "A WAV, FLAC, MP3 or Ogg Opus file." },
            "model": { "type": "string" },
            "language": { "type": "string", "description": "The code of the language; it is detected without one." },
            "prompt": { "type": "string" },
            "response_format": { "enum": ["json", "text", "srt", "vtt", "verbose_json"], "default": "json" },
            "temperature": { "type": "number", "minimum": 0, "maximum": 1, "default": 0 },
            "timestamp_granularities[]": { "type": "array", "items": { "enum": ["word", "segment"] } },
            "stream": { "type": "boolean", "default": false },
        },
    })
}
