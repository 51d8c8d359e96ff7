//! LFM2-Audio from its files to replies, against liquid-audio and transformers, and sound in conversations.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::{fs, thread};

use serde_json::Value as Json;

use crate::bundle::{self, BundleParts};
use crate::conversation::testing::{options, reply};
use crate::error::ErrorKind;
use crate::history::{messages_from_json, messages_to_json};
use crate::info::ModelInfo;
use crate::message::{ChatMessage, ChatMessageContent, Role};
use crate::model_text::ModelText;
use crate::options::{CacheType, ContextPolicy, GenerationOptions, LoadOptions};
use crate::runner::ModelRunner;
use crate::weights::Weights;

fn tests_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests")
}

fn models() -> PathBuf {
    tests_folder().join("fixtures/models")
}

/// The records of LFM2-Audio.
fn golden() -> Vec<Json> {
    records("hearing.json")
}

fn records(file: &str) -> Vec<Json> {
    let text = fs::read_to_string(tests_folder().join("golden").join(file)).unwrap();
    let golden: Json = serde_json::from_str(&text).unwrap();
    golden["conversations"].as_array().unwrap().clone()
}

fn recording(name: &str) -> ChatMessageContent {
    ChatMessageContent::Audio(fs::read(tests_folder().join(format!("fixtures/sounds/{name}.wav"))).unwrap())
}

/// The folder, or the GGUF file with the projector that a record names.
fn load(record: &str) -> ModelRunner {
    let options = LoadOptions { context_size: Some(2048), cache_type: CacheType::F32, ..Default::default() };
    if record.ends_with("-hf") {
        return ModelRunner::load_with(models().join(record).to_str().unwrap(), options).unwrap();
    }
    let family = if record.contains("gemma4") { "gemma4-media" } else { "lfm2a" };
    let folder = models().join(family);
    let projector = Some(folder.join(record));
    let model = folder.join(format!("{family}-f16.gguf"));
    ModelRunner::load_with(model.to_str().unwrap(), LoadOptions { projector, ..options }).unwrap()
}

fn messages(record: &Json) -> Vec<ChatMessage> {
    let part = |part: &Json| {
        let text = part.as_str().unwrap();
        let name = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        name.map_or_else(|| ChatMessageContent::Text(text.to_owned()), recording)
    };
    let message = |message: &Json| {
        let role = match message["role"].as_str().unwrap() {
            "user" => Role::User,
            "system" => Role::System,
            _ => Role::Assistant,
        };
        let content = message["content"].as_array().unwrap().iter().map(part).collect();
        ChatMessage { content, ..ChatMessage::new(role, "") }
    };
    record["messages"].as_array().unwrap().iter().map(message).collect()
}

