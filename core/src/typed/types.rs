//! Rust's own types as parameters.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::error::Result;
use crate::function::Value;
use crate::schema::named_type;
use crate::typed::definitions::Definitions;
use crate::typed::objects::Members;
use crate::typed::parameter::{TypedParameter, invalid, must_be};
use crate::typed::variants::{Elements, tuple_schema};

impl<T: TypedParameter> TypedParameter for Option<T> {
    const IS_OPTIONAL: bool = true;

    fn schema(definitions: &mut Definitions) -> Value {
        let choices = vec![T::schema(definitions), named("null")];
        object([("anyOf", Value::Array(choices))])
    }

    fn from_value(value: Value, place: &str) -> Result<Self> {
        if value == Value::Null { Ok(None) } else { T::from_value(value, place).map(Some) }
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

fn named(name: &str) -> Value {
    named_type(name).unwrap_or(Value::Null)
}

fn object<const N: usize>(keywords: [(&str, Value); N]) -> Value {
    Value::Object(keywords.into_iter().map(|(keyword, value)| (keyword.to_owned(), value)).collect())
}

fn array(items: Value) -> Value {
    object([("type", "array".into()), ("items", items)])
}

/// The elements of an array, each read as a type.
fn elements<T: TypedParameter>(value: Value, place: &str) -> Result<Vec<T>> {
    match value {
        Value::Array(items) => {
            let items = items.into_iter().enumerate();
            items.map(|(index, item)| T::from_value(item, &format!("{place}[{index}]"))).collect()
        }
        other => Err(must_be(place, "an array", &other)),
    }
}

macro_rules! collections {
    ($($collection:ty where [$($bound:tt)*]),*) => {$(
        impl<T: TypedParameter $($bound)*> TypedParameter for $collection {
            fn schema(definitions: &mut Definitions) -> Value {
                array(T::schema(definitions))
            }

            fn from_value(value: Value, place: &str) -> Result<Self> {
                Ok(elements(value, place)?.into_iter().collect())
            }
        }
    )*};
}

collections!(Vec<T> where [], VecDeque<T> where [], BTreeSet<T> where [+ Ord], Box<[T]> where []);

impl<T: TypedParameter + Eq + Hash, S: BuildHasher + Default> TypedParameter for HashSet<T, S> {
    fn schema(definitions: &mut Definitions) -> Value {
        array(T::schema(definitions))
    }

    fn from_value(value: Value, place: &str) -> Result<Self> {
        Ok(elements(value, place)?.into_iter().collect())
    }
}

impl<T: TypedParameter, const N: usize> TypedParameter for [T; N] {
    fn schema(definitions: &mut Definitions) -> Value {
        let size = Value::Integer(i64::try_from(N).unwrap_or(i64::MAX));
        object([
            ("type", "array".into()),
            ("items", T::schema(definitions)),
            ("minItems", size.clone()),
            ("maxItems", size),
        ])
    }

    fn from_value(value: Value, place: &str) -> Result<Self> {
        let elements: Vec<T> = elements(value, place)?;
        let n_found = elements.len();
        elements.try_into().map_err(|_| invalid(place, &format!("must have {N} elements, found {n_found}")))
    }
}

macro_rules! tuples {
    ($(($($element:ident)+))*) => {$(
        impl<$($element: TypedParameter),+> TypedParameter for ($($element,)+) {
            fn schema(definitions: &mut Definitions) -> Value {
                tuple_schema(vec![$($element::schema(definitions)),+])
            }

            fn from_value(value: Value, place: &str) -> Result<Self> {
                let mut elements = Elements::of(value, place, [$(stringify!($element)),+].len())?;
                Ok(($(elements.take::<$element>()?,)+))
            }
        }
    )*};
}

tuples!((A)(A B)(A B C)(A B C D)(A B C D E)(A B C D E F)(A B C D E F G)(A B C D E F G H));

/// The schema of an object with any names, whose values have one type.
fn map<T: TypedParameter>(definitions: &mut Definitions) -> Value {
    object([("type", "object".into()), ("additionalProperties", T::schema(definitions))])
}

/// The members of an object, each read as a type.
fn entries<T: TypedParameter, M: FromIterator<(String, T)>>(value: Value, place: &str) -> Result<M> {
    let entries = Members::of(value, place)?.entries.into_iter();
    let read = |(name, value): (String, Value)| {
        let place = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
        Ok((name, T::from_value(value, &place)?))
    };
    entries.map(read).collect()
}

impl<T: TypedParameter> TypedParameter for BTreeMap<String, T> {
    fn schema(definitions: &mut Definitions) -> Value {
        map::<T>(definitions)
    }

    fn from_value(value: Value, place: &str) -> Result<Self> {
        entries(value, place)
    }
}

impl<T: TypedParameter, S: BuildHasher + Default> TypedParameter for HashMap<String, T, S> {
    fn schema(definitions: &mut Definitions) -> Value {
        map::<T>(definitions)
    }

    fn from_value(value: Value, place: &str) -> Result<Self> {
        entries(value, place)
    }
}

/// [`Value`] is any JSON, so [`Arguments`](crate::Arguments) is an object with any members.
impl<T: TypedParameter> TypedParameter for IndexMap<String, T> {
    fn schema(definitions: &mut Definitions) -> Value {
        map::<T>(definitions)
    }

    fn from_value(value: Value, place: &str) -> Result<Self> {
        entries(value, place)
    }
}

impl TypedParameter for Value {
    fn schema(_: &mut Definitions) -> Value {
        named("any")
    }

    fn from_value(value: Value, _: &str) -> Result<Self> {
        Ok(value)
    }
}

macro_rules! pointers {
    ($($pointer:ident)*) => {$(
        impl<T: TypedParameter> TypedParameter for $pointer<T> {
            const IS_OPTIONAL: bool = T::IS_OPTIONAL;

            fn schema(definitions: &mut Definitions) -> Value {
                T::schema(definitions)
            }

            fn from_value(value: Value, place: &str) -> Result<Self> {
                T::from_value(value, place).map(Self::new)
            }

            fn absent() -> Option<Self> {
                T::absent().map(Self::new)
            }
        }
    )*};
}

pointers!(Box Rc Arc);

impl<T: TypedParameter + Clone> TypedParameter for Cow<'_, T> {
    fn schema(definitions: &mut Definitions) -> Value {
        T::schema(definitions)
    }

    fn from_value(value: Value, place: &str) -> Result<Self> {
        T::from_value(value, place).map(Cow::Owned)
    }
}

impl TypedParameter for String {
    fn schema(_: &mut Definitions) -> Value {
        named("string")
    }

