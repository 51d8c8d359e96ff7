//! Loading models, and the options of it.

use std::fs;
use std::ops::ControlFlow;
use std::time::SystemTime;

use causerie::{
    ChatMessage, Completion, Device, ErrorKind, FunctionNames, GenerationOptions, LoadOptions, LoadPhase,
    MessageResponse, ModelRunner, ResponseStream, SamplingDefaults, SdkError, SdkFunction, WeightMemory,
    functions_from_json,
};
use serde::Deserialize;

use crate::{fixture, repository};

fn load(options: LoadOptions) -> ModelRunner {
    ModelRunner::load_with(fixture("models/lfm2-f32.gguf"), options).unwrap()
}

fn ask(runner: &ModelRunner) -> Completion {
    let options = GenerationOptions { max_tokens: Some(20), ..Default::default() };
    match runner.create_conversation("").generate_response(ChatMessage::user("Hi"), options).into_iter().last() {
        Some(Ok(MessageResponse::Complete(completion))) => *completion,
        other => panic!("the reply ends: {other:?}"),
    }
}

#[test]
fn a_context_has_the_requested_size_if_the_model_supports_it() {
    for (asked, expect) in [(None, 4096), (Some(100), 100), (Some(1 << 20), 4096)] {
        assert_eq!(load(LoadOptions { context_size: asked, ..Default::default() }).context_size(), expect);
    }
    let options = LoadOptions { context_size: Some(0), ..Default::default() };
    let err = ModelRunner::load_with(fixture("models/lfm2-f32.gguf"), options).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::InvalidOption("context_size"));
}

#[test]
fn a_device_that_this_build_lacks_is_refused() {
    for model in ["models/lfm2-f32.gguf", "models/lfm2-hf"] {
        let options = LoadOptions { device: Device::Metal, ..Default::default() };
        let err = ModelRunner::load_with(fixture(model), options).unwrap_err();
        assert_eq!(err.kind(), ErrorKind::InvalidOption("device"));
    }
}

