//! Files that belong to a model: found beside it, chosen in a listing, kept in bundles, and named where they are missing.

use std::cell::RefCell;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use causerie::bundle::{self, BundleParts};
use causerie::companions::{choose_companions, companions_beside};
use causerie::names::ListedFile;
use causerie::{ChatMessage, ErrorKind, GenerationOptions, MessageResponse, ModelInfo, ModelRunner};
use serde_json::{Value, json};

use crate::bad_files::Scratch;
use crate::fixture;

const VISION: &str = "lfm2vl/mmproj-lfm2vl-f16.gguf";
const SOUND: &str = "lfm2a/mmproj-lfm2a-f16.gguf";
const DECODER: &str = "lfm2a-speech/vocoder-lfm2a-speech-f16.gguf";
const TOKENIZER: &str = "lfm2a-speech/tokenizer-lfm2a-speech-f16.gguf";

/// A folder with a model for images, sound and speech, each by files of its own.
fn everything(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    for (file, copy) in [
        ("lfm2vl/lfm2vl-f16.gguf", "All-F16.gguf"),
        (VISION, "mmproj-vision-All-F16.gguf"),
        (SOUND, "mmproj-audioencoder-All-F16.gguf"),
        (DECODER, "vocoder-All-F16.gguf"),
        (TOKENIZER, "tokenizer-All-F16.gguf"),
    ] {
        fs::copy(fixture(&format!("models/{file}")), scratch.path(copy)).unwrap();
    }
    scratch
}

const COMPANIONS: [&str; 4] = [
    "mmproj-vision-All-F16.gguf",
    "mmproj-audioencoder-All-F16.gguf",
    "vocoder-All-F16.gguf",
    "tokenizer-All-F16.gguf",
];

fn make(model: &str, parts: &BundleParts, output: &str) {
    bundle::make(model, parts, output, |_| ControlFlow::Continue(())).unwrap();
}

/// The manifest of a bundle, which is its first file.
fn manifest(bundle: &str) -> Value {
    let bytes = fs::read(bundle).unwrap();
    let start = 16 << 10;
    serde_json::Deserializer::from_slice(&bytes[start..]).into_iter().next().unwrap().unwrap()
}

fn abilities(model: &str) -> (bool, bool, bool) {
    let info = ModelInfo::read(model).unwrap();
    assert!(info.problems.is_empty(), "{:?}", info.problems);
    (info.supports_images, info.supports_audio, info.supports_speech)
}

#[test]
fn a_bundle_has_a_projector_for_each_part_and_the_parts_that_speak() {
    let scratch = everything("all-parts");
    let (model, output) = (scratch.path("All-F16.gguf"), scratch.path("all.bundle"));
    assert_eq!(abilities(&model), (true, true, true));
    make(&model, &BundleParts::default(), &output);
    let files: Vec<String> = bundle::list(&output).unwrap().into_iter().map(|file| file.path).collect();
    let mut expect = [&["All-F16.gguf"][..], &COMPANIONS].concat();
    expect.sort_unstable();
    assert_eq!(files, expect);
    let manifest = manifest(&output);
    let [vision, sound, decoder, tokenizer] = COMPANIONS.map(|file| format!("./{file}"));
    let parameters = json!({
        "model": "./All-F16.gguf", "multimodal_projector": vision, "audio_projector": sound,
        "audio_decoder": decoder, "audio_tokenizer": tokenizer,
    });
    assert_eq!(manifest["load_time_parameters"], parameters);
    assert_eq!(manifest["inference_type"], "llama.cpp/lfm2-audio-v1");
    assert_eq!(abilities(&output), (true, true, true));
    assert_eq!(ModelInfo::read(&output).unwrap(), ModelInfo::read(&model).unwrap());
}

#[test]
fn parts_that_lie_elsewhere_are_named() {
    let scratch = Scratch::new("named-parts");
    let model = scratch.path("All-F16.gguf");
    fs::copy(fixture("models/lfm2vl/lfm2vl-f16.gguf"), &model).unwrap();
    assert_eq!(abilities(&model), (false, false, false));
    let path = |file: &str| fixture(&format!("models/{file}"));
    let parts = BundleParts {
        projectors: vec![path(SOUND).into(), path(VISION).into()],
        audio_decoder: Some(path(DECODER).into()),
        audio_tokenizer: Some(path(TOKENIZER).into()),
        ..Default::default()
    };
    let output = scratch.path("all.bundle");
    make(&model, &parts, &output);
    assert_eq!(abilities(&output), (true, true, true));
    // Two files for one part.
    let parts = BundleParts { projectors: vec![path(SOUND).into(), path(SOUND).into()], ..Default::default() };
    let refused = bundle::make(&model, &parts, scratch.path("again"), |_| ControlFlow::Continue(())).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidOption("projector"));
    assert!(refused.message().ends_with("must have a part that no other projector has"), "{refused}");
}

/// The sound of a reply, with its text.
fn spoken(model: &str) -> (String, Vec<f32>) {
    let runner = ModelRunner::load(model).unwrap();
    let conversation = runner.create_conversation("Respond with interleaved text and audio.");
    let options = GenerationOptions {
        temperature: Some(0.0),
        max_tokens: Some(24),
        speech_temperature: Some(0.0),
        ..Default::default()
    };
    let (mut text, mut sound) = (String::new(), Vec::new());
    for event in conversation.generate_response(ChatMessage::user("Hi"), options) {
        match event.unwrap() {
            MessageResponse::Chunk(chunk) => text.push_str(&chunk),
            MessageResponse::AudioSample { samples, .. } => sound.extend(samples),
            _ => {}
        }
    }
    (text, sound)
}

