//! `response_format`, and the fields of the same form in other dialects.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::serve::error::HttpError;
use crate::serve::request::fields::RequestFields;
use crate::serve::request::types::WithoutEffect;

/// The schema that `json_object` asks for.
const ANY_OBJECT: &str = r#"{"type": "object"}"#;

/// `text` of responses.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(in crate::serve) struct TextField {
    pub(in crate::serve) format: Option<ResponseFormat>,
    #[schemars(with = "Option<WithoutEffect>")]
    pub(in crate::serve) verbosity: Option<Json>,
}

/// The form of a reply's text. Clients differ in where they put the schema: in `json_schema.schema`, `schema` or `value`.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "fields without effect are read so that they are known")]
pub(in crate::serve) struct ResponseFormat {
    #[serde(rename = "type")]
    kind: FormatKind,
    json_schema: Option<NamedSchema>,
    schema: Option<Map<String, Json>>,
    /// Another name of schema.
    value: Option<Map<String, Json>>,
    name: Option<WithoutEffect>,
    description: Option<WithoutEffect>,
    strict: Option<WithoutEffect>,
}

/// A schema, whose name and description the model is not shown.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "fields without effect are read so that they are known")]
struct NamedSchema {
    schema: Option<Map<String, Json>>,
    /// Another name of schema.
    value: Option<Map<String, Json>>,
    name: Option<WithoutEffect>,
    description: Option<WithoutEffect>,
    strict: Option<WithoutEffect>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum FormatKind {
    Text,
    JsonObject,
    JsonSchema,
}

impl ResponseFormat {
    /// The schema that the reply's text must fit, as JSON text. What has no meaning for the type is listed as ignored.
    pub(in crate::serve) fn into_schema(
        self,
        place: &str,
        fields: &mut RequestFields,
    ) -> Result<Option<String>, HttpError> {
        let has_own = self.schema.is_some() || self.value.is_some();
        if self.kind == FormatKind::Text && has_own {
            fields.ignore(format!("{place}.schema"));
        }
        if self.kind != FormatKind::JsonSchema && self.json_schema.is_some() {
            fields.ignore(format!("{place}.json_schema"));
        }
        let own = self.schema.or(self.value).map(|schema| Json::Object(schema).to_string());
        match self.kind {
            FormatKind::Text => Ok(None),
            FormatKind::JsonObject => Ok(Some(own.unwrap_or_else(|| ANY_OBJECT.to_owned()))),
            FormatKind::JsonSchema => {
                let named = self.json_schema.and_then(|named| named.schema.or(named.value));
                let schema = named.map(|schema| Json::Object(schema).to_string()).or(own);
                let required = || HttpError::value(place, format!("{place}.schema is required with this type"));
                schema.map(Some).ok_or_else(required)
            }
        }
    }
}
