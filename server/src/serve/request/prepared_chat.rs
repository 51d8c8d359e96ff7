//! What becomes of a request once all of it is checked: a conversation.

use std::sync::Arc;

use causerie::{Conversation, ErrorKind, GenerationOptions, Role, ToolChoice};

use crate::serve::error::HttpError;
use crate::serve::models;
use crate::serve::request::chat_request::ChatRequest;
use crate::serve::request::delivery::Delivery;
use crate::serve::request::fields::RequestFields;
use crate::serve::request::images::ImagePlaces;
use crate::serve::request::notes::RequestNotes;
use crate::serve::request::sampling::ReasoningEffort;
use crate::serve::request::{content, foreign, modalities, sampling};
use crate::serve::service::Service;

const MAX_MESSAGES: usize = 10_000;

/// A checked chat request with its conversation.
pub(in crate::serve) struct PreparedChat {
    pub(in crate::serve) conversation: Conversation,
    pub(in crate::serve) options: GenerationOptions,
    pub(in crate::serve) delivery: Delivery,
    /// Whether the model may call functions. If not, text that looks like a call is text.
    pub(in crate::serve) has_functions: bool,
    pub(in crate::serve) notes: RequestNotes,
    pub(in crate::serve) image_places: Arc<ImagePlaces>,
}

impl ChatRequest {
    /// Checks what no single field shows, and makes the conversation. `fields` are the fields of the request that are left.
    pub(in crate::serve) fn prepare(
        mut self,
        service: &Service,
        mut fields: RequestFields,
    ) -> Result<PreparedChat, HttpError> {
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
    pub(in crate::serve) fn count_prompt(&self) -> Result<usize, HttpError> {
        match self.conversation.plan_context(&self.options) {
            Ok(plan) => Ok(plan.tokens_before),
            Err(err) => match err.kind() {
                ErrorKind::PromptExceedsContext { needed, .. } => Ok(needed),
                _ => Err(HttpError::from_engine(&self.image_places.named(err))),
            },
        }
    }
}
