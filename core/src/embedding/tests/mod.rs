//! Tiny models whose weights follow from the names of their tensors, compared with what other implementations gave; and calls with
//! models of files.

mod calls;
mod networks;
mod scorer;
mod tiny;

use serde_json::Value as Json;

/// The vectors of F32 weights agree up to rounding: values of up to 4, of which sums over 64 to 128 products are taken six times.
const TOLERANCE: f32 = 1e-4;

fn golden(name: &str) -> Json {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/embeddings.json");
    let all: Json = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    all[name].clone()
}

fn floats(json: &Json) -> Vec<f32> {
    match json {
        Json::Array(values) => values.iter().flat_map(floats).collect(),
        value => vec![value.as_f64().unwrap() as f32],
    }
}

fn ids(kind: &str) -> [Vec<u32>; 2] {
    serde_json::from_value(golden("ids")[kind].clone()).unwrap()
}

#[track_caller]
fn assert_near(found: &[f32], expect: &[f32]) {
    assert_eq!(found.len(), expect.len());
    let largest = found.iter().zip(expect).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(largest <= TOLERANCE, "found a difference of {largest}");
}
