//! Messages of a conversation.

use std::fmt;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::error::{ErrorKind, Result, SdkError};
use crate::function::{Arguments, RejectedCall, SdkFunction, SdkFunctionCall};

/// Base64 with padding or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The author of a message.
///
/// ```
/// use causerie::{ChatMessage, Role};
/// let history = [ChatMessage::system("Be brief."), ChatMessage::user("Hi")];
/// let n_questions = history.iter().filter(|message| message.role == Role::User).count();
/// assert_eq!(n_questions, 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Instructions for the whole conversation. The first message, or absent.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// The result of a function call.
    Tool,
}

impl Role {
    /// The name of the role in chat templates and in chat-completions messages.
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
///
/// Printed, a file is its size: `Image(3708 bytes)`.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq)]
pub enum ChatMessageContent {
    /// Text.
    Text(String),
    /// A JPEG, PNG, WebP or GIF file. Without bytes, a placeholder, which only shows in prompts.
    Image(Vec<u8>),
    /// A WAV, FLAC, MP3 or Ogg Opus file. Without bytes, a placeholder, which does not show in prompts.
    Audio(Vec<u8>),
}

impl fmt::Debug for ChatMessageContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.debug_tuple("Text").field(text).finish(),
            Self::Image(file) => write!(f, "Image({} bytes)", file.len()),
            Self::Audio(file) => write!(f, "Audio({} bytes)", file.len()),
        }
    }
}

impl ChatMessageContent {
    /// Reads the image of a data URL in base64. The file's bytes say which format it has, not the media type. Line breaks and
    /// missing padding are accepted, because encoders differ in them.
    ///
    /// ```
    /// use causerie::ChatMessageContent;
    /// let image = ChatMessageContent::image_from_data_url("data:image/gif;base64,R0lGODlh")?;
    /// assert_eq!(image, ChatMessageContent::Image(b"GIF89a".to_vec()));
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Serialization`] for another URL, and for what is not base64.
    pub fn image_from_data_url(url: &str) -> Result<Self> {
        let rule = "must be a data URL of an image in base64, such as data:image/png;base64,…";
        let data = data_of_url(url).ok_or_else(|| SdkError::new(ErrorKind::Serialization, rule))?;
        decoded(data).map(Self::Image)
    }

    /// Reads a sound file in base64, or in a data URL in base64. The file's bytes say which format it has. Line breaks and
    /// missing padding are accepted.
    ///
    /// ```
    /// use causerie::ChatMessageContent;
    /// let sound = ChatMessageContent::audio_from_base64("UklGRg")?;
    /// assert_eq!(sound, ChatMessageContent::Audio(b"RIFF".to_vec()));
    /// assert_eq!(sound, ChatMessageContent::audio_from_base64("data:audio/wav;base64,UklGRg==")?);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Serialization`] for another URL, and for what is not base64.
    pub fn audio_from_base64(data: &str) -> Result<Self> {
        let is_url = data.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"));
        let rule = "must be base64, or a data URL of a sound file in base64, such as data:audio/wav;base64,…";
        let wrong = || SdkError::new(ErrorKind::Serialization, rule);
        let data = if is_url { data_of_url(data).ok_or_else(wrong)? } else { data };
        decoded(data).map(Self::Audio)
    }
}

/// The base64 of a data URL.
fn data_of_url(url: &str) -> Option<&str> {
    let (header, data) = url.split_once(',')?;
    let header = header.to_ascii_lowercase();
    (header.starts_with("data:") && header.ends_with(";base64")).then_some(data)
}

fn decoded(data: &str) -> Result<Vec<u8>> {
    let data: Vec<u8> = data.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let wrong = |err| SdkError::new(ErrorKind::Serialization, "must be valid base64").caused_by(err);
    BASE64.decode(data).map_err(wrong)
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
    /// The author.
    pub role: Role,
    /// The parts, in order. Empty for a reply that consists of calls only.
    pub content: Vec<ChatMessageContent>,
    /// The reasoning that the model wrote before or within its answer.
    pub reasoning_content: Option<String>,
    /// The calls of an assistant message, in order; `None` if it has none.
    pub function_calls: Option<Vec<SdkFunctionCall>>,
    /// Calls of an assistant message that could not be delivered.
    pub rejected_calls: Vec<RejectedCall>,
    /// The functions registered with the conversation, on the system message. So a history is complete in itself.
    pub functions: Vec<SdkFunction>,
    /// Whether a cancel ended the reply early.
    pub incomplete: bool,
    /// The call that a tool message answers. If each result after a message's calls names one of the calls, the model reads
    /// the results in the order of the calls. Otherwise the n-th result answers the n-th call.
    pub tool_call_id: Option<String>,
    /// The name of the author, or of the called function. Chat templates can read it; few print it.
    pub name: Option<String>,
    /// Unknown fields of an imported message. They are exported again.
    pub extra: Arguments,
}

impl ChatMessage {
    /// Creates a message with one text part.
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

    /// Creates a system message.
    ///
    /// ```
    /// let message = causerie::ChatMessage::system("You are brief.");
    /// assert_eq!(message.role, causerie::Role::System);
    /// ```
    pub fn system(text: impl Into<String>) -> Self {
        Self::new(Role::System, text)
    }

    /// Creates a system message without text, which only carries functions.
    ///
    /// ```
    /// use causerie::{ChatMessage, SdkFunction};
    /// let history = vec![
    ///     ChatMessage::with_functions(vec![SdkFunction::new("now", "Get the time.", vec![])]),
    ///     ChatMessage::user("What time is it?"),
    /// ];
    /// ```
    pub fn with_functions(functions: Vec<SdkFunction>) -> Self {
        Self { content: Vec::new(), functions, ..Self::system("") }
    }

    /// Creates a user message.
    ///
    /// ```
    /// assert_eq!(causerie::ChatMessage::user("Hi").text(), "Hi");
    /// ```
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, text)
    }

    /// Creates an assistant message.
    ///
    /// ```
    /// use causerie::ChatMessage;
    /// let history = vec![ChatMessage::user("Hi"), ChatMessage::assistant("Hello!"), ChatMessage::user("How are you?")];
    /// ```
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, text)
    }

    /// Creates a tool message: the result of a function call. Models are trained on results in JSON.
    ///
    /// ```
    /// let result = causerie::ChatMessage::tool(r#"{"temperature": 21}"#);
    /// assert_eq!(result.role, causerie::Role::Tool);
    /// ```
    pub fn tool(text: impl Into<String>) -> Self {
        Self::new(Role::Tool, text)
    }

    /// The concatenated text parts.
    ///
    /// ```
    /// assert_eq!(causerie::ChatMessage::user("Hi").text(), "Hi");
    /// ```
    pub fn text(&self) -> String {
        text_of(&self.content)
    }
}

/// The concatenated text among parts.
pub(crate) fn text_of(content: &[ChatMessageContent]) -> String {
    let mut text = String::new();
    for part in content {
        if let ChatMessageContent::Text(piece) = part {
            text.push_str(piece);
        }
    }
    text
}
