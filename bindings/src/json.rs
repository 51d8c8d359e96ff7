//! Maps of JSON values, which cross the border as JSON text.

use causerie::{Arguments, Value, read_json};

use crate::error::SdkError;

/// A map of names to JSON values. Whole numbers are exact at any size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JsonObject(pub Arguments);

uniffi::custom_type!(JsonObject, String, {
    try_lift: |text| match read_json(&text) {
        Some(Value::Object(entries)) => Ok(JsonObject(entries)),
        _ => Err(SdkError::Serialization { reason: "expected JSON text of an object".to_owned() }.into()),
    },
    lower: |object| object.into_text(),
});

impl JsonObject {
    pub(crate) fn into_text(self) -> String {
        Value::Object(self.0).to_string()
    }
}
