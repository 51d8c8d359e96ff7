//! Merges consecutive user messages, for templates that require alternating turns.

use crate::message::{ChatMessage, ChatMessageContent, Role};

/// The messages, with consecutive user messages merged; `None` if there are none. A cancelled or failed reply leaves a user
/// message without an answer.
pub(super) fn joined(messages: &[ChatMessage]) -> Option<Vec<ChatMessage>> {
    let mut joined: Vec<ChatMessage> = Vec::with_capacity(messages.len());
    for message in messages {
        match joined.last_mut() {
            Some(last) if last.role == Role::User && message.role == Role::User && last.name == message.name => {
                last.content.push(ChatMessageContent::Text("\n\n".to_owned()));
                last.content.extend(message.content.iter().cloned());
            }
            _ => joined.push(message.clone()),
        }
    }
    (joined.len() < messages.len()).then_some(joined)
}
