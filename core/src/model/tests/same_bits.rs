//! The results of the native network do not depend on which tokens are computed together, with which other sequences, by
//! how many threads, and whether a position is a token or the row of its embedding.

use std::sync::Arc;

use causerie_backend::Cpu;

use super::*;
use crate::model::backend::Backend;
use crate::model::decoder::Decoder;
use crate::model::native::Native;
use crate::model::pass::DecoderNetwork;

/// Every format of weights, attention with and without windows, convolutions, experts, norms of outputs, gates of heads,
/// scaled embeddings, stacked tensors, delta nets.
const FILES: [&str; 17] = [
    "lfm2-f32.gguf",
    "lfm2-bf16.gguf",
    "lfm2-q8_0.gguf",
    "lfm2-q4_0.gguf",
    "lfm2-q4_k.gguf",
    "lfm2-q6_k.gguf",
    "lfm2moe-q8_0.gguf",
    "lfm2-sliding-q4_0.gguf",
    "lfm3-q8_0.gguf",
    "gemma3-q8_0.gguf",
    "gemma3-linear-q4_0.gguf",
    "ministral3-q8_0.gguf",
    "phi4-q8_0.gguf",
    "granite4-q8_0.gguf",
    "gemma4-q8_0.gguf",
    "qwen35-f32.gguf",
    "qwen35-q8_0.gguf",
];

pub(super) fn ids(n: usize, seed: usize) -> Vec<u32> {
    (0..n).map(|at| ((at * 31 + seed * 17 + at * at) % 200) as u32).collect()
}

pub(super) fn step<'a>(
    ids: &'a [u32],
    state: &'a mut Box<dyn SequenceState>,
    logits: &'a mut Vec<f32>,
    n_logits: usize,
) -> Step<'a> {
    Step {
        inputs: Inputs::Tokens(ids),
        state: &mut **state,
        logits,
        n_logits,
        choice: None,
        hidden: None,
        content: None,
    }
}

pub(super) fn bits(logits: &[f32]) -> Vec<u32> {
    logits.iter().map(|logit| logit.to_bits()).collect()
}

fn last(model: &Model, ids: &[u32], lengths: &[usize]) -> Vec<u32> {
    bits(&logits(model, ids, lengths).pop().unwrap().1)
}

