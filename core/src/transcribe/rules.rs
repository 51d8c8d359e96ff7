//! Which tokens may be written next: the rules by which Whisper's times form pairs that do not go back.

use crate::checkpoint::WhisperTokens;
use crate::transcribe::vocabulary::SpeechVocabulary;

const NEVER: f32 = f32::NEG_INFINITY;

/// Sets the logits of tokens that may not follow the tokens written so far to minus infinity.
pub(super) fn apply(vocabulary: &SpeechVocabulary, written: &[u32], has_times: bool, logits: &mut [f32]) {
    let forbid = |logits: &mut [f32], tokens: &[u32]| {
        tokens.iter().for_each(|token| {
            if let Some(logit) = logits.get_mut(*token as usize) {
                *logit = NEVER;
            }
        });
    };
    forbid(logits, &vocabulary.suppressed);
    if written.is_empty() {
        forbid(logits, &vocabulary.suppressed_first);
    }
    let first_time = vocabulary.tokens.first_time() as usize;
    match has_times {
        true => apply_times(&vocabulary.tokens, written, logits),
        false => logits[first_time..].fill(NEVER),
    }
}

fn apply_times(tokens: &WhisperTokens, written: &[u32], logits: &mut [f32]) {
    let (first, n) = (tokens.first_time() as usize, logits.len());
    let is_time = |token: Option<&u32>| token.is_some_and(|token| tokens.is_time(*token));
    let last_is_time = is_time(written.last());
    let is_pair = last_is_time && (written.len() < 2 || is_time(written.get(written.len() - 2)));
    match (last_is_time, is_pair) {
        (true, true) => logits[first..].fill(NEVER), // text follows a pair
        (true, false) => logits[..(tokens.end as usize).min(n)].fill(NEVER), // a time ends a text: its pair or the end follows
        _ => {}
    }
    if let Some(last) = written.iter().rev().find(|token| tokens.is_time(**token)) {
        // Only the second time of a pair may be the same.
        let earliest = if last_is_time && !is_pair { *last } else { last.saturating_add(1) };
        logits[first..(earliest as usize).clamp(first, n)].fill(NEVER);
    }
    if written.is_empty() {
        logits[..first].fill(NEVER);
        logits[first.saturating_add(tokens.latest_start).saturating_add(1).min(n)..].fill(NEVER);
    }
    // If a time is more probable than each single token of text, it is one of the times.
    let largest_of = |logits: &[f32]| logits.iter().copied().fold(NEVER, f32::max);
    let (text, times) = logits.split_at(first);
    let (largest_text, largest_time) = (largest_of(text), largest_of(times));
    if largest_time == NEVER {
        return;
    }
    let sum: f64 = times.iter().map(|logit| f64::from(logit - largest_time).exp()).sum();
    if f64::from(largest_text) < f64::from(largest_time) + sum.ln() {
        logits[..first].fill(NEVER);
    }
}
