//! Loads a GGUF file and generates two tokens with it. An input is a byte of which all tensors consist, and the file's header.
#![no_main]

use causerie::{GenerationOptions, LoadOptions, ModelRunner};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((fill, header)) = bytes.split_first() else { return };
    let mut file = header.to_vec();
    file.resize(header.len() + 400_000, *fill);
    let options = LoadOptions { threads: Some(1), context_size: Some(64), ..Default::default() };
    if let Ok(runner) = ModelRunner::load_from_bytes(file, options) {
        let options = GenerationOptions { max_tokens: Some(2), seed: Some(1), ..Default::default() };
        runner.complete("Hi", options).for_each(drop);
    }
});
