//! Frames and sound compared with the reference's.

use std::collections::HashSet;

use crate::checkpoint::{CodecCheckpoint, DepthformerCheckpoint, MaskedCheckpoint, MimiCheckpoint};
use crate::error::Result;
use crate::media::sound::testing::hashed;
use crate::model::network::{Inputs, SequenceState};
use crate::model::pass::{Buffers, StackSequence};
use crate::model::speech::codec::Codec;
use crate::model::speech::depthformer::Depthformer;
use crate::model::speech::detokenizer::Detokenizer;
use crate::model::speech::frames::{FrameChooser, FrameNetwork};
use crate::model::speech::lfm3_testing::{lfm3_codec, lfm3_frames};
use crate::model::speech::masked::MaskedFrames;
use crate::model::speech::mimi::Mimi;
use crate::model::speech::operations::CodecOperations;
use crate::model::speech::testing::{Golden, depthformer, detokenizer, mimi, native};
use crate::model::stack::Stack;
use crate::weights::testing::TinyFolder;

fn best(logits: &[f32]) -> u32 {
    let (at, _) = logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
    at as u32
}

/// Chooses the best codes, and checks the logits.
struct Greedy<F: FnMut(usize, &[f32])> {
    orders: Vec<Vec<usize>>,
    check: F,
}

impl<F: FnMut(usize, &[f32])> FrameChooser for Greedy<F> {
    fn order(&mut self, _: usize) -> Vec<usize> {
        self.orders.remove(0)
    }

    fn code(&mut self, codebook: usize, logits: &mut [f32]) -> Result<u32> {
        (self.check)(codebook, logits);
        Ok(best(logits))
    }
}

#[test]
fn frames_are_those_of_the_reference() {
    let (golden, folder) = (Golden::read("lfm2-audio.safetensors"), TinyFolder::new("{}", &depthformer()));
    let checkpoint = DepthformerCheckpoint::read(&folder.open()).unwrap().unwrap();
    let depthformer = Depthformer::load(native(), &checkpoint).unwrap();
    assert_eq!((depthformer.n_codebooks(), depthformer.end_code()), (8, 2048));
    let (first_64, sums) = (golden.floats("depthformer.logits_first_64"), golden.floats("depthformer.logits_sum"));
    let expected = golden.integers("depthformer.codes");
    for (frame, hidden) in golden.floats("depthformer.hidden").chunks_exact(64).enumerate() {
        let check = |codebook: usize, logits: &[f32]| {
            let at = 8 * frame + codebook;
            for (logit, expected) in logits.iter().zip(&first_64[64 * at..64 * (at + 1)]) {
                assert!((logit - expected).abs() < 1e-4, "frame {frame}, codebook {codebook}: {logit} and {expected}");
            }
            // Of 2,049 values up to 22.
            assert!((logits.iter().sum::<f32>() - sums[at]).abs() < 1e-2);
        };
        let codes = depthformer.frame(hidden, &mut Greedy { orders: Vec::new(), check });
        assert_eq!(codes.unwrap(), expected[8 * frame..8 * (frame + 1)], "frame {frame}");
    }
}