#[test]
fn a_model_in_a_bundle_speaks_as_its_files_do() {
    let scratch = Scratch::new("speaking-bundle");
    let (model, output) = (fixture("models/lfm2a-speech/lfm2a-speech-f16.gguf"), scratch.path("speaks.bundle"));
    make(&model, &BundleParts::default(), &output);
    let (text, sound) = spoken(&output);
    assert!(!sound.is_empty());
    assert_eq!((text, sound), spoken(&model));
    // Without vision, the projector has the key that other programs know.
    assert_eq!(manifest(&output)["load_time_parameters"].get("audio_projector"), None);
}

#[test]
fn what_a_manifest_names_must_be_there_or_the_model_writes_only() {
    let scratch = everything("named-by-manifest");
    let path = scratch.path("manifest.json");
    let with = |changes: &[(&str, &str)]| {
        let [vision, sound, decoder, tokenizer] = COMPANIONS;
        let mut parameters = json!({
            "model": "All-F16.gguf", "multimodal_projector": vision, "audio_projector": sound,
            "audio_decoder": decoder, "audio_tokenizer": tokenizer,
        });
        changes.iter().for_each(|(key, value)| parameters[*key] = (*value).into());
        fs::write(&path, json!({"load_time_parameters": parameters}).to_string()).unwrap();
        ModelRunner::load(&path).map(|runner| runner.info().clone())
    };
    let info = with(&[]).unwrap();
    assert!(info.supports_images && info.supports_audio && info.supports_speech);
    for (key, file, expect) in [
        ("audio_projector", COMPANIONS[0], "mmproj-vision-All-F16.gguf: the file has no sound encoder"),
        ("multimodal_projector", COMPANIONS[1], "mmproj-audioencoder-All-F16.gguf: the file has no vision tower"),
        ("audio_projector", "gone.gguf", "cannot read"),
        ("audio_projector", "../x.gguf", "audio_projector must be a relative path"),
        ("audio_decoder", "/x.gguf", "audio_decoder must be a relative path"),
    ] {
        let err = with(&[(key, file)]).unwrap_err();
        assert_eq!(err.kind(), ErrorKind::ModelLoad, "{err}");
        assert!(err.to_string().contains(expect), "{err} must contain {expect:?}");
    }
    // A published manifest may name parts of a kind that is not known here.
    for (key, file) in
        [("audio_decoder", "gone.gguf"), ("audio_decoder", COMPANIONS[3]), ("audio_tokenizer", "gone.gguf")]
    {
        let info = with(&[(key, file)]).unwrap();
        assert!(info.supports_audio && !info.supports_speech, "{key}: {file}");
    }
}

#[test]
fn companions_are_chosen_in_a_listing_as_beside_a_file() {
    let scratch = everything("listed-parts");
    let model = scratch.path("All-F16.gguf");
    let found = companions_beside(Path::new(&model));
    let names: Vec<&str> = found.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, COMPANIONS);
    // Others are there: of the same parts in another type, of another model, and files with names of parts.
    for (from, to) in [
        (COMPANIONS[0], "mmproj-vision-All-Q8_0.gguf"),
        (COMPANIONS[2], "vocoder-All-Q4_0.gguf"),
        (COMPANIONS[3], "vocoder-Other-F16.gguf"),
        (COMPANIONS[0], "tokenizer-Other-F16.gguf"),
    ] {
        fs::copy(scratch.path(from), scratch.path(to)).unwrap();
    }
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    let entries = fs::read_dir(scratch.path("")).unwrap().map(|entry| entry.unwrap());
    let listing: Vec<ListedFile> = entries
        .map(|entry| ListedFile {
            path: format!("gguf/{}", entry.file_name().to_str().unwrap()),
            size: size(&entry.path()),
        })
        .collect();
    let asked = RefCell::new(Vec::new());
    let head = |path: &str, n_bytes: usize| {
        asked.borrow_mut().push(path.to_owned());
        let bytes = fs::read(scratch.path(path.strip_prefix("gguf/").unwrap())).unwrap();
        Ok(bytes[..n_bytes.min(bytes.len())].to_vec())
    };
    let chosen = choose_companions("gguf/All-F16.gguf", &listing, head).unwrap();
    assert_eq!(chosen, COMPANIONS.map(|file| format!("gguf/{file}")));
    let asked = asked.into_inner();
    let of = |name: &str| asked.iter().filter(|path| path.ends_with(name)).count();
    assert_eq!(COMPANIONS.map(of), [1; 4], "each header is asked for once: {asked:?}");
    assert_eq!(of("mmproj-vision-All-Q8_0.gguf") + of("vocoder-Other-F16.gguf"), 0, "{asked:?}");
    // Without what turns frames into sound, what writes them is of no use.
    let listing: Vec<ListedFile> = listing.into_iter().filter(|file| !file.path.contains("tokenizer-All")).collect();
    let head = |path: &str, _: usize| Ok(fs::read(scratch.path(path.strip_prefix("gguf/").unwrap())).unwrap());
    assert_eq!(choose_companions("gguf/All-F16.gguf", &listing, head).unwrap().len(), 2);
}
