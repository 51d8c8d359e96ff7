//! The fields of a request, which structs take out of it; what no struct takes is known to be ignored.
//!
//! Each struct derives `Deserialize` and names the fields it reads, so several can share one request: those that all
//! dialects have, and fields of one dialect. Errors say which field is wrong, what it must be and what was found.

use std::cell::RefCell;

use hyper::StatusCode;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use crate::serve::error::HttpError;
use crate::serve::request::found_images::{RequestImage, RequestImages};
use crate::serve::request::json::parse_object;
use crate::serve::request::reader::{FieldError, FieldPlace, FieldsReader, ValueReader};

/// The fields that no struct has taken yet. Null is the same as absent.
pub(in crate::serve) struct RequestFields {
    left: Map<String, Json>,
    /// The names of the fields that are null.
    nulls: Vec<String>,
    /// The images in fields, once they were found.
    pub(in crate::serve) images: RequestImages,
    /// Places within fields that are ignored.
    ignored: RefCell<Vec<String>>,
}

impl RequestFields {
    pub(in crate::serve) fn parse(body: &[u8]) -> Result<Self, HttpError> {
        Ok(Self::new(parse_object(body)?))
    }

    pub(in crate::serve) fn new(mut fields: Map<String, Json>) -> Self {
        let nulls = fields.iter().filter(|(_, value)| value.is_null()).map(|(name, _)| name.clone()).collect();
        fields.retain(|_, value| !value.is_null());
        Self { left: fields, nulls, images: RequestImages::default(), ignored: RefCell::default() }
    }

    /// Takes the fields that a struct names.
    pub(in crate::serve) fn read<T: DeserializeOwned>(&mut self) -> Result<T, HttpError> {
        let reader = FieldsReader { left: &mut self.left, ignored: &self.ignored };
        T::deserialize(reader).map_err(FieldError::into_http)
    }

    /// The value of a field that will be read later.
    pub(in crate::serve) fn peek(&self, name: &str) -> Option<&Json> {
        self.left.get(name)
    }

    /// Whether a field is there and null, where that means something.
    pub(in crate::serve) fn is_null(&self, name: &str) -> bool {
        self.nulls.iter().any(|null| null == name)
    }

    /// Takes a field as it is.
    pub(in crate::serve) fn take(&mut self, name: &str) -> Option<Json> {
        self.left.remove(name)
    }

    /// Gives a field another value.
    pub(in crate::serve) fn replace(&mut self, name: &str, value: Json) {
        self.left.insert(name.to_owned(), value);
    }

    /// The part with an image.
    pub(in crate::serve) fn part_mut(&mut self, image: &RequestImage) -> Option<&mut Json> {
        self.left.get_mut(image.field)?.pointer_mut(&image.pointer)
    }

    /// Takes a field that this server cannot honour; an error unless its value asks for nothing.
    pub(in crate::serve) fn refuse(
        &mut self,
        name: &str,
        asks_for_nothing: impl Fn(&Json) -> bool,
    ) -> Result<(), HttpError> {
        match self.left.remove(name) {
            Some(value) if !asks_for_nothing(&value) => Err(cannot_honour(name)),
            _ => Ok(()),
        }
    }

    /// Lists a place as ignored.
    pub(in crate::serve) fn ignore(&self, place: impl Into<String>) {
        self.ignored.borrow_mut().push(place.into());
    }

    /// The names that nothing has read. A strict server refuses them.
    pub(in crate::serve) fn into_ignored(self, is_strict: bool) -> Result<Vec<String>, HttpError> {
        let ignored: Vec<String> =
            self.left.into_iter().map(|(name, _)| name).chain(self.ignored.into_inner()).collect();
        match ignored.first() {
            Some(name) if is_strict => {
                let message = format!("{name} must be left out: this server does not know it, or would ignore it");
                let error = HttpError::new(StatusCode::BAD_REQUEST, "unknown_field", message);
                Err(error.at_exactly(name))
            }
            _ => Ok(ignored),
        }
    }
}

/// Reads a value at a place of a request. Fields of it that no struct names are passed over.
pub(in crate::serve) fn read_value<T: DeserializeOwned>(place: &str, value: Json) -> Result<T, HttpError> {
    let reader = ValueReader { value, place: FieldPlace::Named(place), ignored: None };
    T::deserialize(reader).map_err(|err| err.at(&FieldPlace::Named(place)).into_http())
}

pub(in crate::serve) fn cannot_honour(place: &str) -> HttpError {
    HttpError::unsupported(place, format!("this server does not support {place} with this value"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::dialect::Dialect;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    struct Shared {
        a: Option<u8>,
    }

    #[derive(Debug, Deserialize)]
    struct Own {
        b: Vec<Nested>,
        c: Option<Mode>,
    }

    #[derive(Debug, Deserialize)]
    struct Nested {
        text: String,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Mode {
        Auto,
        None,
    }

    #[test]
    fn structs_share_a_request_and_the_rest_is_ignored() {
        let mut fields =
            RequestFields::parse(br#"{"a": null, "b": [{"text": "x", "y": 1, "z": null}], "c": "auto", "d": 2}"#)
                .unwrap();
        let (shared, own): (Shared, Own) = (fields.read().unwrap(), fields.read().unwrap());
        assert_eq!((shared.a, own.b[0].text.as_str(), own.c), (None, "x", Some(Mode::Auto)));
        assert_eq!(fields.into_ignored(false).unwrap(), ["d", "b[0].y"]);
    }

    #[test]
    fn an_error_names_the_place_and_what_was_found() {
        for (body, expect) in [
            (r#"{}"#, "b is required"),
            (r#"{"b": null}"#, "b is required"),
            (r#"{"b": 3}"#, "b must be an array, found 3"),
            (r#"{"b": [{"text": "x"}, {}]}"#, "b[1].text is required"),
            (r#"{"b": [{"text": [1, 2]}]}"#, "b[0].text must be a string, found an array"),
            (r#"{"b": ["x"]}"#, "b[0] must be an object, found \"x\""),
            (r#"{"b": [["x"]]}"#, "b[0] must be an object, found [\"x\"]"),
            (r#"{"b": [], "c": "sometimes"}"#, "c must be auto or none, found \"sometimes\""),
            (r#"{"b": [], "c": 1.5}"#, "c must be auto or none, found 1.5"),
        ] {
            let error = RequestFields::parse(body.as_bytes()).unwrap().read::<Own>().unwrap_err();
            let json = error.json(Dialect::Chat, None);
            assert_eq!(json["error"]["message"], expect);
            assert_eq!(json["error"]["param"], expect[..1]);
        }
        let error = read_value::<Nested>("x[2]", Json::from(true)).unwrap_err().json(Dialect::Chat, None);
        assert_eq!(
            (&error["error"]["message"], &error["error"]["param"]),
            (&"x[2] must be an object, found true".into(), &"x".into())
        );
    }
}
