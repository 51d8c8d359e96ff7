use super::*;
use crate::pool::Pool;

fn pack(format: Format, shape: (usize, usize), bytes: &[u8]) -> io::Result<Matrix> {
    Matrix::pack(format, shape, (&Pool::new(2), &Arena::default()), |range| Ok(bytes[range].to_vec()))
}

/// Checks a block of one row, as in a file, against the values that the format defines for it.
fn check(format: Format, block: &[u8], expect: &[f32]) {
    let n_rows = 37; // the last tile is not full
    let zero = vec![0; block.len()];
    for row in [0, 1, 15, 16, 36] {
        let bytes: Vec<u8> = (0..n_rows).flat_map(|at| if at == row { block } else { &zero }).copied().collect();
        let matrix = pack(format, (n_rows, expect.len()), &bytes).unwrap();
        let mut values = vec![f32::NAN; expect.len()];
        matrix.read_row(row, &mut values);
        assert_eq!(values, expect, "{format:?}, row {row}");
        matrix.read_row((row + 1) % n_rows, &mut values);
        assert!(values.iter().all(|value| *value == 0.0));
    }
}

const ONE_AND_A_HALF: [u8; 2] = [0x00, 0x3E];
const TWO: [u8; 2] = [0x00, 0x40];

#[test]
fn floats() {
    check(Format::F32, &1.25f32.to_le_bytes(), &[1.25]);
    check(Format::F16, &ONE_AND_A_HALF, &[1.5]);
    check(Format::Bf16, &[0xC0, 0x3F], &[1.5]);
    // Whole runs of columns, and incomplete ones.
    for n_columns in [16, 20, 32, 64] {
        let values: Vec<f32> = (0..n_columns).map(|at| at as f32 - 7.0).collect();
        check(Format::F32, &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>(), &values);
        let halves: Vec<u8> = values.iter().flat_map(|value| half::f16::from_f32(*value).to_le_bytes()).collect();
        check(Format::F16, &halves, &values);
    }
}

#[test]
fn eight_and_four_bits() {
    let values: Vec<i8> = (0i32..32).map(|at| (at * 7 - 128) as i8).collect();
    let block: Vec<u8> = ONE_AND_A_HALF.into_iter().chain(values.iter().map(|value| *value as u8)).collect();
    check(Format::Q8_0, &block, &values.iter().map(|value| 1.5 * f32::from(*value)).collect::<Vec<_>>());
    // Byte i holds value i in its low half and value 16 + i in its high half, both plus 8.
    let block: Vec<u8> = TWO.into_iter().chain((0..16).map(|at| at | (15 - at) << 4)).collect();
    let low = (0..16).map(|at| 2.0 * (at as f32 - 8.0));
    let high = (0..16).map(|at| 2.0 * (7.0 - at as f32));
    check(Format::Q4_0, &block, &low.chain(high).collect::<Vec<_>>());
}

#[test]
fn five_bits_with_a_minimum() {
    // The scale, the minimum, the fifth bits of values 0.. in a word, then nibbles as in Q4_0.
    let values: [u8; 32] = std::array::from_fn(|at| (at * 11 % 32) as u8);
    let fifth = values.iter().enumerate().fold(0u32, |bits, (at, value)| bits | u32::from(value >> 4) << at);
    let nibbles = (0..16).map(|at| values[at] & 15 | (values[16 + at] & 15) << 4);
    let block: Vec<u8> = [TWO, ONE_AND_A_HALF].concat().into_iter().chain(fifth.to_le_bytes()).chain(nibbles).collect();
    check(Format::Q5_1, &block, &values.map(|value| 2.0 * f32::from(value) + 1.5));
}

/// Packs scales and minima of six bits into twelve bytes: four plain ones of each, then the rest in nibbles and spare upper bits.
fn six_bits(scales: [u8; 8], minima: [u8; 8]) -> Vec<u8> {
    let mut bytes = vec![0; 12];
    for at in 0..4 {
        bytes[at] = scales[at] | scales[at + 4] >> 4 << 6;
        bytes[at + 4] = minima[at] | minima[at + 4] >> 4 << 6;
        bytes[at + 8] = scales[at + 4] & 15 | (minima[at + 4] & 15) << 4;
    }
    bytes
}

