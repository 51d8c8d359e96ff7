//! A scripted model, and how it becomes a runner like any other.

use crate::engine::LoadedModel;
use crate::error::Result;
use crate::info::ModelInfo;
use crate::model::Model;
use crate::options::LoadOptions;
use crate::prompt::PromptRenderer;
use crate::runner::{EngineSettings, ModelRunner};
use crate::testing::network::{Act, ScriptedNetwork};
use crate::testing::reply::{ScriptedReply, ScriptedStep};
use crate::tokenizer::{ModelTokenizer, TokenText};

/// Prompts and replies have the format of LFM2.
const TEMPLATE: &str = include_str!("template.jinja");
const CONTEXT: usize = 32_768;

/// A model that generates the replies of a script.
///
/// ```
/// let runner = causerie::testing::ScriptedModel::new().reply("Hello.").reply("Bye.").load()?;
/// # Ok::<(), causerie::SdkError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ScriptedModel {
    pub(super) replies: Vec<ScriptedReply>,
    pub(super) context_size: Option<usize>,
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
        let renderer = PromptRenderer::from_sources(&TEMPLATE.to_owned().into(), &tokenizer)?;
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
