//! Encoders against what liquid-audio and transformers compute, stage by stage.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use causerie_backend::Cpu;
use serde_json::Value as Json;

use crate::checkpoint::HearingArchitecture;
use crate::media::sound::MelFilters;
use crate::model::hearing::fast_conformer::FastConformer;
use crate::model::hearing::local_conformer::LocalConformer;
use crate::model::hearing::network::{EncoderNetwork, LoadedEncoder, NetworkRecording};
use crate::model::hearing::operations::SoundOperations;
use crate::model::hearing::parts::{EncoderParts, Phase};
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
    let file = if model.contains("gemma4") { "gemma4_hearing.json" } else { "hearing.json" };
    let text = std::fs::read_to_string(tests_folder().join("golden").join(file)).unwrap();
    let golden: Json = serde_json::from_str(&text).unwrap();
    let records = golden["encodings"].as_array().unwrap();
    records.iter().filter(|record| record["model"] == model).cloned().collect()
}

/// The features of a recording among the fixtures, which have one channel of 16 bits at 16 kHz.
fn features(recording: &str, HearingArchitecture { family, n_bins, .. }: &HearingArchitecture) -> Vec<f32> {
    let file = std::fs::read(tests_folder().join(format!("fixtures/sounds/{recording}.wav"))).unwrap();
    let samples: Vec<f32> =
        file[44..].chunks_exact(2).map(|pair| f32::from(i16::from_le_bytes([pair[0], pair[1]])) / 32768.0).collect();
    let mut features = MelFilters::new(family.rules).features(&samples).values;
    features.truncate(family.n_frames(samples.len()) * n_bins);
    features
}

fn weights(model: &str) -> Weights {
    let folder = tests_folder().join("fixtures/models");
    let projectors = if model.contains("gemma4") { "gemma4-media" } else { "lfm2a" };
    let path = if model.ends_with(".gguf") { folder.join(projectors).join(model) } else { folder.join(model) };
    Weights::open(path.to_str().unwrap()).unwrap()
}

fn native(n_threads: usize) -> Native {
    Native::new(Arc::new(Cpu::new(n_threads)), CacheType::F32)
}

fn encoder<O: SoundOperations, P: EncoderParts<O>>(model: &str, operations: O) -> Arc<EncoderNetwork<O, P>> {
    let weights = weights(model);
    let architecture = HearingArchitecture::read(&weights).unwrap().unwrap();
    Arc::new(EncoderNetwork::load(operations, &weights, &architecture).unwrap())
}

/// The rows of each stage, in bands of some rows.
fn stages<O: SoundOperations, P: EncoderParts<O>>(
    encoder: &Arc<EncoderNetwork<O, P>>,
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
fn check<O: SoundOperations, P: EncoderParts<O>>(model: &str, operations: O, tolerance: f64) {
    let encoder = encoder::<O, P>(model, operations);
    assert_eq!(golden(model).len(), 3, "{model}");
    for record in golden(model) {
        let recording = record["recording"].as_str().unwrap();
        for (name, rows) in stages(&encoder, features(recording, encoder.architecture()), 384) {
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

type Lfm2<O> = FastConformer<O>;
type Gemma4<O> = LocalConformer<O>;

#[test]
fn folders_and_projector_files_give_the_rows_of_the_references_at_every_stage() {
    check::<_, Lfm2<Native>>("lfm2a-hf", native(2), TOLERANCE);
    check::<_, Lfm2<Native>>("mmproj-lfm2a-f16.gguf", native(2), TOLERANCE);
    check::<_, Lfm2<Native>>("mmproj-lfm2a-q8_0.gguf", native(2), QUANTISED_TOLERANCE);
    check::<_, Gemma4<Native>>("gemma4-media-hf", native(2), TOLERANCE);
    check::<_, Gemma4<Native>>("mmproj-gemma4-media-f16.gguf", native(2), TOLERANCE);
    check::<_, Gemma4<Native>>("mmproj-gemma4-media-q8_0.gguf", native(2), QUANTISED_TOLERANCE);
}

fn check_bits<P: EncoderParts<Native>>(model: &str) {
    let of = |n_threads: usize, band: usize| {
        let encoder = encoder::<_, P>(model, native(n_threads));
        let rows = stages(&encoder, features("long", encoder.architecture()), band);
        rows.iter().flat_map(|(_, rows)| rows).map(|value| value.to_bits()).collect::<Vec<_>>()
    };
    let expect = of(1, 384);
    for (n_threads, band) in [(3, 384), (1, 1), (3, 4), (2, 7)] {
        assert!(of(n_threads, band) == expect, "{model}: {n_threads} threads, bands of {band}");
    }
}

#[test]
fn bands_and_threads_change_no_bit() {
    ["lfm2a-hf", "mmproj-lfm2a-q8_0.gguf"].into_iter().for_each(check_bits::<Lfm2<Native>>);
    ["gemma4-media-hf", "mmproj-gemma4-media-q8_0.gguf"].into_iter().for_each(check_bits::<Gemma4<Native>>);
}

#[test]
fn no_row_of_gemma_4_depends_on_later_sound() {
    let encoder = encoder::<_, Gemma4<Native>>("gemma4-media-hf", native(1));
    let features = features("long", encoder.architecture());
    let rows = |n_frames: usize| stages(&encoder, features[..128 * n_frames].to_vec(), 384).pop().unwrap().1;
    let whole = rows(features.len() / 128);
    for n_frames in [3, 40, 63] {
        // The last frame that a row needs is the third one after its first.
        let complete = (n_frames - 3) / 4;
        assert!(rows(n_frames)[..32 * complete] == whole[..32 * complete], "{n_frames}");
    }
}

fn check_pieces<P: EncoderParts<Native>>(model: &str) {
    let encoder = encoder::<_, P>(model, native(1));
    let tones = || features("tones", encoder.architecture());
    let expect = stages(&encoder, tones(), 384).pop().unwrap().1;
    let mut pass = Arc::clone(&encoder).begin(tones());
    let rows = std::iter::from_fn(|| Some(pass.advance().unwrap())).flatten().next().unwrap();
    assert_eq!(*rows, *expect);
    assert_eq!(encoder.begin(Vec::new()).advance().unwrap().unwrap().len(), 0);
}

#[test]
fn a_pass_gives_the_rows_in_pieces_and_none_for_no_frames() {
    check_pieces::<Lfm2<Native>>("lfm2a-hf");
    check_pieces::<Gemma4<Native>>("gemma4-media-hf");
}

#[cfg(feature = "candle")]
#[test]
fn tensors_give_the_rows_of_the_references() {
    use crate::model::candle::Candle;
    let candle = || Candle { device: candle_core::Device::Cpu };
    check::<_, Lfm2<Candle>>("lfm2a-hf", candle(), TOLERANCE);
    check::<_, Gemma4<Candle>>("gemma4-media-hf", candle(), TOLERANCE);
}
