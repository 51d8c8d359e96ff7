//! JSON objects that the commands print.

use causerie::Value;

/// Returns an object with these entries.
pub(super) fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}
