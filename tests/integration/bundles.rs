//! Bundles: loaded like the files in them, and refused with typed errors if they are damaged.

use std::fs;
use std::ops::ControlFlow;

use causerie::bundle::BundleParts;
use causerie::{ChatMessage, ErrorKind, LoadOptions, ModelInfo, ModelRunner, SdkError, WeightMemory, bundle};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::bad_files::{Scratch, reply};
use crate::fixture;

const ALIGNMENT: usize = 16 << 10;

fn make(model: &str, output: &str) -> Result<(), SdkError> {
    bundle::make(model, &BundleParts::default(), output, |_| ControlFlow::Continue(()))
}

fn verify(bundle: &str) -> Vec<String> {
    let damaged = bundle::verify(bundle, |_| ControlFlow::Continue(())).unwrap();
    damaged.into_iter().map(|file| file.path).collect()
}

fn paths(bundle: &str) -> Vec<String> {
    bundle::list(bundle).unwrap().into_iter().map(|file| file.path).collect()
}

/// One file, and a model that is split into several.
#[test]
fn a_packed_bundle_is_loaded_like_the_files_that_it_was_made_of() {
    let scratch = Scratch::new("packed-bundles");
    let parts = BundleParts { packs_weights: true, ..Default::default() };
    let make = |model: &str, output: &str| bundle::make(model, &parts, output, |_| ControlFlow::Continue(()));
    for (model, expect) in [
        ("lfm2-q4_0.gguf", "lfm2-q4_0.packed"),
        ("gemma3-q8_0.gguf", "gemma3-q8_0.packed"),
        ("lfm2-split-00001-of-00003.gguf", "lfm2-split-00001-of-00003.packed"),
    ] {
        let (model, output) = (fixture(&format!("models/{model}")), scratch.path("model.bundle"));
        make(&model, &output).unwrap();
        assert_eq!(paths(&output), [expect]);
        let [mut info, plain] = [&output, &model].map(|model| ModelInfo::read(model).unwrap());
        assert!(0 < info.packed_bytes && plain.packed_bytes == 0);
        info.packed_bytes = 0;
        assert_eq!(info, plain, "{model}");
        let plain = reply(&ModelRunner::load(&model).unwrap());
        for weight_memory in [WeightMemory::Mapped, WeightMemory::Copied, WeightMemory::Auto] {
            let options = LoadOptions { weight_memory, ..Default::default() };
            assert_eq!(reply(&ModelRunner::load_with(&output, options).unwrap()), plain, "{model}, {weight_memory:?}");
        }
        // It is packed already, so a folder for packed weights stays empty.
        let packed_folder = Some(scratch.path("folder").into());
        ModelRunner::load_with(&output, LoadOptions { packed_folder, ..Default::default() }).unwrap();
        assert!(!fs::exists(scratch.path("folder")).unwrap());
        assert!(verify(&output).is_empty());
        fs::remove_file(output).unwrap();
    }
    let err = make(&fixture("models/lfm2-hf"), &scratch.path("folder.bundle")).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::InvalidOption("model"), "{err}");
    assert_eq!(fs::read_dir(scratch.path(".")).unwrap().count(), 0, "what is not complete is removed");
}

#[test]
fn a_bundle_is_loaded_like_its_files() {
    let scratch = Scratch::new("bundles");
    for (model, expect) in [
        ("lfm2-q4_0.gguf", &["lfm2-q4_0.gguf"][..]),
        (
            "lfm2-split-00001-of-00003.gguf",
            &["lfm2-split-00001-of-00003.gguf", "lfm2-split-00002-of-00003.gguf", "lfm2-split-00003-of-00003.gguf"],
        ),
        (
            "lfm2vl-hf",
            &[
                "chat_template.jinja",
                "config.json",
                "model.safetensors",
                "preprocessor_config.json",
                "tokenizer.json",
                "tokenizer_config.json",
            ],
        ),
    ] {
        let (model, output) = (fixture(&format!("models/{model}")), scratch.path("model.bundle"));
        make(&model, &output).unwrap();
        assert_eq!(paths(&output), expect, "{model}");
        assert_eq!(ModelInfo::read(&output).unwrap(), ModelInfo::read(&model).unwrap(), "{model}");
        let [bundled, plain] = [&output, &model].map(|model| ModelRunner::load(model).unwrap());
        assert_eq!(reply(&bundled), reply(&plain), "{model}");
        assert!(verify(&output).is_empty());
        for file in bundle::list(&output).unwrap() {
            assert!(is_aligned(&fs::read(&output).unwrap(), &file.sha256, file.size as usize), "{}", file.path);
        }
        fs::remove_file(output).unwrap();
    }
    let names = fs::read_dir(scratch.path("")).unwrap().count();
    assert_eq!(names, 0, "no temporary file is left");
}