#[test]
fn prompts_and_replies_are_those_of_the_references() {
    let records = golden().into_iter().chain(records("gemma4_hearing.json")).collect::<Vec<_>>();
    assert_eq!(records.len(), 18);
    for record in records {
        let name = record["model"].as_str().unwrap();
        let runner = load(name);
        let conversation = runner.create_conversation_from_history(messages(&record));
        let (completion, tokens) = reply(&conversation);
        let parts = record["prompt"].as_array().unwrap();
        let n_rows: usize = parts.iter().filter_map(|part| Some(part.as_u64()? as usize)).sum();
        let n_tokens: usize = parts.iter().filter_map(|part| Some(part.as_array()?.len())).sum();
        let stats = completion.stats;
        assert_eq!((stats.prompt_tokens, stats.audio_tokens), (n_tokens + n_rows, n_rows), "{name}");
        let ids: Vec<u64> = tokens.iter().map(|(id, _)| u64::from(*id)).collect();
        let expect: Vec<u64> = record["greedy"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
        assert_eq!(ids, expect, "{name}");
        // Quantised weights are multiplied with quantised activations. Gemma's clipped maps make more of the difference.
        let tolerance = match name {
            _ if !name.contains("q8_0") => 1e-3,
            _ if name.contains("gemma4") => 0.1,
            _ => 0.03,
        };
        for ((_, found), expect) in tokens.iter().zip(record["logprobs"].as_array().unwrap()) {
            assert!((found - expect.as_f64().unwrap()).abs() < tolerance, "{name}: {found}, expected {expect}");
        }
    }
}

#[test]
fn a_reply_has_the_same_bits_alone_batched_and_from_the_cache() {
    for file in ["hearing.json", "gemma4_hearing.json"] {
        check_bits(&records(file)[1]);
    }
}

fn check_bits(record: &Json) {
    let name = record["model"].as_str().unwrap();
    let expect = reply(&load(name).create_conversation_from_history(messages(record))).1;
    let runner = load(name);
    let replies: Vec<_> = thread::scope(|scope| {
        let ask = || reply(&runner.create_conversation_from_history(messages(record))).1;
        let running: Vec<_> = (0..3).map(|_| scope.spawn(ask)).collect();
        running.into_iter().map(|reply| reply.join().unwrap()).collect()
    });
    assert!(replies.iter().all(|found| *found == expect));
    let (again, found) = reply(&runner.create_conversation_from_history(messages(record)));
    assert!(0 < again.stats.cached_prompt_tokens && found == expect);
}

#[test]
fn a_history_with_sound_is_written_read_saved_and_continued() {
    for file in ["hearing.json", "gemma4_hearing.json"] {
        check_continued(&records(file)[2]);
    }
}

fn check_continued(record: &Json) {
    let name = record["model"].as_str().unwrap();
    let history = messages(record);
    let json = messages_to_json(&history);
    assert!(json.contains("\"input_audio\"") && json.contains("\"wav\""));
    assert_eq!(messages_from_json(&json).unwrap(), history);
    let runner = load(name);
    let conversation = runner.create_conversation_from_history(history.clone());
    let expect = reply(&conversation).1;
    let asked = runner.create_conversation_from_history(history);
    let file = std::env::temp_dir().join(format!("causerie-hearing-{name}-{}.session", std::process::id()));
    asked.save_session(&file, true).unwrap();
    let resumed = load(name).restore_session(&file).unwrap();
    let fork = resumed.fork();
    fs::remove_file(&file).unwrap();
    assert_eq!(reply(&resumed).1, expect);
    assert_eq!(reply(&fork).1, expect);
}

#[test]
fn results_of_functions_and_old_turns_may_have_sound() {
    let runner = load("lfm2a-hf");
    let [call, result] = messages_from_json(
        r#"[{"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "record", "arguments": {}}}]},
            {"role": "tool", "tool_call_id": "a", "content": "ok"}]"#,
    )
    .unwrap()
    .try_into()
    .unwrap();
    let mut heard = result.clone();
    heard.content.push(recording("short"));
    let history = |result: ChatMessage| vec![ChatMessage::user("Listen."), call.clone(), result];
    let n_tokens = |result: ChatMessage| {
        let plan = runner.create_conversation_from_history(history(result)).plan_context(&options()).unwrap();
        plan.tokens_before
    };
    assert_eq!(n_tokens(heard.clone()), n_tokens(result) + 2);
    let (completion, _) = reply(&runner.create_conversation_from_history(history(heard)));
    assert_eq!(completion.stats.audio_tokens, 2);
    // Turns are left out by the rows of their recordings.
    let mut long = Vec::new();
    for _ in 0..200 {
        let mut question = ChatMessage::user("What?");
        question.content.push(recording("long"));
        long.extend([question, ChatMessage::assistant("Yes.")]);
    }
    long.push(ChatMessage::user("And now?"));
    let options =
        GenerationOptions { context_policy: ContextPolicy::Slide { shrink_tool_results: false }, ..options() };
    let plan = runner.create_conversation_from_history(long).plan_context(&options).unwrap();
    assert!(2048 < plan.tokens_before && !plan.dropped_messages.is_empty());
}

#[test]
fn an_encoder_is_found_beside_the_model_and_what_it_does_not_read_is_listed() {
    let model = models().join("lfm2a/lfm2a-f16.gguf");
    let info = ModelInfo::read(model.to_str().unwrap()).unwrap();
    assert!(info.supports_audio && !info.supports_images && 0 < info.memory_estimate(100).hearing);
    assert_eq!(info.unused_tensors, ["a.position_embd.weight", "a.position_embd_norm.weight"]);
    let runner = ModelRunner::load(model.to_str().unwrap()).unwrap();
    assert_eq!(runner.info().memory_estimate(100).hearing, info.memory_estimate(100).hearing);
    assert_eq!(runner.info().unused_tensors, info.unused_tensors);
    let folder = ModelInfo::read(models().join("lfm2a-hf").to_str().unwrap()).unwrap();
    assert!(folder.supports_audio && folder.problems.is_empty(), "{:?}", folder.problems);
    assert_eq!(folder.unused_tensors, ["audio_embedding.embedding.weight"]);
    assert!(!ModelInfo::read(models().join("lfm2-f32.gguf").to_str().unwrap()).unwrap().supports_audio);
    let mut question = ChatMessage::user("What is this?");
    question.content.push(recording("short"));
    let text = ModelText::read(model.to_str().unwrap()).unwrap();
    let [with, without] = [question, ChatMessage::user("What is this?")].map(|it| text.render_prompt(&[it], true));
    assert_eq!(with.unwrap(), without.unwrap(), "sound has no text");
}

