//! The fields of a request. Each is asked for by name; what nobody asked for is known to be ignored.

use std::cell::Cell;
use std::fmt;

use hyper::StatusCode;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json};

use crate::serve::fault::Fault;

/// Values of one body. Each takes memory that has nothing to do with how it is written: up to a hundred times as much.
const MOST_VALUES: usize = 1 << 18;

/// Fields that have not been asked for yet. Null is the same as absent.
pub(super) struct Fields {
    left: Map<String, Json>,
    /// What stands deeper and is ignored.
    ignored: Vec<String>,
}

impl Fields {
    /// Reads a body: one JSON object, nested at most 128 deep, of a bounded number of values, no name twice.
    pub(super) fn read(body: &[u8]) -> Result<Self, Fault> {
        let n_values = Cell::new(0);
        let mut json = serde_json::Deserializer::from_slice(body);
        let read = Strict { n_values: &n_values }.deserialize(&mut json).and_then(|read| json.end().map(|()| read));
        let invalid = |message: String| Err(Fault::new(StatusCode::BAD_REQUEST, "invalid_json", message));
        match read {
            Ok(Json::Object(fields)) => Ok(Self::of(fields)),
            Ok(_) => invalid("the body is no JSON object".to_owned()),
            Err(_) if MOST_VALUES < n_values.get() => {
                let message = format!("the body has more than {MOST_VALUES} values");
                Err(Fault::new(StatusCode::BAD_REQUEST, "too_many_values", message))
            }
            Err(err) => invalid(format!("the body is no JSON: {err}")),
        }
    }

    /// The fields of an object.
    pub(super) fn of(fields: Map<String, Json>) -> Self {
        Self { left: fields, ignored: Vec::new() }
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Json> {
        #[cfg(test)]
        asked::note(name, Json::Object(Map::new()));
        self.left.remove(name).filter(|value| !value.is_null())
    }

    /// Sets a field; null, or none, leaves it absent.
    pub(super) fn put(&mut self, name: &str, value: impl Into<Json>) {
        self.left.insert(name.to_owned(), value.into());
    }

    /// A field that will be asked for later.
    pub(super) fn peek(&self, name: &str) -> Option<&Json> {
        self.left.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn require(&mut self, name: &str) -> Result<Json, Fault> {
        self.take(name).ok_or_else(|| Fault::value(name, format!("{name} is required")))
    }

    pub(super) fn number(&mut self, name: &str) -> Result<Option<f32>, Fault> {
        let read = |value: Json| match value.as_f64() {
            // As precise as the option; what is too large becomes infinite, which is out of every range.
            Some(number) => Ok(number as f32),
            None => Err(expected(name, "a number", &value)),
        };
        let number = self.take(name).map(read).transpose();
        #[cfg(test)]
        asked::note(name, serde_json::json!({ "type": "number" }));
        number
    }

    pub(super) fn integer(&mut self, name: &str, least: i64, most: i64) -> Result<Option<i64>, Fault> {
        let read = |value: Json| match value.as_i64().filter(|number| (least..=most).contains(number)) {
            Some(number) => Ok(number),
            None => Err(expected(name, &format!("a whole number from {least} to {most}"), &value)),
        };
        let number = self.take(name).map(read).transpose();
        #[cfg(test)]
        asked::note(name, serde_json::json!({ "type": "integer", "minimum": least, "maximum": most }));
        number
    }

    pub(super) fn flag(&mut self, name: &str) -> Result<Option<bool>, Fault> {
        let flag = self.take(name);
        #[cfg(test)]
        asked::note(name, serde_json::json!({ "type": "boolean" }));
        flag.map(|value| value.as_bool().ok_or_else(|| expected(name, "true or false", &value))).transpose()
    }

    /// The fields of an object that is a field itself; empty where there is none.
    pub(super) fn object(&mut self, name: &str) -> Result<Self, Fault> {
        match self.take(name) {
            None => Ok(Self::of(Map::new())),
            Some(Json::Object(fields)) => Ok(Self::of(fields)),
            Some(value) => Err(expected(name, "an object", &value)),
        }
    }

    /// Refuses a field that this server cannot honour, unless its value asks for nothing.
    pub(super) fn refuse(&mut self, name: &str, asks_for_nothing: fn(&Json) -> bool) -> Result<(), Fault> {
        match self.left.remove(name) {
            Some(value) if !value.is_null() && !asks_for_nothing(&value) => {
                Err(Fault::unsupported(name, format!("this server does not support {name} with this value")))
            }
            _ => Ok(()),
        }
    }

    /// Passes a field without effect whose value asks for nothing. With another one it is left over.
    pub(super) fn pass(&mut self, name: &str, asks_for_nothing: fn(&Json) -> bool) {
        if let Some(value) = self.take(name).filter(|value| !asks_for_nothing(value)) {
            self.put(name, value);
        }
    }

    /// Something within a field that is ignored, by its place.
    pub(super) fn ignore(&mut self, place: String) {
        self.ignored.push(place);
    }

    /// What nobody has asked for of a field that is an object.
    pub(super) fn ignore_rest(&mut self, name: &str, inner: Self) {
        self.ignored.extend(inner.rest().into_iter().map(|inner| format!("{name}.{inner}")));
    }

    /// Names that nobody has asked for.
    pub(super) fn rest(self) -> Vec<String> {
        let left = self.left.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name);
        left.chain(self.ignored).collect()
    }
}

/// A fault that quotes the value, if it is short.
pub(super) fn expected(name: &str, what: &str, value: &Json) -> Fault {
    let quoted = match (value.to_string(), value) {
        (written, _) if written.len() <= 40 => written,
        (_, Json::String(text)) => format!("a text of {} bytes", text.len()),
        (_, Json::Array(items)) => format!("an array of {}", items.len()),
        (_, Json::Object(fields)) => format!("an object of {} fields", fields.len()),
        (written, _) => written,
    };
    Fault::value(name, format!("{name} is {quoted}, expected {what}"))
}

/// Reads JSON whose objects have no name twice, and counts its values.
#[derive(Clone, Copy)]
struct Strict<'a> {
    n_values: &'a Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        self.n_values.update(|n| n + 1);
        if MOST_VALUES < self.n_values.get() {
            return Err(D::Error::custom("too many values"));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
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

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            array.push(item);
        }
        Ok(Json::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut object = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            if object.insert(name, entries.next_value_seed(self)?).is_some() {
                return Err(A::Error::custom("a name stands twice in an object"));
            }
        }
        Ok(Json::Object(object))
    }
}