    fn from_value(value: Value, place: &str) -> Result<Self> {
        match value {
            Value::String(text) => Ok(text),
            other => Err(must_be(place, "a string", &other)),
        }
    }
}

impl TypedParameter for Cow<'_, str> {
    fn schema(definitions: &mut Definitions) -> Value {
        String::schema(definitions)
    }

    fn from_value(value: Value, place: &str) -> Result<Self> {
        String::from_value(value, place).map(Cow::Owned)
    }
}

impl TypedParameter for PathBuf {
    fn schema(definitions: &mut Definitions) -> Value {
        String::schema(definitions)
    }

    fn from_value(value: Value, place: &str) -> Result<Self> {
        String::from_value(value, place).map(Self::from)
    }
}

impl TypedParameter for char {
    fn schema(_: &mut Definitions) -> Value {
        named("char")
    }

    fn from_value(value: Value, place: &str) -> Result<Self> {
        let character = value.as_str().and_then(|text| text.parse().ok());
        character.ok_or_else(|| must_be(place, "a string of one character", &value))
    }
}

impl TypedParameter for bool {
    fn schema(_: &mut Definitions) -> Value {
        named("bool")
    }

    fn from_value(value: Value, place: &str) -> Result<Self> {
        match value {
            Value::Bool(flag) => Ok(flag),
            other => Err(must_be(place, "a boolean", &other)),
        }
    }
}

impl TypedParameter for () {
    fn schema(_: &mut Definitions) -> Value {
        named("null")
    }

    fn from_value(value: Value, place: &str) -> Result<Self> {
        if value == Value::Null { Ok(()) } else { Err(must_be(place, "null", &value)) }
    }
}

macro_rules! addresses {
    ($($address:ty = $schema:expr, $expected:literal;)*) => {$(
        impl TypedParameter for $address {
            fn schema(_: &mut Definitions) -> Value {
                $schema
            }

            fn from_value(value: Value, place: &str) -> Result<Self> {
                let address = value.as_str().and_then(|text| text.parse().ok());
                address.ok_or_else(|| must_be(place, $expected, &value))
            }
        }
    )*};
}

addresses! {
    Ipv4Addr = named("ipv4"), "an IPv4 address";
    Ipv6Addr = named("ipv6"), "an IPv6 address";
    IpAddr = object([("anyOf", Value::Array(vec![named("ipv4"), named("ipv6")]))]), "an IP address";
}

macro_rules! integers {
    ($($integer:ty)*) => {$(
        impl TypedParameter for $integer {
            fn schema(_: &mut Definitions) -> Value {
                named(stringify!($integer))
            }

            fn from_value(value: Value, place: &str) -> Result<Self> {
                let number = match &value {
                    Value::Integer(number) => Self::try_from(*number).ok(),
                    Value::BigInteger(number) => number.digits().parse().ok(),
                    _ => return Err(must_be(place, "an integer", &value)),
                };
                let expected = || format!("an integer from {} to {}", Self::MIN, Self::MAX);
                number.ok_or_else(|| must_be(place, &expected(), &value))
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);

macro_rules! positive_integers {
    ($($integer:ident = $primitive:ty;)*) => {$(
        impl TypedParameter for num::$integer {
            fn schema(definitions: &mut Definitions) -> Value {
                let Value::Object(mut keywords) = <$primitive>::schema(definitions) else { return Value::Null };
                keywords.insert("minimum".to_owned(), Value::Integer(1));
                Value::Object(keywords)
            }

            fn from_value(value: Value, place: &str) -> Result<Self> {
                let number = <$primitive>::from_value(value, place)?;
                Self::new(number).ok_or_else(|| invalid(place, "must not be 0"))
            }
        }
    )*};
}

positive_integers! {
    NonZeroU8 = u8;
    NonZeroU16 = u16;
    NonZeroU32 = u32;
    NonZeroU64 = u64;
    NonZeroUsize = usize;
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl TypedParameter for $number {
            fn schema(_: &mut Definitions) -> Value {
                named(stringify!($number))
            }

            fn from_value(value: Value, place: &str) -> Result<Self> {
                // Rounds to the nearest value of the type.
                let number = value.as_f64().map(|number| number as Self).filter(|number| number.is_finite());
                let expected = concat!("a number that fits ", stringify!($number));
                number.ok_or_else(|| must_be(place, expected, &value))
            }
        }
    )*};
}

numbers!(f32 f64);
