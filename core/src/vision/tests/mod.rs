//! Vision models from their files to replies, against transformers.

mod continued;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use image::{ImageFormat, Rgb, RgbImage, Rgba, RgbaImage};
use serde_json::Value as Json;

use crate::bundle::{self, BundleParts};
use crate::conversation::testing::{options, reply};
use crate::error::{ErrorKind, SdkError};
use crate::info::ModelInfo;
use crate::media::testing::{file, picture, png};
use crate::message::{ChatMessage, ChatMessageContent, Role};
use crate::model::Compute;
use crate::options::{CacheType, LoadOptions};
use crate::position::EmbeddingJob;
use crate::projectors::{VisionFiles, find};
use crate::response::MessageResponse;
use crate::runner::ModelRunner;
use crate::weights::Weights;

fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/models")
}

fn read_golden(file: &str) -> Json {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden").join(file);
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

/// The records of all families; LFM2-VL comes first.
fn golden() -> Vec<Json> {
    let read = |file: &str| read_golden(file)["conversations"].as_array().unwrap().clone();
    let files = ["vision", "vision_lfm3", "vision_gemma4", "vision_qwen35", "vision_gemma3"];
    files.into_iter().flat_map(|file| read(&format!("{file}.json"))).collect()
}

/// The folder or the file that has the tower of a record, and the model beside it, if that is another file.
fn files(record: &str) -> (PathBuf, Option<PathBuf>) {
    if record.ends_with("-hf") {
        return (models().join(record), None);
    }
    let family = record.strip_prefix("mmproj-").unwrap().rsplit_once('-').unwrap().0;
    // The text files of all sizes are alike.
    let text = if family == "gemma4-large" { "gemma4-media" } else { family };
    (models().join(family).join(record), Some(models().join(text).join(format!("{text}-f16.gguf"))))
}

/// The folder, or the GGUF file with the projector that a record names.
fn load(record: &str) -> ModelRunner {
    let options = LoadOptions { context_size: Some(2048), cache_type: CacheType::F32, ..Default::default() };
    match files(record) {
        (folder, None) => ModelRunner::load_with(folder.to_str().unwrap(), options).unwrap(),
        (projector, Some(model)) => {
            let projector = Some(projector);
            ModelRunner::load_with(model.to_str().unwrap(), LoadOptions { projector, ..options }).unwrap()
        }
    }
}

fn messages(record: &Json) -> Vec<ChatMessage> {
    let part = |part: &Json| match part["type"].as_str().unwrap() {
        "text" => ChatMessageContent::Text(part["text"].as_str().unwrap().to_owned()),
        "audio" => {
            let name = part["recording"].as_str().unwrap();
            let file = models().join(format!("../sounds/{name}.wav"));
            ChatMessageContent::Audio(std::fs::read(file).unwrap())
        }
        _ => {
            let number = |at: usize| part["picture"].get(at).map_or(0, |value| value.as_u64().unwrap() as usize);
            ChatMessageContent::Image(png(&picture(number(0), number(1), number(2))))
        }
    };
    let message = |message: &Json| {
        let role = match message["role"].as_str().unwrap() {
            "user" => Role::User,
            _ => Role::Assistant,
        };
        let mut read = ChatMessage::new(role, "");
        read.content = message["content"].as_array().unwrap().iter().map(part).collect();
        read
    };
    record["messages"].as_array().unwrap().iter().map(message).collect()
}

/// Whether no picture of a record is resized.
fn is_shown_as_it_is(record: &Json) -> bool {
    if let Some(is_resized) = record["is_resized"].as_bool() {
        return !is_resized;
    }
    let messages = record["messages"].as_array().unwrap().iter();
    let mut parts = messages.flat_map(|message| message["content"].as_array().unwrap());
    parts.all(|part| {
        let mut sides = part["picture"].as_array().into_iter().flatten().take(2);
        sides.all(|side| side.as_u64().unwrap() % 32 == 0)
    })
}

#[test]
fn prompts_and_replies_are_those_of_transformers() {
    let records = golden();
    assert_eq!(records.len(), 48);
    for record in records {
        let name = record["model"].as_str().unwrap();
        let runner = load(name);
        let conversation = runner.create_conversation_from_history(messages(&record));
        let (completion, tokens) = reply(&conversation);
        assert_eq!(completion.stats.prompt_tokens, record["prompt"].as_array().unwrap().len(), "{name}");
        // Their gates multiply what was rounded, which changes the choice among tokens that are nearly as likely; their rows are
        // compared below.
        if ["mmproj-lfm3vl-q8_0.gguf", "mmproj-gemma4-media-q8_0.gguf"].contains(&name) {
            continue;
        }
        let ids: Vec<u64> = tokens.iter().map(|(id, _)| u64::from(*id)).collect();
        let expect: Vec<u64> = record["greedy"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
        assert_eq!(ids, expect, "{name}");
        // Quantised weights are multiplied with quantised activations, and a resized pixel may differ by one level of 255.
        let tolerance = match name {
            // The gates of Qwen3.5's decoder make more of the difference.
            _ if name.contains("q8_0") => {
                if name.contains("qwen35") {
                    0.1
                } else {
                    0.05
                }
            }
            _ if !name.contains("lfm2vl") && !is_shown_as_it_is(&record) => 0.03,
            _ => 2e-3,
        };
        for ((_, found), expect) in tokens.iter().zip(record["logprobs"].as_array().unwrap()) {
            assert!((found - expect.as_f64().unwrap()).abs() < tolerance, "{name}: {found}, expected {expect}");
        }
    }
}

/// Everything that this build can compute with on the CPU.
fn computes() -> Vec<Compute> {
    vec![
        Compute::native(2, CacheType::F32),
        #[cfg(feature = "candle")]
        Compute::Candle(candle_core::Device::Cpu),
    ]
}

/// The rows of the images of a picture, from the tower of a record.
fn rows_of(name: &str, files_shown: &[Vec<u8>], compute: &Compute) -> Vec<Arc<[f32]>> {
    let (file, model) = files(name);
    let weights = Weights::open(model.as_ref().unwrap_or(&file).to_str().unwrap()).unwrap();
    let given = model.is_some().then_some(file.as_path());
    let VisionFiles::Found(found, architecture) = find(&weights, given, 32).unwrap().vision else {
        panic!("{name} is a vision model")
    };
    let tower = compute.load_vision(found.weights(), &architecture).unwrap();
    let images = files_shown.iter().flat_map(|file| {
        let shown = crate::media::decode(file, crate::media::Transparency::OnWhite).unwrap();
        architecture.rules.tiling(shown.width, shown.height).images(&shown)
    });
    let rows = images.map(|image| {
        let mut pass = tower.begin(image);
        std::iter::repeat_with(|| pass.advance().unwrap()).flatten().next().unwrap()
    });
    rows.collect()
}

/// Compares rows of 32 values with the rows of a record: some whole, and the sums of all.
#[track_caller]
fn check_rows(name: &str, rows: &[f32], record: &Json, tolerance: f64) {
    assert_eq!(rows.len(), 32 * record["n_rows"].as_u64().unwrap() as usize, "{name}");
    for kept in record["rows"].as_array().unwrap() {
        let row = &rows[32 * kept["row"].as_u64().unwrap() as usize..][..32];
        for (found, expect) in row.iter().zip(kept["values"].as_array().unwrap()) {
            assert!((f64::from(*found) - expect.as_f64().unwrap()).abs() < tolerance, "{name}: {found}, {expect}");
        }
    }
    for (row, expect) in rows.chunks(32).zip(record["row_sums"].as_array().unwrap()) {
        let sum: f64 = row.iter().map(|value| f64::from(*value)).sum();
        assert!((sum - expect.as_f64().unwrap()).abs() < 5.0 * tolerance, "{name}: {sum}, {expect}");
    }
}

#[test]
fn rows_are_those_of_transformers() {
    for record in golden() {
        let name = record["model"].as_str().unwrap();
        let content = messages(&record).into_iter().flat_map(|message| message.content);
        let images = content.filter_map(|part| match part {
            ChatMessageContent::Image(file) => Some(file),
            _ => None,
        });
        let images = images.collect::<Vec<_>>();
        // A resized pixel may differ by one level of 255; Q8_0 rounds activations to 127 steps.
        let tolerance = match name {
            _ if name.contains("q8_0") => 0.06,
            _ if is_shown_as_it_is(&record) => 1.5e-4,
            _ => 0.02,
        };
        for compute in computes() {
            check_rows(name, &rows_of(name, &images, &compute).concat(), &record, tolerance);
        }
    }
}

#[test]
fn prompts_and_rows_are_those_of_llama_cpp() {
    for record in read_golden("vision_llama_cpp.json").as_array().unwrap() {
        let name = record["model"].as_str().unwrap();
        let [width, height, seed] = [0, 1, 2].map(|at| record["picture"][at].as_u64().unwrap() as usize);
        let file = png(&picture(width, height, seed));
        let rows: Vec<_> =
            computes().iter().map(|compute| rows_of(name, std::slice::from_ref(&file), compute)).collect();
        let images = record["images"].as_array().unwrap();
        for (rows, expect) in rows.iter().flat_map(|rows| rows.iter().zip(images)) {
            // llama.cpp rounds the inputs of products to 16 bits, by which rows of Gemma 4 differ most; the activation of LFM2's
            // projector is the approximation by the hyperbolic tangent.
            let tolerance = match name {
                _ if name.contains("q8_0") => 0.15,
                _ if name.contains("gemma4") => 0.06,
                _ => 0.02,
            };
            check_rows(name, rows, expect, tolerance);
        }
        let parts = record["prompt"].as_array().unwrap();
        let n_positions = |part: &Json| part.as_array().map_or_else(|| part.as_u64().unwrap() as usize, Vec::len);
        let mut question = ChatMessage::user("What is this?");
        question.content.insert(0, ChatMessageContent::Image(file));
        let plan = load(name).create_conversation_from_history(vec![question]).plan_context(&options()).unwrap();
        // The published processor of Gemma 3 also writes an empty line before and after a picture.
        let n_lines = if name.contains("gemma3") { 4 } else { 0 };
        let n_tokens = n_lines + parts.iter().map(n_positions).sum::<usize>();
        assert_eq!(plan.tokens_before, n_tokens, "{name}: {width} x {height}");
    }
}

#[test]
fn a_reply_has_the_same_bits_alone_batched_and_from_the_cache() {
    let names = ["lfm2vl-hf", "lfm3vl-hf", "gemma4-media-hf", "gemma4-large-hf", "qwen35vl-hf", "gemma3vl-hf"];
    for record in names.map(|name| golden().into_iter().filter(|it| it["model"] == name).nth(1).unwrap()) {
        let (record, name) = (&record, record["model"].as_str().unwrap());
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
}

#[test]
fn a_transparent_ground_is_white_unless_transparency_is_ignored() {
    let is_ink = |x: u32, y: u32| 8 < x && x < 24 && 10 < y && y < 20;
    let ink = file(RgbaImage::from_fn(64, 32, |x, y| Rgba([0, 0, 0, 255 * u8::from(is_ink(x, y))])), ImageFormat::Png);
    let ground = |level: u8| {
        let of = |x, y| if is_ink(x, y) { Rgb([0; 3]) } else { Rgb([level; 3]) };
        file(RgbImage::from_fn(64, 32, of), ImageFormat::Png)
    };
    let seen = |ignores_transparency: bool, picture: &[u8]| {
        let options = LoadOptions { ignores_transparency, context_size: Some(2048), ..Default::default() };
        let runner = ModelRunner::load_with(models().join("lfm2vl-hf").to_str().unwrap(), options).unwrap();
        let mut question = ChatMessage::user("What is this?");
        question.content.insert(0, ChatMessageContent::Image(picture.to_vec()));
        reply(&runner.create_conversation_from_history(vec![question])).1
    };
    assert_eq!(seen(false, &ink), seen(false, &ground(255)));
    assert_eq!(seen(true, &ink), seen(false, &ground(0)));
    assert_ne!(seen(true, &ink), seen(false, &ink));
}

#[test]
fn a_projector_is_found_beside_the_model() {
    let folder = models().join("lfm2vl");
    let model = folder.join("lfm2vl-f16.gguf");
    let info = ModelInfo::read(model.to_str().unwrap()).unwrap();
    assert!(info.supports_images && 0 < info.memory_estimate(100).vision);
    assert!(info.unused_tensors.is_empty(), "{:?}", info.unused_tensors);
    let runner = ModelRunner::load(model.to_str().unwrap()).unwrap();
    assert_eq!(runner.info().memory_estimate(100).vision, info.memory_estimate(100).vision);
    let record = &golden()[3];
    assert_eq!(reply(&runner.create_conversation_from_history(messages(record))).1.len(), 8);
    assert!(!ModelInfo::read(models().join("lfm2-f32.gguf").to_str().unwrap()).unwrap().supports_images);
}

#[test]
fn a_picture_that_is_computed_at_once_counts_in_the_memory() {
    let grows = |name: &str| {
        let info = ModelInfo::read(models().join(name).to_str().unwrap()).unwrap();
        info.memory_estimate(128).working < info.memory_estimate(4096).working
    };
    assert!(grows("gemma3vl-hf"), "144 rows, which attend to each other");
    assert!(!grows("gemma4-media-hf"), "passes of 128 rows");
}

#[test]
fn a_bundle_has_the_projector_of_its_model() {
    let model = models().join("lfm2vl/lfm2vl-f16.gguf");
    let made = std::env::temp_dir().join(format!("causerie-vision-{}.bundle", std::process::id()));
    let make = |projector: Option<&str>| {
        let parts =
            BundleParts { projectors: projector.into_iter().map(PathBuf::from).collect(), ..Default::default() };
        bundle::make(model.to_str().unwrap(), &parts, &made, |_| ControlFlow::Continue(())).unwrap();
        let files: Vec<String> = bundle::list(&made).unwrap().into_iter().map(|file| file.path).collect();
        let info = ModelInfo::read(made.to_str().unwrap()).unwrap();
        assert!(info.supports_images && 0 < info.memory_estimate(100).vision);
        files
    };
    assert_eq!(make(None), ["lfm2vl-f16.gguf", "mmproj-lfm2vl-f16.gguf"]);
    let record = golden().into_iter().find(|record| record["model"] == "mmproj-lfm2vl-f16.gguf").unwrap();
    let options = LoadOptions { context_size: Some(2048), cache_type: CacheType::F32, ..Default::default() };
    let runner = ModelRunner::load_with(made.to_str().unwrap(), options).unwrap();
    let found = reply(&runner.create_conversation_from_history(messages(&record))).1;
    let expect = reply(&load("mmproj-lfm2vl-f16.gguf").create_conversation_from_history(messages(&record))).1;
    assert_eq!(found, expect, "the same bits as from the files");
    std::fs::remove_file(&made).unwrap();
    let other = models().join("lfm2vl/mmproj-lfm2vl-q8_0.gguf");
    assert_eq!(make(other.to_str()), ["lfm2vl-f16.gguf", "mmproj-lfm2vl-q8_0.gguf"]);
    std::fs::remove_file(&made).unwrap();
}

#[test]
fn a_model_without_its_projector_names_what_it_looked_for() {
    let bytes = std::fs::read(models().join("lfm2vl/lfm2vl-f16.gguf")).unwrap();
    let folder = std::env::temp_dir().join(format!("causerie-no-projector-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let model = folder.join("model.gguf");
    std::fs::write(&model, &bytes).unwrap();
    let refusal = |options: LoadOptions| {
        let runner = ModelRunner::load_with(model.to_str().unwrap(), options)?;
        let history = messages(&golden()[3]);
        let refused = runner.create_conversation_from_history(history).continue_response(self::options());
        refused.into_iter().last().unwrap().map(|_| panic!("it is refused"))
    };
    let err = refusal(LoadOptions::default()).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::UnsupportedContent);
    assert!(err.message().contains("*mmproj* or *projector*"), "{err}");
    let other = folder.join("mmproj-other.gguf");
    std::fs::copy(models().join("lfm2-f32.gguf"), &other).unwrap();
    let err = refusal(LoadOptions::default()).unwrap_err();
    assert!(err.message().contains("the file has no vision tower"), "{err}");
    let projector = Some(other);
    let err = refusal(LoadOptions { projector, ..Default::default() }).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::ModelLoad);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_projector_for_models_of_another_architecture_is_left_out() {
    let folder = std::env::temp_dir().join(format!("causerie-other-projector-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let copy = |from: &str, to: &str| std::fs::copy(models().join(from), folder.join(to)).unwrap();
    copy("lfm2vl/lfm2vl-f16.gguf", "model.gguf");
    copy("lfm3vl/mmproj-lfm3vl-f16.gguf", "mmproj-model.gguf"); // its rows are as long
    let model = folder.join("model.gguf");
    let supports_images = || ModelInfo::read(model.to_str().unwrap()).unwrap().supports_images;
    assert!(!supports_images());
    copy("lfm2vl/mmproj-lfm2vl-f16.gguf", "mmproj-other.gguf");
    assert!(supports_images());
    assert!(ModelRunner::load(model.to_str().unwrap()).unwrap().info().supports_images);
    let projector = Some(folder.join("mmproj-model.gguf"));
    let given = ModelRunner::load_with(model.to_str().unwrap(), LoadOptions { projector, ..Default::default() });
    let err = given.unwrap_err();
    assert_eq!(err.kind(), ErrorKind::ModelLoad);
    assert!(err.message().contains("the projector is one for models of lfm3, found lfm2"), "{err}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_template_without_images_is_named() {
    let template = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}";
    let options = LoadOptions { chat_template: Some(template.to_owned()), ..Default::default() };
    let runner = ModelRunner::load_with(models().join("lfm2vl-hf").to_str().unwrap(), options).unwrap();
    assert!(!runner.info().supports_images);
    let refused = runner.create_conversation_from_history(messages(&golden()[3])).continue_response(self::options());
    let err = refused.into_iter().last().unwrap().unwrap_err();
    assert_eq!(err.kind(), ErrorKind::UnsupportedContent);
    assert!(err.message().contains("the model's chat template does not support images"), "{err}");
}

#[test]
fn damaged_projectors_are_errors_or_towers() {
    ["lfm2vl", "lfm3vl", "gemma4-media", "qwen35vl", "gemma3vl"].into_iter().for_each(check_damaged);
}

fn check_damaged(family: &str) {
    let (projector, model) = files(&format!("mmproj-{family}-q8_0.gguf"));
    let whole = std::fs::read(projector).unwrap();
    let weights = Weights::open(model.unwrap().to_str().unwrap()).unwrap();
    let file = std::env::temp_dir().join(format!("causerie-damaged-mmproj-{family}-{}.gguf", std::process::id()));
    let load = |bytes: &[u8]| -> crate::error::Result<()> {
        std::fs::write(&file, bytes).unwrap();
        match find(&weights, Some(&file), 32)?.vision {
            VisionFiles::Found(found, architecture) => {
                Compute::native(1, CacheType::F32).load_vision(found.weights(), &architecture)?.check_row_size(32)
            }
            // The file also has an encoder of sound, which can be used.
            VisionFiles::Missing(reason) if family == "gemma4-media" => {
                Err(SdkError::new(ErrorKind::ModelLoad, reason))
            }
            VisionFiles::Missing(reason) => panic!("a given file is found: {reason}"),
        }
    };
    load(&whole).unwrap();
    let mut random = causerie_backend::SplitMix64::new(11);
    let mut refused = 0;
    for _ in 0..150 {
        let mut damaged = whole.clone();
        let at = random.next_u64() as usize % 3000; // the header
        damaged[at] ^= 1 << (random.next_u64() % 8);
        refused += usize::from(load(&damaged).is_err_and(|err| err.kind() == ErrorKind::ModelLoad));
    }
    assert!(50 < refused, "{refused}");
    for end in (0..whole.len()).step_by(30_000) {
        assert_eq!(load(&whole[..end]).unwrap_err().kind(), ErrorKind::ModelLoad, "cut at {end}");
    }
    std::fs::remove_file(&file).unwrap();
}
