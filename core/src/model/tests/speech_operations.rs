//! The operations of models of speech: the same bits in chunks and by several threads, and the values of their definition.

use std::ops::Range;
use std::sync::Arc;

use causerie_backend::Cpu;

use super::same_bits::bits;
use super::*;
use crate::model::linear::Linear;
use crate::model::native::Native;
use crate::model::operations::SequencePart;
use crate::model::whisper::{RowWindows, SpeechOperations};

const N_ROWS: usize = 41;
const WIDTH: usize = 32;

/// Values between -1 and 1.
fn value(row: usize, column: usize) -> f32 {
    ((row * 7919 + column * 104_729 + row * column * 31) % 2003) as f32 / 1001.0 - 1.0
}

fn rows<O: SpeechOperations>(operations: &O, range: Range<usize>, width: usize) -> O::Rows {
    let mut rows = O::Rows::default();
    let write = |at: usize, to: &mut [f32]| {
        to.iter_mut().enumerate().for_each(|(column, to)| *to = value(range.start + at, column));
    };
    operations.upload((range.len(), width), write, &mut rows).unwrap();
    rows
}

/// All windows, computed some at a time.
fn windows<O: SpeechOperations>(operations: &O, kind: RowWindows, n_windows: usize, chunk: usize) -> Vec<f32> {
    let rows = rows(operations, 0..N_ROWS, WIDTH);
    let weight = operations.matrix_of(&vec![1.0; 8 * kind.size * WIDTH], (8, kind.size * WIDTH)).unwrap();
    let next = Linear { weight, bias: None };
    let (mut inputs, mut out, mut found) = (O::Inputs::default(), O::Rows::default(), Vec::new());
    for start in (0..n_windows).step_by(chunk) {
        let part = start..n_windows.min(start + chunk);
        operations.windows(&rows, kind, part.clone(), &next, &mut inputs).unwrap();
        operations.input_rows(&inputs, &mut out).unwrap();
        operations.read(&out, 0..part.len(), &mut found).unwrap();
    }
    found
}

/// Rows added to others, and attention of more queries than there are keys.
fn mixed<O: SpeechOperations>(operations: &O, chunk: usize) -> [Vec<f32>; 2] {
    let heads = Heads { n_queries: 2, n_keys: 2, head_dim: WIDTH / 2 };
    let mut past = operations.key_values(heads).unwrap();
    let heard = rows(operations, 100..107, WIDTH);
    operations.append(SequencePart { rows: 0..7, memory: &mut past }, &heard, &heard).unwrap();
    let (mut sums, mut attended, mut out) = (Vec::new(), Vec::new(), O::Rows::default());
    for start in (0..N_ROWS).step_by(chunk) {
        let part = start..N_ROWS.min(start + chunk);
        let mut stream = rows(operations, part.clone(), WIDTH);
        operations.bidirectional_attention(&stream, &past, heads, 0.25, &mut out).unwrap();
        operations.read(&out, 0..part.len(), &mut attended).unwrap();
        operations.add_rows(&rows(operations, part.start + 50..part.end + 50, WIDTH), &mut stream).unwrap();
        operations.read(&stream, 0..part.len(), &mut sums).unwrap();
    }
    [sums, attended]
}

fn native(n_threads: usize) -> Native {
    Native::new(Arc::new(Cpu::new(n_threads)), CacheType::F32)
}

/// The kernels of Whisper's convolutions, and one without padding.
const KINDS: [(RowWindows, usize); 3] = [
    (RowWindows { size: 3, stride: 1, padding: 1 }, N_ROWS),
    (RowWindows { size: 3, stride: 2, padding: 1 }, N_ROWS.div_ceil(2)),
    (RowWindows { size: 4, stride: 4, padding: 0 }, N_ROWS.div_ceil(4)),
];

#[test]
fn windows_have_their_rows_and_zeros_beyond_the_ends() {
    for (kind, n_windows) in KINDS {
        let expect: Vec<f32> = (0..n_windows * kind.size * WIDTH)
            .map(|at| {
                let (window, row, column) = (at / (kind.size * WIDTH), at / WIDTH % kind.size, at % WIDTH);
                let row = (window * kind.stride + row).checked_sub(kind.padding).filter(|row| *row < N_ROWS);
                row.map_or(0.0, |row| value(row, column))
            })
            .collect();
        for (n_threads, chunk) in [(1, n_windows), (3, n_windows), (1, 1), (2, 7)] {
            assert_eq!(bits(&windows(&native(n_threads), kind, n_windows, chunk)), bits(&expect), "{kind:?}");
        }
    }
}

#[test]
fn sums_and_attention_over_few_keys_have_the_same_bits_in_chunks_and_by_several_threads() {
    let expect = mixed(&native(1), N_ROWS);
    for (n_threads, chunk) in [(3, N_ROWS), (1, 1), (2, 7)] {
        let found = mixed(&native(n_threads), chunk);
        assert_eq!(found.each_ref().map(|values| bits(values)), expect.each_ref().map(|values| bits(values)));
    }
}

#[cfg(feature = "candle")]
#[test]
fn tensors_give_the_values_of_the_kernels_for_speech() {
    let tensors = crate::model::candle::Candle { device: candle_core::Device::Cpu };
    for (kind, n_windows) in KINDS {
        assert_eq!(windows(&tensors, kind, n_windows, 7), windows(&native(1), kind, n_windows, n_windows));
    }
    for (ours, theirs) in mixed(&native(1), N_ROWS).iter().zip(mixed(&tensors, 7)) {
        assert!(ours.iter().zip(&theirs).all(|(a, b)| (a - b).abs() <= 1e-5));
    }
}
