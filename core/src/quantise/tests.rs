//! Files that `quantize` writes, beside files of gguf-py with the same weights.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::*;
use crate::model::{Compute, Inputs, Model};
use crate::options::CacheType;
use crate::weights::MetadataValue;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/models").join(name)
}

/// A folder of its own for a test.
fn scratch(test: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("causerie-quantise-{test}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// A copy of a folder of the fixtures; one without a tokenizer gets that of LFM2.
fn folder_with_tokenizer(name: &str, scratch: &Path) -> PathBuf {
    let folder = scratch.join(name);
    fs::create_dir(&folder).unwrap();
    let from = ["lfm2-hf", name].map(fixture);
    for file in ["tokenizer.json", "tokenizer_config.json", "chat_template.jinja"] {
        fs::copy(from[0].join(file), folder.join(file)).unwrap();
    }
    for entry in fs::read_dir(&from[1]).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
    }
    folder
}

fn quantised(model: &Path, gguf_type: GgufType, output: &Path) -> Result<()> {
    quantize(model.to_str().unwrap(), gguf_type, output, |_| ControlFlow::Continue(()))
}

fn open(path: &Path) -> Weights {
    Weights::open(path.to_str().unwrap()).unwrap()
}

fn tensors(weights: &Weights) -> Tensors {
    Checkpoint::read(weights).unwrap().tensors
}

fn values(weights: &Weights, name: &str) -> Vec<f32> {
    let tensors = tensors(weights);
    let shape = tensors.shape(name).unwrap_or_else(|| unreachable!("{name} exists"));
    tensors.floats(name, shape).unwrap()
}

/// Types of tensors, by name.
fn types(weights: &Weights) -> BTreeMap<String, TensorType> {
    tensors(weights).iter().map(|tensor| (tensor.name.to_owned(), tensor.tensor_type)).collect()
}

/// Metadata by key, as bytes.
fn metadata(weights: &Weights) -> BTreeMap<String, Vec<u8>> {
    let bytes = |value: MetadataValue| {
        let mut bytes = Vec::new();
        value.write(&mut bytes);
        bytes
    };
    weights.metadata().unwrap().into_iter().map(|(key, value)| (key.to_owned(), bytes(value))).collect()
}

/// The logits after some tokens.
fn logits(weights: &Weights) -> Vec<f32> {
    let compute = Compute::native(1, CacheType::F32);
    let model = Model::load(weights, None, compute, usize::MAX, &mut |_| ControlFlow::Continue(())).unwrap();
    let (mut state, mut logits) = (model.start().unwrap(), Vec::new());
    model.forward_one(Inputs::Tokens(&[1, 20, 300, 41, 77, 5]), &mut *state, &mut logits).unwrap();
    logits
}

/// The largest difference, as a share of the largest magnitude.
fn deviation(found: &[f32], expect: &[f32]) -> f32 {
    assert_eq!(found.len(), expect.len());
    let largest =
        |values: &mut dyn Iterator<Item = f32>| values.fold(0.0, |largest: f32, value| largest.max(value.abs()));
    let difference = largest(&mut found.iter().zip(expect).map(|(found, expect)| found - expect));
    difference / largest(&mut expect.iter().copied()).max(f32::MIN_POSITIVE)
}

const PAIRS: [(&str, &str); 20] = [
    ("lfm2-hf", "lfm2-f32.gguf"),
    ("lfm2-sliding", "lfm2-sliding-f32.gguf"),
    ("lfm2moe", "lfm2moe-f32.gguf"),
    ("lfm3", "lfm3-f32.gguf"),
    ("gemma3", "gemma3-f32.gguf"),
    ("gemma3-linear", "gemma3-linear-f32.gguf"),
    ("gemma4", "gemma4-f32.gguf"),
    ("granite", "granite-f32.gguf"),
    ("granite4", "granite4-f32.gguf"),
    ("ministral3", "ministral3-f32.gguf"),
    ("phi4", "phi4-f32.gguf"),
    ("phi4-short", "phi4-short-f32.gguf"),
    ("llama-linear", "llama-linear-f32.gguf"),
    ("llama2", "llama2-f32.gguf"),
    ("llama3", "llama3-f32.gguf"),
    ("mistral", "mistral-f32.gguf"),
    ("qwen2", "qwen2-f32.gguf"),
    ("qwen3", "qwen3-f32.gguf"),
    ("qwen35", "qwen35-f32.gguf"),
    ("smollm3", "smollm3-f32.gguf"),
];

#[test]
fn folders_become_the_files_that_the_converter_writes() {
    let scratch = scratch("folders");
    let mut differences = Vec::new();
    for (name, golden) in PAIRS {
        let (folder, output) = (folder_with_tokenizer(name, &scratch), scratch.join(format!("{name}.gguf")));
        if let Err(err) = quantised(&folder, GgufType::Q8_0, &output) {
            differences.push(format!("{name}: {err}"));
            continue;
        }
        let found = open(&output);
        differences
            .extend(differing(&found, &open(&fixture(golden))).into_iter().map(|what| format!("{name}: {what}")));
        // The engine quantises the inputs of products with Q8_0, too, and random weights amplify errors. A wrong order of rows
        // or columns gives about 1.
        let deviation = deviation(&logits(&found), &logits(&open(&folder)));
        if !(0.0..0.25).contains(&deviation) || deviation == 0.0 {
            differences.push(format!("{name}: logits differ by {deviation}"));
        }
    }
    assert!(differences.is_empty(), "{differences:#?}");
    fs::remove_dir_all(scratch).unwrap();
}

/// In which tensors and metadata a file differs from the one that gguf-py wrote.
fn differing(found: &Weights, golden: &Weights) -> Vec<String> {
    let (written, expect) = (types(found), types(golden));
    let (found_tensors, golden_tensors) = (tensors(found), tensors(golden));
    let mut differences: Vec<_> = written.keys().filter(|name| !expect.contains_key(*name)).cloned().collect();
    for name in expect.keys() {
        if found_tensors.shape(name) != golden_tensors.shape(name) {
            let shapes = (found_tensors.shape(name), golden_tensors.shape(name));
            differences.push(format!("{name}: {:?}, expected {:?}", shapes.0, shapes.1));
            continue;
        }
        let deviation = deviation(&values(found, name), &values(golden, name));
        if 0.5 / 127.0 + 1e-3 < deviation {
            differences.push(format!("{name}: {deviation}")); // more than half a step, and rounded scales
        }
    }
    let entries = metadata(found);
    // The last one is an array or the number of the first layer without a window.
    let differs = [
        "general.name",
        "general.file_type",
        "tokenizer.ggml.pre",
        "tokenizer.ggml.scores",
        "gemma3.attention.sliding_window_pattern",
    ]
    .map(str::to_owned);
    let expect = metadata(golden).into_iter().filter(|(key, _)| !differs.contains(key));
    let differing = expect.filter(|(key, expect)| entries.get(key) != Some(expect));
    differences.extend(differing.map(|(key, expect)| format!("{key}: {:?}, expected {expect:?}", entries.get(&key))));
    differences.iter_mut().for_each(|line| line.truncate(line.floor_char_boundary(300)));
    differences
}

/// Writes a file with the same values as F32.
fn write_exact(model: &Path, output: &Path) {
    let weights = open(model);
    let (names, tensors) = (weights.tensor_names().unwrap(), tensors(&weights));
    let layout = |name: &&str| TensorLayout {
        name: (*name).to_owned(),
        shape: tensors.shape(name).unwrap().to_vec(),
        tensor_type: TensorType::F32,
    };
    let metadata: Vec<_> =
        weights.metadata().unwrap().into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let mut bytes = gguf_header(&metadata, &names.iter().map(layout).collect::<Vec<_>>());
    for name in names {
        let start = bytes.len();
        bytes.extend(values(&weights, name).iter().flat_map(|value| value.to_le_bytes()));
        bytes.extend(padding(bytes.len() - start));
    }
    fs::write(output, bytes).unwrap();
}

#[test]
fn mixed_types_keep_the_logits_and_the_metadata() {
    let scratch = scratch("mixed");
    let exact = scratch.join("exact.gguf");
    write_exact(&fixture("lfm2-q4_k.gguf"), &exact);
    let exact_weights = open(&exact);
    let expect = logits(&exact_weights);
    for (gguf_type, bound) in [
        (GgufType::Q8_0, 0.05),
        (GgufType::Q6K, 0.15),
        (GgufType::Q5KM, 0.25),
        (GgufType::Q4KM, 0.4),
        (GgufType::Q4_0, 0.6),
    ] {
        let output = scratch.join(format!("{gguf_type}.gguf"));
        quantised(&exact, gguf_type, &output).unwrap();
        let found = open(&output);
        let deviation = deviation(&logits(&found), &expect);
        assert!(0.0 < deviation && deviation < bound, "{gguf_type}: {deviation}");
        let types = types(&found);
        let usual = if gguf_type == GgufType::Q8_0 { TensorType::Q8_0 } else { TensorType::Q6K };
        assert_eq!((types["token_embd.weight"], types["blk.0.attn_norm.weight"]), (usual, TensorType::F32));
        let (mut entries, mut originals) = (metadata(&found), metadata(&exact_weights));
        assert_ne!(
            entries.remove("general.file_type"),
            originals.remove("general.file_type").filter(|_| gguf_type != GgufType::Q4KM)
        );
        entries.remove("general.quantization_version");
        originals.remove("general.quantization_version");
        assert_eq!(entries, originals);
    }
    fs::remove_dir_all(scratch).unwrap();
}

#[test]
fn a_file_without_changes_of_type_is_copied() {
    let scratch = scratch("copied");
    let output = scratch.join("q8_0.gguf");
    quantised(&fixture("lfm2-q8_0.gguf"), GgufType::Q8_0, &output).unwrap();
    let (found, original) = (open(&output), open(&fixture("lfm2-q8_0.gguf")));
    assert_eq!(types(&found), types(&original));
    assert!(types(&found).keys().all(|name| values(&found, name) == values(&original, name)));
    fs::remove_dir_all(scratch).unwrap();
}

/// Checks that the error has this text, and that nothing is left in the folder.
#[track_caller]
fn check_refused(result: Result<()>, kind: ErrorKind, expect: &str, folder: &Path) {
    let err = result.unwrap_err();
    assert_eq!(err.kind(), kind, "{err}");
    assert!(err.to_string().contains(expect), "{err}");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
}

#[test]
fn what_cannot_be_quantised_leaves_no_file() {
    let scratch = scratch("refused");
    let output = scratch.join("out.gguf");
    let refused = |model: &str, gguf_type| quantised(&fixture(model), gguf_type, &output);
    let less = "weights must have eight bits or more to be quantised, found tensor ";
    check_refused(refused("lfm2-q4_0.gguf", GgufType::Q8_0), ErrorKind::ModelLoad, less, &scratch);
    check_refused(refused("lfm2-q6_k.gguf", GgufType::Q4KM), ErrorKind::ModelLoad, less, &scratch);
    check_refused(refused("qwen3", GgufType::Q4_0), ErrorKind::ModelLoad, "tokenizer.json is missing", &scratch);
    let missing = refused("nothing-here.gguf", GgufType::Q4_0);
    assert_eq!(missing.unwrap_err().kind(), ErrorKind::ModelNotFound);
    let nowhere = quantised(&fixture("lfm2-f32.gguf"), GgufType::Q8_0, &scratch.join("no/folder.gguf"));
    check_refused(
        nowhere,
        ErrorKind::InvalidOption("output"),
        "the output must be a file that can be created",
        &scratch,
    );
    fs::remove_dir_all(scratch).unwrap();
}

#[test]
fn an_output_that_exists_is_kept() {
    let scratch = scratch("exists");
    let output = scratch.join("out.gguf");
    fs::write(&output, "precious").unwrap();
    let err = quantised(&fixture("lfm2-f32.gguf"), GgufType::Q8_0, &output).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::InvalidOption("output"));
    assert!(err.message().starts_with("the output must not exist yet, found "), "{err}");
    assert_eq!(fs::read_to_string(&output).unwrap(), "precious");
    fs::remove_dir_all(scratch).unwrap();
}

