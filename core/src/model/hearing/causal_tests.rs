//! The encoder of a tiny LFM3-Audio against exact values, which agree with llama.cpp 0.8.0 to the digits that its first convolution keeps.

use std::sync::Arc;

use crate::checkpoint::{CausalEncoderCheckpoint, HearingArchitecture, LFM3_AUDIO};
use crate::media::sound::testing::sound;
use crate::media::sound::{MelFilters, MelRules};
use crate::model::hearing::causal::{CausalEncoder, CausalRecording};
use crate::model::hearing::network::LoadedEncoder;
use crate::model::hearing::operations::SoundOperations;
use crate::model::speech::lfm3_testing::lfm3_encoder;
use crate::model::speech::testing::{Golden, native};
use crate::weights::testing::TinyFolder;

/// Samples of the recordings in the golden file.
const LENGTHS: [usize; 10] = [159, 400, 401, 560, 561, 1280, 1520, 4001, 8000, 16111];

fn encoder<O: SoundOperations>(operations: O) -> Arc<CausalEncoder<O>> {
    let folder = TinyFolder::new("{}", &lfm3_encoder());
    let mut checkpoint = CausalEncoderCheckpoint::read(&folder.open(), 4, 1e-5).unwrap();
    // The window stands in the metadata of projector files.
    checkpoint.architecture.layers.iter_mut().for_each(|layer| layer.window = Some(5));
    let architecture =
        HearingArchitecture { family: &LFM3_AUDIO, n_layers: 4, n_heads: 4, norm_eps: 1e-5, n_bins: 128 };
    Arc::new(CausalEncoder::load(operations, &checkpoint, &architecture).unwrap())
}

fn features(n_samples: usize) -> Vec<f32> {
    MelFilters::new(MelRules::LFM3).features(&sound(n_samples, 16_000)).values
}

fn check<O: SoundOperations>(operations: O) {
    let (golden, encoder) = (Golden::read("lfm3-audio.safetensors"), encoder(operations));
    for n_samples in LENGTHS {
        let expected = golden.floats(&format!("rows_{n_samples}"));
        let mut pass = Arc::clone(&encoder).begin(features(n_samples));
        let rows = std::iter::from_fn(|| Some(pass.advance().unwrap())).flatten().next().unwrap();
        let scale = expected.iter().fold(0f32, |largest, value| largest.max(value.abs()));
        let largest = rows.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        // Features differ by 9e-5 at most.
        assert!(rows.len() == expected.len() && largest < 1e-4 * scale, "{n_samples} samples: {largest} of {scale}");
    }
}

#[test]
fn rows_of_the_causal_encoder_are_exact() {
    check(native());
}

#[cfg(feature = "candle")]
#[test]
fn tensors_give_the_rows_of_the_causal_encoder() {
    check(crate::model::candle::Candle { device: candle_core::Device::Cpu });
}

#[test]
fn pieces_of_the_causal_encoder_change_no_bit() {
    let encoder = encoder(native());
    let rows = |sizes: &[usize]| {
        let mut recording = CausalRecording::new(Arc::clone(&encoder), features(16111));
        sizes.iter().for_each(|n| recording.compute(*n).unwrap());
        recording.values().iter().map(|value| value.to_bits()).collect::<Vec<_>>()
    };
    let whole = rows(&[13]);
    assert!(whole == rows(&[1; 13]) && whole == rows(&[4, 1, 8]));
}
