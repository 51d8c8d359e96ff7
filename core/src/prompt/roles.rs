//! Messages in the form that a template takes: templates differ in where system messages may be, and in how they take the
//! results of functions.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::function::{Arguments, SdkFunctionCall};
use crate::message::{ChatMessage, ChatMessageContent, Role};
use crate::prompt::fitting::{add_part, join};

/// The form in which a template takes system messages and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RoleForms {
    /// Whether the template prints a system message at the beginning. Otherwise its text comes before the first question.
    pub(super) first_system: bool,
    /// Whether it also prints one that no question follows. Otherwise its text is the question.
    pub(super) lone_system: bool,
    /// Whether the template prints other system messages beside the first one. Otherwise those that follow the first one become
    /// part of it, and the text of later ones comes before the next question.
    pub(super) later_system: bool,
    pub(super) results: ResultForm,
}

/// How the results of functions are passed to a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ResultForm {
    /// As messages of the role `tool`.
    Message(ToolMessageForm),
    /// In messages of the user, because the template does not print the role `tool`.
    Question,
}

/// The form of messages of the role `tool`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ToolMessageForm {
    /// Whether they have the name of the called function.
    pub(super) named: bool,
    /// Whether a JSON object is passed as a map, because the template prints maps in a notation of its own.
    pub(super) mapped: bool,
}

const PROBE: &str = "probe_text";
const FIRST_PROBE: &str = "probe_first";
/// The id of calls in probes.
pub(super) const CALL_ID: &str = "probe_id";

impl RoleForms {
    /// The form that most templates take.
    pub(super) const USUAL: Self = Self {
        first_system: true,
        lone_system: true,
        later_system: true,
        results: ResultForm::Message(ToolMessageForm { named: false, mapped: false }),
    };

    /// Probes a template. `render` renders a prompt under the assumption of some forms.
    pub(super) fn find(render: impl Fn(Self, &[ChatMessage]) -> Option<String>) -> Self {
        let shows = |forms: Self, messages: &[ChatMessage]| {
            render(forms, messages).is_some_and(|prompt| prompt.contains(PROBE))
        };
        let assumed = Self::USUAL;
        let first_system = shows(assumed, &[ChatMessage::system(PROBE), ChatMessage::user("a")]);
        let lone_system = first_system && shows(assumed, &[ChatMessage::system(PROBE)]);
        // Some templates print the last system message in place of the first.
        let [first, later] = [ChatMessage::system(FIRST_PROBE), ChatMessage::system(PROBE)];
        let both = [first, ChatMessage::user("a"), ChatMessage::assistant("b"), later, ChatMessage::user("c")];
        let shows_both = |prompt: String| prompt.contains(FIRST_PROBE) && prompt.contains(PROBE);
        let later_system = first_system && render(assumed, &both).is_some_and(shows_both);
        let result_form = |named, mapped| ResultForm::Message(ToolMessageForm { named, mapped });
        let shows_result =
            |named: &bool| shows(Self { results: result_form(*named, false), ..assumed }, &answered(PROBE));
        let Some(named) = [false, true].into_iter().find(shows_result) else {
            return Self { first_system, lone_system, later_system, results: ResultForm::Question };
        };
        let mapped =
            render(Self { results: result_form(named, true), ..assumed }, &answered(r#"{"probe_key": "probe_text"}"#));
        // JSON and Python have quotes around keys.
        let is_printed = |prompt: &str| ["\"probe_key\"", "'probe_key'"].iter().any(|key| prompt.contains(key));
        let is_notation =
            |prompt: String| prompt.contains("probe_key") && prompt.contains(PROBE) && !is_printed(&prompt);
        Self { first_system, lone_system, later_system, results: result_form(named, mapped.is_some_and(is_notation)) }
    }

    /// The messages with all content that the template would not print in the first system message, or the next question.
    pub(super) fn adapted<'a>(&self, messages: &'a [ChatMessage]) -> Cow<'a, [ChatMessage]> {
        let has_question = messages.iter().any(|message| message.role == Role::User);
        if !has_question && self.first_system && !self.lone_system {
            return Self { first_system: false, later_system: false, ..*self }.adapted(messages);
        }
        if messages.iter().enumerate().all(|(at, message)| self.prints(at, message)) {
            return Cow::Borrowed(messages);
        }
        let mut adapted: Vec<ChatMessage> = Vec::with_capacity(messages.len() + 1);
        let mut waiting = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            if message.role == Role::System
                && self.first_system
                && let [first] = &mut adapted[..]
                && first.role == Role::System
                && waiting.is_empty()
            {
                join(first, message);
            } else if !self.prints(at, message) {
                add_part(&mut waiting, shown_content(message));
            } else if message.role == Role::User && !waiting.is_empty() {
                add_part(&mut waiting, message.content.clone());
                adapted.push(ChatMessage { content: std::mem::take(&mut waiting), ..message.clone() });
            } else {
                adapted.extend(question(&mut waiting));
                adapted.push(message.clone());
            }
        }
        adapted.extend(question(&mut waiting));
        Cow::Owned(adapted)
    }

    fn prints(&self, at: usize, message: &ChatMessage) -> bool {
        match message.role {
            Role::System if at == 0 => self.first_system,
            Role::System => self.later_system,
            Role::Tool => self.results != ResultForm::Question,
            Role::User | Role::Assistant => true,
        }
    }
}

/// A call and its result.
pub(super) fn answered(result: &str) -> [ChatMessage; 3] {
    let call = SdkFunctionCall {
        name: "probe_call".to_owned(),
        arguments: Arguments::new(),
        call_id: CALL_ID.to_owned(),
        ..Default::default()
    };
    let mut reply = ChatMessage::assistant("");
    reply.function_calls = Some(vec![call]);
    [ChatMessage::user("a"), reply, ChatMessage { tool_call_id: Some(CALL_ID.to_owned()), ..ChatMessage::tool(result) }]
}

/// The content of a message as a question shows it.
fn shown_content(message: &ChatMessage) -> Vec<ChatMessageContent> {
    if message.role != Role::Tool {
        return message.content.clone();
    }
    let text = |text: &str| ChatMessageContent::Text(text.to_owned());
    let content = message.content.iter().cloned();
    [text("<tool_response>\n")].into_iter().chain(content).chain([text("\n</tool_response>")]).collect()
}

/// A message of the user with the waiting content; `None` if there is none.
fn question(waiting: &mut Vec<ChatMessageContent>) -> Option<ChatMessage> {
    let content = std::mem::take(waiting);
    (!content.is_empty()).then(|| ChatMessage { content, ..ChatMessage::user("") })
}