#[test]
fn the_row_of_a_frame_is_the_sum_of_its_codes_embeddings() {
    let folder = TinyFolder::new("{}", &depthformer());
    let checkpoint = DepthformerCheckpoint::read(&folder.open()).unwrap().unwrap();
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
    let Some(CodecCheckpoint::Detokenizer(checkpoint)) = CodecCheckpoint::read(&[&files]).unwrap() else { panic!() };
    let codec = Codec::new(Detokenizer::load(native(), &checkpoint).unwrap());
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

/// The codes of the golden file of LFM3-Audio at which logits are computed; `None` for those that are not known.
fn code_patterns() -> Vec<Vec<Option<u32>>> {
    let json = include_str!("../../../../tests/golden/speech/lfm3-audio.json");
    let json: serde_json::Value = serde_json::from_str(json).unwrap();
    let patterns: Vec<Vec<i64>> = serde_json::from_value(json["code_patterns"].clone()).unwrap();
    patterns.into_iter().map(|codes| codes.into_iter().map(|code| u32::try_from(code).ok()).collect()).collect()
}

#[test]
fn the_logits_and_rows_of_masked_frames_are_those_of_llama_cpp() {
    let (golden, folder) = (Golden::read("lfm3-audio.safetensors"), TinyFolder::new("{}", &lfm3_frames()));
    let checkpoint = MaskedCheckpoint::read(&folder.open()).unwrap().unwrap();
    assert_eq!((checkpoint.n_codebooks, checkpoint.n_codes, checkpoint.hidden), (12, 82, 64));
    let frames = MaskedFrames::load(native(), &checkpoint).unwrap();
    let hidden = hashed("hidden", 0..64, 1.0, 0.0);
    for (at, codes) in code_patterns().iter().enumerate() {
        if at < 3 {
            let expected = golden.floats(&format!("logits_{at}"));
            let found = frames.all_logits(&hidden, codes).unwrap().concat();
            let largest = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(found.len() == expected.len() && largest < 1e-4, "pattern {at}: {largest}");
        } else {
            let codes = codes.iter().copied().collect::<Option<Vec<u32>>>().unwrap();
            let (row, expected) = (frames.row(&codes).unwrap(), golden.floats(&format!("feedback_{at}")));
            assert!(row.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6), "pattern {at}");
        }
    }
}

#[test]
fn the_sound_of_levels_frame_by_frame_is_that_of_llama_cpp() {
    let golden = Golden::read("lfm3-audio.safetensors");
    let (codes, expected) = (golden.integers("wav_codes"), golden.floats("wav"));
    let folder = TinyFolder::new("{}", &lfm3_codec());
    let Some(CodecCheckpoint::Detokenizer(checkpoint)) = CodecCheckpoint::read(&[&folder.open()]).unwrap() else {
        panic!()
    };
    assert_eq!((checkpoint.n_codebooks, checkpoint.n_codes), (12, 81));
    let codec = Codec::new(Detokenizer::load(native(), &checkpoint).unwrap());
    let (mut stream, mut samples) = (codec.begin().unwrap(), Vec::new());
    for frame in codes.chunks_exact(12) {
        samples.extend(stream.push(frame).unwrap());
    }
    samples.extend(stream.finish());
    let scale = expected.iter().fold(0f32, |largest, sample| largest.max(sample.abs()));
    let largest = samples.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(samples.len() == expected.len() && largest < 1e-5 * scale.max(1.0), "{largest} of {scale}");
}

#[test]
fn a_part_of_the_writer_or_the_codec_that_is_missing_is_named() {
    for (tensors, missing) in
        [(lfm3_frames(), "a.gen.code.proj_in.weight"), (lfm3_codec(), "a.gen.wav.tfm.in_proj.weight")]
    {
        let tensors: Vec<_> = tensors.into_iter().filter(|(name, ..)| name != missing).collect();
        let files = TinyFolder::new("{}", &tensors).open();
        let err = MaskedCheckpoint::read(&files).err().or(CodecCheckpoint::read(&[&files]).err()).unwrap();
        assert!(err.to_string().contains(missing), "{err}");
    }
    let tensors: Vec<_> = lfm3_frames().into_iter().filter(|(name, ..)| name != "a.gen.code.mask_embd").collect();
    let checkpoint = MaskedCheckpoint::read(&TinyFolder::new("{}", &tensors).open()).unwrap().unwrap();
    let err = MaskedFrames::load(native(), &checkpoint).err().unwrap();
    assert!(err.to_string().contains("a.gen.code.mask_embd"), "{err}");
}

