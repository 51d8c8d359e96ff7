//! A tokenizer.json, and texts through it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drop(causerie::fuzzing::tokenizer_json(bytes)));