#[test]
fn a_bundle_has_the_encoder_of_its_model() {
    let made = std::env::temp_dir().join(format!("causerie-hearing-{}.bundle", std::process::id()));
    let model = models().join("lfm2a/lfm2a-f16.gguf");
    bundle::make(model.to_str().unwrap(), &BundleParts::default(), &made, |_| ControlFlow::Continue(())).unwrap();
    let files: Vec<String> = bundle::list(&made).unwrap().into_iter().map(|file| file.path).collect();
    assert_eq!(files, ["lfm2a-f16.gguf", "mmproj-lfm2a-f16.gguf"]);
    let record = golden().into_iter().find(|record| record["model"] == "mmproj-lfm2a-f16.gguf").unwrap();
    let options = LoadOptions { context_size: Some(2048), cache_type: CacheType::F32, ..Default::default() };
    let runner = ModelRunner::load_with(made.to_str().unwrap(), options).unwrap();
    let found = reply(&runner.create_conversation_from_history(messages(&record))).1;
    assert_eq!(found, reply(&load("mmproj-lfm2a-f16.gguf").create_conversation_from_history(messages(&record))).1);
    fs::remove_file(&made).unwrap();
}

/// The error of a question with some content.
fn refusal(runner: &ModelRunner, content: ChatMessageContent) -> (ErrorKind, String) {
    let question = ChatMessage { content: vec![content], ..ChatMessage::user("") };
    let refused = runner.create_conversation("").generate_response(question, options());
    let err = refused.into_iter().last().unwrap().unwrap_err();
    (err.kind(), err.to_string())
}

#[test]
fn what_cannot_be_heard_is_refused_by_its_place_and_changes_nothing() {
    let runner = load("lfm2a-hf");
    let (kind, message) = refusal(&runner, ChatMessageContent::Audio(b"RIFF".to_vec()));
    assert_eq!(kind, ErrorKind::UnsupportedContent);
    assert!(message.starts_with("messages[0].content[0]: "), "{message}");
    let ChatMessageContent::Audio(file) = recording("short") else { panic!("it is sound") };
    let mut short = file[..44 + 2 * 159].to_vec();
    short[40..44].copy_from_slice(&318u32.to_le_bytes());
    let (_, message) = refusal(&runner, ChatMessageContent::Audio(short));
    assert!(message.contains("a recording must have at least 160 samples at 16000 Hz, found 159"), "{message}");
    let (_, message) = refusal(&runner, ChatMessageContent::Image(b"x".to_vec()));
    assert!(message.contains("the model"), "{message}");
    let long = ChatMessageContent::audio_from_samples(&vec![0.0; 480_001], 16_000).unwrap();
    let (_, message) = refusal(&load("gemma4-media-hf"), long);
    assert!(message.contains("a recording must have at most 480000 samples at 16000 Hz, found 480001"), "{message}");
    // A model for text.
    let text = ModelRunner::load(models().join("lfm2-f32.gguf").to_str().unwrap()).unwrap();
    let (kind, message) = refusal(&text, recording("short"));
    assert_eq!(kind, ErrorKind::UnsupportedContent);
    assert!(message.contains("the model supports text only, not images or audio"), "{message}");
}

