//! Frames of a tiny LFM3-Audio, each of which follows from the one before, as llama.cpp 0.8.0 gives them. It draws the order in which
//! codebooks are written; the orders of the golden file are used here.

use serde_json::Value as Json;

use super::*;
use crate::engine::frame_sampler::FrameSampler;
use crate::model::speech::FrameChooser;
use crate::model::speech::lfm3_testing::{LFM3_CONFIG, lfm3_codec, lfm3_decoder, lfm3_frames};
use crate::model::{Inputs, Step};
use crate::options::{CacheType, FrameSampling, LoadOptions};
use crate::voice::VoiceFiles;
use crate::weights::testing::TinyFolder;

const HIDDEN: usize = 64;

/// Draws codes as replies do, in orders that are given.
struct GivenOrders {
    orders: std::vec::IntoIter<Vec<usize>>,
    sampler: FrameSampler,
}

impl FrameChooser for GivenOrders {
    fn order(&mut self, _: usize) -> Vec<usize> {
        self.orders.next().unwrap()
    }

    fn code(&mut self, codebook: usize, logits: &mut [f32]) -> Result<u32> {
        self.sampler.code(codebook, logits)
    }
}

/// The frames of a greedy run, without the one that ends the sound.
fn frames(run: &Json, prompt: &[u32], model: &Model, voice: &crate::model::Voice) -> Vec<Vec<u32>> {
    let orders: Vec<Vec<usize>> = serde_json::from_value(run["orders"].clone()).unwrap();
    let sampling: [f64; 4] = serde_json::from_value(run["sampling"].clone()).unwrap();
    let sampling = FrameSampling {
        temperature: sampling[0] as f32,
        top_k: sampling[1] as usize,
        repetition_penalty: sampling[2] as f32,
        penalty_window: sampling[3] as usize,
    };
    let n_frames = orders.len();
    let mut chooser = GivenOrders { orders: orders.into_iter(), sampler: FrameSampler::new(sampling, 1) };
    let (mut state, mut hidden, mut frames) = (model.start().unwrap(), Vec::new(), Vec::new());
    let mut forward = |inputs: Inputs<'_>, hidden: &mut Vec<f32>| {
        let (state, mut logits) = (&mut *state, Vec::new());
        let step =
            Step { inputs, state, logits: &mut logits, n_logits: 0, choice: None, hidden: Some(hidden), content: None };
        assert!(model.forward(&mut [step]).pop().unwrap().is_ok());
    };
    forward(Inputs::Tokens(prompt), &mut hidden);
    for _ in 0..n_frames {
        let frame = voice.frames.frame(&hidden, &mut chooser).unwrap();
        if voice.frames.ends_sound(&frame) {
            break;
        }
        chooser.sampler.remember(&frame);
        let row = voice.frames.row(&frame).unwrap();
        frames.push(frame);
        forward(Inputs::Rows { rows: &row, n_rows: 1 }, &mut hidden);
    }
    frames
}

#[test]
fn greedy_frames_are_those_of_llama_cpp() {
    let golden: Json = serde_json::from_str(include_str!("../../../../tests/golden/speech/lfm3-audio.json")).unwrap();
    let tensors = [lfm3_decoder(), lfm3_frames(), lfm3_codec()].concat();
    let folder = TinyFolder::new(LFM3_CONFIG, &tensors);
    let weights = folder.open();
    let VoiceFiles::Found(found) = crate::voice::find(&weights, None, None, None).unwrap() else { panic!("no voice") };
    let options = LoadOptions { cache_type: CacheType::F32, ..Default::default() };
    let compute = Compute::new(&options).unwrap();
    let voice = compute.load_voice(&found.0, &found.1, HIDDEN).unwrap();
    let model = Model::load(&weights, None, compute, usize::MAX, &mut |_| ControlFlow::Continue(())).unwrap();
    let prompt: Vec<u32> = serde_json::from_value(golden["prompt"].clone()).unwrap();
    for run in ["greedy_1", "greedy_2s"] {
        let expected: Vec<Vec<u32>> = serde_json::from_value(golden[run]["frames"].clone()).unwrap();
        assert_eq!(frames(&golden[run], &prompt, &model, &voice), expected, "{run}");
    }
}
