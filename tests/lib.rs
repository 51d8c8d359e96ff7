//! This library is empty: the tests are in `integration/`, and the files that they share with all languages in `fixtures/` and
//! `golden/`.

/// The README, whose examples in Rust are compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
