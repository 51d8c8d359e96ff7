//! A serde deserializer over JSON values that knows where each value stands, so that errors name the field, and that
//! notes the names no struct has a field for.

use std::cell::RefCell;
use std::fmt;
use std::vec;

use serde::de::value::StringDeserializer;
use serde::de::{
    self, DeserializeSeed, Deserializer, Error, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value as Json};

use crate::serve::error::HttpError;

/// The name of the wrapper type within which names that no struct has are passed over.
pub(super) const LENIENT: &str = "Lenient";
/// The longest JSON text that an error quotes.
const MAX_QUOTE: usize = 40;

/// Where a value stands in its request: `messages[2].content`.
#[derive(Clone, Copy)]
pub(super) enum FieldPlace<'a> {
    Body,
    Named(&'a str),
    Field(&'a FieldPlace<'a>, &'a str),
    Element(&'a FieldPlace<'a>, usize),
}

impl fmt::Display for FieldPlace<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Body => Ok(()),
            Self::Named(place) => out.write_str(place),
            Self::Field(Self::Body, name) => out.write_str(name),
            Self::Field(object, name) => write!(out, "{object}.{name}"),
            Self::Element(array, i) => write!(out, "{array}[{i}]"),
        }
    }
}

/// What is wrong with a field.
#[derive(Debug)]
pub(super) struct FieldError {
    place: Option<String>,
    /// The field that is missing at the place.
    missing: Option<&'static str>,
    rule: String,
}

impl FieldError {
    fn rule(rule: String) -> Self {
        Self { place: None, missing: None, rule }
    }

    /// Names the place, unless the error names one already.
    pub(super) fn at(mut self, place: &FieldPlace<'_>) -> Self {
        if self.place.is_none() {
            self.place = Some(match self.missing {
                Some(name) => FieldPlace::Field(place, name).to_string(),
                None => place.to_string(),
            });
        }
        self
    }

    pub(super) fn into_http(self) -> HttpError {
        let error = self.at(&FieldPlace::Body);
        HttpError::value(error.place.as_deref().unwrap_or_default(), error.to_string())
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.place.as_deref().unwrap_or_default(), self.rule)
    }
}

impl std::error::Error for FieldError {}

impl Error for FieldError {
    fn custom<T: fmt::Display>(rule: T) -> Self {
        Self::rule(rule.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        // serde's words for the types of Rust, in the words of JSON.
        let expected = match expected.to_string() {
            expected if expected.starts_with("struct ") => "an object".to_owned(),
            expected => match expected.as_str() {
                "a map" => "an object".to_owned(),
                "a sequence" => "an array".to_owned(),
                "f32" | "f64" => "a number".to_owned(),
                _ => expected,
            },
        };
        let found = match found {
            Unexpected::Str(text) => describe(&Json::from(text)),
            Unexpected::Unit => "null".to_owned(),
            Unexpected::Bool(value) => value.to_string(),
            Unexpected::Unsigned(value) => value.to_string(),
            Unexpected::Signed(value) => value.to_string(),
            Unexpected::Float(value) => describe(&Json::from(value)),
            Unexpected::Seq => "an array".to_owned(),
            Unexpected::Map => "an object".to_owned(),
            other => other.to_string(),
        };
        Self::rule(format!("must be {expected}, found {found}"))
    }

    fn unknown_variant(found: &str, expected: &'static [&'static str]) -> Self {
        Self::rule(format!("must be {}, found {}", one_of(expected), describe(&Json::from(found))))
    }

    fn missing_field(name: &'static str) -> Self {
        Self { missing: Some(name), ..Self::rule("is required".to_owned()) }
    }
}

fn one_of(names: &[&str]) -> String {
    match names {
        [names @ .., last] if !names.is_empty() => format!("{} or {last}", names.join(", ")),
        names => names.concat(),
    }
}

/// The rule for an error about a value: what it must be, and what was found.
pub(in crate::serve) fn must_be(expected: &str, found: &Json) -> String {
    format!("must be {expected}, found {}", describe(found))
}

/// A value as an error quotes it: whole if it is short.
fn describe(value: &Json) -> String {
    match (value.to_string(), value) {
        (written, _) if written.len() <= MAX_QUOTE => written,
        (_, Json::String(text)) => format!("a string of {} bytes", text.len()),
        (_, Json::Array(elements)) => format!("an array of {} elements", elements.len()),
        (_, Json::Object(fields)) => format!("an object of {} fields", fields.len()),
        (written, _) => written,
    }
}