#[test]
fn a_file_that_changes_while_it_is_loaded_is_an_error() {
    let folder = std::env::temp_dir().join(format!("causerie-{}-changing", std::process::id()));
    let hf = folder.join("hf");
    fs::create_dir_all(&hf).unwrap();
    for file in ["config.json", "model.safetensors", "tokenizer.json"] {
        fs::copy(fixture(&format!("models/lfm2-hf/{file}")), hf.join(file)).unwrap();
    }
    fs::copy(fixture("models/lfm2-q4_0.gguf"), folder.join("model.gguf")).unwrap();
    for (model, weights) in [(hf.clone(), "hf/model.safetensors"), (folder.join("model.gguf"), "model.gguf")] {
        let load = |change: &dyn Fn(&fs::File)| {
            let file = fs::File::options().write(true).open(folder.join(weights)).unwrap();
            let watch = |progress| {
                if progress == 0.0 {
                    change(&file);
                }
                ControlFlow::Continue(())
            };
            ModelRunner::load_watched(model.to_str().unwrap(), LoadOptions::default(), watch)
        };
        load(&|_| ()).unwrap();
        let touched = load(&|file| file.set_modified(SystemTime::UNIX_EPOCH).unwrap()).unwrap_err();
        assert_eq!(touched.message(), "the model's files changed while they were loaded", "{weights}");
        let cut = load(&|file| file.set_len(file.metadata().unwrap().len() / 2).unwrap()).unwrap_err();
        assert_eq!(cut.kind(), ErrorKind::ModelLoad);
        assert!(cut.message().starts_with("cannot read tensor"), "{weights}: {cut}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_reply_reports_peak_memory_if_the_system_does() {
    let peak = ask(&load(LoadOptions::default())).stats.peak_memory;
    assert_eq!(peak.is_some(), cfg!(any(target_os = "linux", target_os = "android")));
    assert!(peak.is_none_or(|bytes| 1 << 20 < bytes && bytes < 1 << 40), "{peak:?}");
}

#[test]
fn function_names_may_contain_dots_if_that_is_enabled() {
    let imported = functions_from_json(r#"[{"name": "cal.create"}]"#).unwrap();
    for (function_names, is_fine) in [(FunctionNames::Plain, false), (FunctionNames::Dotted, true)] {
        let runner = load(LoadOptions { function_names, ..Default::default() });
        let conversation = runner.create_conversation("");
        assert_eq!(conversation.register_functions(imported.clone()).is_ok(), is_fine);
        let prompt = runner.render_prompt(&[ChatMessage::with_functions(imported.clone())], false);
        let shown = prompt.as_ref().map(|prompt| prompt.contains(r#""name": "cal.create""#)).map_err(SdkError::kind);
        assert_eq!(shown, if is_fine { Ok(true) } else { Err(ErrorKind::InvalidFunction) });
    }
}

#[test]
fn a_model_with_several_templates_has_one_for_functions() {
    let folder = std::env::temp_dir().join(format!("causerie-{}-templates", std::process::id()));
    fs::create_dir_all(folder.join("additional_chat_templates")).unwrap();
    for file in ["config.json", "model.safetensors", "tokenizer.json"] {
        fs::copy(fixture(&format!("models/lfm2-hf/{file}")), folder.join(file)).unwrap();
    }
    let named = r#"{"chat_template": [{"name": "default", "template": "chat"},
        {"name": "tool_use", "template": "{{ tools | tojson }}"}]}"#;
    let check = || {
        let runner = ModelRunner::load(folder.to_str().unwrap()).unwrap();
        let offering = ChatMessage::with_functions(vec![SdkFunction::new("f", "", vec![])]);
        let prompt = |messages: &[ChatMessage]| runner.render_prompt(messages, false).unwrap();
        assert_eq!(prompt(&[ChatMessage::user("Hi")]), "chat");
        assert!(prompt(&[offering]).contains(r#""name": "f""#) && runner.supports_function_calling());
    };
    fs::write(folder.join("tokenizer_config.json"), named).unwrap();
    check();
    fs::write(folder.join("tokenizer_config.json"), "{}").unwrap();
    fs::write(folder.join("chat_template.jinja"), "chat").unwrap();
    fs::write(folder.join("additional_chat_templates/tool_use.jinja"), "{{ tools | tojson }}").unwrap();
    check();
    fs::remove_dir_all(folder).unwrap();
}

/// Values that `scripts/golden` recorded from the tokenizers library and transformers.
#[derive(Deserialize)]
struct Golden {
    text: String,
    prompt: Vec<u32>,
    reply: String,
    greedy: Vec<u32>,
}

#[test]
fn llama2_goes_from_text_to_text_as_in_transformers() {
    let golden = fs::read(repository("tests/golden/logits/llama2.json")).unwrap();
    let golden: Golden = serde_json::from_slice(&golden).unwrap();
    for model in ["llama2", "llama2-f32.gguf"] {
        let runner = ModelRunner::load(fixture(&format!("models/{model}"))).unwrap();
        assert_eq!(runner.tokenize(&golden.text).unwrap(), golden.prompt, "{model}");
        let max_tokens = Some(golden.greedy.len());
        let options = GenerationOptions { temperature: Some(0.0), max_tokens, ..Default::default() };
        let last = runner.complete(golden.text.as_str(), options).into_iter().last();
        let Some(Ok(MessageResponse::Complete(completion))) = last else { panic!("the reply ends: {last:?}") };
        assert_eq!(completion.full_message.text(), golden.reply, "{model}");
    }
}

/// SentencePiece puts a space before every text. It is not part of a text from the beginning, but of a continued one.
#[test]
fn a_completion_keeps_the_space_between_prompt_and_reply() {
    for model in ["llama2", "llama2-f32.gguf"] {
        let template = "{% for message in messages %}{{ message.content }}{% endfor %}";
        let options = LoadOptions { chat_template: Some(template.to_owned()), ..Default::default() };
        let runner = ModelRunner::load_with(fixture(&format!("models/{model}")), options).unwrap();
        let wanted = *runner.tokenize("for").unwrap().last().unwrap();
        let options = GenerationOptions {
            temperature: Some(0.0),
            max_tokens: Some(2),
            logit_bias: [(wanted, 100.0)].into(),
            ..Default::default()
        };
        let text_of = |mut replies: ResponseStream| match replies.iter().last() {
            Some(Ok(MessageResponse::Complete(completion))) => completion.full_message.text(),
            last => panic!("the reply ends: {last:?}"),
        };
        for (prompt, reply) in [("Once upon", " for for"), ("", "for for"), ("Once<|im_end|>", "for for")] {
            assert_eq!(text_of(runner.complete(prompt, options.clone())), reply, "{model} after {prompt:?}");
        }
        let conversation = runner.create_conversation("");
        let reply = conversation.generate_response(ChatMessage::user("Once upon"), options);
        assert_eq!(text_of(reply), "for for", "{model}");
    }
}

#[test]
fn a_chat_template_can_be_given() {
    let template = |source: &str| LoadOptions { chat_template: Some(source.to_owned()), ..Default::default() };
    let runner = load(template("{% for message in messages %}<{{ message.content }}>{% endfor %}"));
    assert_eq!(runner.render_prompt(&[ChatMessage::user("Hi")], true).unwrap(), "<Hi>");
    let err = ModelRunner::load_with(fixture("models/lfm2-f32.gguf"), template("{% if %}")).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::ModelLoad);
}

#[test]
fn sampling_defaults_of_the_app_take_precedence_over_the_models() {
    let generation_defaults = SamplingDefaults { temperature: Some(0.25), top_k: Some(7), ..Default::default() };
    let sampling = ask(&load(LoadOptions { generation_defaults, ..Default::default() })).stats.sampling;
    assert_eq!((sampling.temperature, sampling.top_k, sampling.top_p), (0.25, 7, 1.0));
}

#[test]
fn nothing_is_cached_if_the_cache_is_disabled() {
    let runner = load(LoadOptions { cache_bytes: 0, ..Default::default() });
    ask(&runner);
    assert_eq!(ask(&runner).stats.cached_prompt_tokens, 0);
}

#[test]
fn loading_reports_progress_and_can_be_cancelled() {
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
    // A cancel is reported as such, whatever else is wrong.
    let broken = LoadOptions { chat_template: Some("{% for".to_owned()), ..Default::default() };
    let load = |flow| ModelRunner::load_watched(&model, broken.clone(), move |_| flow).unwrap_err().kind();
    assert_eq!(load(ControlFlow::Continue(())), ErrorKind::ModelLoad);
    assert_eq!(load(ControlFlow::Break(())), ErrorKind::LoadCancelled);
}

#[test]
fn the_first_load_with_a_folder_packs_and_the_next_ones_map() {
    let folder = std::env::temp_dir().join(format!("causerie-{}-phases", std::process::id()));
    let phases = |weight_memory| {
        let packed_folder = Some(folder.to_owned());
        let options = LoadOptions { packed_folder, weight_memory, ..Default::default() };
        let (mut phases, mut last) = (Vec::new(), 0.0);
        let runner = ModelRunner::load_by_phases(fixture("models/lfm2-q4_0.gguf"), options, |phase, share| {
            assert!(last <= share, "{share} after {last}");
            last = share;
            phases.push(phase);
            ControlFlow::Continue(())
        });
        ask(&runner.unwrap());
        assert_eq!(last, 1.0);
        phases.dedup();
        phases
    };
    use LoadPhase::{Mapping, Packing, Reading, Ready};
    assert_eq!(phases(WeightMemory::Mapped), [Packing, Mapping, Ready]);
    assert_eq!(phases(WeightMemory::Mapped), [Mapping, Ready]);
    assert_eq!(phases(WeightMemory::Auto), [Mapping, Ready]);
    assert_eq!(phases(WeightMemory::Copied), [Reading, Ready]);
    fs::remove_dir_all(folder).unwrap();
}
