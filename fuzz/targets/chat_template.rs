//! Compiles a chat template and renders a conversation with it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drop(causerie::fuzzing::chat_template(bytes)));
