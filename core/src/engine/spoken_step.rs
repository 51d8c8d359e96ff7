//! Replies that speak: how they begin, and steps that give a frame of sound where others give a token.

use crate::engine::generate::Generation;
use crate::engine::loaded::LoadedModel;
use crate::engine::speech::Speech;
use crate::error::Result;
use crate::options::SpeechMode;
use crate::position::Position;
use crate::response::ReplySection;

/// Frames after which the state is kept, for a reply that is cut where its listener interrupts it: about a second.
const N_BETWEEN_PAUSES: usize = 12;

impl Generation {
    /// Begins to speak, if the model does, and ends the prompt as the mode demands. A reply that is held to a schema is text.
    pub(super) fn begin_speech(&mut self, mode: SpeechMode, loaded: &LoadedModel) -> Result<()> {
        let Some(voice) = loaded.voice.as_ref().filter(|_| !self.constraint.holds_text()) else { return Ok(()) };
        let begun = Speech::begin(voice, &loaded.tokenizer, mode, self.speech_sampling, self.stats.seed)?;
        self.positions.extend(begun.opening.map(Position::Token));
        (self.speech, self.banned) = (begun.speech, begun.banned);
        Ok(())
    }

    /// Follows a token of the reply's text, which came in or after a section. A call is written without a pause for sound.
    pub(super) fn follow_speech(&mut self, token: u32, before: ReplySection) {
        let is_call = [before, self.transcript.section()].contains(&ReplySection::Calls);
        if let Some(speech) = self.speech.as_mut().filter(|_| !is_call) {
            speech.follow_token(token);
            self.begin_mixed();
        }
    }

    /// Excludes the tokens that the reply must not have.
    pub(super) fn exclude_banned(&self, logits: &mut [f32]) {
        for token in &self.banned {
            logits.get_mut(*token as usize).into_iter().for_each(|logit| *logit = f32::NEG_INFINITY);
        }
    }

    /// Notes in the reply that a part with text and sound in turn has begun, if it has.
    pub(super) fn begin_mixed(&mut self) {
        if let Some(speech) = &mut self.speech
            && speech.take_mixed_opening()
        {
            self.transcript.reply.begin_mixed(&speech.voice());
        }
    }

    /// Adds the frame of sound that follows from the last step.
    pub(super) fn speak(&mut self, hidden_size: usize) -> Result<()> {
        self.pause();
        let Some(speech) = &mut self.speech else { return Ok(()) };
        let frame = speech.frame()?;
        self.transcript.reply.speak(&frame, &speech.voice());
        if let Position::Embedded { digest, .. } = frame.position {
            self.embeddings.set_ready(digest, frame.row, hidden_size);
        }
        self.positions.push(frame.position);
        self.stats.completion_tokens += 1;
        self.stats.spoken_tokens += 1;
        self.end_at_limits();
        Ok(())
    }

    /// Keeps the state before a frame, now and then, if it cannot be cut.
    fn pause(&mut self) {
        let Some(state) = self.state.as_ref().filter(|state| !state.can_be_cut()) else { return };
        let last = self.pauses.last().map_or(self.stats.prompt_tokens, |last| last.n_positions());
        if last + N_BETWEEN_PAUSES <= state.n_positions() {
            self.pauses.push(state.clone());
        }
    }
}
