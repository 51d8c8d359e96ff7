//! Patterns of JSON Schema, which are patterns of JavaScript: `\d` and `\w` only match ASCII, as they do in grammars.

use std::cell::RefCell;
use std::collections::HashMap;

use fancy_regex::{Regex, RegexBuilder};
use llguidance::regex_to_lark;

/// Steps of backtracking that a search may take.
const MAX_BACKTRACKING: usize = 100_000;
/// The same for a search in each of many texts.
const MAX_STEPS_OF_MANY: usize = 4_000;
/// Bytes that a compiled pattern may take, approximately.
const MAX_PATTERN_BYTES: usize = 128 << 10;
/// Compiled patterns that a thread keeps: most are needed for many values.
const MAX_CACHED: usize = 128;

thread_local! {
    static CACHE: RefCell<HashMap<String, Option<Regex>>> = RefCell::default();
}

/// Whether a pattern matches somewhere in a text; `None` for a pattern that is not valid or exceeds the limits.
pub(super) fn matches(pattern: &str, text: &str) -> Option<bool> {
    with_regex(pattern, |regex| regex?.is_match(text).ok())
}

/// Whether a pattern matches in each of several texts, in few steps.
pub(crate) fn matches_all(pattern: &str, texts: &[String]) -> bool {
    let mut builder = builder(pattern);
    let regex = builder.backtrack_limit(MAX_STEPS_OF_MANY).build();
    regex.is_ok_and(|regex| !texts.is_empty() && texts.iter().all(|text| regex.is_match(text).is_ok_and(|found| found)))
}

/// Whether a pattern is valid and within the limits.
pub(crate) fn is_pattern(pattern: &str) -> bool {
    with_regex(pattern, |regex| regex.is_some())
}

fn with_regex<T>(pattern: &str, f: impl FnOnce(Option<&Regex>) -> T) -> T {
    CACHE.with_borrow_mut(|cache| {
        if let Some(regex) = cache.get(pattern) {
            return f(regex.as_ref());
        }
        if MAX_CACHED <= cache.len() {
            cache.clear();
        }
        f(cache.entry(pattern.to_owned()).or_insert(compile(pattern)).as_ref())
    })
}

fn compile(pattern: &str) -> Option<Regex> {
    builder(pattern).build().ok()
}

fn builder(pattern: &str) -> RegexBuilder {
    let mut builder = RegexBuilder::new(&regex_to_lark(pattern, "dw"));
    builder
        .backtrack_limit(MAX_BACKTRACKING)
        .delegate_size_limit(MAX_PATTERN_BYTES)
        .delegate_dfa_size_limit(MAX_PATTERN_BYTES);
    builder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_only_match_ascii() {
        assert_eq!(matches(r"^\d\w$", "1a"), Some(true));
        assert_eq!(matches(r"^\w$", "é"), Some(false));
        assert_eq!(matches(r"^\W$", "é"), Some(true));
        assert_eq!(matches(r"^[\w-]+$", "a-b"), Some(true));
    }

    #[test]
    fn a_pattern_over_the_limits_is_not_valid() {
        for pattern in ["(", "(a{1,1000}){1,1000}", r"^\pL{1,4000}$"] {
            assert!(!is_pattern(pattern), "{pattern}");
            assert_eq!(matches(pattern, "a"), None);
        }
        for i in 0..2 * MAX_CACHED {
            assert_eq!(matches(&format!("^x{i}$"), "x7"), Some(i == 7));
        }
        assert!(CACHE.with_borrow(HashMap::len) <= MAX_CACHED);
    }
}
