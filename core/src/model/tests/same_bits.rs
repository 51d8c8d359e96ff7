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
        let mut steps: Vec<Step<'_>> = steps.map(|(ids, state)| Step { ids, state, n_logits: 1 }).collect();
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
            Step { ids: &prompts[2], state: &mut rest[0], n_logits: 0 },
            Step { ids: &[5], state: &mut first[0], n_logits: 1 },
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

#[test]
fn a_step_gives_the_logits_of_several_tokens_and_can_be_taken_back() {
    for file in FILES {
        let model = load_with(file, native(CacheType::F16));
        let (mut before, guesses) = (model.start().unwrap(), ids(9, 7));
        model.forward(&ids(61, 6), &mut before).unwrap();
        let mut one_by_one = before.clone();
        let next = |state: &mut State, id: u32| bits(&model.forward(&[id], state).unwrap().unwrap());
        let expect: Vec<_> = guesses.iter().map(|id| next(&mut one_by_one, *id)).collect();
        let (mut state, mut other) = (before.clone(), model.start().unwrap());
        let mut steps = [
            Step { ids: &guesses, state: &mut state, n_logits: 6 },
            Step { ids: &[1, 2], state: &mut other, n_logits: 1 },
        ];
        let logits = model.forward_all(&mut steps).swap_remove(0).unwrap().unwrap();
        let rows: Vec<_> = logits.chunks_exact(model.n_vocabulary()).map(bits).collect();
        assert_eq!(rows, expect[3..], "{file}");
        for n_right in 3..=9 {
            let (mut cut, mut right) = (state.cut(61 + n_right).unwrap(), before.clone());
            guesses[..n_right].iter().for_each(|id| drop(next(&mut right, *id)));
            assert_eq!(next(&mut cut, 5), next(&mut right, 5), "{file}, {n_right} right");
        }
        assert!(state.cut(60).is_none() || state.can_be_cut(), "{file}");
    }
}

#[test]
fn the_reference_gives_the_logits_of_several_tokens() {
    let (native, candle) = (load("lfm2-f32.gguf"), load_with("lfm2-f32.gguf", candle()));
    let rows = |model: &Model| {
        let mut state = model.start().unwrap();
        let step = Step { ids: &ids(20, 8), state: &mut state, n_logits: 4 };
        model.forward_all(&mut [step]).swap_remove(0).unwrap().unwrap()
    };
    let (ours, theirs) = (rows(&native), rows(&candle));
    assert_eq!((ours.len(), theirs.len()), (4 * native.n_vocabulary(), 4 * native.n_vocabulary()));
    // The same arithmetic in another order.
    assert!(ours.iter().zip(&theirs).all(|(ours, theirs)| (ours - theirs).abs() <= 1e-4));
}
