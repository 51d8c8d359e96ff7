//! Errors on their way to JavaScript.

use causerie::SdkError;
use causerie_plain::error_word;

/// An error whose reason is JSON: the codes of napi's own errors are a fixed set, and `index.js` makes `SdkError` of this.
pub(crate) fn failed(err: SdkError) -> napi::Error {
    failed_with(error_word(err.kind()), &err.to_string())
}

pub(crate) fn failed_with(code: &str, message: &str) -> napi::Error {
    napi::Error::from_reason(serde_json::json!({ "code": code, "message": message }).to_string())
}
