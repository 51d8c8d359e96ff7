//! Results of the native path do not depend on their company: which tokens are read together, with which other
//! sequences, by how many threads.

use super::*;

/// Every format of weights, attention with and without windows, convolutions, experts.
const FILES: [&str; 8] = [
    "lfm2-f32.gguf",
    "lfm2-bf16.gguf",
    "lfm2-q8_0.gguf",
    "lfm2-q4_0.gguf",
    "lfm2-q4_k.gguf",
    "lfm2-q6_k.gguf",
    "lfm2moe-q8_0.gguf",
    "lfm2-sliding-q4_0.gguf",
];

fn ids(n: usize, seed: usize) -> Vec<u32> {
    (0..n).map(|at| ((at * 31 + seed * 17 + at * at) % 200) as u32).collect()
}

fn bits(logits: &[f32]) -> Vec<u32> {
    logits.iter().map(|logit| logit.to_bits()).collect()
}

fn last(model: &Model, ids: &[u32], lengths: &[usize]) -> Vec<u32> {
    bits(&logits(model, ids, lengths).pop().unwrap().1)
}

#[test]
fn stretches_and_threads_make_no_difference() {
    for file in FILES {
        let ids = ids(97, 1);
        let expect = last(&load(file), &ids, &[1]);
        for n_threads in [1, 3] {
            let model = load_with(file, Compute::Native { n_threads, cache_type: CacheType::F32 });
            for lengths in [&[97][..], &[2], &[7, 32, 1], &[64, 13]] {
                assert_eq!(last(&model, &ids, lengths), expect, "{file}, {n_threads} threads, {lengths:?}");
            }
        }
    }
}

#[test]
fn other_sequences_make_no_difference() {
    for file in FILES {
        let model = load_with(file, native(CacheType::F16));
        let prompts: Vec<Vec<u32>> = [(30, 1), (1, 2), (75, 3), (16, 4)].map(|(n, seed)| ids(n, seed)).into();
        let alone = prompts.iter().map(|ids| last(&model, ids, &[ids.len()]));
        let alone: Vec<_> = alone.collect();
        let mut states: Vec<State> = prompts.iter().map(|_| model.start().unwrap()).collect();
        let steps = prompts.iter().zip(&mut states);
        let mut steps: Vec<Step<'_>> = steps.map(|(ids, state)| Step { ids, state, wants_logits: true }).collect();
        let forward = |steps: &mut [Step<'_>]| -> Vec<_> {
            let outcomes = model.forward_all(steps).into_iter();
            outcomes.filter_map(|outcome| outcome.unwrap()).map(|logits| bits(&logits)).collect()
        };
        let together = forward(&mut steps);
        assert_eq!(together, alone, "{file}");
        // And on from there, one of them beside a prompt.
        let then = |state: &mut State| bits(&model.forward(&[5], state).unwrap().unwrap());
        let expect = then(&mut states[0].clone());
        let (first, rest) = states.split_at_mut(1);
        let mut steps = [
            Step { ids: &prompts[2], state: &mut rest[0], wants_logits: false },
            Step { ids: &[5], state: &mut first[0], wants_logits: true },
        ];
        assert_eq!(forward(&mut steps), [expect], "{file}");
    }
}

#[test]
fn a_state_that_was_saved_goes_on_as_before() {
    for (file, cache_type) in [("lfm2-q4_0.gguf", CacheType::F16), ("lfm2-sliding-q4_0.gguf", CacheType::F32)] {
        let model = load_with(file, native(cache_type));
        let mut state = model.start().unwrap();
        model.forward(&ids(90, 5), &mut state).unwrap();
        let mut restored = State::from_bytes(&state.to_bytes().unwrap(), &model.start().unwrap()).unwrap();
        let then = |state: &mut State| bits(&model.forward(&[5, 6], state).unwrap().unwrap());
        assert_eq!(then(&mut restored), then(&mut state), "{file}");
    }
}
