//! The table of a file of packed weights: what the file holds, and where. No number of it is used before it is checked.

use std::collections::HashMap;
use std::ops::Range;

use causerie_backend::{Format, ModelFile};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{ErrorKind, Result, SdkError};

/// The first bytes of a file of packed weights.
pub(super) const MAGIC: [u8; 8] = *b"CAUSPACK";
/// The version of the format.
pub(super) const VERSION: u32 = 2;
/// The layout of tiles, and the storage format of each type of a file. All kernels of this release read layout 1. Another number
/// is due whenever a tensor is stored in other bytes.
pub(super) const LAYOUT: u32 = 1;
/// What a file says of the program that wrote it.
pub(super) const RELEASE: &str = env!("CARGO_PKG_VERSION");
/// Matrices begin at multiples of this: a page of any of the supported systems.
pub(super) const PAGE: usize = 16 << 10;
/// Bytes of the head: magic, version, layout, the start and the length of the table, and its SHA-256.
pub(super) const HEAD: usize = 64;
/// Bytes of a table at most; real ones have less than one MiB.
const MAX_TABLE: usize = 64 << 20;

/// What a file holds, as JSON.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct PackedTable {
    /// What the packed model is recognised by; empty in a file that needs no other one.
    pub(super) identity: String,
    /// Where the packed model lies; empty in a file that needs no other one.
    pub(super) source: String,
    /// The version of the program that wrote the file.
    pub(super) release: String,
    /// The file's modification time in seconds since 1970, which another program that writes to the file changes; 0 if it is not known.
    pub(super) written: u64,
    pub(super) matrices: Vec<MatrixRow>,
    /// The headers of the model's GGUF files, of a file that needs no other one.
    pub(super) headers: Vec<HeaderRow>,
    /// The tensors that are not packed, of a file that needs no other one, as the GGUF files have them.
    pub(super) tensors: Vec<ExtentRow>,
    /// What other parts of the model have stored.
    pub(super) sections: Vec<ExtentRow>,
}

/// A packed matrix.
#[derive(Serialize, Deserialize)]
pub(super) struct MatrixRow {
    pub(super) tensor: String,
    /// The matrix's first row in the tensor, whose rows are counted through all matrices that it stacks.
    pub(super) first_row: u64,
    pub(super) format: String,
    pub(super) rows: u64,
    pub(super) columns: u64,
    pub(super) start: u64,
    pub(super) sample: u32,
    pub(super) checksum: u32,
}

#[derive(Serialize, Deserialize)]
pub(super) struct HeaderRow {
    pub(super) start: u64,
    pub(super) length: u64,
    /// Length of the whole GGUF file.
    pub(super) file_length: u64,
    pub(super) checksum: u32,
}

#[derive(Serialize, Deserialize)]
pub(super) struct ExtentRow {
    pub(super) name: String,
    pub(super) start: u64,
    pub(super) length: u64,
    pub(super) checksum: u32,
}

/// A matrix of a file, checked.
pub(crate) struct PackedMatrix {
    pub(crate) format: Format,
    /// `(outputs, inputs)`
    pub(crate) shape: (usize, usize),
    pub(super) bytes: Range<usize>,
    pub(super) sample: u32,
    pub(super) checksum: u32,
}

impl PackedMatrix {
    /// Whether these are the bytes that were packed.
    pub(crate) fn has_content(&self, bytes: &[u8]) -> bool {
        crc32fast::hash(bytes) == self.checksum
    }
}

/// Other bytes of a file, checked to lie in it.
pub(super) struct PackedPart {
    pub(super) bytes: Range<usize>,
    pub(super) checksum: u32,
}

/// The content of a file, checked.
pub(super) struct PackedContent {
    pub(super) identity: String,
    pub(super) source: String,
    pub(super) release: String,
    pub(super) written: u64,
    /// By tensor and first row.
    pub(super) matrices: HashMap<String, HashMap<usize, PackedMatrix>>,
    /// Each with the length of the whole GGUF file.
    pub(super) headers: Vec<(PackedPart, usize)>,
    pub(super) tensors: Vec<(String, PackedPart)>,
    pub(super) sections: Vec<(String, PackedPart)>,
}

/// The error of a file that breaks a rule.
pub(super) fn broken(rule: impl std::fmt::Display) -> SdkError {
    SdkError::new(ErrorKind::ModelLoad, format!("not a valid file of packed weights: {rule}"))
}

/// Whether a file begins as one of packed weights.
pub(super) fn is_packed(file: &ModelFile) -> bool {
    file.read(0..MAGIC.len()).is_ok_and(|bytes| bytes == MAGIC)
}

/// The head of a file with this table.
pub(crate) fn head(start: u64, table: &[u8]) -> Vec<u8> {
    let numbers = [start, table.len() as u64].map(u64::to_le_bytes).concat();
    let versions = [VERSION, LAYOUT].map(u32::to_le_bytes).concat();
    [&MAGIC[..], &versions, &numbers, &Sha256::digest(table)].concat()
}

