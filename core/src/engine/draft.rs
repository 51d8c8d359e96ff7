//! Guesses at what comes next, by looking up where the same was said before.
//!
//! Arguments of calls and quotes mostly repeat the prompt. The model reads guesses along with the token before them and says
//! of each whether it would have written it, so they change no reply, only how many passes over the weights it takes.

use crate::response::ReplySection;
use crate::tokenizer::{ModelTokenizer, TokenText};

/// Guesses for one reply.
pub(super) struct Drafter {
    /// Whether a quote is open in the text.
    is_quoting: bool,
    /// Tokens guessed at once: more where guesses are right, fewer where they are not.
    length: usize,
    /// Tokens that may yet be guessed in vain.
    credit: usize,
}

const FIRST_LENGTH: usize = 2;
const MOST_LENGTH: usize = 8;
/// Letters that must be the same, or too much is alike by chance.
const FEWEST_LETTERS: usize = 3;
/// Tokens that are compared with the end, and those that are searched.
const LONGEST: usize = 8;
const REACH: usize = 4096;
/// What a right guess saves, in the cost of a guess: a pass over the weights takes as long as some more tokens in one.
const WORTH: usize = 3;
const FIRST_CREDIT: usize = 16;
const MOST_CREDIT: usize = 48;

impl Drafter {
    pub(super) fn new() -> Self {
        Self { is_quoting: false, length: FIRST_LENGTH, credit: FIRST_CREDIT }
    }

    /// Follows what is written at a place.
    pub(super) fn follow(&mut self, place: ReplySection, text: &str) {
        let n_quotes = text.matches('"').count();
        self.is_quoting = place != ReplySection::Calls && self.is_quoting != (n_quotes % 2 == 1);
    }

    /// What may come behind the tokens; nothing where they are unlikely to repeat anything, or where too many guesses
    /// were wrong.
    pub(super) fn guess<'a>(&self, place: ReplySection, tokens: &'a [u32], tokenizer: &ModelTokenizer) -> &'a [u32] {
        if place != ReplySection::Calls && !self.is_quoting {
            return &[];
        }
        let behind = &tokens[most_alike(tokens, tokenizer)..];
        let is_text = |id: &&u32| matches!(tokenizer.text(**id), Some(TokenText::Bytes(_)));
        let n_guessed = behind.iter().take(self.length.min(self.credit)).take_while(is_text).count();
        &behind[..n_guessed]
    }

    /// Hears how many of the guesses were right.
    pub(super) fn settle(&mut self, n_guessed: usize, n_right: usize) {
        self.length = if n_right == n_guessed { (2 * self.length).min(MOST_LENGTH) } else { n_right.max(1) };
        self.credit = (self.credit + WORTH * n_right).saturating_sub(n_guessed).min(MOST_CREDIT);
    }
}

/// The place before which the tokens are most like their end, the last of several; the end where nothing is like it.
fn most_alike(tokens: &[u32], tokenizer: &ModelTokenizer) -> usize {
    let (mut most, mut place) = (FEWEST_LETTERS - 1, tokens.len());
    for at in (tokens.len().saturating_sub(REACH)..tokens.len()).rev() {
        let n_letters = letters_alike(&tokens[..at], tokens, tokenizer);
        if most < n_letters {
            (most, place) = (n_letters, at);
        }
    }
    place
}

/// The letters that two sequences have in common at their ends.
fn letters_alike(these: &[u32], those: &[u32], tokenizer: &ModelTokenizer) -> usize {
    let pairs = these.iter().rev().zip(those.iter().rev()).take(LONGEST);
    let alike = pairs.map_while(|(this, that)| {
        let this_word = word(*this, tokenizer)?;
        (this == that || word(*that, tokenizer)? == this_word).then_some(this_word)
    });
    alike.map(|word| word.iter().filter(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii()).count()).sum()
}

/// A token's text without the space before it: behind a quote a word stands without one.
fn word(id: u32, tokenizer: &ModelTokenizer) -> Option<&[u8]> {
    match tokenizer.text(id)? {
        TokenText::Bytes(bytes) => Some(bytes.strip_prefix(b" ").unwrap_or(bytes)),
        TokenText::Control(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::Segment;
    use crate::weights::Weights;

    fn tokenizer() -> ModelTokenizer {
        let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
        ModelTokenizer::load(&Weights::open(model).unwrap()).unwrap().0
    }

    /// The text that is guessed behind a text.
    fn guess(drafter: &Drafter, place: ReplySection, text: &str) -> String {
        let tokenizer = tokenizer();
        let tokens = tokenizer.encode(&[Segment::Text(text.to_owned())]).unwrap();
        let mut pieces = tokenizer.pieces();
        let text = |id: &u32| match tokenizer.text(*id) {
            Some(TokenText::Bytes(bytes)) => pieces.push(bytes),
            other => panic!("{other:?} is guessed"),
        };
        drafter.guess(place, &tokens, &tokenizer).iter().map(text).collect()
    }

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let guessed = guess(&Drafter::new(), ReplySection::Calls, text);
        assert!(expect.starts_with(&guessed) && guessed.is_empty() == expect.is_empty(), "{guessed:?}");
    }

    #[test]
    fn what_stood_before_is_guessed() {
        check("set the timer for the pasta, please. label='the timer for", " the pasta, please");
        check("one two three, one two four. one two", " four. one");
        check("one two three, and two four. one two", " three, and");
        check("a timer. label='timer", ". label=");
        check("set a timer. note(text='list", "");
        check("f(a, f(b, f(", "");
    }

    #[test]
    fn guesses_are_for_calls_and_quotes() {
        let text = "set the timer for the pasta. set the timer";
        let mut drafter = Drafter::new();
        assert_eq!(guess(&drafter, ReplySection::Text, text), "");
        drafter.follow(ReplySection::Text, "it says \"");
        assert!(guess(&drafter, ReplySection::Text, text).starts_with(" for"));
        drafter.follow(ReplySection::Text, "set the timer\"");
        assert_eq!(guess(&drafter, ReplySection::Text, text), "");
    }

    #[test]
    fn guessing_ends_where_too_little_is_right() {
        let text = "set the timer for the pasta. set the timer";
        let mut drafter = Drafter::new();
        let n_letters = |drafter: &Drafter| guess(drafter, ReplySection::Calls, text).len();
        let short = n_letters(&drafter);
        drafter.settle(2, 2);
        let long = n_letters(&drafter);
        drafter.settle(4, 0);
        assert!(0 < n_letters(&drafter) && n_letters(&drafter) < short && short < long);
        (0..18).for_each(|_| drafter.settle(1, 0));
        assert_eq!(n_letters(&drafter), 0);
    }
}
