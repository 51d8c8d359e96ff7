//! The life of the engine's thread.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Weak;
use std::time::{Duration, Instant};

use super::*;
use crate::function::{SdkFunctionParameter, SdkFunctionParameterType};
use crate::model::Compute;
use crate::options::ToolChoice;
use crate::response::{Completion, FinishReason, GenerationStats, MessageResponse};
use crate::weights::Weights;

fn engine() -> Engine {
    engine_that(true)
}

fn engine_that(reads_forced_together: bool) -> Engine {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/models/lfm2-f32.gguf");
    let weights = Weights::open(model.to_str().unwrap()).unwrap();
    let (tokenizer, _) = Tokenizer::load(&weights).unwrap();
    let model =
        Model::load(&weights, Compute::new(&Default::default()).unwrap(), &mut |_| ControlFlow::Continue(())).unwrap();
    let loaded = LoadedModel { reads_forced_together, ..LoadedModel::new(model, tokenizer, None, 4096) };
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

/// A reply of nothing but calls of a function with long names.
fn required_call(engine: &Arc<Engine>, temperature: f32, seed: u64) -> Box<Completion> {
    let names = ["a_first_name", "a_second_name", "another"];
    let parameters = names.map(|name| SdkFunctionParameter::new(name, SdkFunctionParameterType::integer(), ""));
    let functions = vec![SdkFunction::new("a_function_of_a_long_name", "", parameters.into())];
    let options = GenerationOptions {
        tool_choice: ToolChoice::Required,
        temperature: Some(temperature),
        seed: Some(seed),
        max_tokens: Some(300),
        ..Default::default()
    };
    let sampling = options.sampling(&Default::default());
    let loaded = engine.loaded().unwrap();
    let tokens = loaded.tokenizer.encode_with_bos(&[]).unwrap();
    let mut guide = Some(Guide::new(&loaded, &options, &functions, false).unwrap());
    let prepare: Prepare = Box::new(move |_| {
        let guide = guide.take()?;
        let (tokens, functions, report) = (tokens.clone(), functions.clone(), PromptReport::default());
        Some(Ok(Prepared { tokens, in_reasoning: false, functions, guide, report }))
    });
    let request = Request { prepare, options, sampling, listener: Box::new(|_| {}) };
    let starter = Arc::clone(engine);
    let stream = ResponseStream::new(move |outlet| {
        starter.submit(request, outlet)?;
        Ok(starter.thread())
    });
    match stream.last().unwrap().unwrap() {
        MessageResponse::Complete(completion) => completion,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_forced_is_the_same_read_together_or_one_by_one() {
    let [together, one_by_one] = [true, false].map(|together| Arc::new(engine_that(together)));
    for seed in 0..12 {
        let temperature = if seed == 0 { 0.0 } else { 1.0 };
        let [a, b] = [&together, &one_by_one].map(|engine| required_call(engine, temperature, seed));
        assert_eq!(a.full_message, b.full_message, "seed {seed}");
        let counts = |stats: &GenerationStats| (stats.completion_tokens, stats.forced_tokens, stats.call_tokens);
        assert_eq!(counts(&a.stats), counts(&b.stats), "seed {seed}");
        assert!(a.stats.call_tokens / 4 < a.stats.forced_tokens, "{:?}", a.stats);
    }
}
