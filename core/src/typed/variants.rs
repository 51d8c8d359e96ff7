//! Schemas and values of enums and tuples, in the forms in which serde writes them.

use crate::error::{Result, SdkError};
use crate::function::{Arguments, Value};
use crate::typed::definitions::Definitions;
use crate::typed::objects::described;
use crate::typed::parameter::{TypedParameter, invalid, must_be};

/// How the variants of an enum are told apart: serde's four forms.
///
/// ```
/// use causerie::typed::EnumForm;
/// let form = EnumForm::Internal { tag: "type" };
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnumForm {
    /// `"unit"` or `{"variant": content}`.
    External,
    /// `{"tag": "variant", …}`, with the members of the content.
    Internal {
        /// The name of the tag.
        tag: &'static str,
    },
    /// `{"tag": "variant", "content": content}`.
    Adjacent {
        /// The name of the tag.
        tag: &'static str,
        /// The name of the content.
        content: &'static str,
    },
    /// The content alone.
    Untagged,
}

/// The name, description and schema of a variant.
///
/// ```
/// use causerie::typed::VariantSchema;
/// let unit = VariantSchema { name: "celsius", description: "", content: None };
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct VariantSchema {
    /// The name that the model writes.
    pub name: &'static str,
    /// The description; may be empty.
    pub description: &'static str,
    /// The schema of the content; `None` for a variant without fields.
    pub content: Option<Value>,
}

/// The schema of an enum: an `enum` of strings if no variant has fields, else `anyOf`.
///
/// ```
/// use causerie::typed::{Definitions, EnumForm, VariantSchema, enum_schema};
///
/// let units = ["celsius", "kelvin"].map(|name| VariantSchema { name, description: "", content: None });
/// let schema = enum_schema(EnumForm::External, units.to_vec(), "The unit.", &Definitions::default());
/// assert_eq!(schema.to_string(), r#"{"type": "string", "description": "The unit.", "enum": ["celsius", "kelvin"]}"#);
/// ```
pub fn enum_schema(
    form: EnumForm,
    variants: Vec<VariantSchema>,
    description: &str,
    definitions: &Definitions,
) -> Value {
    let (units, others): (Vec<_>, Vec<_>) = variants.into_iter().partition(|variant| variant.content.is_none());
    let mut choices = Vec::new();
    if form == EnumForm::External && !units.is_empty() {
        let names = units.iter().map(|variant| variant.name.into()).collect();
        choices.push(object([("type", "string".into()), ("enum", Value::Array(names))]));
    } else {
        choices.extend(units.into_iter().map(|variant| choice(form, variant, definitions)));
    }
    choices.extend(others.into_iter().map(|variant| choice(form, variant, definitions)));
    let schema = if choices.len() == 1 { choices.remove(0) } else { object([("anyOf", Value::Array(choices))]) };
    described(schema, description)
}

fn object<const N: usize>(keywords: [(&str, Value); N]) -> Value {
    Value::Object(keywords.into_iter().map(|(keyword, value)| (keyword.to_owned(), value)).collect())
}

/// The schema of one variant.
fn choice(form: EnumForm, variant: VariantSchema, definitions: &Definitions) -> Value {
    let VariantSchema { name, description, content } = variant;
    let constant = |name: &str| object([("type", "string".into()), ("const", name.into())]);
    let schema = match (form, content) {
        (EnumForm::External, content) => closed([(name, content.unwrap_or_else(|| object([])))].into()),
        (EnumForm::Internal { tag }, content) => {
            let content = content.map(|content| definitions.target(&content).cloned().unwrap_or(content));
            with_tag(tag, constant(name), content)
        }
        (EnumForm::Adjacent { tag, content: inner }, content) => {
            let content = content.map(|content| (inner, content));
            closed([(tag, constant(name))].into_iter().chain(content).collect())
        }
        (EnumForm::Untagged, content) => content.unwrap_or_else(|| object([("type", "null".into())])),
    };
    described(schema, description)
}

/// An object with exactly these members.
fn closed(members: Vec<(&str, Value)>) -> Value {
    let required = members.iter().map(|(name, _)| (*name).into()).collect();
    let properties = members.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    object([
        ("type", "object".into()),
        ("properties", Value::Object(properties)),
        ("required", Value::Array(required)),
        ("additionalProperties", Value::Bool(false)),
    ])
}

/// The schema of an object with a tag before its own members.
fn with_tag(tag: &str, name: Value, content: Option<Value>) -> Value {
    let mut own = if let Some(Value::Object(keywords)) = content { keywords } else { Arguments::new() };
    let mut properties = Arguments::from([(tag.to_owned(), name)]);
    if let Some(Value::Object(members)) = own.shift_remove("properties") {
        properties.extend(members);
    }
    let mut required = vec![tag.into()];
    if let Some(Value::Array(names)) = own.shift_remove("required") {
        required.extend(names);
    }
    own.insert("type".to_owned(), "object".into());
    own.insert("properties".to_owned(), Value::Object(properties));
    own.insert("required".to_owned(), Value::Array(required));
    Value::Object(own)
}

