//! The one internal form of a request: each dialect reads its own fields into it, and everything after is the same.

use std::sync::Arc;

use causerie::{ChatMessage, Conversation, ErrorKind, GenerationOptions, Role, SdkFunction, SoundFormat, ToolChoice};

use crate::serve::error::HttpError;
use crate::serve::{Service, models};

pub(super) mod content;
pub(super) mod fields;
pub(super) mod foreign;
pub(super) mod format;
pub(super) mod images;
pub(super) mod json;
pub(super) mod modalities;
pub(super) mod namespaces;
mod notes;
mod reader;
pub(super) mod sampling;
pub(super) mod schema;
pub(super) mod tool_choice;
pub(super) mod tools;
pub(super) mod types;
pub(super) mod unknown;

use fields::RequestFields;
use images::ImagePlaces;
use sampling::ReasoningEffort;

pub(super) use notes::RequestNotes;
pub(super) use reader::must_be;

const MAX_MESSAGES: usize = 10_000;

/// A chat request of any dialect, in the engine's terms.
pub(super) struct ChatRequest {
    /// The model's id, if the request has one.
    pub(super) model: Option<String>,
    pub(super) history: Vec<ChatMessage>,
    /// The places of the history's images in the request, in order.
    pub(super) image_places: Vec<String>,
    pub(super) functions: Vec<SdkFunction>,
    pub(super) options: GenerationOptions,
    /// The format of the reply's sound; `None` for text alone.
    pub(super) sound: Option<SoundFormat>,
    pub(super) thinking: Thinking,
    pub(super) delivery: Delivery,
}

/// Whether the model is to reason. `enabled` decides; without it, an effort asks a model that can reason to do so. How
/// much it reasons is up to the model.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Thinking {
    pub(super) enabled: Option<bool>,
    pub(super) effort: Option<ReasoningEffort>,
}

/// How the reply is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    /// Choices.
    pub(super) n: usize,
    pub(super) is_stream: bool,
    pub(super) include_usage: bool,
    /// Whether each event of a stream has the counts so far.
    pub(super) continuous_usage: bool,
    /// Whether the text of the reply is a JSON string that is sent without its quotes.
    pub(super) is_bare_string: bool,
}

/// A checked chat request with its conversation.
pub(super) struct PreparedChat {
    pub(super) conversation: Conversation,
    pub(super) options: GenerationOptions,
    pub(super) delivery: Delivery,
    /// Whether the model may call functions. If not, text that looks like a call is text.
    pub(super) has_functions: bool,
    pub(super) notes: RequestNotes,
    pub(super) image_places: Arc<ImagePlaces>,
}

impl ChatRequest {
    /// Checks what no single field shows, and makes the conversation. `fields` are the fields of the request that are left.
    pub(super) fn prepare(mut self, service: &Service, mut fields: RequestFields) -> Result<PreparedChat, HttpError> {
        foreign::apply(&mut self, &mut fields)?;
        content::leave_out_client_lines(&mut self.history);
        let is_other_model = models::check(service, self.model.as_deref())?;
        if !(1..=MAX_MESSAGES).contains(&self.history.len()) {
            let message = format!("messages must hold 1 to {MAX_MESSAGES} messages, found {}", self.history.len());
            return Err(HttpError::engine_option("messages", message));
        }
        let runner = service.runner()?;
        if self.sound.is_some() {
            modalities::speak(&mut self.history, &mut self.options, runner, &service.model_id)?;
        }
        let mut options = sampling::checked(self.options)?;
        let by_effort = self.thinking.effort.is_some_and(ReasoningEffort::asks) && runner.info().supports_reasoning;
        options.enable_thinking = self.thinking.enabled.unwrap_or(by_effort);
        let ignored = fields.into_ignored(service.settings.strict_fields)?;
        let notes = RequestNotes { ignored, is_other_model };
        let has_functions = !self.functions.is_empty() && options.tool_choice != ToolChoice::None;
        // Functions of a conversation are in its system message.
        let adds_system = !self.functions.is_empty() && self.history[0].role != Role::System;
        let image_places = ImagePlaces::new(&self.history, usize::from(adds_system), self.image_places);
        let conversation = runner.create_conversation_from_history(self.history);
        if !self.functions.is_empty() {
            if !runner.supports_function_calling() {
                let message = "tools must be left out: the model's chat template cannot offer functions";
                return Err(HttpError::unsupported("tools", message));
            }
            conversation.register_functions(self.functions).map_err(|err| HttpError::from_engine(&err))?;
        }
        let (delivery, image_places) = (self.delivery, Arc::new(image_places));
        Ok(PreparedChat { conversation, options, delivery, has_functions, notes, image_places })
    }
}

impl PreparedChat {
    /// The tokens of the prompt; a lower bound if it is many times longer than the context.
    pub(super) fn count_prompt(&self) -> Result<usize, HttpError> {
        match self.conversation.plan_context(&self.options) {
            Ok(plan) => Ok(plan.tokens_before),
            Err(err) => match err.kind() {
                ErrorKind::PromptExceedsContext { needed, .. } => Ok(needed),
                _ => Err(HttpError::from_engine(&self.image_places.named(err))),
            },
        }
    }
}
