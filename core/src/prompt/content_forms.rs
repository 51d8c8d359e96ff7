//! The form in which a template takes the text of messages: as a string, or as a list of parts.

use serde::{Deserialize, Serialize};

use crate::error::{ErrorKind, Result, SdkError};
use crate::message::{ChatMessage, Role};
use crate::prompt::roles::answered;
use crate::prompt::template::lacks_feature;

/// The form of text in messages of each role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ContentForms {
    pub(super) system: ContentForm,
    pub(super) user: ContentForm,
    pub(super) assistant: ContentForm,
    pub(super) tool: ContentForm,
}

/// The form of a message's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ContentForm {
    Text,
    /// `[{"type": "text", "text": …}]`.
    Parts,
}

const PROBE: &str = "probe_text";

impl ContentForms {
    /// The form that most templates take.
    pub(super) const USUAL: Self = Self {
        system: ContentForm::Text,
        user: ContentForm::Text,
        assistant: ContentForm::Text,
        tool: ContentForm::Text,
    };

    pub(super) fn of(self, role: Role) -> ContentForm {
        match role {
            Role::System => self.system,
            Role::User => self.user,
            Role::Assistant => self.assistant,
            Role::Tool => self.tool,
        }
    }

    fn with(self, role: Role, form: ContentForm) -> Self {
        match role {
            Role::System => Self { system: form, ..self },
            Role::User => Self { user: form, ..self },
            Role::Assistant => Self { assistant: form, ..self },
            Role::Tool => Self { tool: form, ..self },
        }
    }

    /// Probes a template. `render` renders a prompt under the assumption of some forms.
    pub(super) fn find(render: impl Fn(Self, &[ChatMessage]) -> Option<String>) -> Self {
        let user = ChatMessage::user;
        let histories: [&[ChatMessage]; 4] = [
            &[user(PROBE)],
            &[user("a"), ChatMessage::assistant(PROBE), user("b")],
            &[ChatMessage::system(PROBE), user("a")],
            &answered(PROBE),
        ];
        histories.into_iter().fold(Self::USUAL, |found, messages| {
            let is_probe = |message: &&ChatMessage| message.text() == PROBE;
            let role = messages.iter().find(is_probe).map_or(Role::User, |message| message.role);
            let shows = |form: &ContentForm| {
                render(found.with(role, *form), messages).is_some_and(|prompt| prompt.contains(PROBE))
            };
            let form = [ContentForm::Text, ContentForm::Parts].into_iter().find(shows);
            found.with(role, form.unwrap_or(ContentForm::Text))
        })
    }
}

/// Refuses a template that cannot print the text of messages. `rendered` is the prompt of [`question`].
///
/// # Errors
/// [`ErrorKind::ModelLoad`], with what the template lacks.
pub(super) fn check(source: &str, rendered: Result<String>) -> Result<()> {
    // A template that neither walks through messages nor names their content is not for messages.
    let reads_messages = source.contains("messages") && (source.contains("for ") || source.contains("content"));
    match rendered {
        Ok(prompt) if reads_messages && !prompt.contains(PROBE) => Err(SdkError::new(
            ErrorKind::ModelLoad,
            "the chat template must print the text of messages, given as a string or as a list of parts; it prints neither",
        )),
        Err(err) if lacks_feature(&err) => {
            Err(SdkError::new(ErrorKind::ModelLoad, "the chat template is not supported").caused_by(err))
        }
        // A template that refuses this history may render others.
        _ => Ok(()),
    }
}

/// The history of one question that [`check`] looks for.
pub(super) fn question() -> [ChatMessage; 1] {
    [ChatMessage::user(PROBE)]
}
