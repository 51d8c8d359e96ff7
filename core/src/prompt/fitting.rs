//! Changes a history that a template refuses, step by step: neighbours of one role become one message, then empty messages
//! fill the places where the template expects the other role, and then a space fills empty messages.

use crate::error::{ErrorKind, SdkError};
use crate::function::SdkFunctionCall;
use crate::message::{ChatMessage, ChatMessageContent, Role};

/// How far a history is changed to fit a template. A template gets the first fit that it renders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// As it is.
    Unchanged,
    /// Consecutive messages of one role are one message. A cancelled or failed reply leaves a question without an answer.
    Joined(Calls),
    /// Joined, and the user and the assistant take turns: an empty question comes before a reply that begins the history, and
    /// an empty reply between calls or their results and the next question.
    Alternating(Calls),
    /// Alternating, and empty messages are a space.
    Spaced(Calls),
}

/// Whether calls are joined with the text of other replies. Templates that print calls without the text beside them would lose
/// the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Calls {
    Apart,
    Joined,
}

impl Fit {
    pub(super) const ALL: [Self; 7] = [
        Self::Unchanged,
        Self::Joined(Calls::Apart),
        Self::Alternating(Calls::Apart),
        Self::Spaced(Calls::Apart),
        Self::Joined(Calls::Joined),
        Self::Alternating(Calls::Joined),
        Self::Spaced(Calls::Joined),
    ];

    /// The changed messages; `None` if nothing is to be changed.
    pub(super) fn apply(self, messages: &[ChatMessage]) -> Option<Vec<ChatMessage>> {
        match self {
            Self::Unchanged => None,
            Self::Joined(calls) => joined(messages, calls),
            Self::Alternating(calls) => alternating(joined(messages, calls).as_deref().unwrap_or(messages)),
            Self::Spaced(calls) => spaced(Self::Alternating(calls).apply(messages).as_deref().unwrap_or(messages)),
        }
    }
}

fn joined(messages: &[ChatMessage], calls: Calls) -> Option<Vec<ChatMessage>> {
    let mut joined: Vec<ChatMessage> = Vec::with_capacity(messages.len());
    let is_apart = |a: &ChatMessage, b: &ChatMessage| {
        calls == Calls::Apart && a.function_calls.is_some() != b.function_calls.is_some()
    };
    for message in messages {
        match joined.last_mut() {
            Some(last)
                if last.role == message.role
                    && message.role != Role::Tool
                    && last.name == message.name
                    && !is_apart(last, message) =>
            {
                join(last, message);
            }
            _ => joined.push(message.clone()),
        }
    }
    (joined.len() < messages.len()).then_some(joined)
}

/// Adds everything that `next` has to a message of the same role.
pub(super) fn join(message: &mut ChatMessage, next: &ChatMessage) {
    add_part(&mut message.content, next.content.clone());
    message.functions.extend(next.functions.iter().cloned());
    if let Some(calls) = &next.function_calls {
        message.function_calls.get_or_insert_default().extend(calls.iter().cloned());
    }
    message.reasoning_content = match (message.reasoning_content.take(), &next.reasoning_content) {
        (Some(first), Some(second)) => Some(format!("{first}\n\n{second}")),
        (first, second) => first.or_else(|| second.clone()),
    };
}

/// Adds content after an empty line.
pub(super) fn add_part(content: &mut Vec<ChatMessageContent>, part: Vec<ChatMessageContent>) {
    let is_empty = |part: &ChatMessageContent| matches!(part, ChatMessageContent::Text(text) if text.is_empty());
    let part: Vec<ChatMessageContent> = part.into_iter().filter(|part| !is_empty(part)).collect();
    content.retain(|part| !is_empty(part));
    if !content.is_empty() && !part.is_empty() {
        content.push(ChatMessageContent::Text("\n\n".to_owned()));
    }
    content.extend(part);
}

fn alternating(messages: &[ChatMessage]) -> Option<Vec<ChatMessage>> {
    let mut alternating: Vec<ChatMessage> = Vec::with_capacity(messages.len() + 1);
    for message in messages {
        let last = alternating.last();
        let begins = last.is_none_or(|last| last.role == Role::System);
        let is_unanswered = last.is_some_and(|last| last.role == Role::Tool || last.function_calls.is_some());
        match message.role {
            Role::Assistant if begins => alternating.push(ChatMessage::user("")),
            Role::User if is_unanswered => alternating.push(ChatMessage::assistant("")),
            _ => {}
        }
        alternating.push(message.clone());
    }
    (messages.len() < alternating.len()).then_some(alternating)
}

