use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use causerie_backend::{Format, ModelFile};

use super::table::{ExtentRow, HEAD, HeaderRow, MatrixRow, PAGE, PackedTable, head};
use super::*;
use crate::error::{ErrorKind, Result};
use crate::options::WeightMemory;

/// A file with these bytes, which has no name any more.
fn file(name: &str, bytes: &[u8]) -> ModelFile {
    let path = std::env::temp_dir().join(format!("causerie-packed-{name}-{}", std::process::id()));
    fs::write(&path, bytes).unwrap();
    let file = ModelFile::open(&path).unwrap();
    fs::remove_file(path).unwrap();
    file
}

/// A file with two matrices, a header and a tensor.
fn small() -> Vec<u8> {
    written_at(0)
}

/// As [`small`], with the time at which it was written.
fn written_at(seconds: u64) -> Vec<u8> {
    let mut writer = PackedWriter::new(Cursor::new(Vec::new()), "identity".to_owned(), "source".to_owned()).unwrap();
    writer.set_written(seconds);
    writer.header(&StoredHeader { bytes: b"GGUF".to_vec(), file_length: 1000 }).unwrap();
    for (first_row, shape) in [(0, (3, 32)), (3, (200, 64))] {
        let n_bytes = Format::Q8_0.checked_matrix_bytes(shape).unwrap();
        let mut matrix = writer.begin(("a.weight", first_row), Format::Q8_0, shape).unwrap();
        let bytes: Vec<u8> = (0..n_bytes).map(|at| (at / 3) as u8).collect();
        bytes.chunks(777).for_each(|piece| matrix.put(piece).unwrap());
        matrix.finish();
    }
    writer.begin_tensor("norm", 5).unwrap();
    writer.put_tensor(b"12345").unwrap();
    writer.section("words", b"abc").unwrap();
    writer.finish().unwrap().into_inner()
}

fn read(name: &str, bytes: &[u8]) -> Result<PackedFile> {
    PackedFile::read(file(name, bytes))
}

#[test]
fn what_is_written_is_read() {
    let bytes = small();
    let found = PackedFile::recognise(&file("whole", &bytes)).unwrap().unwrap();
    assert_eq!((found.identity(), found.source()), ("identity", "source"));
    assert_eq!(found.headers().unwrap(), [StoredHeader { bytes: b"GGUF".to_vec(), file_length: 1000 }]);
    let tensors: Vec<_> = found.tensors().collect();
    assert!(tensors[0].0 == "norm" && bytes[tensors[0].1.clone()] == *b"12345");
    assert_eq!(found.n_bytes().0, 2);
    let found = Arc::new(found);
    for memory in [WeightMemory::Mapped, WeightMemory::Copied, WeightMemory::Auto] {
        let weights = PackedWeights::new(Arc::clone(&found), memory);
        assert_eq!(weights.section("words").unwrap().bytes(), b"abc");
        assert!(weights.section("others").is_none() && weights.is_mapped() == (memory != WeightMemory::Copied));
    }
    assert!(PackedFile::recognise(&file("other", b"GGUF and more")).unwrap().is_none());
}

#[test]
fn a_time_beyond_all_calendars_is_an_error() {
    for seconds in [i64::MAX as u64 + 1, u64::MAX] {
        let found = read("late", &written_at(seconds)).unwrap().checked(Path::new("late"));
        assert_eq!(found.err().map(|err| err.kind()), Some(ErrorKind::ModelLoad), "{seconds}");
    }
    assert!(read("timeless", &small()).unwrap().checked(Path::new("timeless")).is_ok());
}

/// Any byte of the head and the table, and of the first and last bytes of matrices.
#[test]
fn a_changed_byte_is_noticed() {
    let bytes = small();
    let table = u64::from_le_bytes(*bytes[16..].first_chunk().unwrap()) as usize;
    for at in (0..HEAD).chain(table..bytes.len()).chain([PAGE, PAGE + 1, PAGE + 511]) {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x41;
        let err = read("changed", &bytes).err().unwrap_or_else(|| panic!("byte {at}"));
        assert_eq!(err.kind(), ErrorKind::ModelLoad);
        assert!(err.message().starts_with("not a valid file of packed weights: "), "{err}");
    }
    for length in (0..bytes.len()).step_by(97) {
        assert!(read("cut", &bytes[..length]).is_err());
    }
}

/// A file whose table is this one, with its digest.
fn with_table(change: impl FnOnce(&mut PackedTable)) -> Vec<u8> {
    let bytes = small();
    let table = u64::from_le_bytes(*bytes[16..].first_chunk().unwrap()) as usize;
    let mut changed: PackedTable = serde_json::from_slice(&bytes[table..]).unwrap();
    change(&mut changed);
    let json = serde_json::to_vec(&changed).unwrap();
    [&head(table as u64, &json), &bytes[HEAD..table], &json].concat()
}

#[test]
fn every_number_of_a_table_is_checked() {
    assert!(read("same", &with_table(|_| {})).is_ok());
    let matrix = |change: fn(&mut MatrixRow)| with_table(|table| change(&mut table.matrices[0]));
    let header = |change: fn(&mut HeaderRow)| with_table(|table| change(&mut table.headers[0]));
    let tensor = |change: fn(&mut ExtentRow)| with_table(|table| change(&mut table.tensors[0]));
    for (what, bytes, rule) in [
        ("rows", matrix(|row| row.rows = u64::MAX), "must have a shape"),
        ("no rows", matrix(|row| row.rows = 0), "must have a shape"),
        ("columns", matrix(|row| row.columns = 33), "must have a shape"),
        ("all columns", matrix(|row| row.columns = 1 << 63), "must have a shape"),
        ("more rows", matrix(|row| row.rows = 1 << 40), "must lie before the table"),
        ("other rows", matrix(|row| row.rows = 17), "must have the checksum"),
        ("format", matrix(|row| row.format = "Q4_1".to_owned()), "is of format"),
        ("start", matrix(|row| row.start = u64::MAX), "must lie before the table"),
        ("head", matrix(|row| row.start = 0), "must lie before the table"),
        ("page", matrix(|row| row.start += 64), "must lie before the table at a multiple of 16384"),
        ("sample", matrix(|row| row.sample ^= 1), "must have the checksum"),
        ("twice", with_table(|table| table.matrices[1].first_row = 0), "appears twice"),
        ("overlap", with_table(|table| table.matrices[1].start = table.matrices[0].start), "must not overlap"),
        ("header", header(|row| row.length = u64::MAX), "must lie before the table"),
        ("empty header", header(|row| row.length = 0), "must lie before the table"),
        ("header in head", header(|row| row.start = 1), "must lie before the table"),
        ("tensor", tensor(|row| row.length = 1 << 40), "must lie before the table"),
        ("section", with_table(|table| table.sections[0].start = 0), "must lie before the table"),
        ("tensor in matrix", tensor(|row| row.start = PAGE as u64), "must not overlap"),
    ] {
        let err = read(&format!("table-{}", what.replace(' ', "-")), &bytes).err().unwrap_or_else(|| panic!("{what}"));
        assert!(err.message().contains(rule), "{what}: {err}");
    }
    let table = |json: &str| [&head(HEAD as u64, json.as_bytes()), json.as_bytes()].concat();
    for json in ["", "{}", "[]", "{\"identity\": 1}"] {
        assert!(read("json", &table(json)).err().unwrap().message().contains("must be readable"), "{json}");
    }
}
