//! Log-probabilities of a reply's tokens. Each is held until the section of its token is certain, and reported together with
//! the token's text at the latest.

use crate::options::GenerationOptions;
use crate::response::{MessageResponse, ReplySection, ScoredToken, TokenLogprob};
use crate::tokenizer::{ModelTokenizer, TokenText};

/// The log-probabilities of one reply that are not yet reported.
pub(crate) struct LogprobLog {
    n_alternatives: usize,
    /// Whether the spellings of control tokens are text.
    spells_controls: bool,
    /// The logits of the token that is picked next.
    logits: Vec<f32>,
    pending: Vec<PendingLogprob>,
    /// Bytes of decoded text so far.
    n_decoded: usize,
}

struct PendingLogprob {
    /// Offset of the token in the decoded text.
    start: usize,
    logprob: TokenLogprob,
}

/// How far a reply is parsed, between two tokens.
#[derive(Clone, Copy)]
pub(crate) struct ParsedLength {
    pub(crate) section: ReplySection,
    /// Bytes that the parser collects or holds back.
    pub(crate) n_undecided: usize,
    /// Calls delivered.
    pub(crate) n_calls: usize,
    /// Bytes of text delivered.
    pub(crate) n_text: usize,
}

impl LogprobLog {
    /// A log, if the options request log-probabilities.
    pub(crate) fn new(options: &GenerationOptions) -> Option<Self> {
        Some(Self {
            n_alternatives: options.logprobs?,
            spells_controls: options.function_call_parser.is_none(),
            logits: Vec::new(),
            pending: Vec::new(),
            n_decoded: 0,
        })
    }

    /// Records the logits as computed, before anything changes them.
    pub(crate) fn record_logits(&mut self, logits: &[f32]) {
        self.logits.clear();
        self.logits.extend_from_slice(logits);
    }

    /// Records a token that was picked and is not yet parsed. `bytes` are the bytes that it adds to the text, where those
    /// differ from the token's own.
    pub(crate) fn record(&mut self, token: u32, bytes: Option<&[u8]>, tokenizer: &ModelTokenizer) {
        let scored = NormalisedLogits::new(&self.logits, self.spells_controls);
        let mut picked = scored.token(token, tokenizer);
        if let Some(bytes) = bytes {
            picked.text = String::from_utf8_lossy(bytes).into_owned();
            picked.bytes = bytes.to_owned();
        }
        let alternatives = scored.best(self.n_alternatives).into_iter().map(|id| scored.token(id, tokenizer)).collect();
        let logprob = TokenLogprob { token: picked, place: ReplySection::Text, alternatives };
        self.pending.push(PendingLogprob { start: self.n_decoded, logprob });
    }

    /// Assigns a section to the token recorded last, which added `n_bytes` of text when it was parsed, and to the tokens
    /// before it whose section was not certain.
    pub(crate) fn follow(&mut self, n_bytes: usize, before: ParsedLength, now: ParsedLength, has_dropped_text: bool) {
        let held_from = self.n_decoded.saturating_sub(before.n_undecided);
        self.n_decoded += n_bytes;
        let section = match (before.section, now.section) {
            (ReplySection::Calls, _) | (_, ReplySection::Calls) => ReplySection::Calls,
            _ if before.n_calls < now.n_calls || has_dropped_text => ReplySection::Calls,
            (ReplySection::Reasoning, _) | (_, ReplySection::Reasoning) => ReplySection::Reasoning,
            (ReplySection::Text, ReplySection::Text) => ReplySection::Text,
        };
        if section != ReplySection::Text {
            // The text that was held back began a marker.
            self.move_to(section, |pending| held_from <= pending.start);
        }
        self.close_block(before, now);
    }

