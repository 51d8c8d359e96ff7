use super::*;
use crate::error::ErrorKind;

/// Writes enough of the format to test what is refused.
struct Writer {
    bytes: Vec<u8>,
}

const U32: u32 = 4;
const STRING: u32 = 8;
const ARRAY: u32 = 9;

impl Writer {
    fn new(n_tensors: u64, n_values: u64) -> Self {
        let mut writer = Self { bytes: b"GGUF".to_vec() };
        writer.u32(3).u64(n_tensors).u64(n_values);
        writer
    }

    fn u32(&mut self, number: u32) -> &mut Self {
        self.bytes.extend(number.to_le_bytes());
        self
    }

    fn u64(&mut self, number: u64) -> &mut Self {
        self.bytes.extend(number.to_le_bytes());
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.u64(text.len() as u64).bytes.extend(text.bytes());
        self
    }

    fn tensor(&mut self, name: &str, dims: &[u64], dtype: u32, offset: u64) -> &mut Self {
        self.text(name).u32(dims.len() as u32);
        for dim in dims {
            self.u64(*dim);
        }
        self.u32(dtype).u64(offset)
    }

    fn weights(&mut self, count: usize) -> &mut Self {
        let start = self.bytes.len().next_multiple_of(32);
        self.bytes.resize(start + count, 0);
        self
    }
}

fn read(writer: &Writer) -> Result<GgufFile> {
    GgufFile::from_bytes(writer.bytes.clone().into(), ModelOrigin::default())
}

#[track_caller]
fn check_refused(writer: &Writer, expect: &str) {
    let err = read(writer).err().expect("the file is refused");
    assert_eq!(err.kind(), ErrorKind::ModelLoad);
    assert!(err.message().contains(expect), "{err}");
}

#[test]
fn a_file_that_is_not_gguf_is_refused() {
    for bytes in [&b""[..], b"G", b"GGUF", b"FUGG\x03\0\0\0", b"GGUF\x03\0\0\0\0\0"] {
        assert!(GgufFile::from_bytes(bytes.to_vec().into(), ModelOrigin::default()).is_err());
    }
    for version in [0, 1, 4, u32::MAX, 3 << 24] {
        let mut writer = Writer::new(0, 0);
        writer.bytes[4..8].copy_from_slice(&version.to_le_bytes());
        check_refused(&writer, &format!("GGUF version must be 2 or 3, little-endian, found {version}"));
    }
}

#[test]
fn counts_and_lengths_beyond_the_file_are_refused() {
    check_refused(&Writer::new(1 << 63, 0), "at most 65536");
    check_refused(&Writer::new(0, 1 << 32), "at most 65536");
    check_refused(&Writer::new(1 << 16, 0), "ends early");
    for length in [u64::MAX, u64::MAX - 8, 33] {
        check_refused(Writer::new(0, 1).u64(length), "ends early");
    }
    check_refused(Writer::new(0, 1).text("a").u32(ARRAY).u32(U32).u64(1 << 62), "must fit into memory");
}

#[test]
fn arrays_that_nest_too_deep_are_refused() {
    let mut writer = Writer::new(0, 1);
    writer.text("a").u32(ARRAY);
    for _ in 0..100_000 {
        writer.u32(ARRAY).u64(1);
    }
    check_refused(&writer, "must nest at most 4 deep");
}

#[test]
fn alignment_must_be_a_small_power_of_two() {
    for alignment in [0, 3, 1 << 31] {
        let mut writer = Writer::new(0, 1);
        writer.text("general.alignment").u32(U32).u32(alignment);
        check_refused(&writer, "general.alignment must be a power of two");
    }
    check_refused(
        Writer::new(0, 1).text("general.alignment").u32(STRING).text("32"),
        "general.alignment must be a U32",
    );
}

#[test]
fn shapes_that_overflow_or_break_blocks_are_refused() {
    for dims in [&[1 << 40, 1 << 40][..], &[1 << 63, 2], &[(1 << 42) + 1, 1 << 22], &[0, 4]] {
        check_refused(Writer::new(1, 0).tensor("t", dims, 0, 0), "must have whole");
    }
    check_refused(Writer::new(1, 0).tensor("t", &[], 0, 0), "must have 1 to 4 dimensions, found 0");
    check_refused(Writer::new(1, 0).tensor("t", &[1; 5], 0, 0), "must have 1 to 4 dimensions, found 5");
    check_refused(Writer::new(1, 0).tensor("t", &[33, 32], 8, 0), "must have whole Q8_0 blocks");
}

#[test]
fn tensors_lie_in_the_file_aligned_and_apart() {
    check_refused(Writer::new(1, 0).tensor("t", &[8], 0, 64).weights(64), "must end before the file does");
    check_refused(Writer::new(1, 0).tensor("t", &[8], 0, u64::MAX - 31).weights(64), "must end before the file does");
    check_refused(Writer::new(1, 0).tensor("t", &[4], 0, 16).weights(64), "must be aligned");
    check_refused(Writer::new(2, 0).tensor("t", &[16], 0, 0).tensor("u", &[8], 0, 32).weights(64), "overlaps");
    check_refused(Writer::new(2, 0).tensor("t", &[8], 0, 0).tensor("t", &[8], 0, 32).weights(64), "appears twice");
}

#[test]
fn unknown_types_are_named() {
    check_refused(Writer::new(1, 0).tensor("t", &[32], 18, 0).weights(64), "tensor t has type IQ3_XXS");
    check_refused(Writer::new(1, 0).tensor("t", &[32], 99, 0).weights(64), "tensor t has type 99");
    check_refused(Writer::new(0, 1).text("a").u32(13), "metadata type must be below 13, found 13");
}

#[test]
fn keys_are_text_and_appear_once() {
    check_refused(Writer::new(0, 1).text("").u32(U32).u32(1), "must be UTF-8");
    check_refused(Writer::new(0, 1).text("a\0").u32(U32).u32(1), "must be UTF-8");
    check_refused(Writer::new(0, 2).text("a").u32(U32).u32(1).text("a").u32(U32).u32(1), "appears twice");
}

#[test]
fn values_are_read_in_their_own_type_or_refused() {
    let mut writer = Writer::new(0, 3);
    writer.text("n").u32(5).u32(-7i32 as u32).text("s").u32(STRING).text("x");
    writer.text("l").u32(ARRAY).u32(U32).u64(2).u32(0).u32(8);
    let file = read(&writer).unwrap();
    assert_eq!(file.integer("n").unwrap(), Some(-7));
    assert_eq!(file.text("s").unwrap(), Some("x"));
    assert_eq!(file.integers("l").unwrap(), Some(vec![0, 8]));
    assert_eq!(file.integer("absent").unwrap(), None);
    assert_eq!(file.integer("s").unwrap_err().message(), "metadata s must be an integer");
    assert!(file.count("n").is_err());
}
