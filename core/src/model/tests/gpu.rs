//! A GPU gives the CPU's bits: for every recorded model, in any chunks, beside other sequences, after a cut, and with a state that
//! moves between both. Without a device, not even a software one, these tests do nothing; `scripts/test gpu` installs one.

use std::sync::{Arc, LazyLock};

use causerie_gpu::{Gpu, GpuAdapter};

use super::same_bits::{bits, decoder, ids, step, with_rows};
use super::*;
use crate::model::compute::DecoderGpu;
use crate::model::gpu::Wgsl;
use crate::model::pass::DecoderNetwork;

/// Formats of weights, windows, output norms, gates of heads, scaled embeddings, neighbours, per-layer embeddings, experts, delta nets.
const FILES: [&str; 19] = [
    "lfm2-f32.gguf",
    "lfm2-f16.gguf",
    "lfm2-bf16.gguf",
    "lfm2-q8_0.gguf",
    "lfm2-q4_0.gguf",
    "lfm2-q4_k.gguf",
    "lfm2-q5_k.gguf",
    "lfm2-q6_k.gguf",
    "lfm2-sliding-q4_0.gguf",
    "gemma3-q8_0.gguf",
    "gemma3-linear-q4_0.gguf",
    "ministral3-q8_0.gguf",
    "phi4-q8_0.gguf",
    "gemma4-q8_0.gguf",
    "lfm3-q8_0.gguf",
    "granite4-q8_0.gguf",
    "lfm2moe-q8_0.gguf",
    "qwen35-f32.gguf",
    "qwen35-q8_0.gguf",
];

static DEVICE: LazyLock<Option<Arc<Gpu>>> = LazyLock::new(|| Some(Gpu::open(&adapter()?).unwrap()));

/// The first device of this machine; `CAUSERIE_TEST_GPU` names another.
fn adapter() -> Option<GpuAdapter> {
    let name = std::env::var("CAUSERIE_TEST_GPU").ok();
    let named = |adapter: &GpuAdapter| name.as_ref().is_none_or(|name| adapter.name.contains(name));
    let found = GpuAdapter::all().into_iter().find(named);
    assert!(
        found.is_some() || std::env::var_os("CAUSERIE_NEEDS_GPU").is_none(),
        "there is no GPU, not even a software one"
    );
    found
}

/// The device that tests share.
pub(super) fn device() -> Option<Arc<Gpu>> {
    DEVICE.clone()
}

/// A device that a test may give up: nothing else shares it.
pub(crate) fn own_device() -> Option<Arc<Gpu>> {
    Some(Arc::new(Gpu::new(&adapter()?).unwrap()))
}

/// The first device of this machine, if its arithmetic is the CPU's.
fn gpu(cache_type: CacheType) -> Option<Compute> {
    let gpu = Arc::clone(DEVICE.as_ref()?);
    assert_eq!(gpu.differences(), Vec::<&str>::new(), "{}", gpu.name());
    Some(Compute::on_gpu(DecoderGpu { gpu, may_leave: false, max_bytes: None }, 1, cache_type))
}

fn last(model: &Model, ids: &[u32], lengths: &[usize]) -> Vec<u32> {
    bits(&logits(model, ids, lengths).pop().unwrap().1)
}

#[test]
fn every_recorded_model_has_the_cpus_bits() {
    let mut taken = Vec::new();
    for entry in std::fs::read_dir(tests_folder().join("golden/logits")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let record = name.trim_end_matches(".json");
        let Some(compute) = gpu(CacheType::F32) else { return };
        let golden = golden(record);
        let model = load_with(&golden.model, compute);
        assert_eq!(model.gpu().map(|gpu| gpu.differences), Some(Vec::new()));
        let ids: Vec<u32> = golden.prompt.iter().chain(&golden.greedy).copied().collect();
        let lengths = [golden.prompt.len(), 1, 1, 5];
        let found = logits(&model, &ids, &lengths);
        for ((at, ours), (_, theirs)) in found.iter().zip(logits(&load(&golden.model), &ids, &lengths)) {
            assert_eq!(bits(ours), bits(&theirs), "{record}, position {at}");
        }
        taken.push(golden.model);
    }
    assert!(20 <= taken.len(), "{taken:?}");
}

#[test]
fn chunks_and_storage_formats_make_no_difference() {
    for file in FILES {
        for cache_type in [CacheType::F16, CacheType::Q8_0] {
            let Some(compute) = gpu(cache_type) else { return };
            let ids = ids(97, 1);
            let expect = last(&load_with(file, native(cache_type)), &ids, &[97]);
            let model = load_with(file, compute);
            for lengths in [&[97][..], &[7, 32, 1], &[64, 13]] {
                assert_eq!(last(&model, &ids, lengths), expect, "{file}, {cache_type:?}, {lengths:?}");
            }
        }
    }
}

#[test]
fn other_sequences_make_no_difference() {
    for file in FILES {
        let Some(compute) = gpu(CacheType::F16) else { return };
        let (model, cpu) = (load_with(file, compute), load_with(file, native(CacheType::F16)));
        let prompts: Vec<Vec<u32>> = [(30, 1), (1, 2), (75, 3), (16, 4)].map(|(n, seed)| ids(n, seed)).into();
        let alone: Vec<_> = prompts.iter().map(|ids| last(&cpu, ids, &[ids.len()])).collect();
        let mut states: Vec<Box<dyn SequenceState>> = prompts.iter().map(|_| model.start().unwrap()).collect();
        let mut together = vec![Vec::new(); prompts.len()];
        let steps = prompts.iter().zip(&mut states).zip(&mut together);
        let mut steps: Vec<_> = steps.map(|((ids, state), logits)| step(ids, state, logits, 1)).collect();
        model.forward(&mut steps).into_iter().for_each(|outcome| assert_eq!(outcome.unwrap(), ForwardOutcome::Done));
        assert_eq!(together.iter().map(|logits| bits(logits)).collect::<Vec<_>>(), alone, "{file}");
    }
}