/// Whether a file begins at a page of the bundle.
fn is_aligned(bundle: &[u8], sha256: &str, size: usize) -> bool {
    let starts = (0..=bundle.len() - size).step_by(ALIGNMENT);
    starts.into_iter().any(|start| hex(&bundle[start..start + size]) == sha256)
}

fn hex(content: &[u8]) -> String {
    format!("{:x}", Sha256::digest(content))
}

#[test]
fn a_sharded_folder_is_bundled_with_what_loading_reads() {
    let scratch = Scratch::new("bundled-folder");
    let (model, output) = (fixture("models/lfm2-hf-sharded"), scratch.path("shards.bundle"));
    make(&model, &output).unwrap();
    let weights = paths(&output).into_iter().filter(|path| path.contains("safetensors")).count();
    assert!(2 < weights, "the index and its files: {:?}", paths(&output));
    let [bundled, plain] = [&output, &model].map(|model| ModelRunner::load(model).unwrap());
    assert_eq!(reply(&bundled), reply(&plain));
}

#[test]
fn a_bundle_of_another_tool_is_loaded() {
    let file = fixture("bundles/lfm2.bundle");
    let runner = ModelRunner::load(&file).unwrap();
    assert_eq!(reply(&runner), reply(&ModelRunner::load(fixture("models/lfm2-q4_0.gguf")).unwrap()));
    let sampling = runner.sampling_defaults();
    let found = (sampling.temperature, sampling.min_p, sampling.repetition_penalty);
    assert_eq!(found, (Some(0.3), Some(0.15), Some(1.05)));
    assert!(verify(&file).is_empty());
}

#[test]
fn a_manifest_beside_its_files_is_loaded_and_bundled_with_all_that_it_says() {
    let scratch = Scratch::new("manifest");
    fs::copy(fixture("models/lfm2-q4_0.gguf"), scratch.path("weights.gguf")).unwrap();
    let manifest = json!({
        "schema_version": "1.1.0",
        "inference_type": "llama.cpp/text-to-text",
        "load_time_parameters": {"model": "./weights.gguf", "chat_template": "template: {{ messages[0].content }}"},
        "generation_time_parameters": {"sampling_parameters": {"top_k": 7}, "number_of_decoding_threads": 2},
        "original_url": "https://example.org/model.json",
    });
    fs::write(scratch.path("manifest.json"), manifest.to_string()).unwrap();
    let output = scratch.path("model.bundle");
    make(&scratch.path("manifest.json"), &output).unwrap();
    for model in [scratch.path("manifest.json"), scratch.path(""), output.clone()] {
        let runner = ModelRunner::load(&model).unwrap();
        assert_eq!(runner.render_prompt(&[ChatMessage::user("Hi")], true).unwrap(), "template: Hi", "{model}");
        assert_eq!(runner.sampling_defaults().top_k, Some(7), "{model}");
    }
    // The template of the caller comes first.
    let options = LoadOptions { chat_template: Some("mine".to_owned()), ..Default::default() };
    let runner = ModelRunner::load_with(&output, options).unwrap();
    assert_eq!(runner.render_prompt(&[ChatMessage::user("Hi")], true).unwrap(), "mine");
    let bytes = fs::read(&output).unwrap();
    let kept = String::from_utf8_lossy(&bytes[..2 * ALIGNMENT]).into_owned();
    for part in ["1.1.0", "number_of_decoding_threads", "https://example.org/model.json"] {
        assert!(kept.contains(part), "unknown keys are kept: {part}");
    }
}

#[test]
fn equal_models_make_equal_bundles() {
    let scratch = Scratch::new("equal-bundles");
    let [one, other] = ["one", "other"].map(|name| scratch.path(name));
    for output in [&one, &other] {
        make(&fixture("models/lfm2-q4_0.gguf"), output).unwrap();
    }
    assert_eq!(fs::read(&one).unwrap(), fs::read(&other).unwrap());
    let err = make(&fixture("models/lfm2-q4_0.gguf"), &one).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::InvalidOption("output"));
    let err = make(&one, &scratch.path("again")).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::InvalidOption("model"));
}

#[test]
fn a_cancelled_bundle_leaves_nothing() {
    let scratch = Scratch::new("cancelled-bundle");
    let mut reports = 0;
    let made = bundle::make(
        fixture("models/lfm2-q4_0.gguf").as_str(),
        &BundleParts::default(),
        scratch.path("a.bundle"),
        |fraction| {
            assert!((0.0..=1.0).contains(&fraction));
            reports += 1;
            if reports == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        },
    );
    assert_eq!(made.unwrap_err().kind(), ErrorKind::LoadCancelled);
    assert_eq!(fs::read_dir(scratch.path("")).unwrap().count(), 0);
}

