//! Writes calls.

use crate::function::{SdkFunctionCall, Value};
use crate::notation::definition::BlockSpelling;
use crate::notation::mistral::tokens::ARGUMENTS;
use crate::notation::written::Written;

/// Calls in the form of newer models, if the vocabulary has the token before arguments, or else as a list of JSON objects.
pub(super) fn render(calls: &[SdkFunctionCall], spelling: &BlockSpelling<'_>) -> Option<Vec<Written>> {
    let start = spelling.start;
    let arguments = |call: &SdkFunctionCall| Value::Object(call.arguments.clone());
    if !(spelling.has_control)(ARGUMENTS) {
        let objects = calls.iter().map(|call| {
            let parts =
                [("name".to_owned(), Value::from(call.name.as_str())), ("arguments".to_owned(), arguments(call))];
            Value::Object(parts.into_iter().collect())
        });
        let list = Value::Array(objects.collect()).to_string();
        return Some(vec![Written::Marker(start), Written::Text(list)]);
    }
    let mut written = Vec::new();
    for call in calls {
        if call.name.is_empty() || call.name.contains(|c: char| "[{".contains(c) || c.is_whitespace()) {
            return None;
        }
        written.extend([
            Written::Marker(start),
            Written::Text(call.name.clone()),
            Written::Marker(ARGUMENTS),
            Written::Text(arguments(call).to_string()),
        ]);
    }
    Some(written)
}
