//! JSON objects, which are passed as JSON text.

use causerie::{Arguments, Value, read_json};

use crate::error::SdkError;

/// A JSON object. Integers are exact at any size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JsonObject(pub Arguments);

uniffi::custom_type!(JsonObject, String, {
    try_lift: |text| match read_json(&text) {
        Some(Value::Object(entries)) => Ok(JsonObject(entries)),
        _ => Err(SdkError::Serialization { reason: "the text must be a JSON object".to_owned() }.into()),
    },
    lower: |object| object.into_text(),
});

impl JsonObject {
    pub(crate) fn into_text(self) -> String {
        Value::Object(self.0).to_string()
    }
}
