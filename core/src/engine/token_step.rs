//! What a reply does with the logits of a step: it picks tokens, reads them, and ends where they or its limits say so.

use crate::engine::generate::Generation;
use crate::engine::loaded::LoadedModel;
use crate::error::{ErrorKind, Result, SdkError};
use crate::model::TokenChoice;
use crate::position::Position;
use crate::response::{FinishReason, ReplySection};
use crate::sample::not_finite;
use crate::tokenizer::ModelTokenizer;

impl Generation {
    /// Adds the token that follows from the logits after the last token, and one for each draft token that was accepted.
    pub(super) fn decode(&mut self, logits: &mut [f32], draft: &[u32], loaded: &LoadedModel) -> Result<()> {
        let (n_logits, n_before) = (logits.len() / (1 + draft.len()), self.positions.len());
        let mut n_accepted = 0;
        loop {
            self.pick(&mut logits[n_accepted * n_logits..][..n_logits], loaded)?;
            let added = &self.positions[n_before..];
            n_accepted =
                added.iter().zip(draft).take_while(|(added, drafted)| **added == Position::Token(**drafted)).count();
            if self.has_ended || n_accepted < added.len() {
                break;
            }
        }
        if !draft.is_empty() {
            self.drafter.settle(draft.len(), n_accepted);
            self.stats.drafted_tokens += draft.len();
            self.stats.accepted_draft_tokens += n_accepted;
            self.state = self.state.as_ref().and_then(|state| state.cut(n_before + n_accepted));
        }
        Ok(())
    }

    /// Adds the next token, and the forced tokens after it: the model computes those in one step.
    fn pick(&mut self, logits: &mut [f32], loaded: &LoadedModel) -> Result<()> {
        let tokenizer = &loaded.tokenizer;
        let n_known = logits.len().min(tokenizer.n_tokens()); // the padding of a vocabulary has logits without tokens
        self.transcript.record_logits(&logits[..n_known]);
        // A token's log-probability is known only right after the token before it.
        let steps_together = loaded.looks_ahead && !self.transcript.has_logprobs() && self.speech.is_none();
        let mut forced = self.constraint.forced(self.transcript.section());
        if forced.is_empty() {
            match self.choose(&mut logits[..n_known], tokenizer)? {
                Some(token) => self.add(token, tokenizer),
                None => self.end(FinishReason::Constraint),
            }
            if steps_together {
                forced = self.forced_next();
            }
        }
        while !forced.is_empty() {
            for token in forced {
                if self.has_ended {
                    return Ok(());
                }
                self.sampler.add_token(token);
                self.stats.forced_tokens += 1;
                self.add(token, tokenizer);
                if !steps_together {
                    return Ok(());
                }
            }
            forced = self.forced_next();
        }
        Ok(())
    }

    fn forced_next(&mut self) -> Vec<u32> {
        if self.has_ended { Vec::new() } else { self.constraint.forced(self.transcript.section()) }
    }

    /// Samples among the tokens that are allowed; `None` if there is none.
    fn choose(&mut self, logits: &mut [f32], tokenizer: &ModelTokenizer) -> Result<Option<u32>> {
        match self.choice.take() {
            Some(TokenChoice::Token(token)) => {
                self.sampler.add_token(token);
                return Ok(Some(token));
            }
            Some(TokenChoice::Nothing) => return Err(excludes_all()),
            Some(TokenChoice::NotFinite) => return Err(not_finite()),
            None => {}
        }
        self.exclude_banned(logits);
        let (constraint, section) = (&mut self.constraint, self.transcript.section());
        let held = self.transcript.held();
        constraint.mask(section, logits);
        if constraint.has_failed() {
            return Ok(None);
        }
        let picked = self.sampler.pick(logits, |token| constraint.allows(token, held, section, tokenizer))?;
        if picked.is_none() && !constraint.is_active() {
            return Err(excludes_all());
        }
        Ok(picked)
    }

    /// Adds a token to the reply, and ends the reply if it is complete.
    fn add(&mut self, token: u32, tokenizer: &ModelTokenizer) {
        self.positions.push(Position::Token(token));
        let ends_reply = tokenizer.is_end(token) || self.speech.as_ref().is_some_and(|speech| speech.ends_reply(token));
        self.constraint.take(token);
        let before = self.transcript.section();
        self.stats.completion_tokens += 1;
        match (ends_reply, self.ignores_end) {
            (true, false) => {
                return self.end(FinishReason::Stop);
            }
            (true, true) => {}
            (false, _) => self.parse(token, tokenizer),
        }
        self.follow_speech(token, before);
        if self.constraint.has_failed() {
            self.end(FinishReason::Constraint);
        } else if self.transcript.reply.has_stopped() || self.repeats || self.constraint.is_done() && !self.ignores_end
        {
            self.end(FinishReason::Stop);
        } else {
            self.end_at_limits();
        }
    }

    /// Ends the reply where its own tokens and frames, or the context, end.
    pub(super) fn end_at_limits(&mut self) {
        if self.max_tokens <= self.stats.completion_tokens {
            self.end(FinishReason::MaxTokens);
        } else if self.stats.context_size <= self.stats.total_tokens() {
            self.end(FinishReason::ExceedContext);
        }
    }

    fn parse(&mut self, token: u32, tokenizer: &ModelTokenizer) {
        let transcript = &mut self.transcript;
        let (n_calls, before) = (transcript.reply.n_calls(), transcript.section());
        let text = transcript.push(token, tokenizer);
        let (reply, now) = (&transcript.reply, transcript.section());
        self.drafter.follow(now, &text);
        if let Some(finder) = &mut self.repetition {
            match (before, now) {
                _ if self.constraint.is_active() => finder.clear(),
                (ReplySection::Calls, _) | (_, ReplySection::Calls) => finder.clear(),
                _ => self.repeats = finder.push(&text),
            }
        }
        self.constraint.follow(before, now, || transcript.open_block(), reply.n_calls());
        // The markers around a section belong to it.
        match (before, now) {
            (ReplySection::Calls, _) | (_, ReplySection::Calls) => self.stats.call_tokens += 1,
            (ReplySection::Reasoning, _) | (_, ReplySection::Reasoning) => self.stats.reasoning_tokens += 1,
            (ReplySection::Text, ReplySection::Text) => {}
        }
        if n_calls < reply.n_calls()
            && let Some(owner) = &mut self.reply_owner
        {
            owner.called(&reply.message(false));
        }
    }
}

fn excludes_all() -> SdkError {
    SdkError::new(ErrorKind::Generation, "the model excludes every token")
}
