//! Speculative decoding: draft tokens, looked up where the sequence contained the same text before.
//!
//! Arguments of calls and quotes mostly repeat the prompt. The model computes draft tokens in one step with the token before
//! them, and each is accepted only if it is the token that would have been picked anyway. So they change no reply, only the
//! number of passes over the weights.

use smallvec::SmallVec;

use crate::position::Position;
use crate::response::ReplySection;
use crate::tokenizer::{ModelTokenizer, TokenText};

/// Drafts tokens for one reply.
pub(super) struct Drafter {
    /// Whether a quote is open in the text.
    is_quoting: bool,
    /// Tokens drafted at once: more while drafts are accepted, fewer while they are not.
    length: usize,
    /// Draft tokens that may still be rejected before drafting stops.
    credit: usize,
}

const FIRST_LENGTH: usize = 2;
const MAX_LENGTH: usize = 8;
/// Letters that must match; fewer match too often by chance.
const MIN_LETTERS: usize = 3;
/// Tokens that are compared with the end of the sequence, and tokens that are searched for a match.
const MAX_MATCH: usize = 8;
const SEARCHED: usize = 4096;
/// What an accepted draft token saves, in units of a draft token's cost: a pass over the weights costs as much as some
/// additional tokens in one pass.
const WORTH: usize = 3;
const FIRST_CREDIT: usize = 16;
const MAX_CREDIT: usize = 48;

pub(super) type Draft = SmallVec<[u32; MAX_LENGTH]>;

impl Drafter {
    pub(super) fn new() -> Self {
        Self { is_quoting: false, length: FIRST_LENGTH, credit: FIRST_CREDIT }
    }

    /// Follows the text added to a section.
    pub(super) fn follow(&mut self, section: ReplySection, text: &str) {
        let n_quotes = text.matches('"').count();
        self.is_quoting = section != ReplySection::Calls && self.is_quoting != (n_quotes % 2 == 1);
    }

    /// Draft tokens that may follow these positions; none where a repetition is unlikely, or after too many rejections.
    /// Embedded content ends a draft and a match.
    pub(super) fn draft(&self, section: ReplySection, positions: &[Position], tokenizer: &ModelTokenizer) -> Draft {
        if section != ReplySection::Calls && !self.is_quoting {
            return Draft::new();
        }
        let following = &positions[best_match(positions, tokenizer)..];
        let tokens = following.iter().take(self.length.min(self.credit)).map_while(|position| position.token());
        tokens.take_while(|id| matches!(tokenizer.text(*id), Some(TokenText::Bytes(_)))).collect()
    }

    /// Adapts the length and the credit to the number of draft tokens that were accepted.
    pub(super) fn settle(&mut self, n_drafted: usize, n_accepted: usize) {
        self.length = if n_accepted == n_drafted { (2 * self.length).min(MAX_LENGTH) } else { n_accepted.max(1) };
        self.credit = (self.credit + WORTH * n_accepted).saturating_sub(n_drafted).min(MAX_CREDIT);
    }
}

/// The index before which the positions match their end best, the last one of several; the end if nothing matches.
fn best_match(positions: &[Position], tokenizer: &ModelTokenizer) -> usize {
    let (mut most, mut best) = (MIN_LETTERS - 1, positions.len());
    for at in (positions.len().saturating_sub(SEARCHED)..positions.len()).rev() {
        let n_letters = common_letters(&positions[..at], positions, tokenizer);
        if most < n_letters {
            (most, best) = (n_letters, at);
        }
    }
    best
}

/// Letters that two sequences have in common at their ends.
fn common_letters(these: &[Position], those: &[Position], tokenizer: &ModelTokenizer) -> usize {
    let pairs = these.iter().rev().zip(those.iter().rev()).take(MAX_MATCH);
    let common = pairs.map_while(|(this, that)| {
        let this_word = word(*this, tokenizer)?;
        (this == that || word(*that, tokenizer)? == this_word).then_some(this_word)
    });
    common.map(|word| word.iter().filter(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii()).count()).sum()
}