/// Takes the fields that one struct names out of a request.
pub(super) struct FieldsReader<'a> {
    pub(super) left: &'a mut Map<String, Json>,
    pub(super) ignored: &'a RefCell<Vec<String>>,
}

impl<'de> Deserializer<'de> for FieldsReader<'_> {
    type Error = FieldError;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        let take = |name: &&str| Some(((*name).to_owned(), self.left.remove(*name)?));
        let taken: Vec<_> = fields.iter().filter_map(take).collect();
        visitor.visit_map(ObjectReader::new(taken, FieldPlace::Body, Some(self.ignored)))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, FieldError> {
        Err(FieldError::custom("must be read by a struct that names its fields"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct
        seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// Reads one value.
pub(super) struct ValueReader<'a> {
    pub(super) value: Json,
    pub(super) place: FieldPlace<'a>,
    /// Collects the names that no struct has; `None` passes over them.
    pub(super) ignored: Option<&'a RefCell<Vec<String>>>,
}

impl<'de> Deserializer<'de> for ValueReader<'_> {
    type Error = FieldError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.value {
            Json::Null => visitor.visit_unit(),
            Json::Bool(value) => visitor.visit_bool(value),
            Json::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(value), ..) => visitor.visit_u64(value),
                (None, Some(value), _) => visitor.visit_i64(value),
                (None, None, value) => visitor.visit_f64(value.unwrap_or(f64::NAN)),
            },
            Json::String(text) => visitor.visit_string(text),
            Json::Array(elements) => {
                let elements = elements.into_iter().enumerate();
                visitor.visit_seq(ArrayReader { elements, place: self.place, ignored: self.ignored })
            }
            Json::Object(fields) => {
                visitor.visit_map(ObjectReader::new(fields.into_iter().collect(), self.place, self.ignored))
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        if self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        visitor.visit_newtype_struct(Self { ignored: self.ignored.filter(|_| name != LENIENT), ..self })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        // serde's derived visitors would accept an array for a struct.
        let Json::Object(object) = self.value else {
            return Err(FieldError::rule(must_be("an object", &self.value)));
        };
        let given = object.into_iter().filter(|(_, value)| !value.is_null());
        let (known, unknown): (Vec<_>, Vec<_>) = given.partition(|(name, _)| fields.contains(&name.as_str()));
        let value = visitor.visit_map(ObjectReader::new(known, self.place, self.ignored))?;
        if let Some(ignored) = self.ignored {
            let places = unknown.iter().map(|(name, _)| FieldPlace::Field(&self.place, name).to_string());
            ignored.borrow_mut().extend(places);
        }
        Ok(value)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        match self.value {
            Json::String(name) => visitor.visit_enum(name.into_deserializer()),
            value => Err(FieldError::rule(must_be(&one_of(variants), &value))),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct
        map identifier ignored_any
    }
}

struct ArrayReader<'a> {
    elements: std::iter::Enumerate<vec::IntoIter<Json>>,
    place: FieldPlace<'a>,
    ignored: Option<&'a RefCell<Vec<String>>>,
}

impl<'de> SeqAccess<'de> for ArrayReader<'_> {
    type Error = FieldError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, FieldError> {
        let Some((i, value)) = self.elements.next() else { return Ok(None) };
        let place = FieldPlace::Element(&self.place, i);
        seed.deserialize(ValueReader { value, place, ignored: self.ignored }).map(Some).map_err(|err| err.at(&place))
    }
}

struct ObjectReader<'a> {
    fields: vec::IntoIter<(String, Json)>,
    /// The field whose name has been read.
    next: Option<(String, Json)>,
    place: FieldPlace<'a>,
    ignored: Option<&'a RefCell<Vec<String>>>,
}

impl<'a> ObjectReader<'a> {
    fn new(fields: Vec<(String, Json)>, place: FieldPlace<'a>, ignored: Option<&'a RefCell<Vec<String>>>) -> Self {
        Self { fields: fields.into_iter(), next: None, place, ignored }
    }
}

impl<'de> MapAccess<'de> for ObjectReader<'_> {
    type Error = FieldError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, FieldError> {
        self.next = self.fields.next();
        let Some((name, _)) = &self.next else { return Ok(None) };
        let name: StringDeserializer<FieldError> = name.clone().into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, FieldError> {
        let (name, value) = self.next.take().ok_or_else(|| de::Error::custom("must have a value for each name"))?;
        let place = FieldPlace::Field(&self.place, &name);
        seed.deserialize(ValueReader { value, place, ignored: self.ignored }).map_err(|err| err.at(&place))
    }
}
