//! Schemas of types with members, and their values.

use crate::error::Result;
use crate::function::{Arguments, Value};
use crate::typed::definitions::Definitions;
use crate::typed::parameter::{TypedParameter, invalid, must_be};

/// Writes the schema of an object.
///
/// ```
/// use causerie::typed::{Definitions, ObjectSchema};
///
/// let mut definitions = Definitions::default();
/// let place = ObjectSchema::new("A place.").member::<f64>("x", "East.", &mut definitions).build();
/// assert!(place.to_string().ends_with(r#""required": ["x"]}"#), "{place}");
/// ```
#[derive(Debug)]
pub struct ObjectSchema {
    description: String,
    properties: Arguments,
    required: Vec<Value>,
}

impl ObjectSchema {
    /// An object without members. An empty description counts as none.
    ///
    /// ```
    /// let nothing = causerie::typed::ObjectSchema::new("Nothing.").build();
    /// ```
    pub fn new(description: &str) -> Self {
        Self { description: description.to_owned(), properties: Arguments::new(), required: Vec::new() }
    }

    /// Adds a member. One that may be omitted must not be null. Without a description, it takes that of its type.
    ///
    /// ```
    /// # use causerie::typed::{Definitions, ObjectSchema};
    /// let schema = ObjectSchema::new("").member::<Option<u8>>("age", "In years.", &mut Definitions::default()).build();
    /// assert!(!schema.to_string().contains("required"));
    /// ```
    #[must_use]
    pub fn member<T: TypedParameter>(mut self, name: &str, description: &str, definitions: &mut Definitions) -> Self {
        let mut schema = T::schema(definitions);
        if T::IS_OPTIONAL {
            schema = without_null(schema);
        } else {
            self.required.push(name.into());
        }
        self.properties.insert(name.to_owned(), described(schema, description));
        self
    }

    /// The schema.
    ///
    /// ```
    /// let schema = causerie::typed::ObjectSchema::new("").build();
    /// assert_eq!(schema.to_string(), r#"{"type": "object", "properties": {}}"#);
    /// ```
    pub fn build(self) -> Value {
        let mut schema = Arguments::from([("type".to_owned(), "object".into())]);
        schema.insert("properties".to_owned(), Value::Object(self.properties));
        if !self.required.is_empty() {
            schema.insert("required".to_owned(), Value::Array(self.required));
        }
        described(Value::Object(schema), &self.description)
    }
}

/// A schema with a description after its type. An empty description counts as none.
pub(super) fn described(schema: Value, description: &str) -> Value {
    let Value::Object(mut keywords) = schema else { return schema };
    if !description.is_empty() {
        let at = usize::from(keywords.contains_key("type")).min(keywords.len());
        keywords.shift_remove("description");
        keywords.shift_insert(at, "description".to_owned(), description.into());
    }
    Value::Object(keywords)
}

/// The schema of an option without null.
fn without_null(schema: Value) -> Value {
    let is_null = |choice: &Value| choice.get("type").and_then(Value::as_str) == Some("null");
    match schema {
        Value::Object(mut keywords) if keywords.len() == 1 => match keywords.swap_remove("anyOf") {
            Some(Value::Array(mut choices)) if choices.len() == 2 && choices.last().is_some_and(is_null) => {
                choices.swap_remove(0)
            }
            Some(choices) => Value::Object(Arguments::from([("anyOf".to_owned(), choices)])),
            None => Value::Object(keywords),
        },
        schema => schema,
    }
}

/// The members of an object, to be taken one by one.
///
/// ```
/// use causerie::typed::Members;
/// let value = causerie::read_json(r#"{"x": 1.5, "y": 2}"#).unwrap();
/// let mut members = Members::of(value, "place")?;
/// assert_eq!((members.take::<f64>("x")?, members.take::<f64>("y")?), (1.5, 2.0));
/// assert_eq!(members.take::<f64>("z").unwrap_err().to_string(), "place.z is missing");
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Debug)]
pub struct Members<'a> {
    pub(super) entries: Arguments,
    place: &'a str,
}

impl<'a> Members<'a> {
    /// The members of a value.
    ///
    /// ```
    /// assert!(causerie::typed::Members::of("north".into(), "place").is_err());
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for a value that is not an object.
    pub fn of(value: Value, place: &'a str) -> Result<Self> {
        match value {
            Value::Object(entries) => Ok(Self { entries, place }),
            other => Err(must_be(place, "an object", &other)),
        }
    }

    /// Takes the member of this name.
    ///
    /// ```
    /// let value = causerie::read_json(r#"{"city": "Oslo"}"#).unwrap();
    /// let city: String = causerie::typed::Members::of(value, "")?.take("city")?;
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for a member that is missing or has another type.
    pub fn take<T: TypedParameter>(&mut self, name: &str) -> Result<T> {
        let place = if self.place.is_empty() { name.to_owned() } else { format!("{}.{name}", self.place) };
        match self.entries.shift_remove(name) {
            Some(value) => T::from_value(value, &place),
            None => T::absent().ok_or_else(|| invalid(&place, "is missing")),
        }
    }
}
