//! Questions that follow one another, for templates that want turns to alternate.

use crate::message::{ChatMessage, ChatMessageContent, Role};

/// The messages, with those of the user that follow one another as one; `None` where none do. A reply that was given up, or
/// failed, leaves a question without an answer before the next.
pub(crate) fn joined(messages: &[ChatMessage]) -> Option<Vec<ChatMessage>> {
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
