use std::collections::BTreeMap;

use super::*;
use crate::weights::{SUPER, dequantise};

/// Values, and how other implementations encode them.
#[derive(serde::Deserialize)]
struct EncodedBlocks {
    values: String,
    /// The blocks of types with a fixed formula.
    blocks: BTreeMap<String, String>,
    /// For each super-block, of types whose encoders may choose.
    squared_errors: BTreeMap<String, Vec<f64>>,
}

fn golden() -> (Vec<f32>, EncodedBlocks) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/encoded_blocks.json");
    let golden: EncodedBlocks = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let values =
        hex::decode(&golden.values).unwrap().as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    (values, golden)
}

fn tensor_type(name: &str) -> TensorType {
    TensorType::all().find(|tensor_type| tensor_type.name() == name).unwrap()
}

fn encoded(tensor_type: TensorType, values: &[f32]) -> Vec<u8> {
    let mut blocks = Vec::new();
    encoder(tensor_type).unwrap()(values, &mut blocks);
    assert_eq!(blocks.len(), values.len() / tensor_type.block() * tensor_type.block_bytes());
    blocks
}

fn squared_error(tensor_type: TensorType, values: &[f32]) -> f64 {
    let mut found = Vec::new();
    dequantise(tensor_type, &encoded(tensor_type, values), &mut found);
    assert_eq!(found.len(), values.len());
    found.iter().zip(values).map(|(found, value)| (f64::from(*found) - f64::from(*value)).powi(2)).sum()
}

#[test]
fn types_with_a_formula_have_the_bits_of_the_reference() {
    let (values, golden) = golden();
    assert_eq!(golden.blocks.len(), 2);
    for (name, expect) in &golden.blocks {
        let found = encoded(tensor_type(name), &values);
        let size = tensor_type(name).block_bytes();
        for (at, (found, expect)) in found.chunks(size).zip(hex::decode(expect).unwrap().chunks(size)).enumerate() {
            assert_eq!(found, expect, "{name}, block {at}");
        }
    }
}

/// Errors are weighted, so that a block may have a larger sum of squares; all together are better than llama.cpp's.
#[test]
fn blocks_with_searched_scales_are_closer_to_the_values_than_those_of_llama_cpp() {
    let (values, golden) = golden();
    assert_eq!(golden.squared_errors.len(), 5);
    for (name, theirs) in &golden.squared_errors {
        let blocks = values.chunks(SUPER);
        let ratios = blocks.zip(theirs).filter(|(_, theirs)| 0.0 < **theirs);
        let ratios: Vec<f64> = ratios.map(|(block, theirs)| squared_error(tensor_type(name), block) / theirs).collect();
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        assert!(mean <= 1.0 && ratios.iter().all(|ratio| *ratio <= 1.2), "{name}: {mean}, {ratios:?}");
    }
}

#[test]
fn equal_values_stay_equal() {
    for tensor_type in [TensorType::Q5_0, TensorType::Q5_1, TensorType::Q4K, TensorType::Q5K, TensorType::Q6K] {
        assert_eq!(squared_error(tensor_type, &[0.0; SUPER]), 0.0, "{}", tensor_type.name());
        let error = squared_error(tensor_type, &[-2.0; SUPER]);
        assert!(error <= 1e-6 * 4.0 * SUPER as f64, "{}: {error}", tensor_type.name()); // scales are rounded to f16
    }
    let mut halves = Vec::new();
    dequantise(TensorType::F16, &encoded(TensorType::F16, &[1.5, -65504.0]), &mut halves);
    assert_eq!(halves, [1.5, -65504.0]);
}

/// Scales that vanish in half precision, and the largest values.
#[test]
fn extreme_values_give_finite_ones() {
    for tensor_type in TensorType::all().filter(|tensor_type| encoder(*tensor_type).is_some()) {
        for size in [1e-45, 1e-30, 1e-9, 6e-8, 65504.0] {
            let values: [f32; SUPER] =
                std::array::from_fn(|at| if at % 3 == 0 { -size } else { size * (at % 2) as f32 });
            let error = squared_error(tensor_type, &values);
            assert!(error <= 4.0 * f64::from(size).powi(2) * SUPER as f64, "{}, {size}: {error}", tensor_type.name());
        }
    }
}