/// An entry of an archive that is written by hand.
struct Entry {
    name: &'static str,
    content: Vec<u8>,
    method: u16,
    flags: u16,
    /// The size that the directory says.
    size: u32,
    /// Bytes that the content is moved by.
    shift: usize,
}

fn entry(name: &'static str, content: impl Into<Vec<u8>>) -> Entry {
    let content = content.into();
    let size = content.len() as u32;
    Entry { name, content, method: 0, flags: 0, size, shift: 0 }
}

/// A small archive, without the fields of 64 bits.
fn archive(entries: &[Entry]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        let start = bytes.len();
        let header_end = start + 30 + entry.name.len() + 4;
        let padding = header_end.next_multiple_of(ALIGNMENT) - header_end + entry.shift;
        let common = |extra: usize| {
            let mut fields = Vec::new();
            [20, entry.flags, entry.method, 0, 0, 0, 0]
                .iter()
                .for_each(|field: &u16| fields.extend(field.to_le_bytes()));
            [entry.size, entry.size].iter().for_each(|size| fields.extend(size.to_le_bytes()));
            [entry.name.len() as u16, extra as u16].iter().for_each(|length| fields.extend(length.to_le_bytes()));
            fields
        };
        bytes.extend([b"PK\x03\x04", &common(4 + padding)[..], entry.name.as_bytes(), b"ac"].concat());
        bytes.extend((padding as u16).to_le_bytes());
        bytes.resize(bytes.len() + padding, 0);
        bytes.extend(&entry.content);
        directory.extend([b"PK\x01\x02\x14\x00", &common(0)[..], &[0; 10], &(start as u32).to_le_bytes()].concat());
        directory.extend(entry.name.as_bytes());
    }
    let (start, count) = (bytes.len() as u32, entries.len() as u16);
    let length = directory.len() as u32;
    bytes.extend(directory);
    bytes.extend([&b"PK\x05\x06"[..], &[0; 4], &count.to_le_bytes(), &count.to_le_bytes()].concat());
    bytes.extend([&length.to_le_bytes()[..], &start.to_le_bytes(), &[0; 2]].concat());
    bytes
}

fn manifest_of(files: &[(&str, &[u8])]) -> Value {
    let listed =
        |(name, content): &(&str, &[u8])| (format!("./{name}"), json!({"size": content.len(), "sha256": hex(content)}));
    let files: serde_json::Map<String, Value> = files.iter().map(listed).collect();
    json!({"format": "causerie/bundle", "format_version": 1, "load_time_parameters": {"model": "./m.gguf"}, "files": files})
}

