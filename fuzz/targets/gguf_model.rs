//! Loads a GGUF file and generates two tokens with it.
#![no_main]

use causerie::{GenerationOptions, LoadOptions, ModelRunner};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let options = LoadOptions { threads: Some(1), context_size: Some(64), ..Default::default() };
    if let Ok(runner) = ModelRunner::load_from_bytes(bytes.to_vec(), options) {
        let options = GenerationOptions { max_tokens: Some(2), seed: Some(1), ..Default::default() };
        runner.complete("Hi", options).for_each(drop);
    }
});
