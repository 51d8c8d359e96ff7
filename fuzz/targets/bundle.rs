//! Reads a bundle: its directory, its manifest, its model's header and its files. The input has the form that
//! `causerie::fuzzing::bundle` describes.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

static PLACE: LazyLock<PathBuf> =
    LazyLock::new(|| std::env::temp_dir().join(format!("causerie-fuzz-{}.bundle", std::process::id())));

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drop(causerie::fuzzing::bundle(&PLACE, bytes)));