#[test]
fn invalid_bundles_are_refused() {
    let scratch = Scratch::new("invalid-bundles");
    let model = fs::read(fixture("models/lfm2-q4_0.gguf")).unwrap();
    let path = scratch.path("model.zip");
    let loaded = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        ModelRunner::load(&path)
    };
    let valid = manifest_of(&[("m.gguf", &model)]);
    loaded(&archive(&[entry("manifest.json", valid.to_string()), entry("m.gguf", model.clone())])).unwrap();

    let refused = |bytes: &[u8], expect: &str| {
        let err = loaded(bytes).unwrap_err();
        assert_eq!(err.kind(), ErrorKind::ModelLoad, "{err}");
        assert!(err.to_string().contains(expect), "{err} must contain {expect:?}");
    };
    let with = |change: &dyn Fn(&mut Vec<Entry>)| {
        let mut entries = vec![entry("manifest.json", valid.to_string()), entry("m.gguf", model.clone())];
        change(&mut entries);
        archive(&entries)
    };
    // The directory.
    refused(&with(&|entries| entries[1].method = 8), "m.gguf must be stored without compression");
    refused(&with(&|entries| entries[1].flags = 1), "m.gguf must be stored without compression and encryption");
    refused(&with(&|entries| entries[1].shift = 32), "m.gguf must begin at a multiple of 16384 bytes");
    refused(&with(&|entries| entries[0].size += 20_000), "manifest.json and m.gguf must not overlap");
    refused(&with(&|entries| entries[1].size = u32::MAX - 1), "m.gguf must be before the directory");
    refused(&with(&|entries| entries[1].size -= 1), "m.gguf must have 133568 bytes, found 133567");
    refused(&with(&|entries| entries.swap(0, 1)), "its first file must be manifest.json");
    for again in ["m.gguf", "M.GGUF"] {
        refused(&with(&|entries| entries.push(entry(again, "x"))), &format!("{again} must be there once"));
    }
    for name in ["../m.gguf", "/m.gguf", "a/../m.gguf", "C:\\m.gguf", "a\\m.gguf", "con", "m.gguf/", "m\0", ""] {
        refused(&with(&|entries| entries.push(entry(name, "x"))), "its files must have relative paths");
    }
    // The manifest.
    refused(&with(&|entries| entries.truncate(1)), "it must have m.gguf, which its manifest lists");
    refused(&with(&|entries| entries.push(entry("other", "x"))), "its manifest must list other");
    refused(&with(&|entries| entries[0] = entry("manifest.json", "[1]")), "it must be a JSON object");
    refused(&with(&|entries| entries[0] = entry("manifest.json", vec![b' '; (4 << 20) + 1])), "at most 4194304 bytes");
    for (place, value, expect) in [
        ("/format", json!("other"), "format must be \"causerie/bundle\""),
        ("/format_version", json!(2), "format_version must be 1"),
        ("/load_time_parameters", json!([]), "load_time_parameters must be an object"),
        ("/load_time_parameters/model", json!(null), "load_time_parameters.model must be there"),
        ("/load_time_parameters/model", json!("https://example.org/m.gguf"), "must be a path, found an address"),
        ("/load_time_parameters/model", json!("../m.gguf"), "must be a relative path, found \"../m.gguf\""),
        ("/load_time_parameters/model", json!("./other.gguf"), "cannot read"),
        ("/files/.~1m.gguf/sha256", json!("../x"), "must have a size and a sha256"),
        ("/files/.~1m.gguf/size", json!(-1), "must have a size and a sha256"),
    ] {
        let mut manifest = valid.clone();
        *manifest.pointer_mut(place).unwrap() = value;
        refused(&with(&|entries| entries[0] = entry("manifest.json", manifest.to_string())), expect);
    }
    for (key, value, expect) in [
        ("multimodal_projector", json!("/etc/passwd"), "multimodal_projector must be a relative path"),
        ("multimodal_projector", json!("./gone.gguf"), "cannot read"),
        ("multimodal_projector", json!("./m.gguf"), "the file has no vision tower"),
        ("audio_decoder", json!("https://example.org/x"), "audio_decoder must be a path, found an address"),
        ("chat_template", json!(1), "chat_template must be a string"),
    ] {
        let mut manifest = valid.clone();
        manifest["load_time_parameters"][key] = value;
        refused(&with(&|entries| entries[0] = entry("manifest.json", manifest.to_string())), expect);
    }
    // Other archives.
    refused(&archive(&[entry("word/document.xml", "x")]), "its first file must be manifest.json");
    let other = scratch.path("LFM2-350M-8da4w_output_8da8w-seq_4096.bundle");
    for bytes in [archive(&[entry("model.pte", "x")]), b"ET12".to_vec()] {
        fs::write(&other, bytes).unwrap();
        let err = ModelInfo::read(&other).unwrap_err();
        assert_eq!(err.kind(), ErrorKind::ModelLoad);
        assert!(err.to_string().contains("bundles of ExecuTorch are not supported"), "{err}");
    }
}

#[test]
fn a_cut_or_changed_bundle_is_an_error() {
    let scratch = Scratch::new("cut-bundles");
    let (made, path) = (scratch.path("made.bundle"), scratch.path("cut.bundle"));
    make(&fixture("models/lfm2-q4_0.gguf"), &made).unwrap();
    let whole = fs::read(&made).unwrap();
    let tail = whole.len() - 400; // most of the directory and its ends
    for end in (0..tail).step_by(9_000).chain(tail..whole.len()) {
        fs::write(&path, &whole[..end]).unwrap();
        assert_eq!(ModelInfo::read(&path).unwrap_err().kind(), ErrorKind::ModelLoad, "cut at {end}");
    }
    // Every bit of the last 98 bytes: the end of the directory, in both forms.
    let mut refused = 0;
    for at in whole.len() - 98..whole.len() {
        for bit in 0..8 {
            let mut changed = whole.clone();
            changed[at] ^= 1 << bit;
            fs::write(&path, changed).unwrap();
            refused += usize::from(ModelInfo::read(&path).is_err_and(|err| err.kind() == ErrorKind::ModelLoad));
        }
    }
    assert!(300 < refused, "{refused}");
    // A changed weight: loading does not read all digests, `verify` does.
    let mut changed = whole.clone();
    changed[whole.len() - 20_000] ^= 1;
    fs::write(&path, changed).unwrap();
    assert_eq!(verify(&path), ["lfm2-q4_0.gguf"]);
}
