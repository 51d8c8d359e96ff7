//! A step of a reply that gives a frame of sound, where other steps give a token.

use crate::engine::generate::Generation;
use crate::error::Result;
use crate::position::Position;

impl Generation {
    /// Adds the frame of sound that follows from the last step.
    pub(super) fn speak(&mut self, hidden_size: usize) -> Result<()> {
        let Some(speech) = &mut self.speech else { return Ok(()) };
        let frame = speech.frame()?;
        self.transcript.reply.speak(&frame, speech.voice());
        if let Position::Embedded { digest, .. } = frame.position {
            self.embeddings.set_ready(digest, frame.row, hidden_size);
        }
        self.positions.push(frame.position);
        self.stats.completion_tokens += 1;
        self.stats.spoken_tokens += 1;
        self.end_at_limits();
        Ok(())
    }
}
