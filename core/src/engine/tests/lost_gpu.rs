//! Replies go on on the CPU when their GPU fails, with the same text.

use super::*;
use crate::model::tests::gpu::own_device;
use crate::model::tests::lost_gpu::least_bytes;
use crate::model::{Compute, DecoderGpu};
use crate::options::CacheType;

/// Longer than the events that may wait for a reader, so that no reply has ended when the device is given up.
const N_TOKENS: usize = 60;

/// A reply whose tokens are drawn, or the most probable ones for the seed 0.
fn begin(engine: &Arc<Engine>, seed: u64, n_prompt: u32) -> ResponseStream {
    begin_with(engine, seed, (0..n_prompt).map(|at| 20 + at * 7 % 280).collect())
}

fn begin_with(engine: &Arc<Engine>, seed: u64, prompt: Vec<u32>) -> ResponseStream {
    let options = GenerationOptions {
        temperature: Some(if seed == 0 { 0.0 } else { 0.8 }),
        seed: Some(seed),
        max_tokens: Some(N_TOKENS),
        ignore_end: true,
        ..Default::default()
    };
    let sampling = options.sampling(&Default::default());
    let prompt = prompt_of(prompt);
    let request = Request { owner: TestOwner::new(Box::new(|_| Ok(prompt))), options, sampling };
    let starter = Arc::clone(engine);
    ResponseStream::new(move |sender| {
        starter.submit(request, sender)?;
        Ok(starter.thread())
    })
}

fn end(stream: ResponseStream) -> Box<Completion> {
    match stream.into_iter().last().unwrap().unwrap() {
        MessageResponse::Complete(completion) => completion,
        other => panic!("{other:?}"),
    }
}

#[test]
fn replies_of_a_lost_device_go_on_with_the_same_text() {
    for family in ["lfm2", "qwen3"] {
        let Some(gpu) = own_device() else { return };
        let place = DecoderGpu { gpu: Arc::clone(&gpu), may_leave: false, max_bytes: None };
        let on_gpu = Arc::new(engine_on(Compute::on_gpu(place, 1, CacheType::F16), family, true));
        let on_cpu = Arc::new(engine_of(family, true));
        let mut streams = [0, 1].map(|seed| begin(&on_gpu, seed, 150));
        streams.iter_mut().for_each(|stream| drop(stream.iter().next().unwrap().unwrap()));
        assert_eq!(on_gpu.loaded().unwrap().model.device_note(), None);
        gpu.give_up();
        for (stream, seed) in streams.into_iter().zip([0, 1]) {
            let (found, expect) = (end(stream), end(begin(&on_cpu, seed, 150)));
            assert_eq!(found.full_message, expect.full_message, "{family}, seed {seed}");
            assert_eq!(found.stats.completion_tokens, N_TOKENS);
        }
        assert!(on_gpu.loaded().unwrap().model.device_note().unwrap().contains("lost"));
        // The next reply continues what the CPU has cached.
        let next = end(begin(&on_gpu, 3, 151));
        assert_eq!(next.full_message, end(begin(&on_cpu, 3, 151)).full_message);
        assert_eq!(next.stats.cached_prompt_tokens, 150);
    }
}

#[test]
fn cached_states_make_room_before_a_model_leaves_its_gpu() {
    let Some(gpu) = own_device() else { return };
    // For the states of two or three prompts of 150 tokens.
    let max_bytes = Some(least_bytes(&gpu, "lfm2-f32.gguf") + (1 << 19));
    let place = DecoderGpu { gpu, may_leave: false, max_bytes };
    let on_gpu = Arc::new(engine_on(Compute::on_gpu(place, 1, CacheType::F16), "lfm2", true));
    let on_cpu = Arc::new(engine_of("lfm2", true));
    let prompt = |first: u32, n: u32| (0..n).map(|at| 20 + (first + at * 7) % 280).collect::<Vec<u32>>();
    let check = |first, n| {
        let [found, expect] = [&on_gpu, &on_cpu].map(|engine| end(begin_with(engine, 0, prompt(first, n))));
        assert_eq!(found.full_message, expect.full_message, "{first}, {n}");
        found.stats.cached_prompt_tokens
    };
    for first in 0..8 {
        assert_eq!(check(first, 150), 0);
        assert_eq!(on_gpu.loaded().unwrap().model.device_note(), None, "{first}");
    }
    assert_eq!(check(7, 151), 150, "the newest state is still cached");
    assert_eq!(check(0, 151), 0, "the oldest was evicted");
    check(0, 3000);
    assert!(on_gpu.loaded().unwrap().model.device_note().unwrap().contains("memory"));
}
