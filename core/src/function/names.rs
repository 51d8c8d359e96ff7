//! The names of functions: which are valid, and how calls in Python write those that are not identifiers.

use std::collections::{HashMap, HashSet};

use crate::error::{ErrorKind, Result, SdkError};

/// The longest name, in characters.
const MAX_NAME: usize = 200;
/// Characters of a name that a message quotes.
const MAX_QUOTE: usize = 60;

__function_names!(choices);

impl FunctionNames {
    /// Checks a name.
    pub(super) fn check(self, name: &str) -> Result<()> {
        let is_short = name.len() <= MAX_NAME;
        let (is_valid, form) = match self {
            Self::Plain => (is_part(name), ""),
            Self::Dotted => (name.split('.').all(is_part), ", with single dots between them"),
        };
        if is_short && is_valid {
            return Ok(());
        }
        let rule = format!("the name must consist of 1 to {MAX_NAME} letters, digits, _ and -{form}");
        Err(invalid(name, &rule))
    }
}

/// The error about a function.
pub(super) fn invalid(name: &str, rule: &str) -> SdkError {
    let more = if name.chars().nth(MAX_QUOTE).is_some() { "…" } else { "" };
    let name: String = name.chars().take(MAX_QUOTE).collect();
    SdkError::new(ErrorKind::InvalidFunction, format!("function {name:?}{more}: {rule}"))
}

fn is_part(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

/// Identifiers for names that are none, each for one name. A valid name that is no identifier gets `_` for each hyphen and
/// before a digit in front, and a number at its end if that is the name of another function.
#[derive(Clone, Debug, Default)]
pub(crate) struct PythonNames {
    written: HashMap<String, String>,
    taken: HashSet<String>,
    /// The number that was given last, by the name without a number.
    numbers: HashMap<String, usize>,
}

impl PythonNames {
    /// The identifiers for the names of functions. Identifiers of the first functions do not depend on the others, except on names
    /// that are identifiers.
    pub(crate) fn new<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Self {
        let taken = names.clone().filter(|name| is_identifier(name)).map(str::to_owned).collect();
        let mut identifiers = Self { taken, ..Self::default() };
        names.for_each(|name| identifiers.add(name));
        identifiers
    }

    /// Gives a name an identifier, unless it has one or is one.
    pub(crate) fn add(&mut self, name: &str) {
        if is_identifier(name) || !name.split('.').all(is_part) || self.written.contains_key(name) {
            return;
        }
        let plain = identifier(name);
        let mut written = plain.clone();
        while !self.taken.insert(written.clone()) {
            let number = self.numbers.entry(plain.clone()).or_insert(1);
            *number += 1;
            written = format!("{plain}_{number}");
        }
        self.written.insert(name.to_owned(), written);
    }

    /// How calls write a name.
    pub(crate) fn written<'a>(&'a self, name: &'a str) -> &'a str {
        self.written.get(name).map_or(name, String::as_str)
    }

    /// Whether all names are written as they are.
    pub(crate) fn is_empty(&self) -> bool {
        self.written.is_empty()
    }
}

/// Whether Python can write a name: identifiers with single dots between them.
fn is_identifier(name: &str) -> bool {
    name.split('.').all(|part| is_part(part) && !part.contains('-') && !part.starts_with(|c: char| c.is_ascii_digit()))
}

fn identifier(name: &str) -> String {
    let parts = name.split('.').map(|part| {
        let front = if part.starts_with(|first: char| first.is_ascii_digit()) { "_" } else { "" };
        format!("{front}{}", part.replace('-', "_"))
    });
    parts.collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rule: FunctionNames, valid: &[&str], invalid: &[&str]) {
        for name in valid {
            rule.check(name).unwrap();
        }
        for name in invalid {
            assert!(rule.check(name).is_err(), "{name}");
        }
    }

    #[test]
    fn names_are_letters_digits_underscores_and_hyphens() {
        let longest = "a".repeat(200);
        let valid =
            ["f", "_f9", "get_weather", "class", "9f", "21st_magic", "get-weather", "a--b", "-a", "a-", "-", "_"];
        check(FunctionNames::Plain, &valid, &["", "a.b", "é", "a b", "a/b", "a\n", "9 lives", &"a".repeat(201)]);
        check(FunctionNames::Plain, &[&longest], &[]);
    }

    #[test]
    fn names_may_be_joined_by_dots_if_that_is_allowed() {
        let valid = ["f", "a.b", "Cal.create_event.v2", "mcp__maps__resolve-3d-model", "a-b.c", "a.9", "a--b.-c"];
        check(FunctionNames::Dotted, &valid, &["", ".", "a.", ".a", "a..b", "a. b", &"a.".repeat(100)[..]]);
        check(FunctionNames::Dotted, &["a", &format!("{}b", "a.".repeat(99))], &[&format!("{}b", "a.".repeat(100))]);
    }

    #[test]
    fn a_message_quotes_a_long_name_in_part() {
        let message = FunctionNames::Plain.check(&"é".repeat(1000)).unwrap_err().message().to_owned();
        assert!(message.starts_with("function \"éé") && message.contains("é\"…: the name must") && message.len() < 300);
    }

    #[test]
    fn what_is_no_identifier_is_written_as_one() {
        for (name, written) in [
            ("get_weather", "get_weather"),
            ("calendar.create", "calendar.create"),
            ("get-weather", "get_weather"),
            ("browser--open", "browser__open"),
            ("21st-magic", "_21st_magic"),
            ("a.9-b.-c", "a._9_b._c"),
            ("-", "_"),
            ("no name", "no name"),
            ("größe", "größe"),
            ("", ""),
        ] {
            assert_eq!(PythonNames::new([name].into_iter()).written(name), written);
        }
    }

    #[test]
    fn no_two_names_are_written_alike() {
        let names =
            ["a-b", "a_b", "a--b", "a__b", "a_-b", "a-_b", "a_b_2", "-a-b", "_a-b", "9", "_9", "-9", "a.b-c", "a.b_c"];
        let identifiers = PythonNames::new(names.into_iter());
        let written: HashSet<&str> = names.iter().map(|name| identifiers.written(name)).collect();
        assert_eq!(written.len(), names.len(), "{written:?}");
        assert!(written.iter().all(|name| is_identifier(name)));
        assert_eq!((identifiers.written("a_b"), identifiers.written("a-b")), ("a_b", "a_b_3"));
    }

    #[test]
    fn many_names_that_would_be_written_alike_take_work_in_proportion() {
        let names: Vec<String> =
            (0..1 << 14).map(|bits: u32| format!("{bits:014b}").replace('0', "-").replace('1', "_") + "-").collect();
        let identifiers = PythonNames::new(names.iter().map(String::as_str));
        let written: HashSet<&str> = names.iter().map(|name| identifiers.written(name)).collect();
        assert_eq!(written.len(), names.len());
    }
}
