//! Types of fields: each says what it accepts, to the reader of requests and to the OpenAPI document.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value as Json};

use crate::serve::request::reader::must_be;

const MAX_STOPS: usize = 16;
const MAX_STOP: usize = 1024;
/// The largest integer for counts of tokens.
pub(in crate::serve) const MAX_TOKENS: i64 = i32::MAX as i64;

/// An integer from `MIN` to `MAX`. It may be written as a float without a fraction, as clients do that have no integers.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "Json")]
pub(in crate::serve) struct Integer<const MIN: i64, const MAX: i64>(i64);

impl<const MIN: i64, const MAX: i64> Integer<MIN, MAX> {
    /// The value as a count; 0 for negative ones.
    pub(in crate::serve) fn count(self) -> usize {
        usize::try_from(self.0).unwrap_or(0)
    }
}

impl<const MIN: i64, const MAX: i64> TryFrom<Json> for Integer<MIN, MAX> {
    type Error = String;

    fn try_from(value: Json) -> Result<Self, String> {
        let integer = whole_number(&value).filter(|integer| (MIN..=MAX).contains(integer));
        integer.map(Self).ok_or_else(|| must_be(&format!("an integer from {MIN} to {MAX}"), &value))
    }
}

/// The integer that a number is, also as `5.0`. Larger floats than 2⁵³ may have been another integer when they were written.
pub(in crate::serve) fn whole_number(value: &Json) -> Option<i64> {
    const MAX_EXACT: f64 = (1_i64 << 53) as f64; // exact
    let float = || value.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= MAX_EXACT);
    value.as_i64().or_else(|| float().map(|float| float as i64)) // has no fraction and is in range
}

/// The largest number of tokens of a reply; -1 asks for no limit.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "Json")]
pub(in crate::serve) struct TokenLimit(pub(in crate::serve) Option<usize>);

impl TryFrom<Json> for TokenLimit {
    type Error = String;

    fn try_from(value: Json) -> Result<Self, String> {
        match whole_number(&value) {
            Some(-1) => Ok(Self(None)),
            Some(limit @ 1..=MAX_TOKENS) => Ok(Self(usize::try_from(limit).ok())),
            _ => Err(must_be(&format!("an integer from 1 to {MAX_TOKENS}, or -1 for no limit"), &value)),
        }
    }
}

/// A seed: a signed integer of 64 bits, of which the engine takes the bits; -1 asks for a random one.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "Json")]
pub(in crate::serve) struct Seed(pub(in crate::serve) Option<u64>);

impl TryFrom<Json> for Seed {
    type Error = String;

    fn try_from(value: Json) -> Result<Self, String> {
        match whole_number(&value) {
            Some(-1) => Ok(Self(None)),
            Some(seed) => Ok(Self(Some(seed.cast_unsigned()))),
            None => Err(must_be("an integer of 64 bits, or -1 for a random seed", &value)),
        }
    }
}

/// Stop sequences: one, or an array of them. Empty strings ask for none.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Json")]
pub(in crate::serve) struct StopSequences(pub(in crate::serve) Vec<String>);

impl TryFrom<Json> for StopSequences {
    type Error = String;

    fn try_from(value: Json) -> Result<Self, String> {
        let stop = |value: &Json| {
            let text = value.as_str().filter(|text| text.len() <= MAX_STOP);
            text.map(str::to_owned)
        };
        let stops: Option<Vec<String>> = match &value {
            Json::Array(stops) if stops.len() <= MAX_STOPS => stops.iter().map(stop).collect(),
            value => stop(value).map(|stop| vec![stop]),
        };
        let expected = format!("a string of at most {MAX_STOP} bytes, or an array of at most {MAX_STOPS} of them");
        let mut stops = stops.ok_or_else(|| must_be(&expected, &value))?;
        stops.retain(|stop| !stop.is_empty());
        Ok(Self(stops))
    }
}

/// Numbers that are added to the logits of tokens, which are named by id.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "Map<String, Json>")]
pub(in crate::serve) struct LogitBias(pub(in crate::serve) BTreeMap<u32, f32>);

impl TryFrom<Map<String, Json>> for LogitBias {
    type Error = String;

    fn try_from(biases: Map<String, Json>) -> Result<Self, String> {
        let read = |(id, bias): (String, Json)| match (id.parse(), bias.as_f64()) {
            (Ok(id), Some(bias)) => Ok((id, bias as f32)), // as precise as the option
            _ => Err(must_be("an object of token ids and numbers", &Json::Object(Map::from_iter([(id, bias)])))),
        };
        biases.into_iter().map(read).collect::<Result<_, _>>().map(Self)
    }
}

/// An object whose unknown names are passed over instead of listed in `x-ignored-fields`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(in crate::serve) struct Lenient<T>(pub(in crate::serve) T);

/// A field that is accepted and changes nothing.
#[derive(Debug)]
pub(in crate::serve) struct WithoutEffect;

impl<'de> Deserialize<'de> for WithoutEffect {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// Gives a type its schema in the OpenAPI document.
macro_rules! described {
    ([$($generics:tt)*] $type:ty, $schema:expr) => {
        impl<$($generics)*> JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

described!([const MIN: i64, const MAX: i64] Integer<MIN, MAX>, json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX }));
described!([] TokenLimit, json_schema!({ "type": "integer", "minimum": -1, "maximum": MAX_TOKENS, "not": { "const": 0 } }));
described!([] Seed, json_schema!({ "type": "integer", "minimum": i64::MIN, "maximum": i64::MAX }));
// JSON Schema counts characters: as many of four bytes each are within the limit.
described!([] StopSequences, json_schema!({ "anyOf": [
    { "type": "string", "maxLength": MAX_STOP / 4 },
    { "type": "array", "items": { "type": "string", "maxLength": MAX_STOP / 4 }, "maxItems": MAX_STOPS },
] }));
described!([] LogitBias, json_schema!({
    "type": "object",
    "propertyNames": { "pattern": "^[0-9]+$" },
    "additionalProperties": { "type": "number", "minimum": -100, "maximum": 100 },
}));
described!([] WithoutEffect, json_schema!({ "description": "Without effect." }));

pub(super) use described;
