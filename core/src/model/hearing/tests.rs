//! Encoders against what liquid-audio computes, stage by stage.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use causerie_backend::Cpu;
use serde_json::Value as Json;

use crate::checkpoint::HearingArchitecture;
use crate::media::sound::{MelFilters, MelRules};
use crate::model::hearing::layer::Phase;
use crate::model::hearing::network::{EncoderNetwork, LoadedEncoder, NetworkRecording};
use crate::model::hearing::operations::SoundOperations;
use crate::model::hearing::stream::EncoderBuffers;
use crate::model::native::Native;
use crate::options::CacheType;
use crate::weights::Weights;

/// Tolerance, as a share of the largest value of a stage. Sums in f32, and features that differ by 1e-4.
const TOLERANCE: f64 = 1e-4;
/// The same for quantised weights, whose inputs are quantised, too.
const QUANTISED_TOLERANCE: f64 = 3e-2;

fn tests_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests")
}

/// The encodings of the golden file for one model.
fn golden(model: &str) -> Vec<Json> {
    let text = std::fs::read_to_string(tests_folder().join("golden/hearing.json")).unwrap();
    let golden: Json = serde_json::from_str(&text).unwrap();
    let records = golden["encodings"].as_array().unwrap();
    records.iter().filter(|record| record["model"] == model).cloned().collect()
}

/// The features of a recording among the fixtures, which have one channel of 16 bits at 16 kHz.
fn features(recording: &str) -> Vec<f32> {
    let file = std::fs::read(tests_folder().join(format!("fixtures/sounds/{recording}.wav"))).unwrap();
    let samples: Vec<f32> =
        file[44..].chunks_exact(2).map(|pair| f32::from(i16::from_le_bytes([pair[0], pair[1]])) / 32768.0).collect();
    MelFilters::new(MelRules::LFM2).features(&samples).values
}

fn weights(model: &str) -> Weights {
    let folder = tests_folder().join("fixtures/models");
    let path = if model.ends_with(".gguf") { folder.join("lfm2a").join(model) } else { folder.join(model) };
    Weights::open(path.to_str().unwrap()).unwrap()
}

fn native(n_threads: usize) -> Native {
    Native::new(Arc::new(Cpu::new(n_threads)), CacheType::F32)
}

fn encoder<O: SoundOperations>(model: &str, operations: O) -> Arc<EncoderNetwork<O>> {
    let weights = weights(model);
    let architecture = HearingArchitecture::read(&weights).unwrap().unwrap();
    Arc::new(EncoderNetwork::load(operations, &weights, &architecture).unwrap())
}

/// The rows of each stage, in bands of some rows.
fn stages<O: SoundOperations>(
    encoder: &Arc<EncoderNetwork<O>>,
    features: Vec<f32>,
    band: usize,
) -> Vec<(String, Vec<f32>)> {
    let mut recording = NetworkRecording::new(Arc::clone(encoder), features, band);
    let (n_bands, n_layers) = (recording.stream.bands.len(), encoder.architecture().n_layers);
    let n_phases = Phase::ALL.len() * n_layers + 2;
    let (mut buffers, mut found) = (EncoderBuffers::default(), Vec::new());
    for phase in 0..n_phases {
        for band in 0..n_bands {
            recording.compute(encoder, (phase, band), &mut buffers).unwrap();
        }
        if phase % Phase::ALL.len() == 0 && phase + 1 < n_phases {
            let mut rows = Vec::new();
            for band in &recording.stream.bands {
                encoder.operations().read(&band.stream, 0..band.rows.len(), &mut rows).unwrap();
            }
            let name = if phase == 0 { "beginning".to_owned() } else { format!("layer {}", phase / 3 - 1) };
            found.push((name, rows));
        }
    }
    found.push(("rows".to_owned(), recording.values));
    found
}

#[track_caller]
fn check<O: SoundOperations>(model: &str, operations: O, tolerance: f64) {
    let encoder = encoder(model, operations);
    for record in golden(model) {
        let recording = record["recording"].as_str().unwrap();
        for (name, rows) in stages(&encoder, features(recording), 384) {
            let stage = &record["stages"][&name];
            let n_rows = stage["n_rows"].as_u64().unwrap() as usize;
            let width = rows.len() / n_rows;
            let largest = rows.iter().fold(0f64, |largest, value| largest.max(f64::from(value.abs())));
            let near = |found: f64, expect: &Json, factor: f64, what: &str| {
                let expect = expect.as_f64().unwrap();
                let difference = (found - expect).abs() / largest;
                assert!(difference <= factor * tolerance, "{model}, {recording}, {name}, {what}: {found}, {expect}");
            };
            for (row, expect) in stage["sums"].as_array().unwrap().iter().enumerate() {
                let sum: f64 = rows[row * width..][..width].iter().map(|value| f64::from(*value)).sum();
                near(sum, expect, (width as f64).sqrt(), "sum");
            }
            for kept in stage["rows"].as_array().unwrap() {
                let row = kept["row"].as_u64().unwrap() as usize;
                for (value, expect) in rows[row * width..][..width].iter().zip(kept["values"].as_array().unwrap()) {
                    near(f64::from(*value), expect, 1.0, "value");
                }
            }
        }
    }
}

#[test]
fn folders_and_projector_files_give_the_rows_of_liquid_audio_at_every_stage() {
    check("lfm2a-hf", native(2), TOLERANCE);
    check("mmproj-lfm2a-f16.gguf", native(2), TOLERANCE);
    check("mmproj-lfm2a-q8_0.gguf", native(2), QUANTISED_TOLERANCE);
}

#[test]
fn bands_and_threads_change_no_bit() {
    for model in ["lfm2a-hf", "mmproj-lfm2a-q8_0.gguf"] {
        let of = |n_threads: usize, band: usize| {
            let rows = stages(&encoder(model, native(n_threads)), features("long"), band);
            rows.iter().flat_map(|(_, rows)| rows).map(|value| value.to_bits()).collect::<Vec<_>>()
        };
        let expect = of(1, 384);
        for (n_threads, band) in [(3, 384), (1, 1), (3, 4), (2, 7)] {
            assert!(of(n_threads, band) == expect, "{model}: {n_threads} threads, bands of {band}");
        }
    }
}

#[test]
fn a_pass_gives_the_rows_in_pieces_and_none_for_no_frames() {
    let encoder = encoder("lfm2a-hf", native(1));
    let expect = stages(&encoder, features("tones"), 384).pop().unwrap().1;
    let mut pass = Arc::clone(&encoder).begin(features("tones"));
    let rows = std::iter::from_fn(|| Some(pass.advance().unwrap())).flatten().next().unwrap();
    assert_eq!(*rows, *expect);
    assert_eq!(encoder.begin(Vec::new()).advance().unwrap().unwrap().len(), 0);
}

#[cfg(feature = "candle")]
#[test]
fn tensors_give_the_rows_of_liquid_audio() {
    use crate::model::candle::Candle;
    let candle = || Candle { device: candle_core::Device::Cpu };
    check("lfm2a-hf", candle(), TOLERANCE);
}
