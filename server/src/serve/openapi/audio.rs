//! The routes of sound, whose bodies or answers are not JSON.

use serde_json::{Map, Value as Json, json};

use crate::serve::openapi::parts::{get, operation, reference, responses};
use crate::serve::openapi::requests;

/// Adds the paths.
pub(super) fn describe(paths: &mut Map<String, Json>) {
    for (path, summary) in [
        ("/v1/audio/transcriptions", "Write what is said in a sound"),
        ("/v1/audio/translations", "Write in English what is said in a sound"),
    ] {
        paths.insert(path.to_owned(), json!({ "post": transcribe(path, summary) }));
    }
    paths.insert("/v1/audio/speech".to_owned(), json!({ "post": speak("/v1/audio/speech") }));
    for (path, summary, schema) in [
        ("/v1/audio/models", "The models that transcribe or speak", json!({ "type": "object" })),
        ("/v1/audio/voices", "The voices that read a text aloud", reference("VoiceList")),
    ] {
        paths.insert(path.to_owned(), json!({ "get": get(path, summary, "application/json", &schema) }));
    }
}

fn speak(path: &str) -> Json {
    let file = json!({ "schema": { "type": "string", "contentEncoding": "binary" } });
    let content = json!({
        "audio/wav": file,
        "audio/flac": file,
        "audio/pcm": file,
        "text/event-stream": { "schema": { "type": "string" } },
    });
    json!({
        "summary": "Read a text aloud",
        "operationId": operation(path),
        "requestBody": { "required": true, "content": { "application/json": { "schema": requests::speech() } } },
        "responses": responses(content, "Error"),
    })
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
