//! Prompts that end inside of the last message, a reply that the model continues.

use crate::error::{ErrorKind, Result, SdkError};
use crate::message::{ChatMessage, ChatMessageContent, Role};
use crate::tokenizer::{ControlTokens, Segment};

/// Marks the end of the text. Noncharacters have no meaning in text.
const END: &str = "\u{FDEF}\u{FDEE}\u{FDEF}";

/// The messages with a mark at the end of the last one. The space after the mark shows whether the template trims text.
///
/// # Errors
/// [`ErrorKind::InvalidMessage`] if the last message is not a reply that can be continued.
pub(super) fn marked(messages: &[ChatMessage]) -> Result<Vec<ChatMessage>> {
    let at = messages.len().saturating_sub(1);
    let refused = |found: &str| {
        let message = format!("messages[{at}] must be a reply of the assistant to be continued, found {found}");
        Err(SdkError::new(ErrorKind::InvalidMessage, message))
    };
    match messages.last() {
        None => return refused("no message"),
        Some(last) if last.role != Role::Assistant => return refused(&format!("the role {}", last.role.as_str())),
        Some(last) if last.function_calls.is_some() => return refused("a reply that ends with calls"),
        Some(_) => {}
    }
    let mut messages = messages.to_vec();
    messages[at].content.push(ChatMessageContent::Text(format!("{END} ")));
    Ok(messages)
}

/// The prompt up to the mark. If the template trims text, the space before the mark is removed, as in transformers.
///
/// # Errors
/// [`ErrorKind::InvalidMessage`] if the template does not print the last message.
pub(super) fn cut(mut segments: Vec<Segment>) -> Result<Vec<Segment>> {
    let place = segments.iter().enumerate().rev().find_map(|(i, segment)| match segment {
        Segment::Text(text) => Some((i, text.rfind(END)?)),
        _ => None,
    });
    let Some((i, end)) = place else {
        let message = "the last message cannot be continued, because the chat template does not print it";
        return Err(SdkError::new(ErrorKind::InvalidMessage, message));
    };
    segments.truncate(i + 1);
    if let Some(Segment::Text(text)) = segments.last_mut() {
        let is_trimmed = !text[end + END.len()..].starts_with(' ');
        text.truncate(end);
        if is_trimmed {
            text.truncate(text.trim_end().len());
        }
    }
    segments.retain(|segment| !matches!(segment, Segment::Text(text) if text.is_empty()));
    Ok(segments)
}

/// Closes reasoning that the end of a prompt opens, so that the answer follows at once.
pub(super) fn close_reasoning(mut segments: Vec<Segment>, control: &ControlTokens) -> Vec<Segment> {
    let end: String = segments.iter().rev().take(2).rev().map(Segment::text).collect();
    if !end.trim_end().ends_with("<think>") {
        return segments;
    }
    let n_lines = if end.ends_with('\n') { 1 } else { 2 };
    for segment in control.split(&format!("{}</think>\n\n", "\n".repeat(n_lines))) {
        match (segments.last_mut(), segment) {
            (Some(Segment::Text(before)), Segment::Text(text)) => before.push_str(&text),
            (_, segment) => segments.push(segment),
        }
    }
    segments
}

/// Whether a text has opened reasoning that it does not close.
pub(crate) fn is_in_reasoning(text: &str) -> bool {
    text.rfind("<think>").is_some_and(|open| !text[open..].contains("</think>"))
}