impl PackedContent {
    /// Reads and checks the table of a file.
    pub(super) fn read(file: &ModelFile) -> Result<Self> {
        let cut = |err| broken("it ends early").caused_by(err);
        let head = file.read(0..HEAD).map_err(cut)?;
        let (magic, rest) = head.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(broken("its first bytes must be CAUSPACK"));
        }
        let (versions, rest) = rest.split_at(8);
        let [version, layout] = [0, 4].map(|at| number(&versions[at..at + 4]));
        for (what, expected, found) in [("version", VERSION, version), ("layout", LAYOUT, layout)] {
            if found != u64::from(expected) {
                return Err(broken(format!("its {what} must be {expected}, found {found}: another release packed it")));
            }
        }
        let (numbers, digest) = rest.split_at(16);
        let [start, length] = [0, 8].map(|at| usize::try_from(number(&numbers[at..at + 8])).unwrap_or(usize::MAX));
        let end = start.checked_add(length).filter(|end| *end == file.n_bytes() && HEAD <= start);
        let end = end.ok_or_else(|| broken("its table must be its end"))?;
        if MAX_TABLE < length {
            return Err(broken(format!("its table must have at most {MAX_TABLE} bytes, found {length}")));
        }
        let table = file.read(start..end).map_err(cut)?;
        if Sha256::digest(&table)[..] != *digest {
            return Err(broken("its table must have the digest that its head has"));
        }
        let table: PackedTable =
            serde_json::from_slice(&table).map_err(|err| broken("its table must be readable").caused_by(err))?;
        table.check(start)
    }
}

impl PackedTable {
    /// Checks all places, which must lie between the head and the table without overlaps.
    fn check(mut self, end: usize) -> Result<PackedContent> {
        let mut places = Vec::new();
        let mut place = |start: u64, length: u64, alignment: usize, what: &str| {
            let place = usize::try_from(start).ok().zip(usize::try_from(length).ok());
            let place = place.and_then(|(start, length)| Some(start..start.checked_add(length)?));
            let place = place.filter(|place| HEAD <= place.start && !place.is_empty() && place.end <= end);
            let place = place.filter(|place| place.start.is_multiple_of(alignment));
            let place = place.ok_or_else(|| {
                broken(format!(
                    "{what} must lie before the table at a multiple of {alignment}, found {length} at {start}"
                ))
            })?;
            places.push(place.clone());
            Ok::<_, SdkError>(place)
        };
        let mut matrices: HashMap<String, HashMap<usize, PackedMatrix>> = HashMap::new();
        for row in std::mem::take(&mut self.matrices) {
            let name = format!("matrix {} of {}", row.first_row, row.tensor);
            let count = |number: u64| usize::try_from(number).map_err(|_| broken(format!("{name} is too large")));
            let (first_row, shape) = (count(row.first_row)?, (count(row.rows)?, count(row.columns)?));
            let format = Format::named(&row.format);
            let format = format.ok_or_else(|| broken(format!("{name} is of format {:?}", row.format)))?;
            let n_bytes = format
                .checked_matrix_bytes(shape)
                .ok_or_else(|| broken(format!("{name} must have a shape that {} has, found {shape:?}", row.format)))?;
            let bytes = place(row.start, n_bytes as u64, PAGE, &name)?;
            let matrix = PackedMatrix { format, shape, bytes, sample: row.sample, checksum: row.checksum };
            if matrices.entry(row.tensor).or_default().insert(first_row, matrix).is_some() {
                return Err(broken(format!("{name} appears twice")));
            }
        }
        let mut headers = Vec::new();
        for row in std::mem::take(&mut self.headers) {
            let bytes = place(row.start, row.length, 1, "a header")?;
            let file_length =
                usize::try_from(row.file_length).map_err(|_| broken("a header is of too large a file"))?;
            headers.push((PackedPart { bytes, checksum: row.checksum }, file_length));
        }
        let mut extents = |rows: Vec<ExtentRow>, what: &str| {
            let extent = |row: ExtentRow| {
                let bytes = place(row.start, row.length, 1, &format!("{what} {}", row.name))?;
                Ok::<_, SdkError>((row.name, PackedPart { bytes, checksum: row.checksum }))
            };
            rows.into_iter().map(extent).collect::<Result<Vec<_>>>()
        };
        let (tensors, sections) = (
            extents(std::mem::take(&mut self.tensors), "tensor")?,
            extents(std::mem::take(&mut self.sections), "section")?,
        );
        places.sort_by_key(|place| place.start);
        match places.windows(2).find(|pair| pair[1].start < pair[0].end) {
            Some(pair) => Err(broken(format!("{:?} and {:?} must not overlap", pair[0], pair[1]))),
            None => {
                let Self { identity, source, release, written, .. } = self;
                Ok(PackedContent { identity, source, release, written, matrices, headers, tensors, sections })
            }
        }
    }
}

/// A little-endian integer of at most eight bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
