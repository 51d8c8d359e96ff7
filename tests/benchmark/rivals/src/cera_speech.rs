//! Measures the parts of cera that hear and speak, on the files of `speech.py`.
//!
//! ```text
//! cera-speech PROJECTOR VOCODER REPEATS FRAMES
//! ```
//!
//! Prints one JSON object of medians: the time from four seconds of samples to rows, and the time for a frame of sound after the
//! text model: its codes, and its samples. cera takes its number of threads from `CERA_THREADS`, `CERA_DECODE_THREADS` and
//! `RAYON_NUM_THREADS`.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use cera::gguf::GgufFile;
use cera::model::audio_decoder::{
    AudioDecoderWeights, DepthformerState, DetokenizerState, DetokenizerWeights, detokenize_streaming, sample_frame,
};
use cera::model::audio_encoder::{AudioEncoderWeights, encode_audio_pcm};

const N_SAMPLES: usize = 4 * 16_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [projector, vocoder, repeats, frames] = arguments.as_slice() else {
        return Err("expected PROJECTOR VOCODER REPEATS FRAMES".into());
    };
    let (repeats, frames): (usize, usize) = (repeats.parse()?, frames.parse()?);
    let encoder = AudioEncoderWeights::from_gguf(&GgufFile::open_arc(Path::new(projector))?)?;
    let vocoder = GgufFile::open_arc(Path::new(vocoder))?;
    let (decoder, detokenizer) = (AudioDecoderWeights::from_gguf(&vocoder)?, DetokenizerWeights::from_gguf(&vocoder)?);
    let mut noise = Noise(1);
    let mut hear = || {
        let samples: Vec<f32> = (0..N_SAMPLES).map(|_| noise.next()).collect();
        let start = Instant::now();
        let (rows, n_rows) = encode_audio_pcm(&samples, &encoder);
        assert!((50..=51).contains(&n_rows), "{n_rows} rows");
        (start.elapsed().as_secs_f64(), rows)
    };
    let (_, rows) = hear();
    // Any row as wide as the text model's serves as its output.
    let embedding = &rows[..encoder.config.llm_hidden_size];
    let hearing = median((0..repeats).map(|_| hear().0).collect());
    let (mut depth, mut sound) = (Vec::new(), Vec::new());
    let mut codes_of_depth = DepthformerState::new(&decoder.depthformer_config);
    let mut samples_of_codes = DetokenizerState::new(&detokenizer.config);
    for _ in 0..frames {
        let start = Instant::now();
        let codes = sample_frame(&decoder, &mut codes_of_depth, embedding, 0.0, 1);
        depth.push(start.elapsed().as_secs_f64());
        let codes: Vec<i32> = codes.iter().map(|code| (*code).clamp(0, 2047)).collect();
        let start = Instant::now();
        let samples = detokenize_streaming(&detokenizer, &mut samples_of_codes, &codes);
        sound.push(start.elapsed().as_secs_f64());
        assert!(samples.len() <= 4 * 1920, "{} samples", samples.len());
    }
    println!(
        r#"{{"hearing_seconds": {hearing}, "depth_seconds": {}, "sound_seconds": {}}}"#,
        median(depth),
        median(sound)
    );
    Ok(())
}

/// Values from -0.5 to 0.5.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / 16_777_216.0 - 0.5
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