#[test]
fn a_step_gives_the_logits_of_several_tokens_and_can_be_undone() {
    for file in FILES {
        let Some(compute) = gpu(CacheType::F16) else { return };
        let (model, cpu) = (load_with(file, compute), load_with(file, native(CacheType::F16)));
        let (mut state, mut right) = (model.start().unwrap(), cpu.start().unwrap());
        let draft = ids(9, 7);
        read(&model, &ids(61, 6), &mut state);
        read(&cpu, &ids(61, 6), &mut right);
        let (mut found, mut expect) = (Vec::new(), Vec::new());
        model.forward(&mut [step(&draft, &mut state, &mut found, 6)]);
        cpu.forward(&mut [step(&draft, &mut right, &mut expect, 6)]);
        assert_eq!(bits(&found), bits(&expect), "{file}");
        for n_right in [3, 5, 9] {
            let (mut cut, mut right) = (state.cut(61 + n_right).unwrap(), right.cut(61 + n_right).unwrap());
            assert_eq!(bits(&read(&model, &[5], &mut cut)), bits(&read(&cpu, &[5], &mut right)), "{file}, {n_right}");
        }
        assert!(state.cut(60).is_none() || state.can_be_cut(), "{file}");
    }
}

#[test]
fn a_reply_moves_between_both_with_the_same_bits() {
    for (file, cache_type) in [
        ("lfm2-q4_0.gguf", CacheType::F16),
        ("lfm2-q4_k.gguf", CacheType::Q8_0),
        ("lfm2-sliding-q4_0.gguf", CacheType::F32),
        ("gemma3-q8_0.gguf", CacheType::F16),
        ("gemma4-q8_0.gguf", CacheType::F16),
        ("qwen35-q8_0.gguf", CacheType::F16),
    ] {
        let Some(compute) = gpu(cache_type) else { return };
        let models = [load_with(file, compute), load_with(file, native(cache_type))];
        let mut states = [models[0].start().unwrap(), models[1].start().unwrap()];
        for (model, state) in models.iter().zip(&mut states) {
            read(model, &ids(90, 5), state);
        }
        let saved = states.each_ref().map(|state| state.save().unwrap().unwrap());
        assert!(saved[0] == saved[1], "{file}");
        let expect = bits(&read(&models[1], &[5, 6], &mut states[1]));
        for model in &models {
            let mut restored = model.load_state(&saved[0]).unwrap();
            assert_eq!(bits(&read(model, &[5, 6], &mut restored)), expect, "{file}");
        }
        let mut snapshot = states[0].clone();
        assert_eq!(bits(&read(&models[0], &[5, 6], &mut states[0])), expect, "{file}");
        assert!(snapshot.save().unwrap().as_ref() == Some(&saved[0]), "{file}");
        assert_eq!(bits(&read(&models[0], &[5, 6], &mut snapshot)), expect, "{file}");
        let damaged = &saved[0][..saved[0].len() - 1];
        assert!(models[0].load_state(damaged).is_none(), "{file}");
    }
}

#[test]
fn rows_of_the_embedding_give_the_bits_of_their_tokens() {
    for file in ["lfm2-q4_0.gguf", "gemma3-q8_0.gguf"] {
        let Some(device) = DEVICE.as_ref() else { return };
        let on_cpu =
            decoder(file, crate::model::native::Native::new(Arc::new(causerie_backend::Cpu::new(1)), CacheType::F16));
        let row = |id: &u32| {
            let mut row = vec![0.0; on_cpu.hidden];
            on_cpu.embedding.weight.read_row(*id as usize, &mut row);
            row.iter_mut().for_each(|x| *x *= on_cpu.scales.embedding);
            row
        };
        let network = DecoderNetwork::new(decoder(file, Wgsl::new(device, CacheType::F16, u64::MAX).unwrap()));
        let rows = with_rows(&network, &ids(97, 3), |ids| ids.iter().flat_map(row).collect());
        let model = load_with(file, native(CacheType::F16));
        let expect: Vec<_> = logits(&model, &ids(97, 3), &[17]).iter().map(|(_, logits)| bits(logits)).collect();
        assert_eq!(rows, expect, "{file}");
    }
}

#[test]
fn a_state_is_loaded_while_another_reply_is_computed() {
    let Some(compute) = gpu(CacheType::F16) else { return };
    let (file, prompt) = ("lfm2-q4_0.gguf", ids(60, 2));
    let (model, cpu) = (load_with(file, compute), load_with(file, native(CacheType::F16)));
    let mut state = model.start().unwrap();
    read(&model, &ids(90, 5), &mut state);
    let saved = state.save().unwrap().unwrap();
    let expect: Vec<_> = logits(&cpu, &prompt, &[1]).iter().map(|(_, logits)| bits(logits)).collect();
    let next = bits(&read(&model, &[5], &mut state));
    std::thread::scope(|scope| {
        let replies = scope.spawn(|| logits(&model, &prompt, &[1]));
        for _ in 0..20 {
            let mut restored = model.load_state(&saved).unwrap();
            assert_eq!(bits(&read(&model, &[5], &mut restored)), next);
        }
        let found: Vec<_> = replies.join().unwrap().iter().map(|(_, logits)| bits(logits)).collect();
        assert_eq!(found, expect);
    });
}
