//! The largest value of each row.

use super::*;
use crate::{ChoiceRows, LargestValue};

/// More than a workgroup compares, and not a multiple of it.
const WIDTH: usize = 9001;

/// The first of the largest values, as a loop on the CPU finds it.
fn expected(row: &[f32]) -> LargestValue {
    if row.iter().any(|value| value.is_nan() || *value == f32::INFINITY) {
        return LargestValue::NotFinite;
    }
    let mut largest: Option<usize> = None;
    for (at, value) in row.iter().enumerate().filter(|(_, value)| **value != f32::NEG_INFINITY) {
        if largest.is_none_or(|largest| row[largest] < *value) {
            largest = Some(at);
        }
    }
    largest.map_or(LargestValue::Nowhere, |at| LargestValue::At(at as u32))
}

#[test]
fn the_first_of_the_largest_values_is_found() {
    let Some(recorder) = recorder() else { return };
    let plain = values(1, WIDTH);
    let changed = |changes: &[(usize, f32)], from: f32| {
        let mut row: Vec<f32> = plain.iter().map(|value| value + from).collect();
        changes.iter().for_each(|(at, value)| row[*at] = *value);
        row
    };
    let excluded = vec![f32::NEG_INFINITY; WIDTH];
    let rows = [
        plain.clone(),
        changed(&[(8999, 3.0), (4096, 3.0), (5000, 3.0)], 0.0),
        changed(&[(4095, -0.5), (4097, -0.5)], -10.0),
        // Zeros of both signs are the same.
        changed(&[(300, -0.0), (44, 0.0)], -10.0),
        changed(&[(44, -0.0), (300, 0.0)], -10.0),
        changed(&[(7000, f32::INFINITY)], 0.0),
        changed(&[(7000, f32::NAN)], 0.0),
        changed(&[(7000, -f32::NAN)], 0.0),
        changed(&[(7000, f32::NEG_INFINITY)], 0.0),
        excluded.clone(),
        excluded.iter().enumerate().map(|(at, value)| if at == 8192 { -3.0e38 } else { *value }).collect(),
        // Beyond the values that are compared.
        changed(&[(9000, f32::NAN)], 0.0),
    ];
    let on_gpu = uploaded(&recorder, &rows.concat(), WIDTH);
    let mut memory = ChoiceRows::default();
    for n_compared in [WIDTH - 1, 4096, 1] {
        let found = recorder.largest(&on_gpu, n_compared, &mut memory).unwrap();
        recorder.end_step().unwrap();
        let expect: Vec<_> = rows.iter().map(|row| expected(&row[..n_compared])).collect();
        assert_eq!(found, expect, "{n_compared}");
    }
}
