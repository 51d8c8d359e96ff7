//! The texts of a request.

use std::borrow::Cow;

use causerie::Prompt;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value as Json;

/// Texts of a request at most, as OpenAI has it.
pub(super) const MAX_TEXTS: usize = 2048;

/// Texts, or texts as token ids: one, or an array of them.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Json")]
pub(super) struct EmbeddingInput(pub(super) Vec<Prompt>);

impl TryFrom<Json> for EmbeddingInput {
    type Error = String;

    fn try_from(value: Json) -> Result<Self, String> {
        let expected = || {
            format!(
                "must be a string, an array of token ids, or an array of 1 to {MAX_TEXTS} of either, none of them empty"
            )
        };
        let one = |value: &Json| text(value).or_else(|| tokens(value));
        let texts = match (one(&value), &value) {
            (Some(text), _) => Some(vec![text]),
            (None, Json::Array(texts)) if (1..=MAX_TEXTS).contains(&texts.len()) => texts.iter().map(one).collect(),
            _ => None,
        };
        texts.map(Self).ok_or_else(expected)
    }
}

fn text(value: &Json) -> Option<Prompt> {
    value.as_str().filter(|text| !text.is_empty()).map(Prompt::from)
}

fn tokens(value: &Json) -> Option<Prompt> {
    let ids = value.as_array().filter(|ids| !ids.is_empty())?;
    let id = |value: &Json| u32::try_from(value.as_u64()?).ok();
    ids.iter().map(id).collect::<Option<_>>().map(Prompt::Tokens)
}

impl JsonSchema for EmbeddingInput {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "EmbeddingInput".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let text = serde_json::json!({ "type": "string", "minLength": 1 });
        let id = serde_json::json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX });
        let tokens = serde_json::json!({ "type": "array", "items": id, "minItems": 1 });
        json_schema!({ "anyOf": [
            text,
            tokens,
            { "type": "array", "items": text, "minItems": 1, "maxItems": MAX_TEXTS },
            { "type": "array", "items": tokens, "minItems": 1, "maxItems": MAX_TEXTS },
        ] })
    }
}
