//! Reads the headers of a folder with a config.json and a safetensors file. An input is the size of the safetensors file
//! (four bytes, little endian), the config.json, a zero byte, and the beginning of the safetensors file.
#![no_main]

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::sync::LazyLock;

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("causerie-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((size, rest)) = bytes.split_first_chunk() else { return };
    let mut parts = rest.splitn(2, |byte| *byte == 0);
    fs::write(FOLDER.join("config.json"), parts.next().unwrap_or_default()).unwrap();
    let weights = parts.next().unwrap_or_default();
    let mut file = File::create(FOLDER.join("model.safetensors")).unwrap();
    file.write_all(weights).unwrap();
    // A hole in the file stands for the tensors.
    let size = u64::from(u32::from_le_bytes(*size).min(16 << 20));
    file.set_len(size.max(weights.len() as u64)).unwrap();
    drop(causerie::ModelInfo::read(FOLDER.to_str().unwrap()));
});
