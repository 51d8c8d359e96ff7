//! What decisions are about.

use std::fmt::Write;

use crate::function::Value;
use crate::message::{ChatMessage, ChatMessageContent, Role};

/// What questions are about: text, JSON, messages, images, or nothing.
///
/// JSON is written over several lines with an indent of two spaces. Messages of users alone are their contents; of other messages, each
/// begins with its author, and system messages at the beginning become the system message of the prompt.
///
/// ```
/// use causerie::{ChatMessage, DecisionState, read_json};
///
/// let text = DecisionState::from("The kettle boils.");
/// let json = read_json(r#"{"kettle": "boils"}"#).map(DecisionState::from);
/// let thread = DecisionState::from(vec![ChatMessage::user("Tea?"), ChatMessage::assistant("Gladly!")]);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DecisionState {
    pub(super) system: Option<String>,
    pub(super) content: Vec<ChatMessageContent>,
    /// The JSON that the content is the text of.
    json: Option<Value>,
}

impl DecisionState {
    /// Adds an image, before the question.
    ///
    /// ```
    /// let state = causerie::DecisionState::from("The front door at noon:").with_image(b"GIF89a".to_vec());
    /// ```
    #[must_use]
    pub fn with_image(mut self, file: impl Into<Vec<u8>>) -> Self {
        self.content.push(ChatMessageContent::Image(file.into()));
        self
    }

    /// The text of all, with a system message at the beginning.
    pub(super) fn text(&self) -> String {
        let content = text_of(&self.content);
        match (&self.system, content.as_str()) {
            (None, _) => content,
            (Some(system), "") => system.clone(),
            (Some(system), content) => format!("{system}\n\n{content}"),
        }
    }

    /// As [`text`](Self::text), with JSON on one line.
    pub(super) fn one_line(&self) -> String {
        self.json.as_ref().map_or_else(|| self.text(), ToString::to_string)
    }
}

impl From<&str> for DecisionState {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl From<String> for DecisionState {
    fn from(text: String) -> Self {
        let content = if text.is_empty() { Vec::new() } else { vec![ChatMessageContent::Text(text)] };
        Self { content, ..Self::default() }
    }
}

/// A string is text, and null is nothing.
impl From<Value> for DecisionState {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::default(),
            Value::String(text) => Self::from(text),
            value => Self { json: Some(value.clone()), ..Self::from(indented(&value)) },
        }
    }
}

impl From<Vec<ChatMessage>> for DecisionState {
    fn from(messages: Vec<ChatMessage>) -> Self {
        Self::from(messages.as_slice())
    }
}

impl From<&[ChatMessage]> for DecisionState {
    fn from(messages: &[ChatMessage]) -> Self {
        let n_system = messages.iter().take_while(|message| message.role == Role::System).count();
        let (system, messages) = messages.split_at(n_system);
        let system: Vec<String> = system.iter().map(ChatMessage::text).filter(|text| !text.is_empty()).collect();
        let is_of_user = |message: &ChatMessage| message.role == Role::User;
        let names_authors = !messages.iter().all(is_of_user);
        let mut content = Vec::new();
        for message in messages {
            if !content.is_empty() {
                push_text(&mut content, "\n\n");
            }
            if names_authors {
                push_text(&mut content, &heading(message));
            }
            message.content.iter().for_each(|part| push(&mut content, part));
            let is_empty =
                message.content.iter().all(|part| matches!(part, ChatMessageContent::Text(text) if text.is_empty()));
            for (at, call) in message.function_calls.iter().flatten().enumerate() {
                let separator = if at == 0 && is_empty { "" } else { "\n" };
                let arguments = Value::Object(call.arguments.clone());
                push_text(&mut content, &format!("{separator}{}({arguments})", call.name));
            }
        }
        let system = (!system.is_empty()).then(|| system.join("\n\n"));
        Self { system, content, json: None }
    }
}

/// The text of a content.
pub(super) fn text_of(content: &[ChatMessageContent]) -> String {
    ChatMessage { content: content.to_vec(), ..ChatMessage::user("") }.text()
}

/// How a message of a thread begins.
fn heading(message: &ChatMessage) -> String {
    let author = match message.role {
        Role::System => "System",
        Role::User => "User",
        Role::Assistant => "Assistant",
        Role::Tool => "Tool",
    };
    match &message.name {
        Some(name) => format!("{author} ({name}): "),
        None => format!("{author}: "),
    }
}

/// Adds a part; text joins the text before it.
pub(super) fn push(content: &mut Vec<ChatMessageContent>, part: &ChatMessageContent) {
    match (content.last_mut(), part) {
        (Some(ChatMessageContent::Text(before)), ChatMessageContent::Text(text)) => before.push_str(text),
        _ => content.push(part.clone()),
    }
}

pub(super) fn push_text(content: &mut Vec<ChatMessageContent>, text: &str) {
    push(content, &ChatMessageContent::Text(text.to_owned()));
}

/// JSON over several lines, as Python's `json.dumps` writes it with `indent=2` and `ensure_ascii=False`.
pub(super) fn indented(value: &Value) -> String {
    let mut text = String::new();
    write_indented(value, 0, &mut text);
    text
}

fn write_indented(value: &Value, depth: usize, text: &mut String) {
    let indent = |depth: usize| format!("\n{}", "  ".repeat(depth));
    match value {
        Value::Array(items) if !items.is_empty() => {
            for (at, item) in items.iter().enumerate() {
                text.push_str(if at == 0 { "[" } else { "," });
                text.push_str(&indent(depth + 1));
                write_indented(item, depth + 1, text);
            }
            text.push_str(&indent(depth));
            text.push(']');
        }
        Value::Object(entries) if !entries.is_empty() => {
            for (at, (name, entry)) in entries.iter().enumerate() {
                text.push_str(if at == 0 { "{" } else { "," });
                let _ = write!(text, "{}{}: ", indent(depth + 1), Value::from(name.as_str())); // into a string
                write_indented(entry, depth + 1, text);
            }
            text.push_str(&indent(depth));
            text.push('}');
        }
        value => {
            let _ = write!(text, "{value}"); // into a string
        }
    }
}