    /// A block that held no calls is text, if it was delivered as such.
    fn close_block(&mut self, before: ParsedLength, now: ParsedLength) {
        let is_closed = before.section == ReplySection::Calls && now.section != ReplySection::Calls;
        if is_closed && before.n_calls == now.n_calls && before.n_text < now.n_text {
            self.move_to(ReplySection::Text, |pending| pending.logprob.place == ReplySection::Calls);
        }
    }

    fn move_to(&mut self, section: ReplySection, is_moved: impl Fn(&PendingLogprob) -> bool) {
        let moved = self.pending.iter_mut().filter(|pending| is_moved(pending));
        moved.for_each(|pending| pending.logprob.place = section);
    }

    /// Takes the tokens whose text is at least partly delivered, while the last `n_undecided` bytes are not.
    pub(crate) fn take_decided(&mut self, n_undecided: usize) -> Option<MessageResponse> {
        let decided = self.n_decoded.saturating_sub(n_undecided);
        let n_decided = self.pending.iter().position(|pending| decided <= pending.start).unwrap_or(self.pending.len());
        event(self.pending.drain(..n_decided))
    }

    /// Takes all that are left, when the reply has ended with `n_bytes` more, of which the last `n_cut` are cut off.
    pub(crate) fn take_rest(
        &mut self,
        n_bytes: usize,
        n_cut: usize,
        before: ParsedLength,
        now: ParsedLength,
    ) -> Option<MessageResponse> {
        self.n_decoded += n_bytes;
        self.close_block(before, now);
        if 0 < n_cut { self.take_decided(n_cut) } else { event(self.pending.drain(..)) }
    }
}

fn event(decided: impl Iterator<Item = PendingLogprob>) -> Option<MessageResponse> {
    let logprobs: Vec<TokenLogprob> = decided.map(|pending| pending.logprob).collect();
    (!logprobs.is_empty()).then_some(MessageResponse::Logprobs(logprobs))
}

/// Logits with the sum that normalises them to log-probabilities.
pub(super) struct NormalisedLogits<'a> {
    logits: &'a [f32],
    log_sum: f64,
    spells_controls: bool,
}

impl<'a> NormalisedLogits<'a> {
    pub(super) fn new(logits: &'a [f32], spells_controls: bool) -> Self {
        let best = f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        let sum: f64 = logits.iter().map(|logit| (f64::from(*logit) - best).exp()).sum();
        Self { logits, log_sum: best + sum.ln(), spells_controls }
    }

    fn token(&self, id: u32, tokenizer: &ModelTokenizer) -> ScoredToken {
        let (text, bytes) = match tokenizer.text(id) {
            Some(TokenText::Bytes(bytes)) => (String::from_utf8_lossy(bytes).into_owned(), bytes.to_vec()),
            Some(TokenText::Control(spelling)) if self.spells_controls => {
                (spelling.to_string(), spelling.as_bytes().to_vec())
            }
            Some(TokenText::Control(spelling)) => (spelling.to_string(), Vec::new()),
            None => (String::new(), Vec::new()),
        };
        ScoredToken { id, text, bytes, logprob: self.logprob(id) }
    }

    pub(super) fn logprob(&self, id: u32) -> f64 {
        let logit = self.logits.get(id as usize).copied().unwrap_or(f32::NEG_INFINITY);
        f64::from(logit) - self.log_sum
    }

    /// The `n` most probable tokens, excluded ones aside: the best first, and of equal ones the lower id first.
    fn best(&self, n: usize) -> Vec<u32> {
        if n == 0 {
            return Vec::new();
        }
        let possible = self.logits.iter().zip(0..).filter(|(logit, _)| **logit != f32::NEG_INFINITY);
        let mut ids: Vec<(f32, u32)> = possible.map(|(logit, id)| (*logit, id)).collect();
        let order = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if n < ids.len() {
            ids.select_nth_unstable_by(n - 1, order);
            ids.truncate(n);
        }
        ids.sort_unstable_by(order);
        ids.into_iter().map(|(_, id)| id).collect()
    }
}