#[test]
fn a_model_without_its_encoder_names_what_it_looked_for() {
    let folder = std::env::temp_dir().join(format!("causerie-no-encoder-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let model = folder.join("LFM2-Audio-F16.gguf");
    fs::copy(models().join("lfm2a/lfm2a-f16.gguf"), &model).unwrap();
    let load = |projector: Option<&Path>| {
        let projector = projector.map(Path::to_owned);
        ModelRunner::load_with(model.to_str().unwrap(), LoadOptions { projector, ..Default::default() })
    };
    let (_, message) = refusal(&load(None).unwrap(), recording("short"));
    assert!(message.contains("audio requires the model's projector file"), "{message}");
    let seeing = models().join("lfm2vl/mmproj-lfm2vl-f16.gguf");
    let (_, message) = refusal(&load(Some(&seeing)).unwrap(), recording("short"));
    assert!(message.contains("the model supports text only"), "{message}");
    let err = load(Some(&models().join("lfm2-f32.gguf"))).unwrap_err();
    assert!(err.message().contains("the file has no vision tower and no sound encoder"), "{err}");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn damaged_projectors_are_errors() {
    let whole = fs::read(models().join("lfm2a/mmproj-lfm2a-q8_0.gguf")).unwrap();
    let weights = Weights::open(models().join("lfm2a/lfm2a-f16.gguf").to_str().unwrap()).unwrap();
    let file = std::env::temp_dir().join(format!("causerie-damaged-encoder-{}.gguf", std::process::id()));
    let load = |bytes: &[u8]| -> crate::error::Result<()> {
        use crate::model::Compute;
        use crate::projectors::{PartFiles, find};
        fs::write(&file, bytes).unwrap();
        match find(&weights, Some(&file), 32)?.hearing {
            PartFiles::Found(found, architecture) => {
                Compute::native(1, CacheType::F32).load_hearing(found.weights(), &architecture)?.check_row_size(32)
            }
            PartFiles::Missing(reason) => panic!("a given file is found: {reason}"),
        }
    };
    load(&whole).unwrap();
    let mut random = causerie_backend::SplitMix64::new(12);
    let mut refused = 0;
    for _ in 0..150 {
        let mut damaged = whole.clone();
        let at = random.next_u64() as usize % 5000; // the header
        damaged[at] ^= 1 << (random.next_u64() % 8);
        refused += usize::from(load(&damaged).is_err_and(|err| err.kind() == ErrorKind::ModelLoad));
    }
    assert!(50 < refused, "{refused}");
    for end in (0..whole.len()).step_by(9_000) {
        assert_eq!(load(&whole[..end]).unwrap_err().kind(), ErrorKind::ModelLoad, "cut at {end}");
    }
    fs::remove_file(&file).unwrap();
}

#[test]
fn settings_that_would_be_computed_in_another_way_are_refused_by_name() {
    let config = fs::read_to_string(models().join("lfm2a-hf/config.json")).unwrap();
    let folder = std::env::temp_dir().join(format!("causerie-other-encoder-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    for file in ["model.safetensors", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"] {
        fs::copy(models().join("lfm2a-hf").join(file), folder.join(file)).unwrap();
    }
    for (setting, other) in [
        ("\"subsampling\": \"dw_striding\"", "\"subsampling\": \"striding\""),
        ("\"self_attention_model\": \"rel_pos\"", "\"self_attention_model\": \"abs_pos\""),
        ("\"conv_norm_type\": \"batch_norm\"", "\"conv_norm_type\": \"layer_norm\""),
        ("\"reduction\": null", "\"reduction\": \"pooling\""),
        ("\"sample_rate\": 16000", "\"sample_rate\": 8000"),
    ] {
        let changed = config.replace(setting, other);
        assert_ne!(changed, config, "{setting}");
        fs::write(folder.join("config.json"), changed).unwrap();
        let runner = ModelRunner::load(folder.to_str().unwrap()).unwrap();
        let (_, message) = refusal(&runner, recording("short"));
        let key = setting.split('"').nth(1).unwrap();
        assert!(message.contains(&format!("{key} of the ")), "{message}");
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn sound_stands_between_texts_where_a_template_prints_no_marker_for_it() {
    let template = "{% for message in messages %}{{ message.content }}{% endfor %}";
    let count = |template: Option<&str>, parts: &[&str]| {
        let chat_template = template.map(str::to_owned);
        let options = LoadOptions { chat_template, context_size: Some(2048), ..Default::default() };
        let runner = ModelRunner::load_with(models().join("gemma4-media-hf").to_str().unwrap(), options).unwrap();
        let record = serde_json::json!({ "messages": [{ "role": "user", "content": parts }] });
        let plan = runner.create_conversation_from_history(messages(&record)).plan_context(&self::options());
        plan.unwrap().tokens_before
    };
    // The rows, and the tokens around them.
    for template in [None, Some(template)] {
        assert_eq!(count(template, &["Hello", "[tones]", "!"]), count(template, &["Hello", "!"]) + 13 + 2);
    }
}
