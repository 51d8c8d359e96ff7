//! What newer clients send and this server does not know. Its text is read as text, so that nothing that was said is lost;
//! without text it is passed over. Both are listed as ignored: a place that ends with `.type` or `.role` was read, as text or
//! in a known role. Media cannot become text: they are refused by name.

use causerie::Role;
use serde_json::Value as Json;

use crate::serve::error::HttpError;
use crate::serve::request::fields::RequestFields;

/// Members that hold the text of an item or a part, the likeliest first.
const TEXTS: [&str; 4] = ["text", "content", "message", "summary"];
/// A shorter text is never taken for encrypted.
const MIN_CIPHERTEXT: usize = 64;

/// The text of an unknown value, also within arrays and objects; `None` if it has none.
pub(in crate::serve) fn text_of(value: &Json) -> Option<String> {
    let text = match value {
        Json::String(text) => text.clone(),
        Json::Array(values) => values.iter().filter_map(text_of).collect(),
        Json::Object(members) => {
            let own = TEXTS.iter().find_map(|name| text_of(members.get(*name)?));
            own.or_else(|| plain(members.get("encrypted_content")?.as_str()?))?
        }
        _ => return None,
    };
    Some(text).filter(|text| !text.is_empty())
}

/// What a client sends as encrypted, if it is not. Codex takes what a model wrote to a sub-agent for encrypted, as OpenAI's
/// servers would have it; this one encrypts nothing.
fn plain(content: &str) -> Option<String> {
    let is_encoded = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_=".contains(&byte);
    let is_encrypted = MIN_CIPHERTEXT <= content.len() && content.bytes().all(is_encoded);
    (!is_encrypted).then(|| content.to_owned())
}

/// The text of a part of an unknown type; `None` if the part is passed over.
///
/// # Errors
/// When the part is not text but an image, sound or file.
pub(in crate::serve) fn read_part(
    place: &str,
    part: &Json,
    fields: &RequestFields,
) -> Result<Option<String>, HttpError> {
    let kind = part["type"].as_str().unwrap_or_default();
    if let Some(rule) = media_rule(kind) {
        return Err(unreadable(place, rule));
    }
    if let Some(text) = text_of(part) {
        fields.ignore(format!("{place}.type"));
        return Ok(Some(text));
    }
    match MEDIA.iter().find(|media| media.resembles(kind, part)) {
        Some(media) => Err(unreadable(place, media.rule)),
        None => {
            fields.ignore(place);
            Ok(None)
        }
    }
}

/// Why parts of a type are refused; `None` if the type is not known as one of media.
pub(in crate::serve) fn media_rule(kind: &str) -> Option<&'static str> {
    MEDIA.iter().find(|media| media.kinds.contains(&kind)).map(|media| media.rule)
}

pub(in crate::serve) fn unreadable(place: &str, rule: &str) -> HttpError {
    HttpError::unsupported(place, format!("{place} must be text: {rule}"))
}

/// Content that is not text.
struct Media {
    kinds: &'static [&'static str],
    /// Words in the names of newer types.
    words: &'static [&'static str],
    /// Members of newer types.
    members: &'static [&'static str],
    rule: &'static str,
}

impl Media {
    /// Whether a part of a newer type is of this kind.
    fn resembles(&self, kind: &str, part: &Json) -> bool {
        self.words.iter().any(|word| kind.contains(word)) || self.members.iter().any(|name| !part[*name].is_null())
    }
}

const MEDIA: [Media; 4] = [
    Media {
        kinds: &["image", "image_url", "input_image"],
        words: &["image", "screenshot"],
        members: &["image_url"],
        rule: "images belong to messages of the user and of tools",
    },
    Media {
        kinds: &["audio", "input_audio", "audio_url"],
        words: &["audio", "speech"],
        members: &["input_audio", "audio_url", "audio"],
        rule: "audio belongs to messages of the user and of tools, as input_audio",
    },
    Media {
        kinds: &["video", "video_url", "input_video"],
        words: &["video"],
        members: &["video_url", "video"],
        rule: "videos are not supported",
    },
    Media {
        kinds: &["file", "input_file", "document"],
        words: &["file", "document", "pdf"],
        members: &["file_id", "file_data", "file_url", "file"],
        rule: "files are not read; send the text of the file instead",
    },
];

/// The known role that an unknown one stands for. The user's is the one without privileges.
pub(in crate::serve) fn role_of(name: &str) -> Role {
    match name.to_ascii_lowercase().as_str() {
        "system" | "developer" | "platform" | "root" => Role::System,
        "assistant" | "agent" | "ai" | "bot" | "model" => Role::Assistant,
        _ => Role::User,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, json};

    #[test]
    fn the_text_of_an_unknown_value_is_found() {
        let secret = "gAAAAAB".repeat(20);
        for (value, expect) in [
            (json!({ "type": "a", "text": "x" }), Some("x")),
            (json!({ "type": "a", "content": [{ "type": "b", "text": "x" }, { "c": 1 }, "y"] }), Some("xy")),
            (json!({ "type": "a", "message": { "content": "x" } }), Some("x")),
            (json!({ "type": "a", "text": "", "summary": [{ "text": "x" }] }), Some("x")),
            (json!({ "type": "a", "encrypted_content": "Count the words." }), Some("Count the words.")),
            (json!({ "type": "a", "encrypted_content": secret }), None),
            (json!({ "type": "a", "id": "x", "n": 3 }), None),
            (json!({ "type": "a", "text": "" }), None),
            (json!([]), None),
        ] {
            assert_eq!(text_of(&value).as_deref(), expect, "{value}");
        }
    }

    #[test]
    fn a_part_of_an_unknown_type_is_text_or_passed_over_but_media_are_refused() {
        let read = |part: Json| {
            let fields = RequestFields::new(Map::new());
            let read = read_part("p[0]", &part, &fields).map_err(|err| err.code());
            (read, fields.into_ignored(false).unwrap().join(","))
        };
        assert_eq!(read(json!({ "type": "note", "text": "x" })), (Ok(Some("x".into())), "p[0].type".into()));
        assert_eq!(read(json!({ "type": "file_citation", "text": "x" })), (Ok(Some("x".into())), "p[0].type".into()));
        assert_eq!(read(json!({ "type": "cache_point" })), (Ok(None), "p[0]".into()));
        for media in [
            json!({ "type": "input_audio", "text": "x" }),
            json!({ "type": "document", "text": "x" }),
            json!({ "type": "audio_v2", "data": "" }),
            json!({ "type": "computer_screenshot" }),
            json!({ "type": "container_upload", "file_id": "f" }),
            json!({ "type": "input_video_frames" }),
        ] {
            assert_eq!(read(media.clone()), (Err("unsupported_field"), String::new()), "{media}");
        }
    }
}