/// A token's text without its leading space: after a quotation mark, a word has none.
fn word(position: Position, tokenizer: &ModelTokenizer) -> Option<&[u8]> {
    match tokenizer.text(position.token()?)? {
        TokenText::Bytes(bytes) => Some(bytes.strip_prefix(b" ").unwrap_or(bytes)),
        TokenText::Control(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::position::ContentDigest;
    use crate::prompt::Segment;
    use crate::weights::Weights;

    fn tokenizer() -> ModelTokenizer {
        let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
        ModelTokenizer::load(&Weights::open(model).unwrap()).unwrap()
    }

    /// The text that is drafted after a text.
    fn draft(drafter: &Drafter, section: ReplySection, text: &str) -> String {
        let tokenizer = tokenizer();
        let tokens = tokenizer.encode(&[Segment::Text(text.to_owned())]).unwrap();
        let positions: Vec<Position> = tokens.into_iter().map(Position::Token).collect();
        let mut pieces = tokenizer.pieces();
        let text = |id: &u32| match tokenizer.text(*id) {
            Some(TokenText::Bytes(bytes)) => pieces.push(bytes),
            other => panic!("{other:?} is drafted"),
        };
        drafter.draft(section, &positions, &tokenizer).iter().map(text).collect()
    }

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let drafted = draft(&Drafter::new(), ReplySection::Calls, text);
        assert!(expect.starts_with(&drafted) && drafted.is_empty() == expect.is_empty(), "{drafted:?}");
    }

    #[test]
    fn repeated_text_is_drafted() {
        check("set the timer for the pasta, please. label='the timer for", " the pasta, please");
        check("one two three, one two four. one two", " four. one");
        check("one two three, and two four. one two", " three, and");
        check("a timer. label='timer", ". label=");
        check("set a timer. note(text='list", "");
        check("f(a, f(b, f(", "");
    }

    #[test]
    fn embedded_content_ends_drafts_and_matches() {
        let tokenizer = tokenizer();
        let encode = |text: &str| {
            let ids = tokenizer.encode(&[Segment::Text(text.to_owned())]).unwrap();
            ids.into_iter().map(Position::Token).collect::<Vec<_>>()
        };
        let row = Position::Embedded { digest: ContentDigest::from_parts(&[b"image"]), row: 0 };
        let draft = |parts: [&str; 2]| {
            let positions = [encode(parts[0]), vec![row], encode(parts[1])].concat();
            Drafter::new().draft(ReplySection::Calls, &positions, &tokenizer)
        };
        assert!(draft(["set the timer", " set the timer"]).is_empty());
        assert!(!draft(["", "set the timer for the pasta. set the timer"]).is_empty());
    }

    #[test]
    fn drafts_are_for_calls_and_quotes() {
        let text = "set the timer for the pasta. set the timer";
        let mut drafter = Drafter::new();
        assert_eq!(draft(&drafter, ReplySection::Text, text), "");
        drafter.follow(ReplySection::Text, "it says \"");
        assert!(draft(&drafter, ReplySection::Text, text).starts_with(" for"));
        drafter.follow(ReplySection::Text, "set the timer\"");
        assert_eq!(draft(&drafter, ReplySection::Text, text), "");
    }

    #[test]
    fn drafting_ends_after_too_many_rejections() {
        let text = "set the timer for the pasta. set the timer";
        let mut drafter = Drafter::new();
        let n_letters = |drafter: &Drafter| draft(drafter, ReplySection::Calls, text).len();
        let short = n_letters(&drafter);
        drafter.settle(2, 2);
        let long = n_letters(&drafter);
        drafter.settle(4, 0);
        assert!(0 < n_letters(&drafter) && n_letters(&drafter) < short && short < long);
        (0..18).for_each(|_| drafter.settle(1, 0));
        assert_eq!(n_letters(&drafter), 0);
    }
}