/// The messages, with a space in place of no content.
fn spaced(messages: &[ChatMessage]) -> Option<Vec<ChatMessage>> {
    let is_empty = |message: &ChatMessage| {
        let has_content =
            |part: &ChatMessageContent| !matches!(part, ChatMessageContent::Text(text) if text.is_empty());
        let may_be_empty = matches!(message.role, Role::System | Role::Tool) || message.function_calls.is_some();
        !may_be_empty && !message.content.iter().any(has_content)
    };
    let space = || vec![ChatMessageContent::Text(" ".to_owned())];
    messages.iter().any(is_empty).then(|| {
        let filled = |message: &ChatMessage| match is_empty(message) {
            true => ChatMessage { content: space(), ..message.clone() },
            false => message.clone(),
        };
        messages.iter().map(filled).collect()
    })
}

/// The messages, with at most one call in each: further calls follow in messages of their own, each followed by its result.
/// The results must be in the order of the calls. `None` if no message has several calls.
pub(super) fn one_call_each(messages: &[ChatMessage]) -> Option<Vec<ChatMessage>> {
    let has_several = |message: &ChatMessage| message.function_calls.as_ref().is_some_and(|calls| 1 < calls.len());
    if !messages.iter().any(has_several) {
        return None;
    }
    let mut single = Vec::with_capacity(messages.len());
    let mut rest = messages;
    while let Some((message, after)) = rest.split_first() {
        rest = after;
        let Some(calls) = message.function_calls.as_deref().filter(|_| has_several(message)) else {
            single.push(message.clone());
            continue;
        };
        for (i, call) in calls.iter().enumerate() {
            let first = if i == 0 { message.clone() } else { ChatMessage::assistant("") };
            single.push(ChatMessage { function_calls: Some(vec![call.clone()]), ..first });
            if let Some((result, after)) = rest.split_first().filter(|(next, _)| answers(next, call, calls)) {
                single.push(result.clone());
                rest = after;
            }
        }
    }
    Some(single)
}

/// The messages, with the text of replies before their calls in messages of its own. `None` if no calls have text beside them.
pub(super) fn calls_alone(messages: &[ChatMessage]) -> Option<Vec<ChatMessage>> {
    let has_text = |message: &ChatMessage| message.function_calls.is_some() && !message.text().is_empty();
    messages.iter().any(has_text).then(|| {
        let separated = messages.iter().flat_map(|message| match has_text(message) {
            true => {
                let text = ChatMessage { function_calls: None, ..message.clone() };
                let calls = message.function_calls.clone();
                vec![text, ChatMessage { function_calls: calls, ..ChatMessage::assistant("") }]
            }
            false => vec![message.clone()],
        });
        separated.collect()
    })
}

/// Whether a message is the result of this call: it names the call, or none of the calls.
fn answers(message: &ChatMessage, call: &SdkFunctionCall, calls: &[SdkFunctionCall]) -> bool {
    let names = |call: &SdkFunctionCall| message.tool_call_id.as_deref() == Some(call.call_id.as_str());
    message.role == Role::Tool && (names(call) || !calls.iter().any(names))
}

/// An error that names the message that the template refuses: one with which the first messages cannot be rendered any more.
/// Templates may refuse messages without a question for this alone. A message that only holds functions is not counted: no one
/// wrote it. `renders` returns `None` if the search is to end without a result.
pub(super) fn refused(
    refusal: SdkError,
    messages: &[ChatMessage],
    renders: impl Fn(&[ChatMessage]) -> Option<bool>,
) -> SdkError {
    let Some(message_at) = first_refused(messages, renders) else { return refusal };
    let Some(message) = messages.get(message_at) else { return refusal };
    let role = message.role.as_str();
    let is_written = |message: &&ChatMessage| !message.content.is_empty() || message.functions.is_empty();
    let at = messages[..message_at].iter().filter(is_written).count();
    let place = format!("messages[{at}], of role {role}, cannot be shown to the model");
    SdkError::new(ErrorKind::InvalidMessage, place).caused_by(refusal)
}

/// The index of the message that [`refused`] names.
fn first_refused(messages: &[ChatMessage], renders: impl Fn(&[ChatMessage]) -> Option<bool>) -> Option<usize> {
    let question = messages.iter().position(|message| message.role == Role::User).map(|at| at + 1);
    let mut accepted = match question.filter(|&n| n < messages.len()) {
        Some(n) if renders(&messages[..n])? => n,
        _ => 0,
    };
    let mut end = messages.len();
    while accepted + 1 < end {
        let middle = accepted.midpoint(end);
        if renders(&messages[..middle])? {
            accepted = middle;
        } else {
            end = middle;
        }
    }
    Some(accepted)
}
