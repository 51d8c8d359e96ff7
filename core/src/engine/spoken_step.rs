//! A step of a reply that gives a frame of sound, where other steps give a token.

use crate::engine::generate::Generation;
use crate::error::Result;
use crate::position::Position;

/// Frames after which the state is kept, for a reply that is cut where its listener interrupts it: about a second.
const N_BETWEEN_PAUSES: usize = 12;

impl Generation {
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