#[test]
fn a_cancelled_file_is_removed() {
    let scratch = scratch("cancelled");
    let mut fractions = Vec::new();
    let model = fixture("lfm2-f32.gguf");
    let result = quantize(model.to_str().unwrap(), GgufType::Q8_0, scratch.join("out.gguf"), |fraction| {
        fractions.push(fraction);
        if fraction < 0.5 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    check_refused(result, ErrorKind::LoadCancelled, "quantising was cancelled", &scratch);
    assert!(fractions[0] == 0.0 && fractions.is_sorted() && 2 < fractions.len());
    fs::remove_dir_all(scratch).unwrap();
}

#[test]
fn weights_that_are_not_finite_are_refused() {
    let scratch = scratch("finite");
    let bytes = fs::read(fixture("lfm2-f32.gguf")).unwrap();
    for (value, spelled) in [(f32::NAN, "NaN"), (f32::INFINITY, "inf"), (70000.0, "70000")] {
        let mut bytes = bytes.clone();
        let at = bytes.len() / 2 / 4 * 4; // in a matrix
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        let model = scratch.with_extension("damaged.gguf");
        fs::write(&model, bytes).unwrap();
        let result = quantised(&model, GgufType::Q4_0, &scratch.join("out.gguf"));
        check_refused(result, ErrorKind::ModelLoad, &format!("at most 65504, found {spelled}"), &scratch);
        fs::remove_file(model).unwrap();
    }
    fs::remove_dir_all(scratch).unwrap();
}

#[test]
fn types_are_named_as_llama_cpp_names_them() {
    for name in ["q8_0", "q6_k", "q5_k_m", "q4_k_m", "q4_0"] {
        assert_eq!(name.parse::<GgufType>().unwrap().to_string(), name);
        assert_eq!(name.to_uppercase().parse::<GgufType>().unwrap().to_string(), name);
    }
    let err = "q3_k".parse::<GgufType>().unwrap_err();
    assert_eq!(err.to_string(), r#"type must be one of q8_0, q6_k, q5_k_m, q4_k_m, q4_0, found "q3_k""#);
}
