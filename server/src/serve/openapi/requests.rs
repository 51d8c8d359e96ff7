//! The schemas of requests, from the structs that read them.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value as Json, json};

use crate::serve::audio::speech::SpeechFields;
use crate::serve::chat::ChatFields;
use crate::serve::completions::CompletionFields;
use crate::serve::embeddings::{EmbeddingFields, RankingFields};
use crate::serve::messages::{MessageClientFields, MessageFields};
use crate::serve::request::sampling::{ChoiceFields, ClientFields, SamplingFields};
use crate::serve::responses::{ResponseClientFields, ResponseFields};

pub(super) fn chat() -> Json {
    merged([fields::<SamplingFields>(), fields::<ChoiceFields>(), fields::<ClientFields>(), fields::<ChatFields>()])
}

pub(super) fn speech() -> Json {
    merged([fields::<SpeechFields>()])
}

pub(super) fn embedding() -> Json {
    merged([fields::<EmbeddingFields>()])
}

pub(super) fn ranking() -> Json {
    merged([fields::<RankingFields>()])
}

pub(super) fn completion() -> Json {
    merged([
        fields::<SamplingFields>(),
        fields::<ChoiceFields>(),
        fields::<ClientFields>(),
        fields::<CompletionFields>(),
    ])
}

pub(super) fn count() -> Json {
    merged([fields::<SamplingFields>(), fields::<MessageFields>(), fields::<MessageClientFields>()])
}

pub(super) fn message() -> Json {
    let mut message = count();
    if let Some(required) = message["required"].as_array_mut() {
        required.push(json!("max_tokens"));
    }
    message
}

pub(super) fn response() -> Json {
    merged([fields::<SamplingFields>(), fields::<ResponseFields>(), fields::<ResponseClientFields>()])
}

fn fields<T: JsonSchema>() -> Json {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// One object with the fields of several structs. Null is the same as absent, and unknown names are allowed.
fn merged<const N: usize>(groups: [Json; N]) -> Json {
    let (mut properties, mut required) = (serde_json::Map::new(), Vec::new());
    for mut group in groups {
        if let Json::Object(fields) = group["properties"].take() {
            properties.extend(fields);
        }
        if let Json::Array(names) = group["required"].take() {
            required.extend(names);
        }
    }
    json!({ "type": "object", "required": required, "properties": properties })
}
