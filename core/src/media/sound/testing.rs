//! Sounds for tests, which any language can make again without a file.

use std::f64::consts::PI;
use std::ops::Range;

/// The sound of the golden files: three tones that swell three times a second, with a little noise.
pub(crate) fn sound(n_samples: usize, sample_rate: u32) -> Vec<f32> {
    let sample = |at: usize| {
        let time = at as f64 / f64::from(sample_rate);
        let tone = |level: f64, frequency: f64| level * (2.0 * PI * frequency * time).sin();
        let swell = 0.55 + tone(0.45, 3.0);
        let noise = 0.02 * (2.0 * uniform("noise", at as u64) - 1.0);
        (swell * (tone(0.30, 220.0) + tone(0.20, 1330.0) + tone(0.10, 5100.0)) + noise) as f32
    };
    (0..n_samples).map(sample).collect()
}

/// Elements of the random sequence of this name: values around `mean`, at most `scale` away.
pub(crate) fn hashed(name: &str, elements: Range<usize>, scale: f64, mean: f64) -> Vec<f32> {
    elements.map(|at| (mean + scale * (2.0 * uniform(name, at as u64) - 1.0)) as f32).collect()
}

/// An element of the random sequence of this name, at least 0 and less than 1: SplitMix64, seeded by FNV-1a of the name.
fn uniform(name: &str, index: u64) -> f64 {
    let seed = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let mut bits = seed.wrapping_add(index).wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ bits >> 31) >> 40) as f64 / (1u64 << 24) as f64
}
