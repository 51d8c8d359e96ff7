//! Writes calls.

use crate::function::{Arguments, SdkFunctionCall, Value};
use crate::notation::definition::BlockSpelling;
use crate::notation::gemma::tokens::STRING_TOKENS;
use crate::notation::gemma::words::is_word;
use crate::notation::written::Written;

/// Calls between markers, with the control token of the same family around strings. Keys are sorted, as the templates of the
/// models sort them. `None` if a name cannot be written.
pub(super) fn render(calls: &[SdkFunctionCall], spelling: &BlockSpelling<'_>) -> Option<Vec<Written>> {
    let (start, end) = (spelling.start, spelling.end);
    let string_token = STRING_TOKENS[usize::from(start.starts_with("<|"))];
    let mut writer = GemmaWriter { string_token, parts: Vec::new() };
    for call in calls {
        let is_plain = !call.name.is_empty() && !call.name.contains(|c: char| c == '{' || c.is_whitespace());
        if !is_plain {
            return None;
        }
        writer.parts.push(Written::Marker(start));
        writer.text(&format!("call:{}", call.name));
        writer.object(&call.arguments);
        writer.parts.push(Written::Marker(end));
    }
    Some(writer.parts)
}

struct GemmaWriter {
    string_token: &'static str,
    parts: Vec<Written>,
}

impl GemmaWriter {
    fn text(&mut self, more: &str) {
        match self.parts.last_mut() {
            Some(Written::Text(text)) => text.push_str(more),
            _ => self.parts.push(Written::Text(more.to_owned())),
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.string(text),
            Value::Array(items) => {
                self.text("[");
                for (i, item) in items.iter().enumerate() {
                    self.text(if i == 0 { "" } else { "," });
                    self.value(item);
                }
                self.text("]");
            }
            Value::Object(entries) => self.object(entries),
            other => self.text(&other.to_string()),
        }
    }

    fn object(&mut self, entries: &Arguments) {
        let mut sorted: Vec<_> = entries.iter().collect();
        sorted.sort_by_key(|(key, _)| key.to_lowercase());
        self.text("{");
        for (i, (key, value)) in sorted.into_iter().enumerate() {
            self.text(if i == 0 { "" } else { "," });
            if is_word(key) {
                self.text(key)
            } else {
                self.string(key)
            }
            self.text(":");
            self.value(value);
        }
        self.text("}");
    }

    fn string(&mut self, text: &str) {
        self.parts.push(Written::Marker(self.string_token));
        self.text(text);
        self.parts.push(Written::Marker(self.string_token));
    }
}