const SCALES: [u8; 8] = [1, 63, 17, 32, 48, 5, 33, 62];
const MINIMA: [u8; 8] = [0, 1, 62, 31, 63, 16, 45, 2];

/// Values of five bits; all groups differ.
fn value(at: usize) -> u8 {
    ((at * 11 + at / 32) % 32) as u8
}

#[test]
fn blocks_of_four_and_five_bits() {
    for (format, mask) in [(Format::Q4K, 15), (Format::Q5K, 31)] {
        let value = |at| value(at) & mask;
        let mut block = [ONE_AND_A_HALF, TWO].concat();
        block.extend(six_bits(SCALES, MINIMA));
        if format == Format::Q5K {
            block.extend((0..32).map(|at| (0..8).fold(0, |bits, group| bits | (value(32 * group + at) >> 4) << group)));
        }
        // Runs of 32 bytes: the low halves are one group, the high ones the next.
        let byte = |run: usize, at: usize| value(64 * run + at) & 15 | (value(64 * run + 32 + at) & 15) << 4;
        block.extend((0..128).map(|at| byte(at / 32, at % 32)));
        let expect = (0..256).map(|at| {
            let (scale, minimum) = (f32::from(SCALES[at / 32]), f32::from(MINIMA[at / 32]));
            1.5 * scale * f32::from(value(at)) - 2.0 * minimum
        });
        check(format, &block, &expect.collect::<Vec<_>>());
    }
}

#[test]
fn blocks_of_six_bits() {
    let value = |at: usize| ((at * 13 + at / 16) % 64) as u8;
    let scale = |at: usize| (at as i32 * 15 - 128) as i8;
    // For each 128 values, byte l of 64 holds values l (low) and 64 + l (high), byte l of 32 the upper bits of l, 32 + l, ….
    let low = |half: usize, at: usize| value(128 * half + at) & 15 | (value(128 * half + 64 + at) & 15) << 4;
    let high = |half: usize, at: usize| {
        (0..4).fold(0, |bits, quarter| bits | (value(128 * half + 32 * quarter + at) >> 4) << (2 * quarter))
    };
    let mut block: Vec<u8> = (0..128).map(|at| low(at / 64, at % 64)).collect();
    block.extend((0..64).map(|at| high(at / 32, at % 32)));
    block.extend((0..16).map(|at| scale(at) as u8));
    block.extend(ONE_AND_A_HALF);
    let expect = (0..256).map(|at| 1.5 * f32::from(scale(at / 16)) * (f32::from(value(at)) - 32.0));
    check(Format::Q6K, &block, &expect.collect::<Vec<_>>());
}

#[test]
fn invalid_matrices_are_refused() {
    let kind = |shape, bytes: &[u8]| pack(Format::Q4_0, shape, bytes).err().map(|err| err.kind());
    assert_eq!(kind((1, 33), &[0; 100]), Some(io::ErrorKind::InvalidData));
    assert_eq!(kind((0, 32), &[]), Some(io::ErrorKind::InvalidData));
    assert_eq!(kind((1, 32), &[0; 18]), None);
    let (pool, arena) = (Pool::new(1), Arena::default());
    let short = Matrix::pack(Format::Q4_0, (1, 32), (&pool, &arena), |_| Ok(vec![0; 17])).err();
    assert_eq!(short.map(|err| err.kind()), Some(io::ErrorKind::InvalidData));
    let failed = Matrix::pack(Format::Q4_0, (1, 32), (&pool, &arena), |_| {
        Err::<Vec<u8>, _>(io::ErrorKind::UnexpectedEof.into())
    });
    assert_eq!(failed.err().map(|err| err.kind()), Some(io::ErrorKind::UnexpectedEof));
}

