//! Reads the fields of JSON objects. Each error names the place, what it must be and what was found.

use serde_json::{Map, Value as Json};

use crate::error::{ErrorKind, Result, SdkError};
use crate::function::Value;

/// A JSON object at a place, and the kind of error for fields that are not what they must be. A field that is null counts
/// as absent.
#[derive(Clone, Debug)]
pub(crate) struct JsonFields<'a> {
    entries: &'a Map<String, Json>,
    place: String,
    error_kind: ErrorKind,
}

impl<'a> JsonFields<'a> {
    /// The fields of `json`, which stands at `place`.
    ///
    /// # Errors
    /// An error of this kind for a value that is not an object.
    pub(crate) fn new(json: &'a Json, place: impl Into<String>, error_kind: ErrorKind) -> Result<Self> {
        let place = place.into();
        match json.as_object() {
            Some(entries) => Ok(Self { entries, place, error_kind }),
            None => Err(SdkError::new(error_kind, must_be(&place, "an object", json))),
        }
    }

    /// The fields of an object that is known to be one.
    pub(crate) fn from_entries(
        entries: &'a Map<String, Json>,
        place: impl Into<String>,
        error_kind: ErrorKind,
    ) -> Self {
        Self { entries, place: place.into(), error_kind }
    }

    /// All fields, null ones included.
    pub(crate) fn entries(&self) -> &'a Map<String, Json> {
        self.entries
    }

    /// A field; `None` if it is absent or null.
    pub(crate) fn get(&self, key: &str) -> Option<&'a Json> {
        self.entries.get(key).filter(|json| !json.is_null())
    }

    /// The place of a field.
    pub(crate) fn place_of(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place) }
    }

    /// An optional field that `read` converts; it returns `None` for a value that is not `expected`.
    ///
    /// # Errors
    /// An error if `read` returns `None`.
    pub(crate) fn value<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl Fn(&'a Json) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(json) = self.get(key) else { return Ok(None) };
        let wrong = || SdkError::new(self.error_kind, must_be(&self.place_of(key), expected, json));
        read(json).map(Some).ok_or_else(wrong)
    }

    /// An optional string.
    ///
    /// # Errors
    /// An error for a value of another type; the same holds for the other types below.
    pub(crate) fn string(&self, key: &str) -> Result<Option<&'a str>> {
        self.value(key, "a string", Json::as_str)
    }

    /// An optional array.
    pub(crate) fn array(&self, key: &str) -> Result<Option<&'a Vec<Json>>> {
        self.value(key, "an array", Json::as_array)
    }

    /// An optional object.
    pub(crate) fn object(&self, key: &str) -> Result<Option<Self>> {
        let fields = |json| Self::new(json, self.place_of(key), self.error_kind);
        self.get(key).map(fields).transpose()
    }

    /// An optional array whose elements `read` converts; it returns `None` for an element that is not `expected`.
    pub(crate) fn elements<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl Fn(&'a Json) -> Option<T>,
    ) -> Result<Option<Vec<T>>> {
        let Some(elements) = self.array(key)? else { return Ok(None) };
        let element = |(i, json): (usize, &'a Json)| {
            let place = || format!("{}[{i}]", self.place_of(key));
            read(json).ok_or_else(|| SdkError::new(self.error_kind, must_be(&place(), expected, json)))
        };
        elements.iter().enumerate().map(element).collect::<Result<_>>().map(Some)
    }

    /// A field that must not be absent.
    ///
    /// # Errors
    /// An error for `None`.
    pub(crate) fn required<T>(&self, key: &str, value: Option<T>) -> Result<T> {
        value.ok_or_else(|| SdkError::new(self.error_kind, format!("{} is missing", self.place_of(key))))
    }

    /// An error about the object: its place and what is wrong.
    pub(crate) fn error(&self, fault: &str) -> SdkError {
        SdkError::new(self.error_kind, format!("{} {fault}", self.place))
    }
}

/// Says what a place must be, and what was found there.
pub(crate) fn must_be(place: &str, expected: &str, found: &Json) -> String {
    format!("{place} must be {expected}, found {}", Value::from(found.clone()).described())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(json: &Json) -> JsonFields<'_> {
        JsonFields::new(json, "config", ErrorKind::Serialization).unwrap()
    }

    #[test]
    fn a_null_field_is_absent() {
        let json = json!({"name": null, "tags": null});
        assert_eq!(fields(&json).string("name").unwrap(), None);
        assert_eq!(fields(&json).elements("tags", "a string", Json::as_str).unwrap(), None);
        assert_eq!(fields(&json).entries().len(), 2);
    }

    #[test]
    fn an_error_names_place_expectation_and_finding() {
        let json = json!({"name": 3, "rope": {"type": []}, "tags": ["a", {}], "text": "x".repeat(50)});
        let fields = fields(&json);
        let message = |err: SdkError| err.message().to_owned();
        assert_eq!(message(fields.string("name").unwrap_err()), "config.name must be a string, found 3");
        let rope = fields.object("rope").unwrap().unwrap();
        assert_eq!(message(rope.string("type").unwrap_err()), "config.rope.type must be a string, found an array");
        let tags = fields.elements("tags", "a string", Json::as_str);
        assert_eq!(message(tags.unwrap_err()), "config.tags[1] must be a string, found an object");
        assert_eq!(message(fields.array("text").unwrap_err()), "config.text must be an array, found a string");
        let size = fields.required::<usize>("size", None);
        assert_eq!(message(size.unwrap_err()), "config.size is missing");
        assert_eq!(
            message(JsonFields::new(&json["name"], "x", ErrorKind::Generation).unwrap_err()),
            "x must be an object, found 3"
        );
        assert_eq!(message(fields.error("has no layers")), "config has no layers");
    }
}
