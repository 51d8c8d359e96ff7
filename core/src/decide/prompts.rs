//! Prompts of decisions: a state, a question about it, and the beginning of a reply.

use jiff::Zoned;

use crate::decide::state::{DecisionState, push, push_text, text_of};
use crate::decide::wording::{SEPARATOR, WordedQuestion};
use crate::engine::LoadedModel;
use crate::error::{ErrorKind, Result, SdkError};
use crate::message::{ChatMessage, ChatMessageContent};
use crate::position::{Embedded, Position, last_cut};
use crate::prompt::{DecisionPrompts, DecisionTurn, Frame, Segment, embedded};

/// Makes the prompts about one state.
pub(super) struct PromptMaker {
    state: DecisionState,
    now: Zoned,
}

/// A prompt as positions.
pub(super) struct DecisionPositions {
    pub(super) positions: Vec<Position>,
    pub(super) embedded: Vec<Embedded>,
}

impl PromptMaker {
    pub(super) fn new(state: DecisionState) -> Self {
        Self { state, now: Zoned::now() }
    }

    /// The prompt of a question.
    ///
    /// # Errors
    /// The errors of rendering a message of a conversation.
    pub(super) fn segments(&self, loaded: &LoadedModel, question: &WordedQuestion) -> Result<Vec<Segment>> {
        match &loaded.decisions {
            Some(prompts) => self.trained(prompts, question),
            None => self.chat(loaded, question),
        }
    }

    /// The prompt of a question, followed by the first tokens of a label.
    ///
    /// # Errors
    /// The errors of [`segments`](Self::segments), and [`ErrorKind::PromptExceedsContext`].
    pub(super) fn positions(
        &self,
        loaded: &LoadedModel,
        question: &WordedQuestion,
        begun: &[u32],
    ) -> Result<DecisionPositions> {
        let segments = self.segments(loaded, question)?;
        let n_rows = embedded(&segments).map(|content| content.0.n_rows() as usize).sum();
        loaded.check_length(segments.iter().map(|segment| segment.text().len()).sum(), n_rows)?;
        let mut positions = loaded.tokenizer.positions(&segments)?;
        positions.extend(begun.iter().map(|id| Position::Token(*id)));
        loaded.check_prompt(&positions)?;
        Ok(DecisionPositions { positions, embedded: embedded(&segments).cloned().collect() })
    }

    /// How many positions the prompt has in common with any other question about the state. The whole prompts are encoded and compared:
    /// a text that is cut before it is encoded can give other tokens.
    pub(super) fn n_shared(
        &self,
        loaded: &LoadedModel,
        question: &WordedQuestion,
        prompt: &[Position],
    ) -> Result<usize> {
        let begins_with = |first: &str| match question.content.first() {
            Some(ChatMessageContent::Text(text)) => text.starts_with(first),
            _ => false,
        };
        let other = if begins_with("Q") { "A" } else { "Q" };
        let content = vec![ChatMessageContent::Text(other.to_owned())];
        let probe = WordedQuestion { instructions: content.clone(), content, ..question.clone() };
        let other = loaded.tokenizer.positions(&self.segments(loaded, &probe)?)?;
        let n_shared = prompt.iter().zip(&other).take_while(|(one, other)| one == other).count();
        Ok(last_cut(prompt, n_shared.min(prompt.len().saturating_sub(1))))
    }

    /// The user's message: the state, and the question.
    fn content(&self, question: &WordedQuestion) -> Vec<ChatMessageContent> {
        let mut content = self.state.content.clone();
        if !content.is_empty() {
            push_text(&mut content, SEPARATOR);
        }
        question.content.iter().for_each(|part| push(&mut content, part));
        content
    }

    /// The prompt for a chat model, by its own template. Reasoning that the template opens is closed, because the answer is read at once.
    fn chat(&self, loaded: &LoadedModel, question: &WordedQuestion) -> Result<Vec<Segment>> {
        let system = self.state.system.as_ref().map(ChatMessage::system);
        let user = ChatMessage { content: self.content(question), ..ChatMessage::user("") };
        let frame = Frame { embeds_images: true, ..Frame::shown(&self.now, true) };
        let messages: Vec<ChatMessage> = system.into_iter().chain([user]).collect();
        let segments = loaded.render(&messages, &frame)?;
        Ok(match &loaded.renderer {
            Some(renderer) => renderer.close_reasoning(segments),
            None => segments,
        })
    }

    /// The prompt for a decision model. Its images come first.
    fn trained(&self, prompts: &DecisionPrompts, question: &WordedQuestion) -> Result<Vec<Segment>> {
        let state = self.state.text();
        let is_sound = |part: &ChatMessageContent| matches!(part, ChatMessageContent::Audio(_));
        let mut parts = self.state.content.iter().chain(&question.instructions);
        if parts.any(is_sound) {
            return Err(SdkError::new(
                ErrorKind::UnsupportedContent,
                "the decision model takes text and images, not sound",
            ));
        }
        let parts = self.state.content.iter().chain(&question.instructions);
        let images: Vec<&[u8]> = parts
            .filter_map(|part| match part {
                ChatMessageContent::Image(file) => Some(&file[..]),
                _ => None,
            })
            .collect();
        let text = text_of(&question.content);
        let turn = DecisionTurn {
            type_name: question.type_name,
            state: Some(state.as_str()).filter(|state| !state.is_empty()),
            instructions: &text_of(&question.instructions),
            options: &question.options,
            text: &if state.is_empty() { text } else { format!("{state}{SEPARATOR}{text}") },
            images: &images,
        };
        prompts.render(&turn, &self.now)
    }
}
