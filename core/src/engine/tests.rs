//! The life of the engine's thread.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Weak;
use std::time::{Duration, Instant};

use super::*;
use crate::response::{FinishReason, MessageResponse};
use crate::weights::Weights;

fn engine() -> Engine {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/models/lfm2-f32.gguf");
    let weights = Weights::open(model.to_str().unwrap()).unwrap();
    let (tokenizer, _) = Tokenizer::load(&weights).unwrap();
    let model = Model::load(&weights, &mut |_| ControlFlow::Continue(())).unwrap();
    let loaded = LoadedModel::new(model, tokenizer, None, 4096);
    Engine::start(loaded, PrefixCache::new(1 << 20, 8)).unwrap()
}

fn greedy(engine: &Engine, max_tokens: usize) -> Request {
    let options = GenerationOptions { temperature: Some(0.0), max_tokens: Some(max_tokens), ..Default::default() };
    let sampling = options.sampling(&Default::default());
    let tokens = engine.loaded().unwrap().tokenizer.encode_with_bos(&[]).unwrap();
    let prepare: Prepare = Box::new(move |_| {
        Some(Ok(Prepared {
            tokens: tokens.clone(),
            in_reasoning: false,
            functions: Vec::new(),
            guide: Guide::default(),
            report: PromptReport::default(),
        }))
    });
    Request { prepare, options, sampling, listener: Box::new(|_| {}) }
}

/// A reply without an end, begun and not read on.
fn stalled(engine: &Arc<Engine>) -> ResponseStream {
    let (request, starter) = (greedy(engine, usize::MAX), Arc::clone(engine));
    let mut stream = ResponseStream::new(move |outlet| {
        starter.submit(request, outlet)?;
        Ok(starter.thread())
    });
    Iterator::next(&mut stream).unwrap().unwrap();
    stream
}

/// Waits until the engine's thread has let go of the model. The time is no part of the claim: it only ends a failure.
#[track_caller]
fn check_unloaded(model: &Weak<LoadedModel>) {
    let begun = Instant::now();
    while model.strong_count() != 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the model is still loaded");
        thread::yield_now();
    }
}

#[test]
fn the_model_is_unloaded_after_the_last_handle() {
    let engine = engine();
    let model = Arc::downgrade(&engine.loaded().unwrap());
    drop(engine);
    check_unloaded(&model);
}

#[test]
fn the_model_is_unloaded_when_a_stalled_stream_outlives_all_else() {
    let engine = Arc::new(engine());
    let model = Arc::downgrade(&engine.loaded().unwrap());
    let stream = stalled(&engine);
    drop(engine);
    drop(stream);
    check_unloaded(&model);
}

#[test]
fn a_model_that_is_unloaded_ends_its_replies_and_is_gone() {
    let engine = Arc::new(engine());
    let model = Arc::downgrade(&engine.loaded().unwrap());
    let stream = stalled(&engine);
    pollster::block_on(engine.unload()).unwrap();
    assert_eq!(model.strong_count(), 0, "the stalled reader holds nothing of it");
    let last = stream.last().unwrap().unwrap();
    let MessageResponse::Complete(completion) = last else { panic!("{last:?}") };
    assert_eq!(completion.finish_reason, FinishReason::Interrupted);
    pollster::block_on(engine.unload()).unwrap();
    assert_eq!(engine.loaded().err().map(|err| err.kind()), Some(ErrorKind::ModelUnloaded));
}
