//! The images and recordings of a request: found once, when it is parsed, and named in errors by their places in it.

use causerie::{ChatMessage, ChatMessageContent, ModelRunner, Role, SdkError};
use serde_json::Value as Json;

use crate::serve::error::HttpError;
use crate::serve::request::content::message;
use crate::serve::request::fields::RequestFields;
use crate::serve::request::found_images::{RequestImage, RequestImages, place_of};

/// The fields whose messages or items may have images.
const WITH_IMAGES: [&str; 3] = ["messages", "input", "questions"];

/// Finds the images and recordings of a request. Refuses them, by the place of the first, for a model that takes none. Lists `detail` as
/// ignored: how a picture is divided follows from its size, by the model's own rules.
pub(in crate::serve) fn find(fields: &mut RequestFields, model: Option<&ModelRunner>) -> Result<(), HttpError> {
    let (mut found, mut details) = (Vec::new(), Vec::new());
    for field in WITH_IMAGES {
        let Some(value) = fields.peek(field) else { continue };
        each_image("", value, &mut |pointer: &str, part: &Json| {
            let has_address = address_of(part).is_some();
            let is_sound = is_sound(part);
            let image = RequestImage { field, pointer: pointer.to_owned(), has_address, is_sound };
            let details_of = [("detail", &part["detail"]), ("image_url.detail", &part["image_url"]["detail"])];
            let asked = details_of.iter().filter(|(_, detail)| !detail.is_null() && *detail != "auto");
            details.extend(asked.map(|(name, _)| format!("{}.{name}", image.place())));
            found.push(image);
        });
    }
    for (is_sound, needs) in
        [(false, "images need a model with vision"), (true, "audio needs a model with audio input")]
    {
        if let Some(first) = found.iter().find(|image| image.is_sound == is_sound)
            && let Some(refusal) = model.and_then(|model| refusal(model, is_sound))
        {
            let place = first.place();
            return Err(HttpError::unsupported(&place, format!("{place}: {needs}, and {refusal}")));
        }
    }
    details.into_iter().for_each(|place| fields.ignore(place));
    fields.images = RequestImages(found);
    Ok(())
}

/// Whether a part is sound.
fn is_sound(part: &Json) -> bool {
    matches!(part["type"].as_str(), Some("audio" | "input_audio" | "audio_url"))
}

/// Why a model takes no images, or no sound; `None` if it does.
fn refusal(model: &ModelRunner, is_sound: bool) -> Option<String> {
    let (is_supported, content) = match is_sound {
        true => (model.info().supports_audio, ChatMessageContent::Audio(Vec::new())),
        false => (model.info().supports_images, ChatMessageContent::Image(Vec::new())),
    };
    if is_supported {
        return None;
    }
    let shown = message(Role::User, vec![content]);
    let err = model.render_prompt(&[shown], true).err()?;
    Some(err.message().trim_start_matches("messages[0].content[0]: ").to_owned())
}

/// The places of the images in an item that does not come from the request, but from a stored response.
pub(in crate::serve) fn places_of(item_place: &str, item: &Json) -> Vec<String> {
    let mut places = Vec::new();
    each_image("", item, &mut |pointer: &str, _: &Json| places.push(place_of(item_place, pointer)));
    places
}

fn each_image(pointer: &str, value: &Json, take: &mut impl FnMut(&str, &Json)) {
    match value {
        Json::Array(values) => {
            values.iter().enumerate().for_each(|(i, value)| each_image(&format!("{pointer}/{i}"), value, take));
        }
        Json::Object(part) => match part.get("type").and_then(Json::as_str) {
            Some("image" | "image_url" | "input_image" | "audio" | "input_audio" | "audio_url") => take(pointer, value),
            _ => ["content", "output", "instructions"].iter().for_each(|name| {
                if let Some(value) = part.get(*name) {
                    each_image(&format!("{pointer}/{name}"), value, take);
                }
            }),
        },
        _ => {}
    }
}

/// The place and the address of an image that a part names by an address of the web.
pub(in crate::serve) fn address_of(part: &Json) -> Option<(&'static str, &str)> {
    let (place, address) = match part.get("type")?.as_str()? {
        "image_url" if part["image_url"].is_string() => ("image_url", &part["image_url"]),
        "image_url" => ("image_url.url", &part["image_url"]["url"]),
        "input_image" => ("image_url", &part["image_url"]),
        "image" if part["source"]["type"] == "url" => ("source.url", &part["source"]["url"]),
        _ => return None,
    };
    let address = address.as_str()?;
    let scheme = address.split_once(':')?.0;
    ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)).then_some((place, address))
}
/// The place of each image and recording, as the engine names it and as the request does. The engine counts the messages of
/// the history that the request became, which may be more or fewer than the messages of the request.
#[derive(Debug, Default)]
pub(in crate::serve) struct ImagePlaces {
    places: Vec<(String, String)>,
}

impl ImagePlaces {
    /// Pairs the images of a history with their places in the request, which are in the same order. `n_before` is the number of
    /// messages that are put before the history.
    pub(in crate::serve) fn new(history: &[ChatMessage], n_before: usize, places: Vec<String>) -> Self {
        // The sound of a reply comes from this server.
        let said = history.iter().zip(n_before..).filter(|(message, _)| message.role != Role::Assistant);
        let images = said.flat_map(|(message, i)| {
            let is_image = |part: &ChatMessageContent| !matches!(part, ChatMessageContent::Text(_));
            let parts = message.content.iter().enumerate().filter(move |(_, part)| is_image(part));
            parts.map(move |(j, _)| format!("messages[{i}].content[{j}]:"))
        });
        let images: Vec<String> = images.collect();
        // Images of items that are ignored are in no message.
        if images.len() != places.len() {
            return Self::default();
        }
        Self { places: images.into_iter().zip(places).collect() }
    }

    /// An error of the engine; one about an image begins with the place in the request.
    pub(in crate::serve) fn named(&self, err: SdkError) -> SdkError {
        let rest =
            |(engine, place): &(String, String)| Some((place.clone(), err.message().strip_prefix(engine)?.to_owned()));
        match self.places.iter().find_map(rest) {
            Some((place, rest)) => SdkError::new(err.kind(), format!("{place}:{rest}")),
            None => err,
        }
    }
}
