//! This library is empty: the tests are in `integration/`, and the files that they share with all languages in `fixtures/` and
//! `golden/`.
