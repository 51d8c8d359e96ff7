//! Schemas that others refer to.

use std::any::type_name;

use crate::function::{Arguments, Value};

/// The schemas of types with members, of which a schema refers to some. A type may refer to itself.
///
/// ```
/// use causerie::typed::{Definitions, ObjectSchema};
///
/// struct Node;
/// let mut definitions = Definitions::default();
/// let node = definitions.define::<Node>("Node", |_| ObjectSchema::new("").build());
/// assert_eq!(node.to_string(), r##"{"$ref": "#/$defs/Node"}"##);
/// ```
#[derive(Debug, Default)]
pub struct Definitions {
    entries: Vec<Definition>,
}

#[derive(Debug)]
struct Definition {
    type_name: &'static str,
    name: String,
    /// `None` while it is written.
    schema: Option<Value>,
}

impl Definitions {
    /// A reference to the schema of a type. Writes the schema, unless it has been written or is being written.
    ///
    /// ```
    /// # use causerie::typed::{Definitions, ObjectSchema};
    /// # struct Node;
    /// let schema = Definitions::default().define::<Node>("Node", |_| ObjectSchema::new("A node.").build());
    /// ```
    pub fn define<T>(&mut self, name: &str, write: impl FnOnce(&mut Self) -> Value) -> Value {
        let type_name = type_name::<T>();
        let known = self.entries.iter().position(|entry| entry.type_name == type_name);
        let i = known.unwrap_or_else(|| {
            let mut name = name.to_owned();
            while self.entries.iter().any(|entry| entry.name == name) {
                name.push('_');
            }
            self.entries.push(Definition { type_name, name, schema: None });
            let i = self.entries.len() - 1;
            let schema = write(self);
            self.entries[i].schema = Some(schema);
            i
        });
        let reference = format!("#/$defs/{}", self.entries[i].name);
        Value::Object(Arguments::from([("$ref".to_owned(), reference.into())]))
    }

    /// The schema that another one refers to.
    pub(super) fn target(&self, schema: &Value) -> Option<&Value> {
        let name = schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
        self.entries.iter().find(|entry| entry.name == name)?.schema.as_ref()
    }

    /// Adds the definitions to a schema.
    pub(super) fn beside(self, mut keywords: Arguments) -> Arguments {
        let entries = self.entries.into_iter().map(|entry| (entry.name, entry.schema.unwrap_or(Value::Null)));
        let definitions: Arguments = entries.collect();
        if !definitions.is_empty() {
            keywords.insert("$defs".to_owned(), Value::Object(definitions));
        }
        keywords
    }
}
