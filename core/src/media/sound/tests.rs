//! Rates and features against other implementations.

use std::path::Path;

use serde_json::Value as Json;

use super::testing::sound;
use super::*;

fn golden(section: &str) -> Vec<Json> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/sound.json");
    let json: Json = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    json[section].as_array().unwrap().clone()
}

fn number(json: &Json) -> usize {
    json.as_u64().unwrap().try_into().unwrap()
}

/// Compares every nth value, and the sums of all, which may differ by as much for each value.
fn assert_close(found: &[f32], expect: &Json, tolerance: f64) {
    let (nth, values) = (number(&expect["nth"]), expect["values"].as_array().unwrap());
    assert_eq!(found.len().div_ceil(nth), values.len());
    for (at, value) in values.iter().enumerate() {
        let (found, expect) = (f64::from(found[nth * at]), value.as_f64().unwrap());
        assert!((found - expect).abs() <= tolerance, "value {}: {found} for {expect}", nth * at);
    }
    let sum = |of: fn(f64) -> f64| found.iter().map(|value| of(f64::from(*value))).sum::<f64>();
    for (found, expect) in [(sum(|x| x), &expect["sum"]), (sum(|x| x * x), &expect["squares"])] {
        let slack = tolerance * values.len() as f64 * nth as f64;
        assert!((found - expect.as_f64().unwrap()).abs() <= slack, "sum {found} for {expect}");
    }
}

fn rules(name: &str) -> MelRules {
    match name {
        "lfm2" => MelRules::LFM2,
        "lfm3" => MelRules::LFM3,
        "gemma4" => MelRules::GEMMA4,
        "whisper80" => MelRules::whisper(80),
        "whisper128" => MelRules::whisper(128),
        _ => panic!("{name}"),
    }
}

#[test]
fn other_rates_are_those_of_torchaudio() {
    let cases = golden("resampled");
    assert_eq!(cases.len(), 8);
    for case in cases {
        let rate = case["rate"].as_u64().unwrap() as u32;
        let found = resample(&sound(rate as usize / 20, rate), rate, 16_000);
        assert_eq!(found.len(), 800);
        // The reference computes in f32.
        assert_close(&found, &case, 1e-5);
    }
}

#[test]
fn features_are_those_of_the_references() {
    let cases = golden("features");
    assert!(18 <= cases.len());
    for case in cases {
        let rules = rules(case["rules"].as_str().unwrap());
        let n_samples = number(&case["samples"]);
        let features = MelFilters::new(rules).features(&sound(n_samples, 16_000));
        assert_eq!(features.n_frames, number(&case["frames"]));
        assert_eq!(features.values.len(), features.n_frames * rules.bins);
        // References in f32 divide by deviations that are small if there are two frames.
        let tolerance = if rules.normalises && n_samples < 400 { 2e-3 } else { 2e-4 };
        assert_close(&features.values, &case, tolerance);
    }
}

#[test]
fn features_of_silence_are_finite() {
    for name in ["lfm2", "lfm3", "gemma4", "whisper80", "whisper128"] {
        for n_samples in [0, 1, 159, 160, 161, 480, 16_000] {
            let features = MelFilters::new(rules(name)).features(&vec![0.0; n_samples]);
            assert!(features.values.iter().all(|value| value.is_finite()), "{name} {n_samples}");
        }
    }
    let features = MelFilters::new(MelRules::LFM2).features(&[0.0; 16_000]);
    assert!(features.values.iter().all(|value| value.abs() < 1e-6));
}

#[test]
fn chunks_are_resampled_as_the_whole() {
    for (from, to) in [(48_000, 16_000), (44_100, 16_000), (8_000, 16_000), (16_000, 24_000), (16_000, 16_000)] {
        let samples = sound(1_000, from);
        for length in [1, 7, 160, 999, 1_000] {
            let mut resampler = Resampler::new(from, to);
            let mut found = Vec::new();
            samples.chunks(length).for_each(|chunk| resampler.push(chunk, &mut found));
            resampler.finish(&mut found);
            assert_eq!(found, resample(&samples, from, to), "{from} to {to} in chunks of {length}");
        }
    }
}

#[test]
fn any_number_of_samples_and_any_rate_is_resampled() {
    for (from, to) in [(1_000, 16_000), (384_000, 16_000), (15_999, 16_000), (11_025, 24_000), (44_101, 16_000)] {
        for n_samples in [0, 1, 2, 3, 50] {
            let found = resample(&vec![0.5; n_samples], from, to);
            assert_eq!(found.len(), (n_samples * to as usize).div_ceil(from as usize), "{from} to {to}");
        }
    }
}

#[test]
fn samples_and_rates_that_no_sound_has_are_refused() {
    for (samples, rate, expect) in [
        (vec![0.0, f32::INFINITY], 16_000, "samples[1] must be a finite number, found inf"),
        (vec![], 0, "a sound must have between 1000 and 384000 samples per second, found 0"),
    ] {
        assert_eq!(Sound::from_samples(samples, rate).unwrap_err().to_string(), expect);
    }
}