/// Which fields the code asks for, and with which limits: for the test of the document that describes them.
#[cfg(test)]
pub(super) mod asked {
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    use serde_json::Value as Json;

    thread_local! {
        static ASKED: RefCell<Option<BTreeMap<String, Json>>> = const { RefCell::new(None) };
    }

    pub(in crate::serve) fn begin() {
        ASKED.set(Some(BTreeMap::new()));
    }

    pub(in crate::serve) fn end() -> BTreeMap<String, Json> {
        ASKED.take().unwrap_or_default()
    }

    pub(super) fn note(name: &str, limits: Json) {
        ASKED.with_borrow_mut(|asked| asked.as_mut().map(|asked| asked.insert(name.to_owned(), limits)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_one_object_without_doubt() {
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
            let fault = Fields::read(body).err().unwrap();
            assert_eq!((fault.status, fault.code()), (StatusCode::BAD_REQUEST, "invalid_json"));
        }
        assert!(Fields::read(br#"{"a": 18446744073709551617}"#).is_ok(), "a large number is a number");
    }

    #[test]
    fn values_are_counted_whatever_they_are() {
        for (item, n_values) in [("0,", 1), ("[],", 1), (r#"{"":0},"#, 2)] {
            let read = |n_items: usize| Fields::read(format!(r#"{{"x": [{}0]}}"#, item.repeat(n_items)).as_bytes());
            // Beside the items there are the object, the array and its last zero.
            let most = (MOST_VALUES - 3) / n_values;
            assert!(read(most).is_ok(), "{item}");
            assert_eq!(read(most + 1).err().unwrap().code(), "too_many_values", "{item}");
        }
    }

    #[test]
    fn null_is_absent_and_names_are_asked_for_once() {
        let mut fields = Fields::read(br#"{"a": null, "b": 1, "c": 2}"#).unwrap();
        assert_eq!((fields.take("a"), fields.take("b")), (None, Some(Json::from(1))));
        assert_eq!(fields.rest(), ["c"]);
    }
}
