//! Messages of a conversation.

use causerie as core;

use crate::error::Result;
use crate::function::{RejectedCall, SdkFunction, SdkFunctionCall};
use crate::json::JsonObject;

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum ChatMessageRole {
    /// Instructions for the conversation; the first message, or absent.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// The result of a function call.
    Tool,
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq, uniffi::Enum)]
pub enum ChatMessageContent {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A JPEG, PNG, WebP or GIF file.
    Image {
        /// The bytes of the file. None are a placeholder, which only shows in prompts.
        data: Vec<u8>,
    },
    /// A WAV file.
    Audio {
        /// The bytes of the file.
        data: Vec<u8>,
    },
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct ChatMessage {
    /// The author.
    pub role: ChatMessageRole,
    /// The parts, in order. Empty for a reply that holds only calls.
    pub content: Vec<ChatMessageContent>,
    /// The model's reasoning.
    #[uniffi(default)]
    pub reasoning_content: Option<String>,
    /// On an assistant message, the calls it made, in order.
    #[uniffi(default)]
    pub function_calls: Option<Vec<SdkFunctionCall>>,
    /// On an assistant message, call text that could not be delivered.
    #[uniffi(default)]
    pub rejected_calls: Vec<RejectedCall>,
    /// On the system message, the registered functions, so that a history carries its functions with it.
    #[uniffi(default)]
    pub functions: Vec<SdkFunction>,
    /// Whether a cancel cut the reply short.
    #[uniffi(default = false)]
    pub incomplete: bool,
    /// On a tool message, the call that it answers.
    #[uniffi(default)]
    pub tool_call_id: Option<String>,
    /// The name of the author, or of the function that was called.
    #[uniffi(default)]
    pub name: Option<String>,
    /// Unknown fields of an imported message, as the text of a JSON object. They are exported again.
    #[uniffi(default = "{}")]
    pub extra: String,
}

/// Writes a history as JSON text: an array of chat-completions messages.
#[uniffi::export]
pub fn messages_to_json(messages: Vec<ChatMessage>) -> String {
    core::messages_to_json(&into_core(messages))
}

/// Reads a history from JSON text: an array of chat-completions messages.
#[uniffi::export]
pub fn messages_from_json(text: String) -> Result<Vec<ChatMessage>> {
    Ok(core::messages_from_json(&text)?.into_iter().map(Into::into).collect())
}

pub(crate) fn into_core(messages: Vec<ChatMessage>) -> Vec<core::ChatMessage> {
    messages.into_iter().map(Into::into).collect()
}

impl From<ChatMessageContent> for core::ChatMessageContent {
    fn from(part: ChatMessageContent) -> Self {
        match part {
            ChatMessageContent::Text { text } => Self::Text(text),
            ChatMessageContent::Image { data } => Self::Image(data),
            ChatMessageContent::Audio { data } => Self::Audio(data),
        }
    }
}

impl From<ChatMessage> for core::ChatMessage {
    fn from(message: ChatMessage) -> Self {
        let role = match message.role {
            ChatMessageRole::System => core::Role::System,
            ChatMessageRole::User => core::Role::User,
            ChatMessageRole::Assistant => core::Role::Assistant,
            ChatMessageRole::Tool => core::Role::Tool,
        };
        let extra = match core::read_json(&message.extra) {
            Some(core::Value::Object(entries)) => entries,
            _ => core::Arguments::new(),
        };
        Self {
            content: message.content.into_iter().map(Into::into).collect(),
            reasoning_content: message.reasoning_content,
            function_calls: message.function_calls.map(|calls| calls.into_iter().map(Into::into).collect()),
            rejected_calls: message.rejected_calls.into_iter().filter_map(RejectedCall::into_core).collect(),
            functions: message.functions.into_iter().map(Into::into).collect(),
            incomplete: message.incomplete,
            tool_call_id: message.tool_call_id,
            name: message.name,
            extra,
            ..Self::new(role, "")
        }
    }
}

impl From<core::ChatMessage> for ChatMessage {
    fn from(message: core::ChatMessage) -> Self {
        let part = |part| match part {
            core::ChatMessageContent::Image(data) => ChatMessageContent::Image { data },
            core::ChatMessageContent::Audio(data) => ChatMessageContent::Audio { data },
            core::ChatMessageContent::Text(text) => ChatMessageContent::Text { text },
            _ => ChatMessageContent::Text { text: String::new() }, // the core has no other part
        };
        Self {
            role: match message.role {
                core::Role::System => ChatMessageRole::System,
                core::Role::User => ChatMessageRole::User,
                core::Role::Assistant => ChatMessageRole::Assistant,
                core::Role::Tool => ChatMessageRole::Tool,
            },
            content: message.content.into_iter().map(part).collect(),
            reasoning_content: message.reasoning_content,
            function_calls: message.function_calls.map(|calls| calls.into_iter().map(Into::into).collect()),
            rejected_calls: message.rejected_calls.into_iter().map(Into::into).collect(),
            functions: message.functions.into_iter().map(Into::into).collect(),
            incomplete: message.incomplete,
            tool_call_id: message.tool_call_id,
            name: message.name,
            extra: JsonObject(message.extra).into_text(),
        }
    }
}
