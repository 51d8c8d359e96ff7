//! The log-probabilities of some tokens after a prompt, read in place of a reply: nothing is sampled, and no text is made.

use crate::engine::generate::Generation;
use crate::engine::loaded::LoadedModel;
use crate::engine::logprobs::NormalisedLogits;
use crate::error::{ErrorKind, Result, SdkError};
use crate::response::FinishReason;

impl Generation {
    /// Reports the log-probabilities that the last logits give, and ends. Returns false if a reply is wanted instead.
    ///
    /// # Errors
    /// [`ErrorKind::Generation`] for logits that are not numbers.
    pub(super) fn read(&mut self, loaded: &LoadedModel) -> Result<bool> {
        let Some(reading) = &self.reading else { return Ok(false) };
        let n_known = self.logits.len().min(loaded.tokenizer.n_tokens()); // as a reply's
        let scored = NormalisedLogits::new(&self.logits[..n_known], false);
        let logprobs: Vec<f64> = reading.ids.iter().map(|id| scored.logprob(*id)).collect();
        if logprobs.iter().any(|logprob| logprob.is_nan()) {
            return Err(SdkError::new(ErrorKind::Generation, "the model computed logits that are not numbers"));
        }
        if let Some(owner) = &mut self.reply_owner {
            owner.read(logprobs);
        }
        self.end(FinishReason::Stop);
        Ok(true)
    }
}
