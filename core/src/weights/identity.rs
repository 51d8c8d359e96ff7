//! What the files of a model are recognised by, without reading them: their sizes, times, descriptions, and samples of their
//! content. It is for files that are made from a model and stored beside it. A program that changes a file, keeps its size and sets
//! back its time is not noticed.

use std::io;
use std::time::UNIX_EPOCH;

use causerie_backend::ModelFile;
use sha2::{Digest, Sha256};

/// Samples of a file, at equal distances, with the first and the last bytes.
const N_SAMPLES: usize = 32;
/// Bytes of a sample.
const SAMPLE: usize = 4096;

/// The digest of what files are recognised by.
pub(super) struct FileIdentity(Sha256);

impl FileIdentity {
    pub(super) fn new() -> Self {
        // Another release may read the same files in another way.
        Self(Sha256::new_with_prefix(env!("CARGO_PKG_VERSION")))
    }

    /// Adds a description, which may have some MiB.
    pub(super) fn add_header(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(crc32fast::hash(bytes).to_le_bytes());
    }

    pub(super) fn add_file(&mut self, file: &ModelFile) -> io::Result<()> {
        let n_bytes = file.n_bytes();
        self.0.update((n_bytes as u64).to_le_bytes());
        let time = file.modified().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        self.0.update(time.unwrap_or_default().as_nanos().to_le_bytes());
        let mut sample = vec![0; SAMPLE.min(n_bytes)];
        let last = n_bytes - sample.len();
        for at in 0..N_SAMPLES {
            let start = (last as u128 * at as u128 / (N_SAMPLES - 1) as u128) as usize; // at most `last`
            file.read_into(start, &mut sample)?;
            self.0.update(&sample);
        }
        Ok(())
    }

    /// The digest as 64 hexadecimal digits.
    pub(super) fn finish(self) -> String {
        format!("{:x}", self.0.finalize())
    }
}
