//! What a step on a GPU costs besides computing: kernels, waiting, and bytes that are read back.

use std::sync::Arc;

use causerie_gpu::{RecordedCounts, Recorder};

use super::gpu::device;
use super::same_bits::{bits, decoder, ids, step};
use super::*;
use crate::model::gpu::Wgsl;
use crate::model::network::{TokenChoice, WantedChoice};
use crate::model::pass::DecoderNetwork;

/// A network, and what records its steps.
fn network(file: &str) -> Option<(Box<dyn Network>, Arc<Recorder>)> {
    let wgsl = Wgsl::new(&device()?, CacheType::F16, u64::MAX).unwrap();
    let recorder = Arc::clone(wgsl.recorder());
    Some((Box::new(DecoderNetwork::new(decoder(file, wgsl))), recorder))
}

/// What a computation adds to what was recorded.
fn added(recorder: &Recorder, compute: impl FnOnce()) -> RecordedCounts {
    let before = recorder.counts();
    compute();
    let after = recorder.counts();
    RecordedCounts {
        n_kernels: after.n_kernels - before.n_kernels,
        n_reads: after.n_reads - before.n_reads,
        n_bytes_read: after.n_bytes_read - before.n_bytes_read,
    }
}

fn prefilled(network: &dyn Network, ids: &[u32]) -> Box<dyn SequenceState> {
    let mut state = network.start().unwrap();
    network.forward(&mut [step(ids, &mut state, &mut Vec::new(), 1)]).pop().unwrap().unwrap();
    state
}

fn most_probable(logits: &[f32]) -> u32 {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    logits.iter().position(|logit| *logit == most).unwrap() as u32
}

#[test]
fn the_most_probable_token_is_chosen_on_the_device() {
    for file in ["lfm2-q4_0.gguf", "gemma3-q8_0.gguf", "granite4-q8_0.gguf", "qwen35-f32.gguf"] {
        let Some((network, recorder)) = network(file) else { return };
        let cpu = load_with(file, native(CacheType::F16));
        let n_tokens = network.n_vocabulary() - 3;
        let prompts = [ids(30, 1), ids(41, 2), ids(9, 3)];
        let mut states: Vec<_> = prompts.iter().map(|prompt| prefilled(&*network, prompt)).collect();
        let expect: Vec<Vec<f32>> = prompts
            .iter()
            .map(|prompt| {
                let mut state = cpu.start().unwrap();
                read(&cpu, prompt, &mut state);
                read(&cpu, &[5], &mut state)
            })
            .collect();
        let token = |logits: &[f32]| TokenChoice::Token(most_probable(&logits[..n_tokens]));
        // One reply chooses, one reads its logits, one chooses: in one pass.
        let (mut logits, mut chosen) = (vec![vec![1.0]; 3], [None; 3]);
        let steps = states.iter_mut().zip(&mut logits).zip(&mut chosen).enumerate();
        let mut steps: Vec<Step<'_>> = steps
            .map(|(at, ((state, logits), chosen))| {
                let choice = (at != 1).then_some(WantedChoice { n_tokens, chosen, goes_on: false });
                Step { choice, ..step(&[5], state, logits, 1) }
            })
            .collect();
        network.forward(&mut steps).into_iter().for_each(|outcome| assert_eq!(outcome.unwrap(), ForwardOutcome::Done));
        assert_eq!(chosen, [Some(token(&expect[0])), None, Some(token(&expect[2]))], "{file}");
        assert_eq!(logits.iter().map(Vec::len).collect::<Vec<_>>(), [0, network.n_vocabulary(), 0], "{file}");
        assert_eq!(bits(&logits[1]), bits(&expect[1]), "{file}");
        let mut choice = None;
        let counts = added(&recorder, || {
            let wanted = WantedChoice { n_tokens, chosen: &mut choice, goes_on: false };
            let mut logits = Vec::new();
            let wants = Step { choice: Some(wanted), ..step(&[7], &mut states[0], &mut logits, 1) };
            network.forward(&mut [wants]).pop().unwrap().unwrap();
        });
        assert!(choice.is_some());
        assert_eq!((counts.n_reads, counts.n_bytes_read), (1, 8), "{file}");
    }
}

