//! Tells how likely the tokens of a reply were. Each waits until it is certain what became of its text, and goes out no
//! later than that.

use crate::options::GenerationOptions;
use crate::response::{MessageResponse, ReplySection, ScoredToken, TokenLogprob};
use crate::tokenizer::{ModelTokenizer, TokenText};

/// The tokens of one reply that are still to be told.
pub(crate) struct TokenLog {
    n_alternatives: usize,
    /// Whether control tokens are text, as they are spelt.
    spells_controls: bool,
    /// What the model computed for the token that is picked next.
    logits: Vec<f32>,
    waiting: Vec<Waiting>,
    /// Bytes of decoded text so far.
    n_decoded: usize,
}

struct Waiting {
    /// Where the token begins in the decoded text.
    start: usize,
    logprob: TokenLogprob,
}

/// Where the parser of a reply and the reply stand between two tokens.
#[derive(Clone, Copy)]
pub(crate) struct Standing {
    pub(crate) place: ReplySection,
    /// Bytes that the parser collects or holds back.
    pub(crate) n_undecided: usize,
    /// Calls delivered.
    pub(crate) n_calls: usize,
    /// Bytes of text given out.
    pub(crate) n_text: usize,
}

impl TokenLog {
    /// A log for these options, if they ask for one.
    pub(crate) fn new(options: &GenerationOptions) -> Option<Self> {
        Some(Self {
            n_alternatives: options.logprobs?,
            spells_controls: options.function_call_parser.is_none(),
            logits: Vec::new(),
            waiting: Vec::new(),
            n_decoded: 0,
        })
    }

    /// Takes note of what the model computed, before anything is done to it.
    pub(crate) fn read(&mut self, logits: &[f32]) {
        self.logits.clear();
        self.logits.extend_from_slice(logits);
    }

    /// Takes note of a token that is written and not yet parsed. `bytes` is what it adds to the text, where that is not
    /// what the token is by itself.
    pub(crate) fn note(&mut self, token: u32, bytes: Option<&[u8]>, tokenizer: &ModelTokenizer) {
        let scored = Scores::new(&self.logits, self.spells_controls);
        let mut written = scored.token(token, tokenizer);
        if let Some(bytes) = bytes {
            written.text = String::from_utf8_lossy(bytes).into_owned();
            written.bytes = bytes.to_owned();
        }
        let alternatives = scored.best(self.n_alternatives).into_iter().map(|id| scored.token(id, tokenizer)).collect();
        let logprob = TokenLogprob { token: written, place: ReplySection::Text, alternatives };
        self.waiting.push(Waiting { start: self.n_decoded, logprob });
    }

    /// Finds out what became of the token noted last, which was so many bytes of text when it was parsed, and of those
    /// before it.
    pub(crate) fn follow(&mut self, n_bytes: usize, before: Standing, now: Standing, has_left_out: bool) {
        let held_from = self.n_decoded.saturating_sub(before.n_undecided);
        self.n_decoded += n_bytes;
        let place = match (before.place, now.place) {
            (ReplySection::Calls, _) | (_, ReplySection::Calls) => ReplySection::Calls,
            _ if before.n_calls < now.n_calls || has_left_out => ReplySection::Calls,
            (ReplySection::Reasoning, _) | (_, ReplySection::Reasoning) => ReplySection::Reasoning,
            (ReplySection::Text, ReplySection::Text) => ReplySection::Text,
        };
        if place != ReplySection::Text {
            // What was held back was the beginning of a marker.
            self.move_to(place, |waiting| held_from <= waiting.start);
        }
        self.close_block(before, now);
    }

    /// A block that was no calls is text, if it was given out as such.
    fn close_block(&mut self, before: Standing, now: Standing) {
        let is_closed = before.place == ReplySection::Calls && now.place != ReplySection::Calls;
        if is_closed && before.n_calls == now.n_calls && before.n_text < now.n_text {
            self.move_to(ReplySection::Text, |waiting| waiting.logprob.place == ReplySection::Calls);
        }
    }

    fn move_to(&mut self, place: ReplySection, is_moved: impl Fn(&Waiting) -> bool) {
        let moved = self.waiting.iter_mut().filter(|waiting| is_moved(waiting));
        moved.for_each(|waiting| waiting.logprob.place = place);
    }

    /// The tokens whose text has begun to be given out, when so many bytes have not.
    pub(crate) fn told(&mut self, n_undecided: usize) -> Option<MessageResponse> {
        let decided = self.n_decoded.saturating_sub(n_undecided);
        let n_told = self.waiting.iter().position(|waiting| decided <= waiting.start).unwrap_or(self.waiting.len());
        event(self.waiting.drain(..n_told))
    }

    /// All that are left, when the reply has ended with so many bytes more, of which so many are cut off.
    pub(crate) fn rest(
        &mut self,
        n_bytes: usize,
        n_cut: usize,
        before: Standing,
        now: Standing,
    ) -> Option<MessageResponse> {
        self.n_decoded += n_bytes;
        self.close_block(before, now);
        if 0 < n_cut { self.told(n_cut) } else { event(self.waiting.drain(..)) }
    }
}

fn event(told: impl Iterator<Item = Waiting>) -> Option<MessageResponse> {
    let told: Vec<TokenLogprob> = told.map(|waiting| waiting.logprob).collect();
    (!told.is_empty()).then_some(MessageResponse::Logprobs(told))
}

/// Logits, and what makes log-probabilities of them.
struct Scores<'a> {
    logits: &'a [f32],
    log_sum: f64,
    spells_controls: bool,
}

impl<'a> Scores<'a> {
    fn new(logits: &'a [f32], spells_controls: bool) -> Self {
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
        let logit = self.logits.get(id as usize).copied().unwrap_or(f32::NEG_INFINITY);
        ScoredToken { id, text, bytes, logprob: f64::from(logit) - self.log_sum }
    }

    /// The most probable ones that are possible at all, the best first, and of equal ones the lower id.
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
