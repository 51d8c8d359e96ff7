//! Parts of contents: text, images and JSON.

use causerie::ChatMessageContent;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::serve::error::HttpError;
use crate::serve::request::fields::read_value;
use crate::serve::request::must_be;

/// Levels of nested JSON at most, values, and bytes as compact text: as OpenAI has it.
const MAX_DEPTH: usize = 32;
const MAX_VALUES: usize = 10_000;
const MAX_BYTES: usize = 256 << 10;

/// The parts that a content may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartKinds {
    /// Text alone.
    Text,
    /// Text and images.
    TextAndImages,
    /// Text, images and JSON.
    All,
    /// What an assistant wrote.
    Said,
}

#[derive(Debug, Deserialize)]
struct DecisionText {
    text: String,
}

#[derive(Debug, Deserialize)]
struct DecisionRefusal {
    refusal: String,
}

#[derive(Debug, Deserialize)]
struct DecisionImage {
    image_url: String,
}

#[derive(Debug, Deserialize)]
struct DecisionJson {
    data: Json,
}

/// A content: a string, or an array of parts. Parts are paragraphs.
pub(super) fn read_content(place: &str, content: Json, kinds: PartKinds) -> Result<Vec<ChatMessageContent>, HttpError> {
    let parts = match content {
        Json::String(text) => return Ok(vec![ChatMessageContent::Text(text)]),
        Json::Array(parts) => parts,
        other => {
            let message = format!("{place} {}", must_be("a string or an array of parts", &other));
            return Err(HttpError::value(place, message));
        }
    };
    let mut read: Vec<ChatMessageContent> = Vec::new();
    for (at, part) in parts.into_iter().enumerate() {
        let part = read_part(&format!("{place}[{at}]"), part, kinds)?;
        match (read.last_mut(), part) {
            (Some(ChatMessageContent::Text(before)), ChatMessageContent::Text(text)) => {
                before.push_str("\n\n");
                before.push_str(&text);
            }
            (_, part) => read.push(part),
        }
    }
    Ok(read)
}

fn read_part(place: &str, part: Json, kinds: PartKinds) -> Result<ChatMessageContent, HttpError> {
    let known: &[&str] = match kinds {
        PartKinds::Text => &["input_text"],
        PartKinds::TextAndImages => &["input_text", "input_image"],
        PartKinds::All => &["input_text", "input_image", "input_json"],
        PartKinds::Said => &["output_text", "refusal"],
    };
    let kind = part["type"].as_str().filter(|kind| known.contains(kind)).map(str::to_owned);
    match kind.as_deref() {
        Some("input_text" | "output_text") => {
            read_value(place, part).map(|part: DecisionText| ChatMessageContent::Text(part.text))
        }
        Some("refusal") => read_value(place, part).map(|part: DecisionRefusal| ChatMessageContent::Text(part.refusal)),
        Some("input_image") => {
            let DecisionImage { image_url } = read_value(place, part)?;
            ChatMessageContent::image_from_data_url(&image_url)
                .map_err(|err| HttpError::value(place, format!("{place}.image_url {}", err.message())))
        }
        Some(_) => {
            let DecisionJson { data } = read_value(place, part)?;
            check_json(&format!("{place}.data"), &data)?;
            Ok(ChatMessageContent::Text(indented(&data)))
        }
        None if part.is_object() => {
            let message = format!("{place}.type {}", must_be(&one_of(known), &part["type"]));
            Err(HttpError::value(place, message))
        }
        None => Err(HttpError::value(place, format!("{place} {}", must_be("an object", &part)))),
    }
}

fn one_of(known: &[&str]) -> String {
    known.join(" or ")
}

/// JSON over several lines.
pub(super) fn indented(json: &Json) -> String {
    serde_json::to_string_pretty(json).unwrap_or_default() // values of JSON can always be written
}

fn check_json(place: &str, data: &Json) -> Result<(), HttpError> {
    let is_list = |items: &Vec<Json>| items.iter().all(Json::is_object);
    if !data.is_object() && !data.as_array().is_some_and(is_list) {
        let message = format!("{place} {}", must_be("an object or an array of objects", data));
        return Err(HttpError::value(place, message));
    }
    let (depth, n_values) = size(data);
    let n_bytes = data.to_string().len();
    for (found, most, what) in
        [(depth, MAX_DEPTH, "levels"), (n_values, MAX_VALUES, "values"), (n_bytes, MAX_BYTES, "bytes")]
    {
        if most < found {
            let message = format!("{place} must have at most {most} {what}, found {found}");
            return Err(HttpError::value(place, message));
        }
    }
    Ok(())
}

/// Levels and values. Bodies are nested 128 deep at most.
fn size(json: &Json) -> (usize, usize) {
    let of_all = |items: &mut dyn Iterator<Item = &Json>| {
        let sizes = items.map(size);
        sizes.fold((1, 1), |(depth, n), (inner, n_inner)| (depth.max(inner + 1), n + n_inner))
    };
    match json {
        Json::Array(items) => of_all(&mut items.iter()),
        Json::Object(entries) => of_all(&mut entries.values()),
        _ => (0, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sizes_count_levels_and_values() {
        assert_eq!(size(&json!(3)), (0, 1));
        assert_eq!(size(&json!({})), (1, 1));
        assert_eq!(size(&json!({ "a": [1, { "b": null }] })), (3, 5));
    }
}
