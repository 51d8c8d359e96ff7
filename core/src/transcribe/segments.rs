//! Cuts the text of a window into segments by its times, and says where the next window begins.

use std::time::Duration;

use crate::transcribe::text::WindowText;
use crate::transcribe::transcript::TranscriptSegment;
use crate::transcribe::vocabulary::SpeechVocabulary;

/// Milliseconds between two times.
const STEP: u64 = 20;

/// The segments of a window.
pub(super) struct CutWindow {
    pub(super) segments: Vec<TranscriptSegment>,
    /// Milliseconds from the beginning of the window to that of the next; `None` for all of the window.
    pub(super) next: Option<u64>,
}

/// Cuts the text of a window that begins at `offset` and lasts `length` milliseconds.
pub(super) fn cut(vocabulary: &SpeechVocabulary, text: &WindowText, offset: u64, length: u64) -> CutWindow {
    let tokens = &text.tokens;
    let time = |token: u32| u64::from(token.saturating_sub(vocabulary.tokens.first_time())) * STEP;
    let is_time = |at: usize| tokens.get(at).is_some_and(|token| vocabulary.tokens.is_time(*token));
    // Beyond the end of the sound, the window is filled with silence.
    let place = |time: u64| Duration::from_millis(offset + time.min(length));
    let segment = |start: u64, end: u64, tokens: &[u32]| TranscriptSegment {
        start: place(start),
        end: place(end),
        text: vocabulary.decode(tokens),
        tokens: tokens.to_vec(),
        avg_logprob: text.avg_logprob,
        no_speech_prob: text.no_speech_prob,
        compression_ratio: text.compression_ratio,
        temperature: text.temperature,
        words: Vec::new(),
    };
    let n = tokens.len();
    // A single time at the end says that nobody speaks after it.
    let ends_in_time = 0 < n && is_time(n - 1) && !(1 < n && is_time(n - 2));
    let mut ends: Vec<usize> = (1..n).filter(|at| is_time(*at) && is_time(at - 1)).collect();
    let (segments, next) = match ends.last().copied() {
        Some(last) => {
            if ends_in_time {
                ends.push(n);
            }
            let starts = std::iter::once(0).chain(ends.iter().copied());
            let cut = starts.zip(&ends).map(|(start, end)| {
                let part = &tokens[start..*end];
                let [first, last] = [part.first(), part.last()].map(|token| token.map_or(0, |token| time(*token)));
                segment(first, last, part)
            });
            (cut.collect(), (!ends_in_time).then(|| time(tokens[last - 1])))
        }
        None => {
            let last = tokens.iter().rev().find(|token| vocabulary.tokens.is_time(**token)).map(|token| time(*token));
            let end = last.filter(|last| *last != 0).unwrap_or(length);
            (vec![segment(0, end, tokens)], None)
        }
    };
    let is_said = |segment: &TranscriptSegment| segment.start < segment.end && !segment.text.trim().is_empty();
    CutWindow {
        segments: segments.into_iter().filter(is_said).collect(),
        next: next.filter(|next| (1..length).contains(next)),
    }
}
