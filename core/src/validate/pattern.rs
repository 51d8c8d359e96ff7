//! Patterns of JSON Schema, which are JavaScript's: `\d` and `\w` stand for ASCII, as grammars have it too.

use std::cell::RefCell;
use std::collections::HashMap;

use fancy_regex::{Regex, RegexBuilder};
use llguidance::regex_to_lark;

/// Steps back that a search may take.
const MOST_STEPS_BACK: usize = 100_000;
/// Bytes that a pattern may take when it is made ready, about.
const LARGEST: usize = 128 << 10;
/// Patterns that a thread keeps ready: each is wanted for many values.
const MOST_READY: usize = 128;

thread_local! {
    static READY: RefCell<HashMap<String, Option<Regex>>> = RefCell::default();
}

/// Whether a pattern is found in a text; `None` for one that is none, or that takes too much.
pub(super) fn matches(pattern: &str, text: &str) -> Option<bool> {
    ready(pattern, |regex| regex?.is_match(text).ok())
}

/// Whether a pattern is one, and takes no more than it may.
pub(crate) fn is_pattern(pattern: &str) -> bool {
    ready(pattern, |regex| regex.is_some())
}

fn ready<T>(pattern: &str, f: impl FnOnce(Option<&Regex>) -> T) -> T {
    READY.with_borrow_mut(|ready| {
        if let Some(regex) = ready.get(pattern) {
            return f(regex.as_ref());
        }
        if MOST_READY <= ready.len() {
            ready.clear();
        }
        f(ready.entry(pattern.to_owned()).or_insert(compile(pattern)).as_ref())
    })
}

fn compile(pattern: &str) -> Option<Regex> {
    let mut builder = RegexBuilder::new(&regex_to_lark(pattern, "dw"));
    builder.backtrack_limit(MOST_STEPS_BACK).delegate_size_limit(LARGEST).delegate_dfa_size_limit(LARGEST);
    builder.build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_digits_are_those_of_ascii() {
        assert_eq!(matches(r"^\d\w$", "1a"), Some(true));
        assert_eq!(matches(r"^\w$", "é"), Some(false));
        assert_eq!(matches(r"^\W$", "é"), Some(true));
        assert_eq!(matches(r"^[\w-]+$", "a-b"), Some(true));
    }

    #[test]
    fn what_takes_too_much_is_no_pattern() {
        for pattern in ["(", "(a{1,1000}){1,1000}", r"^\pL{1,4000}$"] {
            assert!(!is_pattern(pattern), "{pattern}");
            assert_eq!(matches(pattern, "a"), None);
        }
        for i in 0..2 * MOST_READY {
            assert_eq!(matches(&format!("^x{i}$"), "x7"), Some(i == 7));
        }
        assert!(READY.with_borrow(HashMap::len) <= MOST_READY);
    }
}
