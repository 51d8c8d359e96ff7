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
    for cache_type in [CacheType::F16, CacheType::Q8_0] {
        let model = load_with("lfm2-q4_0.gguf", native(cache_type));
        assert_eq!(last(&model, &ids(97, 1), &[7, 32, 1]), last(&model, &ids(97, 1), &[97]), "{cache_type:?}");
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
        let mut together = vec![Vec::new(); prompts.len()];
        let steps = prompts.iter().zip(&mut states).zip(&mut together);
        let mut steps: Vec<_> = steps.map(|((ids, state), logits)| Step { ids, state, logits, n_logits: 1 }).collect();
        model.forward(&mut steps).into_iter().for_each(|outcome| assert!(outcome.unwrap()));
        assert_eq!(together.iter().map(|logits| bits(logits)).collect::<Vec<_>>(), alone, "{file}");
        // And on from there, one of them beside a prompt.
        let expect = bits(&read(&model, &[5], &mut states[0].clone()));
        let (first, rest) = states.split_at_mut(1);
        let (mut none, mut logits) = (vec![1.0], Vec::new());
        model.forward(&mut [
            Step { ids: &prompts[2], state: &mut rest[0], logits: &mut none, n_logits: 0 },
            Step { ids: &[5], state: &mut first[0], logits: &mut logits, n_logits: 1 },
        ]);
        assert_eq!((none, bits(&logits)), (vec![], expect), "{file}");
    }
}

#[test]
fn a_state_that_was_saved_goes_on_as_before() {
    for (file, cache_type) in [
        ("lfm2-q4_0.gguf", CacheType::F16),
        ("lfm2-sliding-q4_0.gguf", CacheType::F32),
        ("lfm2-q4_0.gguf", CacheType::Q8_0),
    ] {
        let model = load_with(file, native(cache_type));
        let mut state = model.start().unwrap();
        read(&model, &ids(90, 5), &mut state);
        let mut restored = State::from_bytes(&state.to_bytes().unwrap(), &model.start().unwrap()).unwrap();
        let then = |state: &mut State| bits(&read(&model, &[5, 6], state));
        assert_eq!(then(&mut restored), then(&mut state), "{file}");
    }
}

#[test]
fn a_state_serves_only_where_keys_and_values_are_kept_as_they_were() {
    let [kept, other] =
        [CacheType::F16, CacheType::Q8_0].map(|cache_type| load_with("lfm2-q4_0.gguf", native(cache_type)));
    let mut state = kept.start().unwrap();
    read(&kept, &ids(9, 5), &mut state);
    assert!(State::from_bytes(&state.to_bytes().unwrap(), &other.start().unwrap()).is_none());
}

#[test]
fn keys_and_values_of_bytes_make_little_difference() {
    for file in ["lfm2-f32.gguf", "lfm2moe-q8_0.gguf", "lfm2-sliding-q4_0.gguf"] {
        let rows = [CacheType::F32, CacheType::Q8_0].map(|cache_type| {
            let model = load_with(file, native(cache_type));
            read(&model, &ids(97, 4), &mut model.start().unwrap())
        });
        let spread = rows[0].iter().map(|x| x * x).sum::<f32>().sqrt();
        let error = rows[0].iter().zip(&rows[1]).map(|(a, b)| (a - b).powi(2)).sum::<f32>().sqrt();
        assert!(0.0 < error && error < 0.02 * spread, "{file}: {error} of {spread}");
    }
}

#[test]
fn a_step_gives_the_logits_of_several_tokens_and_can_be_taken_back() {
    for file in FILES {
        let model = load_with(file, native(CacheType::F16));
        let (mut before, guesses) = (model.start().unwrap(), ids(9, 7));
        read(&model, &ids(61, 6), &mut before);
        let mut one_by_one = before.clone();
        let next = |state: &mut State, id: u32| bits(&read(&model, &[id], state));
        let expect: Vec<_> = guesses.iter().map(|id| next(&mut one_by_one, *id)).collect();
        let (mut state, mut other) = (before.clone(), model.start().unwrap());
        let (mut logits, mut others) = (Vec::new(), Vec::new());
        model.forward(&mut [
            Step { ids: &guesses, state: &mut state, logits: &mut logits, n_logits: 6 },
            Step { ids: &[1, 2], state: &mut other, logits: &mut others, n_logits: 1 },
        ]);
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
        let mut logits = Vec::new();
        let step = Step { ids: &ids(20, 8), state: &mut model.start().unwrap(), logits: &mut logits, n_logits: 4 };
        assert!(model.forward(&mut [step]).iter().all(|outcome| matches!(outcome, Ok(true))));
        logits
    };
    let (ours, theirs) = (rows(&native), rows(&candle));
    assert_eq!((ours.len(), theirs.len()), (4 * native.n_vocabulary(), 4 * native.n_vocabulary()));
    // The same arithmetic in another order.
    assert!(ours.iter().zip(&theirs).all(|(ours, theirs)| (ours - theirs).abs() <= 1e-4));
}

#[test]
fn a_token_takes_no_allocation() {
    for file in FILES {
        let model = load_with(file, native(CacheType::F16));
        let (mut state, mut logits) = (model.start().unwrap(), Vec::new());
        let mut step = |ids: &[u32]| {
            model.forward(&mut [Step { ids, state: &mut state, logits: &mut logits, n_logits: 1 }]);
        };
        // The first steps make room, and the page of keys and values that the others still fit into.
        step(&ids(20, 9));
        step(&[1]);
        let counted = allocation_counter::measure(|| (2..8).for_each(|id| step(&[id])));
        assert_eq!(counted.count_total, 0, "{file}");
    }
}