/// A matrix, and a file with its tiles after some bytes of padding.
fn in_file(name: &str, format: Format, shape: (usize, usize)) -> (Matrix, ModelFile) {
    const START: usize = 4096;
    let bytes: Vec<u8> = (0..shape.0 * format.row_bytes(shape.1)).map(|at| (at * 31 + at / 7) as u8).collect();
    let matrix = pack(format, shape, &bytes).unwrap();
    let path = std::env::temp_dir().join(format!("causerie-tiles-{name}-{}", std::process::id()));
    std::fs::write(&path, [&[0; START], matrix.tile_bytes()].concat()).unwrap();
    let file = ModelFile::open(&path).unwrap().slice(START..START + matrix.tile_bytes().len()).unwrap();
    std::fs::remove_file(path).unwrap();
    (matrix, file)
}

#[test]
fn mapped_read_and_copied_tiles_are_the_packed_ones() {
    for (format, shape) in
        [(Format::Q4_0, (37, 64)), (Format::Q6K, (16, 512)), (Format::F16, (33, 20)), (Format::F32, (1300, 512))]
    {
        let (packed, file) = in_file(&format!("{format:?}"), format, shape);
        let read = Matrix::read(format, shape, (&Pool::new(2), &Arena::default()), &file).unwrap();
        assert_eq!(read.tile_bytes(), packed.tile_bytes());
        assert!(read.mapped_tiles().is_none());
        let mapped = Matrix::map(format, shape, file.map().unwrap()).unwrap();
        let (tiles, arena) = (mapped.mapped_tiles().unwrap(), Arena::default());
        assert_eq!(mapped.tile_bytes(), packed.tile_bytes());
        let in_mapping = mapped.tile_bytes().as_ptr();
        let mut n_pieces = 1;
        while !tiles.copy_piece(&arena).unwrap() {
            assert_eq!(mapped.tile_bytes().as_ptr(), in_mapping, "an incomplete copy is not used");
            n_pieces += 1;
        }
        assert_eq!(n_pieces, packed.tile_bytes().len().div_ceil(1 << 20));
        assert!(tiles.is_copied() && mapped.tile_bytes().as_ptr() != in_mapping);
        assert_eq!(mapped.tile_bytes(), packed.tile_bytes());
        assert!(tiles.copy_piece(&arena).unwrap(), "a copy is made once");
    }
}

#[test]
fn a_copy_that_was_stopped_begins_anew() {
    let (packed, file) = in_file("stopped", Format::F32, (1300, 512));
    let mapped = Matrix::map(Format::F32, (1300, 512), file.map().unwrap()).unwrap();
    let (tiles, arena) = (mapped.mapped_tiles().unwrap(), Arena::default());
    assert!(!tiles.copy_piece(&arena).unwrap());
    tiles.stop_copying();
    let n_pieces = 1 + std::iter::repeat_with(|| tiles.copy_piece(&arena).unwrap()).take_while(|done| !done).count();
    assert_eq!(n_pieces, packed.tile_bytes().len().div_ceil(1 << 20));
    assert_eq!(mapped.tile_bytes(), packed.tile_bytes());
}

#[test]
fn tiles_of_another_shape_or_place_are_refused() {
    let (packed, file) = in_file("refused", Format::Q8_0, (37, 64));
    let map =
        |format, shape, file: &ModelFile| Matrix::map(format, shape, file.map().unwrap()).err().map(|err| err.kind());
    let invalid = Some(io::ErrorKind::InvalidData);
    assert_eq!(map(Format::Q8_0, (37, 64), &file), None);
    for shape in [(0, 64), (37, 0), (37, 33), (37, 96), (49, 64), (usize::MAX, 64)] {
        assert!(map(Format::Q8_0, shape, &file).is_some(), "{shape:?}");
        assert!(Matrix::read(Format::Q8_0, shape, (&Pool::new(1), &Arena::default()), &file).is_err(), "{shape:?}");
    }
    assert_eq!(map(Format::Q4_0, (37, 64), &file), invalid);
    assert_eq!(map(Format::Q8_0, (37, 64), &file.slice(0..packed.tile_bytes().len() - 64).unwrap()), invalid);
    assert_eq!(
        file.map().unwrap().slice(1..packed.tile_bytes().len() + 1).err().map(|err| err.kind()),
        Some(io::ErrorKind::UnexpectedEof)
    );
    let shifted = file.map().unwrap().slice(1..packed.tile_bytes().len()).unwrap();
    assert_eq!(MappedTiles::new(shifted).err().map(|err| err.kind()), invalid);
}
