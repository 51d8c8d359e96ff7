//! How a model is loaded.

use std::ops::ControlFlow;

use causerie::{
    ChatMessage, Completion, Device, ErrorKind, GenerationOptions, LoadOptions, MessageResponse, ModelRunner,
    SamplingDefaults,
};

use crate::fixture;

fn load(options: LoadOptions) -> ModelRunner {
    ModelRunner::load_with(&fixture("models/lfm2-f32.gguf"), options).unwrap()
}

fn ask(runner: &ModelRunner) -> Completion {
    let options = GenerationOptions { max_tokens: Some(20), ..Default::default() };
    match runner.create_conversation("").generate_response(ChatMessage::user("Hi"), options).last() {
        Some(Ok(MessageResponse::Complete(completion))) => *completion,
        other => panic!("the reply ends: {other:?}"),
    }
}

#[test]
fn a_context_is_as_large_as_asked_for_where_the_model_can() {
    for (asked, expect) in [(None, 4096), (Some(100), 100), (Some(1 << 20), 4096)] {
        assert_eq!(load(LoadOptions { context_size: asked, ..Default::default() }).context_size(), expect);
    }
    let options = LoadOptions { context_size: Some(0), ..Default::default() };
    let err = ModelRunner::load_with(&fixture("models/lfm2-f32.gguf"), options).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::InvalidOption("context_size"));
}

#[test]
fn a_device_that_this_build_lacks_is_refused() {
    for model in ["models/lfm2-f32.gguf", "models/lfm2-hf"] {
        let options = LoadOptions { device: Device::Metal, ..Default::default() };
        let err = ModelRunner::load_with(&fixture(model), options).unwrap_err();
        assert_eq!(err.kind(), ErrorKind::InvalidOption("device"));
    }
}

#[test]
fn a_chat_template_can_be_given() {
    let template = |source: &str| LoadOptions { chat_template: Some(source.to_owned()), ..Default::default() };
    let runner = load(template("{% for message in messages %}<{{ message.content }}>{% endfor %}"));
    assert_eq!(runner.render_prompt(&[ChatMessage::user("Hi")], true).unwrap(), "<Hi>");
    let err = ModelRunner::load_with(&fixture("models/lfm2-f32.gguf"), template("{% if %}")).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::ModelLoad);
}

#[test]
fn sampling_defaults_of_the_app_stand_before_the_models() {
    let generation_defaults = SamplingDefaults { temperature: Some(0.25), top_k: Some(7), ..Default::default() };
    let sampling = ask(&load(LoadOptions { generation_defaults, ..Default::default() })).stats.sampling;
    assert_eq!((sampling.temperature, sampling.top_k, sampling.top_p), (0.25, 7, 1.0));
}

#[test]
fn a_seed_given_at_loading_fixes_all_replies() {
    let replies = |seed| {
        let runner = load(LoadOptions { random_seed: Some(seed), ..Default::default() });
        [ask(&runner).full_message.text(), ask(&runner).full_message.text()]
    };
    assert_eq!(replies(1), replies(1));
    assert_ne!(replies(1)[0], replies(1)[1], "each reply has a seed of its own");
    assert_ne!(replies(1)[0], replies(9)[0]);
}

#[test]
fn nothing_is_kept_where_nothing_may_be() {
    for options in
        [LoadOptions { cache_bytes: 0, ..Default::default() }, LoadOptions { cache_entries: 0, ..Default::default() }]
    {
        let runner = load(options);
        ask(&runner);
        assert_eq!(ask(&runner).stats.cached_prompt_tokens, 0);
    }
}

#[test]
fn loading_is_watched_and_cancelled() {
    let model = fixture("models/lfm2-f32.gguf");
    let mut shares = Vec::new();
    let watch = |share| {
        shares.push(share);
        ControlFlow::Continue(())
    };
    ModelRunner::load_watched(&model, LoadOptions::default(), watch).unwrap();
    assert!(shares.is_sorted() && shares.first() == Some(&0.0) && shares.last() == Some(&1.0), "{shares:?}");
    let cancelled = |share| if share < 0.5 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
    let err = ModelRunner::load_watched(&model, LoadOptions::default(), cancelled).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::LoadCancelled);
}
