//! Folders: safetensors, their index, tokenizer.json.

use std::fs;

use causerie::{ErrorKind, ModelRunner, fuzzing};
use serde_json::{Value, json};

use super::Scratch;
use crate::fixture;

/// A folder with a valid model, to be damaged.
pub(super) fn folder(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    for entry in fs::read_dir(fixture("models/lfm2-hf")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), scratch.0.join(entry.file_name())).unwrap();
    }
    scratch
}

#[track_caller]
fn check_refused(scratch: &Scratch, kind: ErrorKind, expect: &str) {
    let err = ModelRunner::load(scratch.path("")).unwrap_err();
    assert_eq!(err.kind(), kind, "{err}");
    assert!(err.to_string().contains(expect), "{err}");
}

/// Writes the header and the weights after `change`.
pub(super) fn weights_with(scratch: &Scratch, change: impl FnOnce(&mut Value, &mut Vec<u8>)) {
    let bytes = fs::read(fixture("models/lfm2-hf/model.safetensors")).unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let mut weights = bytes[8 + length..].to_vec();
    change(&mut header, &mut weights);
    with_header_text(scratch, header.to_string().as_bytes(), &weights);
}

fn with_header_text(scratch: &Scratch, header: &[u8], weights: &[u8]) {
    let bytes = [&(header.len() as u64).to_le_bytes()[..], header, weights].concat();
    fs::write(scratch.path("model.safetensors"), bytes).unwrap();
}

#[test]
fn headers_of_safetensors_are_checked() {
    const NAME: &str = "model.embedding_norm.weight";
    let scratch = folder("safetensors");
    ModelRunner::load(scratch.path("")).unwrap();
    let refused = |change: &dyn Fn(&mut Value), expect: &str| {
        weights_with(&scratch, |header, _| change(header));
        check_refused(&scratch, ErrorKind::ModelLoad, expect);
    };
    refused(&|header| header[NAME]["data_offsets"][1] = json!(u64::MAX), "model.safetensors");
    refused(&|header| header[NAME]["data_offsets"] = json!([0, 256]), "model.safetensors");
    refused(&|header| header[NAME]["dtype"] = json!("F16"), "model.safetensors");
    refused(&|header| header[NAME]["dtype"] = json!("F12"), "model.safetensors");
    refused(&|header| header[NAME]["shape"] = json!([u64::MAX, 2]), "model.safetensors");
    refused(&|header| drop(header.as_object_mut().unwrap().remove(NAME)), "model.safetensors");
    refused(&|header| *header = json!([]), "model.safetensors");
    for (header, weights) in [(&b"{"[..], &b""[..]), (b"", b""), (b"\xff\xff", b"")] {
        with_header_text(&scratch, header, weights);
        check_refused(&scratch, ErrorKind::ModelLoad, "model.safetensors");
    }
    for length in [u64::MAX, 100 << 20, 1 << 40] {
        fs::write(scratch.path("model.safetensors"), length.to_le_bytes()).unwrap();
        check_refused(&scratch, ErrorKind::ModelLoad, "model.safetensors");
    }
    fs::write(scratch.path("model.safetensors"), "").unwrap();
    check_refused(&scratch, ErrorKind::ModelLoad, "model.safetensors");
}

#[test]
fn an_index_can_refer_only_to_files_of_its_folder() {
    let scratch = folder("index");
    fs::remove_file(scratch.path("model.safetensors")).unwrap();
    for name in ["../model.safetensors", "/etc/passwd", "a/b.safetensors", "", "..", "absent.safetensors"] {
        let index = json!({ "weight_map": { "model.embedding_norm.weight": name } });
        fs::write(scratch.path("model.safetensors.index.json"), index.to_string()).unwrap();
        check_refused(&scratch, ErrorKind::ModelLoad, "");
    }
    fs::write(scratch.path("model.safetensors.index.json"), "{}").unwrap();
    check_refused(&scratch, ErrorKind::ModelLoad, "weight_map");
}

