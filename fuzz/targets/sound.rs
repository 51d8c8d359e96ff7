//! Reads a file of sound. Panics of decoders are caught and reported as damaged files, so they do not end the process here.
#![no_main]

libfuzzer_sys::fuzz_target!(init: std::panic::set_hook(Box::new(|_| {})), |bytes: &[u8]| {
    drop(causerie::fuzzing::sound(bytes));
});
