//! Errors on their way to JavaScript.

use causerie::{ErrorKind, SdkError};
use causerie_plain::error_word;

/// An error whose reason is JSON: the codes of napi's own errors are a fixed set, and `index.js` makes `SdkError` of this.
pub(crate) fn failed(err: SdkError) -> napi::Error {
    let reason = err.to_string();
    match err.kind() {
        ErrorKind::InvalidOption(_) => failed_with(error_word(err.kind()), &with_own_names(&reason)),
        kind => failed_with(error_word(kind), &reason),
    }
}

pub(crate) fn failed_with(code: &str, message: &str) -> napi::Error {
    napi::Error::from_reason(serde_json::json!({ "code": code, "message": message }).to_string())
}

/// The reason why options are refused, with options as they are spelled in JavaScript: `max_tokens must be 1 or more` as
/// `maxTokens must be 1 or more`. Other words, such as names of functions, stay as they are.
fn with_own_names(reason: &str) -> String {
    const BEFORE_NAMES: [&str; 2] = ["there is no option ", "did you mean "];
    let mut text = camel_case(reason);
    for words in BEFORE_NAMES {
        if let Some((before, name)) = text.split_once(words) {
            text = format!("{before}{words}{}", camel_case(name));
        }
    }
    text
}

/// A text with the name at its beginning in camel case.
pub(crate) fn camel_case(text: &str) -> String {
    let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len());
    let mut words = text[..end].split('_');
    let first = words.next().unwrap_or_default().to_owned();
    let name = words.fold(first, |name, word| {
        let mut letters = word.chars();
        let upper = letters.next().map(|letter| letter.to_ascii_uppercase());
        name + &upper.into_iter().chain(letters).collect::<String>()
    });
    name + &text[end..]
}
