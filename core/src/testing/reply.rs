//! One reply of a script, step by step.

use crate::testing::network::Act;
use crate::tokenizer::TokenText;

const END: &str = "<|im_end|>";

/// One reply of a script: a list of steps, one per token. The reply ends after the last step.
///
/// ```
/// use causerie::testing::{ScriptedModel, ScriptedReply};
/// let runner = ScriptedModel::new().reply(ScriptedReply::new().text("It is ").text("sunny.")).load()?;
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptedReply {
    pub(super) steps: Vec<ScriptedStep>,
}

/// What one token of a reply is or does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ScriptedStep {
    Say(TokenText),
    Do(Act),
}

impl ScriptedReply {
    /// Creates an empty reply.
    ///
    /// ```
    /// use causerie::testing::ScriptedReply;
    /// assert_eq!(ScriptedReply::new().text("Hello."), ScriptedReply::from("Hello."));
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a token of text.
    ///
    /// ```
    /// use causerie::testing::{ScriptedModel, ScriptedReply};
    /// let runner = ScriptedModel::new().reply(ScriptedReply::new().text("It is ").text("sunny.")).load()?;
    /// let events: Vec<_> = runner.complete("Hi", Default::default()).into_iter().collect();
    /// assert_eq!(events.len(), 3);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn text(self, text: impl Into<String>) -> Self {
        self.bytes(text.into())
    }

    /// Adds a token of bytes, which may be a part of a character.
    ///
    /// ```
    /// use causerie::testing::{ScriptedModel, ScriptedReply};
    /// let runner = ScriptedModel::new().reply(ScriptedReply::new().bytes([0xC3]).bytes([0xA9])).load()?;
    /// let mut reply = runner.complete("Hi", Default::default());
    /// let first = reply.iter().next().unwrap()?;
    /// assert_eq!(first, causerie::MessageResponse::Chunk("é".into()));
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn bytes(self, bytes: impl Into<Vec<u8>>) -> Self {
        self.step(ScriptedStep::Say(TokenText::Bytes(bytes.into().into())))
    }

    /// Adds a control token, such as `<|tool_call_start|>`; `<|im_end|>` ends the reply.
    ///
    /// ```
    /// use causerie::testing::{ScriptedModel, ScriptedReply};
    /// let runner = ScriptedModel::new().reply(ScriptedReply::new().control("<|tool_call_start|>").text("[now()]").control("<|tool_call_end|>")).load()?;
    /// let mut reply = runner.complete("Hi", Default::default());
    /// let first = reply.iter().next().unwrap()?;
    /// assert!(matches!(first, causerie::MessageResponse::FunctionCalls(_)));
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn control(self, spelling: &str) -> Self {
        self.step(if spelling == END {
            ScriptedStep::Do(Act::End)
        } else {
            ScriptedStep::Say(TokenText::Control(spelling.into()))
        })
    }

    /// Adds a failure with [`ErrorKind::Generation`](crate::ErrorKind::Generation) and this message.
    ///
    /// ```
    /// use causerie::testing::{ScriptedModel, ScriptedReply};
    /// let runner = ScriptedModel::new().reply(ScriptedReply::new().text("Well,").fail("no memory")).load()?;
    /// let events: Vec<_> = runner.complete("Hi", Default::default()).into_iter().collect();
    /// assert_eq!(events[1].as_ref().unwrap_err().to_string(), "no memory");
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn fail(self, message: impl Into<String>) -> Self {
        self.step(ScriptedStep::Do(Act::Fail(message.into())))
    }

    /// Adds a stall: no more tokens and no end until the reply is cancelled.
    ///
    /// ```
    /// use causerie::testing::{ScriptedModel, ScriptedReply};
    /// let runner = ScriptedModel::new().reply(ScriptedReply::new().text("Well,").stall()).load()?;
    /// let mut reply = runner.complete("Hi", Default::default());
    /// reply.iter().next().unwrap()?;
    /// reply.cancel(); // otherwise it would never end
    /// assert!(matches!(reply.into_iter().last(), Some(Ok(causerie::MessageResponse::Complete(_)))));
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn stall(self) -> Self {
        self.step(ScriptedStep::Do(Act::Stall))
    }

    /// Adds a panic, as a bug in causerie would cause it. It ends the reply with
    /// [`ErrorKind::Internal`](crate::ErrorKind::Internal).
    ///
    /// ```
    /// use causerie::testing::{ScriptedModel, ScriptedReply};
    /// let runner = ScriptedModel::new().reply(ScriptedReply::new().panic()).load()?;
    /// let events: Vec<_> = runner.complete("Hi", Default::default()).into_iter().collect();
    /// assert_eq!(events[0].as_ref().unwrap_err().kind(), causerie::ErrorKind::Internal);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn panic(self) -> Self {
        self.step(ScriptedStep::Do(Act::Panic))
    }

    fn step(mut self, step: ScriptedStep) -> Self {
        self.steps.push(step);
        self
    }
}

impl From<&str> for ScriptedReply {
    fn from(text: &str) -> Self {
        Self::new().text(text)
    }
}
