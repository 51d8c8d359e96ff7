//! Empty: the tests are in `integration/`, the files that drive them, in every language, in `fixtures/` and `golden/`.
