//! A loaded model, with all that its prompts and replies need.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::checkpoint::{OptionTemperatures, QUESTION_TYPES};
use crate::constrain::{Constrainer, Vocabulary};
use crate::engine::pool::PREPARATION_THREADS;
use crate::error::{ErrorKind, Result, SdkError};
use crate::function::FunctionNames;
use crate::message::ChatMessage;
use crate::model::{EmbeddingModelNetwork, Model, Voice};
use crate::position::{Position, tokens};
use crate::prompt::{DecisionPrompts, Frame, OptionTokens, PromptRenderer, Segment, TEXT_ONLY};
use crate::tokenizer::ModelTokenizer;

/// A decision model that scores options. It reads in both directions and writes nothing, so that the engine does not run it.
pub(crate) struct OptionDecider {
    pub(crate) network: EmbeddingModelNetwork,
    pub(crate) tokens: OptionTokens,
    pub(crate) temperatures: OptionTemperatures,
}

impl OptionDecider {
    /// The scores of the options at these places of a sequence.
    ///
    /// # Errors
    /// [`ErrorKind::Generation`] for scores that are not finite, and errors of the network.
    pub(crate) fn scores(&self, ids: &[u32], type_name: &str, marks: &[usize]) -> Result<Vec<f32>> {
        let question_type = QUESTION_TYPES.iter().position(|known| *known == type_name).unwrap_or_default();
        let scores = self.network.scores(ids, question_type as u32, marks)?; // of three types
        match scores.iter().all(|score| score.is_finite()) {
            true => Ok(scores),
            false => {
                let message = "the model gave values that are not finite: its weights may be damaged";
                Err(SdkError::new(ErrorKind::Generation, message))
            }
        }
    }
}

/// A loaded model.
pub(crate) struct LoadedModel {
    pub(crate) model: Model,
    pub(crate) tokenizer: Arc<ModelTokenizer>,
    /// `None` for a model without a chat template: it completes prompts, but holds no conversations.
    pub(crate) renderer: Option<PromptRenderer>,
    /// `None` for a model that is not a decision model.
    pub(crate) decisions: Option<DecisionPrompts>,
    /// The decoder that answers by the logits after a whole prompt, beside the engine; `None` for other models.
    pub(crate) whole: Option<Model>,
    /// `None` for a model that scores no options.
    pub(crate) decider: Option<OptionDecider>,
    /// Locked while decisions are computed beside the engine, one request after the other.
    pub(crate) running_beside: Arc<Mutex<()>>,
    /// `None` for a model that does not speak.
    pub(crate) voice: Option<Voice>,
    pub(crate) context_size: usize,
    /// Which names functions in prompts may have.
    pub(crate) function_names: FunctionNames,
    pub(crate) constrainer: Constrainer,
    /// Whether forced tokens and draft tokens are computed in one step with the token before them.
    pub(crate) looks_ahead: bool,
    /// Whether a reply ends in a loop, unless its options say otherwise.
    pub(crate) stops_on_repetition: bool,
    /// Prompts that are made at the same time.
    pub(crate) preparation_threads: usize,
}

impl LoadedModel {
    pub(crate) fn new(
        model: Model,
        tokenizer: ModelTokenizer,
        renderer: Option<PromptRenderer>,
        context_size: usize,
    ) -> Self {
        let tokenizer = Arc::new(tokenizer);
        let vocabulary: Arc<dyn Vocabulary> = Arc::<ModelTokenizer>::clone(&tokenizer);
        Self {
            model,
            tokenizer,
            renderer,
            decisions: None,
            whole: None,
            decider: None,
            running_beside: Arc::default(),
            voice: None,
            context_size,
            function_names: FunctionNames::default(),
            constrainer: Constrainer::new(vocabulary),
            looks_ahead: true,
            stops_on_repetition: false,
            preparation_threads: PREPARATION_THREADS,
        }
    }

    /// Renders the prompt for messages.
    ///
    /// # Errors
    /// As [`PromptRenderer::render`]; [`ErrorKind::InvalidMessage`] for a model without a chat template.
    pub(crate) fn render(&self, messages: &[ChatMessage], frame: &Frame<'_>) -> Result<Vec<Segment>> {
        let missing = || SdkError::new(ErrorKind::InvalidMessage, "the model has no chat template");
        let mut functions = messages.iter().flat_map(|message| &message.functions);
        functions.try_for_each(|function| function.check_with(self.function_names))?;
        let renderer = self.renderer.as_ref().ok_or_else(missing)?;
        renderer.render(messages, frame)
    }

    /// Replaces the markers for images in a prompt by these files.
    ///
    /// # Errors
    /// As [`PromptRenderer::embed`]; [`ErrorKind::UnsupportedContent`] for a model without a chat template, which says what the
    /// markers are.
    pub(crate) fn embed(&self, segments: Vec<Segment>, files: &[Vec<u8>]) -> Result<Vec<Segment>> {
        match &self.renderer {
            Some(renderer) => renderer.embed(segments, files),
            None if files.is_empty() => Ok(segments),
            None => Err(SdkError::new(ErrorKind::UnsupportedContent, TEXT_ONLY)),
        }
    }

    /// Refuses a prompt that is far too long for the context, before time and memory are spent on its tokens: a text of so
    /// many bytes, and so many rows of embedded content.
    ///
    /// # Errors
    /// [`ErrorKind::PromptExceedsContext`] with a lower bound of the tokens needed.
    pub(crate) fn check_length(&self, n_bytes: usize, n_rows: usize) -> Result<()> {
        let needed = self.tokenizer.fewest_tokens(n_bytes).saturating_add(n_rows);
        let available = self.context_size;
        if needed < available {
            return Ok(());
        }
        Err(SdkError::new(
            ErrorKind::PromptExceedsContext { needed, available },
            format!("the prompt takes at least {needed} tokens, and the context holds {available} with the reply"),
        ))
    }

    /// Checks that the prompt has known tokens, and that the context has space for it and one token of reply.
    ///
    /// # Errors
    /// [`ErrorKind::PromptExceedsContext`] when no token of reply would fit, [`ErrorKind::InvalidMessage`] for a prompt
    /// without tokens, or with token ids outside of the vocabulary.
    pub(crate) fn check_prompt(&self, prompt: &[Position]) -> Result<()> {
        let (needed, available) = (prompt.len(), self.context_size);
        if needed == 0 {
            return Err(SdkError::new(ErrorKind::InvalidMessage, "the prompt is empty"));
        }
        let n_known = self.model.n_vocabulary();
        if let Some(id) = tokens(prompt).find(|id| n_known <= *id as usize) {
            return Err(SdkError::new(
                ErrorKind::InvalidMessage,
                format!("token ids of the prompt must be below {n_known}, found {id}"),
            ));
        }
        if available <= needed {
            return Err(SdkError::new(
                ErrorKind::PromptExceedsContext { needed, available },
                format!("the prompt takes {needed} tokens, and the context holds {available} with the reply"),
            ));
        }
        Ok(())
    }
}
