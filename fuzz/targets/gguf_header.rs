//! Reads the header of a GGUF file: metadata, tensors, tokenizer, template, sizes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drop(causerie::ModelInfo::read_from_bytes(bytes.to_vec())));