/// The largest difference of the sound of Mimi's codes, frame by frame, to the reference's, which decodes all of them at once.
fn mimi_difference<O: CodecOperations>(operations: O) -> f32 {
    let golden = Golden::read("mimi.safetensors");
    let (codes, expected) = (golden.integers("codes"), golden.floats("samples"));
    let folder = TinyFolder::new("{}", &mimi(8, 64, 32));
    let checkpoint = MimiCheckpoint::read(&folder.open()).unwrap().unwrap();
    assert_eq!((checkpoint.n_codebooks, checkpoint.n_codes, checkpoint.n_stages), (8, 64, 4));
    // The model of the values differs from real ones in what files do not say.
    let checkpoint = MimiCheckpoint { n_heads: 4, window: 7, ..checkpoint };
    let codec = Codec::new(Mimi::load(operations, &checkpoint, 8).unwrap());
    let (mut stream, mut samples) = (codec.begin().unwrap(), Vec::new());
    for frame in 0..6 {
        let frame: Vec<u32> = (0..8).map(|codebook| codes[6 * codebook + frame]).collect();
        let complete = stream.push(&frame).unwrap();
        assert_eq!(complete.len(), 1920);
        samples.extend(complete);
    }
    assert!(stream.finish().is_empty() && samples.len() == expected.len());
    samples.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn the_sound_of_the_first_model_frame_by_frame_is_that_of_the_reference() {
    let largest = mimi_difference(native());
    assert!(largest < 1e-6, "{largest}"); // of samples up to 0.6
}

#[cfg(feature = "candle")]
#[test]
fn tensors_give_the_sound_of_the_first_model() {
    let largest = mimi_difference(crate::model::candle::Candle { device: candle_core::Device::Cpu });
    assert!(largest < 1e-6, "{largest}");
}

/// The rows of a detokenizer's stack for positions in steps of six, and the bytes of its state after each step.
fn stack_outputs<O: CodecOperations>(operations: O, releases: bool) -> (Vec<u32>, Vec<usize>) {
    let folder = TinyFolder::new("{}", &detokenizer(&[0], 1));
    let Some(CodecCheckpoint::Detokenizer(checkpoint)) = CodecCheckpoint::read(&[&folder.open()]).unwrap() else {
        panic!()
    };
    let (tensors, architecture) = (&checkpoint.tensors, &checkpoint.architecture);
    let stack =
        Stack::load(&operations, tensors, architecture, 512, &mut |_| std::ops::ControlFlow::Continue(())).unwrap();
    let table = operations.matrix_of(&[0.0; 512], (1, 512)).unwrap();
    let (mut buffers, mut state) = (Buffers::default(), stack.empty_state(&operations).unwrap());
    let (mut outputs, mut sizes) = (Vec::new(), Vec::new());
    for step in 0..100 {
        let rows = hashed("rows", 6 * 512 * step..6 * 512 * (step + 1), 1.0, 0.0);
        operations.embed(&table, &[Inputs::Rows { rows: &rows, n_rows: 6 }], 1.0, &mut buffers.stream).unwrap();
        let sequence = StackSequence { rows: 0..6, state: &mut state, content: None };
        stack.forward(&operations, &mut [sequence], &mut buffers).unwrap();
        if releases {
            stack.release_unseen(&mut state);
        }
        operations.read(&buffers.stream, 0..6, &mut outputs).unwrap();
        sizes.push(state.n_bytes(&mut HashSet::new()));
    }
    (outputs.into_iter().map(f32::to_bits).collect(), sizes)
}

fn check_released<O: CodecOperations>(operations: impl Fn() -> O) {
    let (released, sizes) = stack_outputs(operations(), true);
    let (kept, all) = stack_outputs(operations(), false);
    assert!(released == kept);
    // A window lies in two pages at most.
    let most = *sizes.iter().max().unwrap();
    assert!(sizes[50..].iter().max() == Some(&most) && most < all[99], "{most} bytes, and {} of all", all[99]);
}

#[test]
fn keys_before_the_window_are_released_without_a_change_of_any_bit() {
    check_released(native);
}

#[cfg(feature = "candle")]
#[test]
fn tensors_of_keys_before_the_window_are_released_without_a_change_of_any_bit() {
    check_released(|| crate::model::candle::Candle { device: candle_core::Device::Cpu });
}
