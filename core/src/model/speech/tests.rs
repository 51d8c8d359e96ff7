//! Frames and sound compared with the reference's.

use crate::checkpoint::{CodecCheckpoint, FrameCheckpoint};
use crate::media::sound::testing::hashed;
use crate::model::speech::depthformer::{Depthformer, FrameNetwork};
use crate::model::speech::detokenizer::Codec;
use crate::model::speech::testing::{Golden, depthformer, detokenizer, native};
use crate::weights::testing::TinyFolder;

fn best(logits: &[f32]) -> u32 {
    let (at, _) = logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
    at as u32
}

#[test]
fn frames_are_those_of_the_reference() {
    let (golden, folder) = (Golden::read("lfm2-audio.safetensors"), TinyFolder::new("{}", &depthformer()));
    let checkpoint = FrameCheckpoint::read(&folder.open()).unwrap().unwrap();
    let depthformer = Depthformer::load(native(), &checkpoint).unwrap();
    assert_eq!((depthformer.n_codebooks(), depthformer.end_code()), (8, 2048));
    let (first_64, sums) = (golden.floats("depthformer.logits_first_64"), golden.floats("depthformer.logits_sum"));
    let expected = golden.integers("depthformer.codes");
    for (frame, hidden) in golden.floats("depthformer.hidden").chunks_exact(64).enumerate() {
        let codes = depthformer.frame(hidden, &mut |codebook, logits| {
            let at = 8 * frame + codebook;
            for (logit, expected) in logits.iter().zip(&first_64[64 * at..64 * (at + 1)]) {
                assert!((logit - expected).abs() < 1e-4, "frame {frame}, codebook {codebook}: {logit} and {expected}");
            }
            // Of 2,049 values up to 22.
            assert!((logits.iter().sum::<f32>() - sums[at]).abs() < 1e-2);
            Ok(best(logits))
        });
        assert_eq!(codes.unwrap(), expected[8 * frame..8 * (frame + 1)], "frame {frame}");
    }
}

#[test]
fn the_row_of_a_frame_is_the_sum_of_its_codes_embeddings() {
    let folder = TinyFolder::new("{}", &depthformer());
    let checkpoint = FrameCheckpoint::read(&folder.open()).unwrap().unwrap();
    let depthformer = Depthformer::load(native(), &checkpoint).unwrap();
    let table = hashed("audio_embedding.embedding.weight", 0..8 * 2049 * 64, 1.0, 0.0);
    let frame = [3, 2048, 0, 17, 1000, 5, 6, 7];
    let sum = |column: usize| {
        let rows = frame.iter().enumerate().map(|(at, code)| at * 2049 + *code as usize);
        rows.map(|row| table[64 * row + column]).sum::<f32>()
    };
    assert_eq!(depthformer.row(&frame).unwrap(), (0..64).map(sum).collect::<Vec<_>>());
}

#[test]
fn sound_frame_by_frame_is_that_of_the_reference() {
    let golden = Golden::read("detokenizer.safetensors");
    let (codes, expected) = (golden.integers("codes"), golden.floats("samples"));
    let folder = TinyFolder::new("{}", &detokenizer(&codes, 9));
    let files = folder.open();
    let checkpoint = CodecCheckpoint::read(&[&files]).unwrap().unwrap();
    let codec = Codec::load(native(), &checkpoint).unwrap();
    let (mut stream, mut samples) = (codec.begin().unwrap(), Vec::new());
    for frame in 0..9 {
        let frame: Vec<u32> = (0..8).map(|codebook| codes[9 * codebook + frame]).collect();
        let complete = stream.push(&frame).unwrap();
        assert_eq!(complete.len(), if samples.is_empty() { 1440 } else { 1920 });
        samples.extend(complete);
    }
    samples.extend(stream.finish());
    assert_eq!((samples.len(), codec.sample_rate()), (17280, 24000));
    let largest = samples.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(largest < 1e-6, "{largest}");
}
