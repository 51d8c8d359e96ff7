//! Messages of a conversation.

use crate::function::{Arguments, RejectedCall, SdkFunction, SdkFunctionCall};

/// Who speaks.
///
/// ```
/// use causerie::{ChatMessage, Role};
/// let history = [ChatMessage::system("Be brief."), ChatMessage::user("Hi")];
/// let said = history.iter().filter(|message| message.role == Role::User).count();
/// assert_eq!(said, 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Sets the frame of the conversation; first or absent.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// The result of a function call.
    Tool,
}

impl Role {
    /// The role as chat templates and chat-completions messages spell it.
    ///
    /// ```
    /// assert_eq!(causerie::Role::Assistant.as_str(), "assistant");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// One part of a message.
///
/// ```
/// use causerie::{ChatMessage, ChatMessageContent, Role};
/// let mut message = ChatMessage::new(Role::User, "Read this out: ");
/// message.content.push(ChatMessageContent::Text("good morning".into()));
/// assert_eq!(message.text(), "Read this out: good morning");
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub enum ChatMessageContent {
    /// Text.
    Text(String),
    /// A JPEG or PNG file.
    Image(Vec<u8>),
    /// A WAV file.
    Audio(Vec<u8>),
}

/// One message of a conversation.
///
/// ```
/// use causerie::{ChatMessage, Role};
/// let question = ChatMessage::user("What time is it?");
/// assert_eq!((question.role, question.text().as_str()), (Role::User, "What time is it?"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ChatMessage {
    /// Who speaks.
    pub role: Role,
    /// The parts, in order. Empty for a reply that holds only calls.
    pub content: Vec<ChatMessageContent>,
    /// What the model thought before and while it answered.
    pub reasoning_content: Option<String>,
    /// On an assistant message, the calls it made, in order; `None` when it made none.
    pub function_calls: Option<Vec<SdkFunctionCall>>,
    /// On an assistant message, call text that could not be delivered.
    pub rejected_calls: Vec<RejectedCall>,
    /// On the system message, the functions registered: so a history carries its functions with it.
    pub functions: Vec<SdkFunction>,
    /// Whether the reply was cut short by a cancel.
    pub incomplete: bool,
    /// On a tool message, the call that it answers. Where each result behind a message's calls names one of them, the model
    /// reads them in the order of the calls; else results answer calls in the order in which they stand.
    pub tool_call_id: Option<String>,
    /// The name of who speaks, or of the function that was called. Chat templates see it; few show it.
    pub name: Option<String>,
    /// Fields of an imported message that causerie does not know; they are exported again.
    pub extra: Arguments,
}

impl ChatMessage {
    /// A message of one text part.
    ///
    /// ```
    /// use causerie::{ChatMessage, Role};
    /// assert_eq!(ChatMessage::new(Role::User, "Hi"), ChatMessage::user("Hi"));
    /// ```
    pub fn new(role: Role, text: impl Into<String>) -> Self {
        Self {
            role,
            content: vec![ChatMessageContent::Text(text.into())],
            reasoning_content: None,
            function_calls: None,
            rejected_calls: Vec::new(),
            functions: Vec::new(),
            incomplete: false,
            tool_call_id: None,
            name: None,
            extra: Arguments::new(),
        }
    }

    /// A system message.
    ///
    /// ```
    /// let message = causerie::ChatMessage::system("You are brief.");
    /// assert_eq!(message.role, causerie::Role::System);
    /// ```
    pub fn system(text: impl Into<String>) -> Self {
        Self::new(Role::System, text)
    }

    /// A system message without text, which only carries functions.
    ///
    /// ```
    /// use causerie::{ChatMessage, SdkFunction};
    /// let history = vec![
    ///     ChatMessage::with_functions(vec![SdkFunction::new("now", "Tell the time.", vec![])]),
    ///     ChatMessage::user("What time is it?"),
    /// ];
    /// ```
    pub fn with_functions(functions: Vec<SdkFunction>) -> Self {
        Self { content: Vec::new(), functions, ..Self::system("") }
    }

    /// A message of the person.
    ///
    /// ```
    /// assert_eq!(causerie::ChatMessage::user("Hi").text(), "Hi");
    /// ```
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, text)
    }

    /// A reply of the model.
    ///
    /// ```
    /// use causerie::ChatMessage;
    /// let history = vec![ChatMessage::user("Hi"), ChatMessage::assistant("Hello!"), ChatMessage::user("How are you?")];
    /// ```
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, text)
    }

    /// The result of a function call; JSON text is what models are used to.
    ///
    /// ```
    /// let result = causerie::ChatMessage::tool(r#"{"temperature": 21}"#);
    /// assert_eq!(result.role, causerie::Role::Tool);
    /// ```
    pub fn tool(text: impl Into<String>) -> Self {
        Self::new(Role::Tool, text)
    }

    /// All text parts, joined.
    ///
    /// ```
    /// assert_eq!(causerie::ChatMessage::user("Hi").text(), "Hi");
    /// ```
    pub fn text(&self) -> String {
        let mut text = String::new();
        for part in &self.content {
            if let ChatMessageContent::Text(piece) = part {
                text.push_str(piece);
            }
        }
        text
    }
}
