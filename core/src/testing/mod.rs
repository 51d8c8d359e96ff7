//! Models that follow a script, to test apps without a real model.
//!
//! A [`ScriptedModel`] becomes a [`ModelRunner`] like any other. Each of its replies is a list of steps, a token each:
//! text, control tokens, and faults. Everything around the model is real: prompts are rendered and counted, calls are
//! parsed, streams are pulled, replies are cancelled. Each byte of a prompt is a token. Replies are generated in the order
//! of the script, whatever the prompt is.
//!
//! ```
//! use causerie::testing::{ScriptedModel, ScriptedReply};
//! use causerie::{ChatMessage, GenerationOptions, MessageResponse};
//!
//! let call = ScriptedReply::new()
//!     .control("<|tool_call_start|>")
//!     .text(r#"[get_weather(city="Oslo")]"#)
//!     .control("<|tool_call_end|>");
//! let runner = ScriptedModel::new().reply(call).reply("It is sunny.").load()?;
//!
//! let conversation = runner.create_conversation("");
//! for event in conversation.generate_response(ChatMessage::user("Weather?"), GenerationOptions::default()) {
//!     if let MessageResponse::FunctionCalls(calls) = event? {
//!         assert_eq!(calls[0].name, "get_weather");
//!     }
//! }
//! let answer = conversation.generate_response(ChatMessage::tool("sunny"), GenerationOptions::default());
//! let Some(Ok(MessageResponse::Complete(completion))) = answer.into_iter().last() else { panic!("the reply ends") };
//! assert_eq!(completion.full_message.text(), "It is sunny.");
//! # Ok::<(), causerie::SdkError>(())
//! ```

mod json;
mod script;

use crate::engine::LoadedModel;
use crate::error::Result;
use crate::info::ModelInfo;
use crate::model::Model;
use crate::options::LoadOptions;
use crate::prompt::PromptRenderer;
use crate::runner::{EngineSettings, ModelRunner};
use crate::tokenizer::{ModelTokenizer, TokenText};

use script::{Act, ScriptedNetwork};

/// Prompts and replies have the format of LFM2.
const TEMPLATE: &str = include_str!("template.jinja");
const END: &str = "<|im_end|>";
const CONTEXT: usize = 32_768;

/// A model that generates the replies of a script.
///
/// ```
/// let runner = causerie::testing::ScriptedModel::new().reply("Hello.").reply("Bye.").load()?;
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ScriptedModel {
    replies: Vec<ScriptedReply>,
    context_size: Option<usize>,
}

/// One reply of a script: a list of steps, one per token. The reply ends after the last step.
///
/// ```
/// use causerie::testing::{ScriptedModel, ScriptedReply};
/// let runner = ScriptedModel::new().reply(ScriptedReply::new().text("It is ").text("sunny.")).load()?;
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptedReply {
    steps: Vec<ScriptedStep>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ScriptedStep {
    Say(TokenText),
    Do(Act),
}

impl ScriptedModel {
    /// Creates a model without replies.
    ///
    /// ```
    /// let runner = causerie::testing::ScriptedModel::new().reply("Hello.").load()?;
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a reply after the existing ones. A string is a reply of one token.
    ///
    /// ```
    /// use causerie::testing::{ScriptedModel, ScriptedReply};
    /// let runner = ScriptedModel::new().reply("Hello.").reply(ScriptedReply::new().text("By").text("e.")).load()?;
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn reply(mut self, reply: impl Into<ScriptedReply>) -> Self {
        self.replies.push(reply.into());
        self
    }

    /// Sets the context size in tokens. Default 32,768. Each byte of a prompt is a token.
    ///
    /// ```
    /// let runner = causerie::testing::ScriptedModel::new().context_size(512).load()?;
    /// assert_eq!(runner.context_size(), 512);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn context_size(self, context_size: usize) -> Self {
        Self { context_size: Some(context_size), ..self }
    }

    /// Starts the model. When no reply is left, generation fails with
    /// [`ErrorKind::Generation`](crate::ErrorKind::Generation).
    ///
    /// ```
    /// use causerie::{ErrorKind, GenerationOptions, testing::ScriptedModel};
    /// let runner = ScriptedModel::new().load()?;
    /// let err = runner.complete("Hi", GenerationOptions::default()).into_iter().find_map(Result::err).unwrap();
    /// assert_eq!(err.kind(), ErrorKind::Generation); // no reply is left
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Internal`](crate::ErrorKind::Internal) if no thread can be started.
    pub fn load(self) -> Result<ModelRunner> {
        let steps = self.replies.iter().flat_map(|reply| reply.steps.iter().map(Some).chain([None]));
        let said = steps.map(|step| match step {
            Some(ScriptedStep::Say(text)) => text.clone(),
            // Placeholders, which are never generated.
            Some(ScriptedStep::Do(_)) | None => TokenText::Bytes(Box::default()),
        });
        let (tokenizer, first_id) = ModelTokenizer::scripted(said)?;
        let act = |step: &ScriptedStep| match step {
            ScriptedStep::Say(_) => Act::Say,
            ScriptedStep::Do(act) => act.clone(),
        };
        let acts = self.replies.iter().map(|reply| reply.steps.iter().map(act).collect()).collect();
        let network = ScriptedNetwork::new(acts, first_id, tokenizer.end_id().unwrap_or_default());
        let context_size = self.context_size.unwrap_or(CONTEXT);
        let renderer = PromptRenderer::of(&TEMPLATE.to_owned().into(), &tokenizer)?;
        let notation = renderer.function_call_parser();
        let model = Model::new(Box::new(network), context_size);
        let mut loaded = LoadedModel::new(model, tokenizer, Some(renderer), context_size);
        loaded.preparation_threads = 1; // so that prompts are ready in the order in which they were asked for
        let mut info = ModelInfo::default();
        info.architecture = "script".to_owned();
        info.context_size = context_size;
        info.n_vocabulary = loaded.model.n_vocabulary();
        info.has_chat_template = true;
        info.supports_function_calling = true;
        info.function_call_parser = notation;
        ModelRunner::start(loaded, &LoadOptions::default(), EngineSettings::default(), info)
    }
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
