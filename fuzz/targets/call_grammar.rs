//! Makes a grammar of the calls of functions, and parses a block that it allows. An input is the number of a notation (one
//! byte), the functions in JSON, a zero byte, and choices among the characters that may come next.
#![no_main]

use causerie::fuzzing::{PARSERS, call_grammar};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((parser, rest)) = bytes.split_first() else { return };
    let mut parts = rest.splitn(2, |byte| *byte == 0);
    let (functions, choices) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    drop(call_grammar(PARSERS[usize::from(*parser) % PARSERS.len()], functions, choices));
});
