//! Reads a projector file, and loads its vision tower. An input is a byte of which all tensors consist, and the file's header.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((fill, header)) = bytes.split_first() else { return };
    let mut file = header.to_vec();
    file.resize(header.len() + 400_000, *fill);
    drop(causerie::fuzzing::projector(&file));
});
