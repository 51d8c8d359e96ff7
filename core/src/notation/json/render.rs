//! Writes calls.

use crate::function::{Arguments, SdkFunctionCall, Value};

/// A call as an object, with its arguments under this key.
pub(crate) fn object(call: &SdkFunctionCall, arguments: &str) -> String {
    let parts = [
        ("name".to_owned(), Value::String(call.name.clone())),
        (arguments.to_owned(), Value::Object(call.arguments.clone())),
    ];
    Value::Object(Arguments::from_iter(parts)).to_string()
}

/// The same for several calls.
pub(crate) fn objects(calls: &[SdkFunctionCall], arguments: &str, separator: &str) -> String {
    calls.iter().map(|call| object(call, arguments)).collect::<Vec<_>>().join(separator)
}