#[test]
fn files_that_are_missing_or_invalid_json_are_named() {
    let scratch = folder("missing");
    fs::write(scratch.path("config.json"), "{").unwrap();
    check_refused(&scratch, ErrorKind::ModelLoad, "config.json");
    fs::write(scratch.path("config.json"), "{\"model_type\": \"mamba9\"}").unwrap();
    check_refused(&scratch, ErrorKind::ModelLoad, "mamba9");
    fs::copy(fixture("models/lfm2-hf/config.json"), scratch.path("config.json")).unwrap();
    fs::write(scratch.path("tokenizer.json"), "{").unwrap();
    check_refused(&scratch, ErrorKind::ModelLoad, "tokenizer.json");
    fs::remove_file(scratch.path("tokenizer.json")).unwrap();
    check_refused(&scratch, ErrorKind::ModelLoad, "tokenizer.json is missing");
    // Longer than any tokenizer, as a sparse file.
    fs::File::create(scratch.path("tokenizer.json")).unwrap().set_len(200 << 20).unwrap();
    check_refused(&scratch, ErrorKind::ModelLoad, "more than");
    fs::remove_file(scratch.path("model.safetensors")).unwrap();
    check_refused(&scratch, ErrorKind::ModelNotFound, "model.safetensors");
    fs::remove_file(scratch.path("config.json")).unwrap();
    check_refused(&scratch, ErrorKind::ModelNotFound, "");
}

/// A small tokenizer with one part changed.
fn tokenizer(change: impl FnOnce(&mut Value)) -> Value {
    let json = fs::read_to_string(fixture("tokenizers/llama-bpe.json")).unwrap();
    let mut json = serde_json::from_str(&json).unwrap();
    change(&mut json);
    json
}

#[test]
fn tokenizers_that_contradict_themselves_are_refused() {
    let refused = |what: &str, change: &dyn Fn(&mut Value)| {
        let err = fuzzing::tokenizer_json(tokenizer(change).to_string().as_bytes()).expect_err(what);
        assert_eq!(err.kind(), ErrorKind::ModelLoad, "{what}: {err}");
    };
    fuzzing::tokenizer_json(tokenizer(|_| ()).to_string().as_bytes()).unwrap();
    refused("a merge beyond the vocabulary", &|json| {
        json["model"]["merges"].as_array_mut().unwrap().push(json!(["thermometer", "thermometer"]));
    });
    refused("a merge longer than any token", &|json| {
        json["model"]["merges"].as_array_mut().unwrap().push(json!(["a", "b".repeat(1000)]));
    });
    refused("a special token that is not there", &|json| {
        json["post_processor"]["special_tokens"] = json!({});
    });
    refused("pieces of no length", &|json| {
        json["pre_tokenizer"] = json!({"type": "FixedLength", "length": 0});
    });
    refused("no decoder", &|json| json["decoder"] = Value::Null);
    refused("an unknown model", &|json| json["model"]["type"] = json!("Nonesuch"));
    refused("an id far beyond the others", &|json| json["model"]["vocab"]["zzz"] = json!(4_000_000_000_u32));
    refused("an expression that does not end", &|json| {
        json["pre_tokenizer"] =
            json!({"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated", "invert": false});
    });
    let text = tokenizer(|_| ()).to_string();
    for length in (0..text.len()).step_by(499) {
        assert!(fuzzing::tokenizer_json(&text.as_bytes()[..length]).is_err(), "{length}");
    }
}

#[test]
fn an_expression_that_backtracks_ends() {
    for pattern in ["(a+)+$", "(?=(a+)+$)b", "(a|aa)+(?!a)", "(.*)*\\1"] {
        let json = tokenizer(|json| {
            json["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = json!(pattern);
        });
        drop(fuzzing::tokenizer_json(json.to_string().as_bytes()));
    }
}