#[test]
fn chunks_and_threads_make_no_difference() {
    for file in FILES {
        let ids = ids(97, 1);
        let expect = last(&load(file), &ids, &[1]);
        for n_threads in [1, 3] {
            let model = load_with(file, Compute::native(n_threads, CacheType::F32));
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
fn a_chunk_without_logits_leaves_the_same_state() {
    for file in FILES {
        let (model, ids) = (load(file), ids(97, 1));
        let (mut state, mut none) = (model.start().unwrap(), Vec::new());
        let outcomes = model.forward(&mut [step(&ids[..60], &mut state, &mut none, 0)]);
        assert_eq!((outcomes[0].clone().unwrap(), none.len()), (ForwardOutcome::Done, 0));
        assert_eq!(bits(&read(&model, &ids[60..], &mut state)), last(&model, &ids, &[97]), "{file}");
    }
}

#[test]
fn other_sequences_make_no_difference() {
    for file in FILES {
        let model = load_with(file, native(CacheType::F16));
        let prompts: Vec<Vec<u32>> = [(30, 1), (1, 2), (75, 3), (16, 4)].map(|(n, seed)| ids(n, seed)).into();
        let alone = prompts.iter().map(|ids| last(&model, ids, &[ids.len()]));
        let alone: Vec<_> = alone.collect();
        let mut states: Vec<Box<dyn SequenceState>> = prompts.iter().map(|_| model.start().unwrap()).collect();
        let mut together = vec![Vec::new(); prompts.len()];
        let steps = prompts.iter().zip(&mut states).zip(&mut together);
        let mut steps: Vec<_> = steps.map(|((ids, state), logits)| step(ids, state, logits, 1)).collect();
        model.forward(&mut steps).into_iter().for_each(|outcome| assert_eq!(outcome.unwrap(), ForwardOutcome::Done));
        assert_eq!(together.iter().map(|logits| bits(logits)).collect::<Vec<_>>(), alone, "{file}");
        // Then one of them continues beside a prompt.
        let expect = bits(&read(&model, &[5], &mut states[0].clone()));
        let (first, rest) = states.split_at_mut(1);
        let (mut none, mut logits) = (vec![1.0], Vec::new());
        model.forward(&mut [step(&prompts[2], &mut rest[0], &mut none, 0), step(&[5], &mut first[0], &mut logits, 1)]);
        assert_eq!((none, bits(&logits)), (vec![], expect), "{file}");
    }
}

#[test]
fn a_saved_state_continues_as_before() {
    for (file, cache_type) in [
        ("lfm2-q4_0.gguf", CacheType::F16),
        ("lfm2-sliding-q4_0.gguf", CacheType::F32),
        ("lfm2-q4_0.gguf", CacheType::Q8_0),
        ("lfm3-q8_0.gguf", CacheType::F16),
        ("gemma3-q8_0.gguf", CacheType::F16),
        ("gemma4-q8_0.gguf", CacheType::F16),
    ] {
        let model = load_with(file, native(cache_type));
        let mut state = model.start().unwrap();
        read(&model, &ids(90, 5), &mut state);
        let mut restored = model.load_state(&state.save().unwrap().unwrap()).unwrap();
        let then = |state: &mut Box<dyn SequenceState>| bits(&read(&model, &[5, 6], state));
        assert_eq!(then(&mut restored), then(&mut state), "{file}");
    }
}

#[test]
fn a_state_is_loaded_only_with_the_same_storage_format() {
    let [kept, other] =
        [CacheType::F16, CacheType::Q8_0].map(|cache_type| load_with("lfm2-q4_0.gguf", native(cache_type)));
    let mut state = kept.start().unwrap();
    read(&kept, &ids(9, 5), &mut state);
    assert!(other.load_state(&state.save().unwrap().unwrap()).is_none());
}

#[test]
fn keys_and_values_in_q8_0_make_little_difference() {
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
fn a_step_gives_the_logits_of_several_tokens_and_can_be_undone() {
    for file in FILES {
        let model = load_with(file, native(CacheType::F16));
        let (mut before, draft) = (model.start().unwrap(), ids(9, 7));
        read(&model, &ids(61, 6), &mut before);
        let mut one_by_one = before.clone();
        let next = |state: &mut Box<dyn SequenceState>, id: u32| bits(&read(&model, &[id], state));
        let expect: Vec<_> = draft.iter().map(|id| next(&mut one_by_one, *id)).collect();
        let (mut state, mut other) = (before.clone(), model.start().unwrap());
        let (mut logits, mut others) = (Vec::new(), Vec::new());
        model.forward(&mut [step(&draft, &mut state, &mut logits, 6), step(&[1, 2], &mut other, &mut others, 1)]);
        let rows: Vec<_> = logits.chunks_exact(model.n_vocabulary()).map(bits).collect();
        assert_eq!(rows, expect[3..], "{file}");
        for n_right in 3..=9 {
            let (mut cut, mut right) = (state.cut(61 + n_right).unwrap(), before.clone());
            draft[..n_right].iter().for_each(|id| drop(next(&mut right, *id)));
            assert_eq!(next(&mut cut, 5), next(&mut right, 5), "{file}, {n_right} right");
        }
        assert!(state.cut(60).is_none() || state.can_be_cut(), "{file}");
    }
}

/// A clone shares the memory of its original until one of both goes on.
#[test]
fn a_snapshot_stays_as_it_was() {
    for file in FILES {
        let model = load_with(file, native(CacheType::F16));
        let mut state = model.start().unwrap();
        read(&model, &ids(70, 8), &mut state);
        let bytes = |states: &[&dyn SequenceState]| {
            let mut counted = std::collections::HashSet::new();
            states.iter().map(|state| state.n_bytes(&mut counted)).sum::<usize>()
        };
        let (saved, mut snapshot) = (state.save().unwrap(), state.clone());
        let shared = bytes(&[&*state, &*snapshot]);
        let expect = bits(&read(&model, &[5, 6], &mut state));
        assert!(shared < bytes(&[&*state, &*snapshot]), "{file}");
        assert!(snapshot.save().unwrap() == saved, "{file}");
        assert_eq!(bits(&read(&model, &[5, 6], &mut snapshot)), expect, "{file}");
    }
}

/// What is left of a step that was undone in part is saved with the state.
#[test]
fn a_state_that_was_cut_is_saved_whole() {
    let model = load_with("qwen35-q8_0.gguf", native(CacheType::F16));
    let (mut state, mut logits) = (model.start().unwrap(), Vec::new());
    model.forward(&mut [step(&ids(9, 1), &mut state, &mut logits, 4)]);
    let mut cut = state.cut(7).unwrap();
    let mut restored = model.load_state(&cut.save().unwrap().unwrap()).unwrap();
    assert_eq!(bits(&read(&model, &[5, 6], &mut restored)), bits(&read(&model, &[5, 6], &mut cut)));
}

#[test]
fn a_token_takes_no_allocation() {
    for file in FILES {
        let model = load_with(file, native(CacheType::F16));
        let (mut state, mut logits) = (model.start().unwrap(), Vec::new());
        let mut read = |ids: &[u32]| {
            model.forward(&mut [step(ids, &mut state, &mut logits, 1)]);
        };
        // The first steps allocate the buffers, and a page of keys and values that is large enough for the others.
        read(&ids(20, 9));
        read(&[1]);
        let counted = allocation_counter::measure(|| (2..8).for_each(|id| read(&[id])));
        assert_eq!(counted.count_total, 0, "{file}");
    }
}

pub(super) fn decoder<B: Backend>(file: &str, backend: B) -> Decoder<B> {
    let weights = Weights::open(fixture(file).to_str().unwrap()).unwrap();
    Decoder::load(backend, &Checkpoint::read(&weights).unwrap(), &mut |_| ControlFlow::Continue(())).unwrap()
}

/// The logits after each chunk, whose positions are tokens or the rows of their embeddings in turn.
pub(super) fn with_rows(network: &dyn Network, ids: &[u32], embedding: impl Fn(&[u32]) -> Vec<f32>) -> Vec<Vec<u32>> {
    let (mut state, mut found) = (network.start().unwrap(), Vec::new());
    for (at, ids) in ids.chunks(17).enumerate() {
        let (rows, mut logits) = (embedding(ids), Vec::new());
        let inputs = match at % 2 {
            0 => Inputs::Rows { rows: &rows, n_rows: ids.len() },
            _ => Inputs::Tokens(ids),
        };
        let step = Step {
            inputs,
            state: &mut *state,
            logits: &mut logits,
            n_logits: 1,
            choice: None,
            hidden: None,
            content: None,
        };
        assert_eq!(network.forward(&mut [step])[0].as_ref().unwrap(), &ForwardOutcome::Done);
        found.push(bits(&logits));
    }
    found
}

#[test]
fn rows_of_the_embedding_give_the_bits_of_their_tokens() {
    // Rows are of no token, so they have the per-layer vectors of padding.
    for file in FILES.into_iter().filter(|file| !file.starts_with("gemma4")) {
        let decoder = decoder(file, Native::new(Arc::new(Cpu::new(2)), CacheType::F16));
        let row = |id: &u32| {
            let mut row = vec![0.0; decoder.hidden];
            decoder.embedding.weight.read_row(*id as usize, &mut row);
            row.iter_mut().for_each(|x| *x *= decoder.scales.embedding);
            row
        };
        let embeddings: Vec<Vec<f32>> = (0..200).map(|id| row(&id)).collect();
        let network = DecoderNetwork::new(decoder);
        let rows = with_rows(&network, &ids(97, 3), |ids| {
            ids.iter().flat_map(|id| embeddings[*id as usize].clone()).collect()
        });
        let model = load_with(file, native(CacheType::F16));
        let expect: Vec<_> = logits(&model, &ids(97, 3), &[17]).iter().map(|(_, logits)| bits(logits)).collect();
        assert_eq!(rows, expect, "{file}");
    }
}

#[test]
fn rows_of_another_width_are_refused() {
    let model = load("lfm2-f32.gguf");
    let (mut state, mut logits) = (model.start().unwrap(), Vec::new());
    let rows = vec![0.0; model.hidden_size() - 1];
    let inputs = Inputs::Rows { rows: &rows, n_rows: 1 };
    let err = model.forward_one(inputs, &mut *state, &mut logits).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::Internal);
}
