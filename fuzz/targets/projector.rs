//! Reads a projector file, and loads its vision tower.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drop(causerie::fuzzing::projector(bytes)));
