//! Reads a tokenizer.json, encodes texts with it and decodes the ids.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drop(causerie::fuzzing::tokenizer_json(bytes)));
