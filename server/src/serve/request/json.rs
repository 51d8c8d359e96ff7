//! Reads a request's body as one JSON object, within limits.

use std::cell::Cell;
use std::fmt;

use hyper::StatusCode;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json};

use crate::serve::error::HttpError;

/// Limit on the values of one body. A value may take a hundred times the memory of its text.
const MAX_VALUES: usize = 1 << 18;

/// Reads a body: one JSON object, nested at most 128 deep, of a bounded number of values, without repeated names.
pub(in crate::serve) fn parse_object(body: &[u8]) -> Result<Map<String, Json>, HttpError> {
    let n_values = Cell::new(0);
    let mut json = serde_json::Deserializer::from_slice(body);
    let parsed =
        StrictJson { n_values: &n_values }.deserialize(&mut json).and_then(|parsed| json.end().map(|()| parsed));
    let invalid = |message: String| Err(HttpError::new(StatusCode::BAD_REQUEST, "invalid_json", message));
    match parsed {
        Ok(Json::Object(fields)) => Ok(fields),
        Ok(_) => invalid("the body must be a JSON object".to_owned()),
        Err(_) if MAX_VALUES < n_values.get() => {
            let message = format!("the body must have at most {MAX_VALUES} values");
            Err(HttpError::new(StatusCode::BAD_REQUEST, "too_many_values", message))
        }
        Err(err) => invalid(format!("the body must be valid JSON: {err}")),
    }
}

/// Reads a value, refuses objects with repeated names, and counts values.
#[derive(Clone, Copy)]
struct StrictJson<'a> {
    n_values: &'a Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for StrictJson<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        self.n_values.update(|n| n + 1);
        if MAX_VALUES < self.n_values.get() {
            return Err(D::Error::custom("too many values"));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictJson<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Json, A::Error> {
        let mut array = Vec::new();
        while let Some(element) = elements.next_element_seed(self)? {
            array.push(element);
        }
        Ok(Json::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut object = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            if object.insert(name, entries.next_value_seed(self)?).is_some() {
                return Err(A::Error::custom("a name is repeated in an object"));
            }
        }
        Ok(Json::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_one_unambiguous_object() {
        let deep = format!(r#"{{"a": {}1{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        let utf16: Vec<u8> = r#"{"a": 1}"#.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for body in [
            b"".as_slice(),
            b"[]",
            b"3",
            b"{",
            br#"{"a": 1} x"#,
            br#"{"a": 1, "a": 2}"#,
            br#"{"a": {"b": 1, "b": 1}}"#,
            br#"{"a": 1e400}"#,
            br#"{"a": NaN}"#,
            br#"{"a": "\ud800"}"#,
            b"{\"a\": \"\xff\"}",
            deep.as_bytes(),
            &utf16,
        ] {
            let error = parse_object(body).unwrap_err();
            assert_eq!((error.status, error.code()), (StatusCode::BAD_REQUEST, "invalid_json"));
        }
        assert!(parse_object(br#"{"a": 18446744073709551617}"#).is_ok(), "a large number is a number");
    }

    #[test]
    fn values_of_every_kind_are_counted() {
        for (element, n_values) in [("0,", 1), ("[],", 1), (r#"{"":0},"#, 2)] {
            let parse = |n: usize| parse_object(format!(r#"{{"x": [{}0]}}"#, element.repeat(n)).as_bytes());
            // The object, the array and its last zero count as well.
            let most = (MAX_VALUES - 3) / n_values;
            assert!(parse(most).is_ok(), "{element}");
            assert_eq!(parse(most + 1).unwrap_err().code(), "too_many_values", "{element}");
        }
    }
}
