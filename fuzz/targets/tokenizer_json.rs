//! Reads a tokenizer.json, encodes texts with it and decodes the ids.
#![no_main]

libfuzzer_sys::fuzz_target!(
    // The tokenizers crate panics for some files. The product catches that and reports it as an error, so here it is no finding;
    // what is not caught still is one.
    init: std::panic::set_hook(Box::new(|_| ())),
    |bytes: &[u8]| drop(causerie::fuzzing::tokenizer_json(bytes))
);