#[test]
fn steps_that_are_begun_ahead_have_the_cpus_bits_and_can_be_dropped() {
    for file in ["lfm2-q4_0.gguf", "gemma3-q8_0.gguf", "granite4-q8_0.gguf", "qwen35-f32.gguf", "lfm2moe-q8_0.gguf"] {
        let Some((network, recorder)) = network(file) else { return };
        let cpu = load_with(file, native(CacheType::F16));
        // A page ends among the tokens that follow.
        let (mut state, mut right) = (prefilled(&*network, &ids(60, 1)), cpu.start().unwrap());
        read(&cpu, &ids(60, 1), &mut right);
        let go_on = |token: u32, state: &mut Box<dyn SequenceState>, goes_on: bool| {
            let (mut logits, mut chosen) = (vec![1.0], None);
            let counts = added(&recorder, || {
                let wanted = WantedChoice { n_tokens: network.n_vocabulary(), chosen: &mut chosen, goes_on };
                let ids = [token];
                let wants = Step { choice: Some(wanted), ..step(&ids, state, &mut logits, 1) };
                assert_eq!(network.forward(&mut [wants]).pop().unwrap().unwrap(), ForwardOutcome::Done);
            });
            assert!(logits.is_empty());
            (chosen, counts.n_reads)
        };
        let (mut token, mut forks) = (5, Vec::new());
        for at in 0..9 {
            let expect = most_probable(&read(&cpu, &[token], &mut right));
            // A step that was not begun ahead begins two, and the last one begins none.
            let n_begun = match at {
                0 | 6 => 2,
                8 => 0,
                _ => 1,
            };
            assert_eq!(go_on(token, &mut state, at < 8), (Some(TokenChoice::Token(expect)), n_begun), "{file}, {at}");
            assert_eq!(state.save().unwrap(), right.save().unwrap(), "{file}, {at}");
            if at % 3 == 2 {
                forks.push((state.clone(), right.clone(), 11));
            }
            token = expect;
            if at == 5 {
                // Another token takes the place of the one that was computed ahead.
                token = (expect + 1) % 200;
            }
        }
        forks.push((state, right, token));
        for (mut state, mut right, token) in forks {
            let expect = most_probable(&read(&cpu, &[token], &mut right));
            assert_eq!(go_on(token, &mut state, true).0, Some(TokenChoice::Token(expect)), "{file}");
            // Logits, and steps of several tokens, are computed when they are asked for.
            let (mut logits, mut again) = (Vec::new(), state.clone());
            for ids in [&[expect][..], &[7, 9]] {
                network.forward(&mut [step(ids, &mut state, &mut logits, 1)]).pop().unwrap().unwrap();
                assert_eq!(bits(&logits), bits(&read(&cpu, ids, &mut right)), "{file}");
                go_on(3, &mut again, true);
            }
            assert_eq!(state.save().unwrap(), right.save().unwrap(), "{file}");
        }
    }
}

/// The demo model, whose heads have the size of LFM2's: 8 layers of attention and 4 convolutions. LFM2-350M has 6 and 10.
const DEMO: &str = "../../../models/demo.gguf";

#[test]
fn a_token_takes_few_kernels_and_has_the_cpus_bits() {
    let Some((network, recorder)) = network(DEMO) else { return };
    let cpu = load_with(DEMO, native(CacheType::F16));
    let (mut state, mut right) = (prefilled(&*network, &ids(70, 1)), cpu.start().unwrap());
    read(&cpu, &ids(70, 1), &mut right);
    for token in [7, 8] {
        let mut logits = Vec::new();
        network.forward(&mut [step(&[token], &mut state, &mut logits, 1)]).pop().unwrap().unwrap();
        assert_eq!(bits(&logits), bits(&read(&cpu, &[token], &mut right)));
    }
    let mut choice = None;
    let counts = added(&recorder, || {
        let (mut logits, wanted) = (Vec::new(), WantedChoice { n_tokens: 10, chosen: &mut choice, goes_on: false });
        let wants = Step { choice: Some(wanted), ..step(&[7], &mut state, &mut logits, 1) };
        network.forward(&mut [wants]).pop().unwrap().unwrap();
    });
    let (of_attention, of_convolution) = (6, 4);
    // The embedding, the logits, two that choose, and the receipt.
    let others = 5;
    assert_eq!(counts.n_kernels, 8 * of_attention + 4 * of_convolution + others);
    let large = 6 * of_attention + 10 * of_convolution + others;
    assert!(large <= 85, "{large}");
}