/// The schema of an array whose elements have these schemas, one each.
///
/// ```
/// use causerie::typed::{named_type, tuple_schema};
/// let pair = tuple_schema(vec![named_type("u8").unwrap(), named_type("string").unwrap()]);
/// ```
pub fn tuple_schema(elements: Vec<Value>) -> Value {
    let size = Value::Integer(i64::try_from(elements.len()).unwrap_or(i64::MAX));
    object([
        ("type", "array".into()),
        ("prefixItems", Value::Array(elements)),
        ("minItems", size.clone()),
        ("maxItems", size),
    ])
}

/// The variant that a value is, and what it contains.
///
/// ```
/// use causerie::typed::{EnumForm, VariantContent};
/// let value = causerie::read_json(r#"{"circle": 2}"#).unwrap();
/// let variant = VariantContent::of(value, "shape", EnumForm::External)?;
/// assert_eq!((variant.name.as_str(), variant.place.as_str()), ("circle", "shape.circle"));
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct VariantContent {
    /// The name of the variant.
    pub name: String,
    /// The content; null if there is none.
    pub content: Value,
    /// The place of the content.
    pub place: String,
}

impl VariantContent {
    /// Reads the name of the variant.
    ///
    /// ```
    /// use causerie::typed::{EnumForm, VariantContent};
    /// assert!(VariantContent::of(causerie::Value::Null, "shape", EnumForm::External).is_err());
    /// ```
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a value without the name of a variant.
    pub fn of(value: Value, place: &str, form: EnumForm) -> Result<Self> {
        let inside = |name: &str| if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
        match (form, value) {
            (EnumForm::External, Value::String(name)) => {
                Ok(Self { name, content: Value::Null, place: place.to_owned() })
            }
            (EnumForm::External, Value::Object(mut members)) if members.len() == 1 => {
                let (name, content) = members.pop().unwrap_or_else(|| (String::new(), Value::Null));
                Ok(Self { place: inside(&name), name, content })
            }
            (EnumForm::Internal { tag }, Value::Object(mut members)) => {
                let name = tag_of(members.shift_remove(tag), &inside(tag))?;
                Ok(Self { name, content: Value::Object(members), place: place.to_owned() })
            }
            (EnumForm::Adjacent { tag, content }, Value::Object(mut members)) => {
                let name = tag_of(members.shift_remove(tag), &inside(tag))?;
                let place = inside(content);
                Ok(Self { name, content: members.shift_remove(content).unwrap_or(Value::Null), place })
            }
            (EnumForm::External, other) => Err(must_be(place, "a string or an object with one member", &other)),
            (_, other) => Err(must_be(place, "an object", &other)),
        }
    }
}

fn tag_of(value: Option<Value>, place: &str) -> Result<String> {
    match value {
        Some(Value::String(name)) => Ok(name),
        Some(other) => Err(must_be(place, "a string", &other)),
        None => Err(invalid(place, "is missing")),
    }
}

/// The error for a value that is none of an enum's variants.
///
/// ```
/// let err = causerie::typed::no_variant("shape", &["circle", "square"], "triangle");
/// assert_eq!(err.to_string(), r#"shape must be one of "circle", "square", found "triangle""#);
/// ```
pub fn no_variant(place: &str, names: &[&str], found: &str) -> SdkError {
    let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    invalid(place, &format!("must be one of {}, found {found:?}", names.join(", ")))
}

/// The elements of an array, to be taken one by one.
///
/// ```
/// use causerie::typed::Elements;
/// let mut elements = Elements::of(causerie::read_json(r#"[1, "a"]"#).unwrap(), "pair", 2)?;
/// assert_eq!((elements.take::<u8>()?, elements.take::<String>()?), (1, "a".to_owned()));
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Debug)]
pub struct Elements<'a> {
    rest: std::vec::IntoIter<Value>,
    place: &'a str,
    index: usize,
}

impl<'a> Elements<'a> {
    /// The elements of a value.
    ///
    /// ```
    /// assert!(causerie::typed::Elements::of("north".into(), "pair", 2).is_err());
    /// ```
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a value that is not an array of this size.
    pub fn of(value: Value, place: &'a str, size: usize) -> Result<Self> {
        match value {
            Value::Array(elements) if elements.len() == size => {
                Ok(Self { rest: elements.into_iter(), place, index: 0 })
            }
            Value::Array(elements) => {
                Err(invalid(place, &format!("must have {size} elements, found {}", elements.len())))
            }
            other => Err(must_be(place, "an array", &other)),
        }
    }

    /// Takes the next element.
    ///
    /// ```
    /// let mut elements = causerie::typed::Elements::of(causerie::read_json("[1]").unwrap(), "one", 1)?;
    /// assert!(elements.take::<String>().is_err());
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for an element that has another type.
    pub fn take<T: TypedParameter>(&mut self) -> Result<T> {
        let place = format!("{}[{}]", self.place, self.index);
        self.index += 1;
        T::from_value(self.rest.next().unwrap_or(Value::Null), &place)
    }
}
