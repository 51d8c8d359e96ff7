//! Parses a reply with calls; the result must not depend on how it is cut. The first byte of an input chooses the notation and
//! the form of the reply, the second chooses the cuts.
#![no_main]

use causerie::fuzzing::{PARSERS, reply};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some(([kind, cut], text)) = bytes.split_first_chunk() else { return };
    let n_parsers = PARSERS.len() as u8;
    reply(PARSERS[usize::from(kind % n_parsers)], kind / n_parsers, *cut, &String::from_utf8_lossy(text));
});
