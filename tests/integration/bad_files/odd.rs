//! Unusual files, like some published ones, that have one correct interpretation.

use std::fs;

use causerie::{ErrorKind, LoadOptions, ModelRunner};
use serde_json::json;

use super::folder::{folder, weights_with};
use super::{Gguf, Scratch, good, load_bytes, reply};
use crate::bad_files::gguf::{F32, TEXT, U32, text};
use crate::fixture;

fn reply_of(model: &str) -> String {
    reply(&ModelRunner::load(model).unwrap())
}

/// Sizes that metadata states must be the sizes of the tensors.
#[test]
fn stated_sizes_are_those_of_the_tensors() {
    for (key, number, expect) in [
        ("attention.head_count", 0_u32, "llama.attention.head_count must be above 0"),
        ("attention.head_count_kv", 1000, "llama.attention.head_count_kv must be"),
        ("embedding_length", 0, "llama.embedding_length must be above 0"),
        ("embedding_length", 7, "llama.embedding_length must be"),
        ("vocab_size", 99_999, "llama.vocab_size must be at most"),
    ] {
        let file = good().with(&format!("llama.{key}"), U32, number.to_le_bytes());
        let err = load_bytes(file.bytes()).unwrap_err();
        assert!(err.kind() == ErrorKind::ModelLoad && err.to_string().contains(expect), "{key}: {err}");
    }
    // An embedding may have more rows than the vocabulary.
    let expect = reply(&load_bytes(good().bytes()).unwrap());
    let padded = good().with("llama.vocab_size", U32, 1_u32.to_le_bytes());
    assert_eq!(reply(&load_bytes(padded.bytes()).unwrap()), expect);
}

#[test]
fn ids_outside_the_vocabulary_are_refused() {
    for key in ["bos_token_id", "eos_token_id", "eot_token_id", "padding_token_id"] {
        let file = good().with(&format!("tokenizer.ggml.{key}"), U32, 99_999_u32.to_le_bytes());
        let err = load_bytes(file.bytes()).unwrap_err();
        let expect = format!("metadata tokenizer.ggml.{key} must be a token of the vocabulary");
        assert!(err.kind() == ErrorKind::ModelLoad && err.to_string().contains(&expect), "{err}");
    }
}

/// `attn_factor` in config.json, instead of `attention_factor`, which transformers ignores.
#[test]
fn an_attention_factor_below_one_is_ignored() {
    let file = Gguf::read(&fs::read(fixture("models/qwen2-f32.gguf")).unwrap());
    let key = "qwen2.rope.scaling.yarn_attn_factor";
    let [none, below, above] = [None, Some(0.878f32), Some(3.0)].map(|factor| {
        let file = match factor {
            Some(factor) => file.clone().with(key, F32, factor.to_le_bytes()),
            None => file.clone(),
        };
        reply(&load_bytes(file.bytes()).unwrap())
    });
    assert!(none == below && none != above, "{none:?}, {below:?}, {above:?}");
}

#[test]
fn a_model_of_several_files_is_loaded_as_one() {
    let expect = reply_of(&fixture("models/lfm2-q4_0.gguf"));
    for part in 1..=3 {
        assert_eq!(reply_of(&fixture(&format!("models/lfm2-split-{part:05}-of-00003.gguf"))), expect);
    }
}

#[test]
fn missing_parts_of_a_model_are_named() {
    let scratch = Scratch::new("split");
    let part = |part: usize| format!("lfm2-split-{part:05}-of-00003.gguf");
    let load = |name: &str| ModelRunner::load(scratch.path(name)).unwrap_err();
    let copy = |name: &str, to: &str| fs::copy(fixture(&format!("models/{name}")), scratch.path(to)).unwrap();
    copy(&part(1), &part(1));
    copy(&part(2), &part(2));
    let err = load(&part(1));
    assert!(err.kind() == ErrorKind::ModelLoad && err.to_string().contains(&part(3)), "{err}");
    copy(&part(2), &part(3));
    assert!(load(&part(1)).to_string().contains("appears twice, also in"), "{}", load(&part(1)));
    copy(&part(1), "renamed.gguf");
    assert!(load("renamed.gguf").to_string().contains("…-00001-of-00003.gguf"), "{}", load("renamed.gguf"));
    let alone = fs::read(fixture(&format!("models/{}", part(2)))).unwrap();
    let err = ModelRunner::load_from_bytes(alone, LoadOptions::default()).unwrap_err();
    assert!(err.to_string().contains("found one of 3 files"), "{err}");
}

#[test]
fn a_leftover_index_is_ignored() {
    let scratch = folder("left");
    fs::write(
        scratch.path("model.safetensors.index.json"),
        r#"{"weight_map": {"a": "model-00001-of-00002.safetensors"}}"#,
    )
    .unwrap();
    assert_eq!(reply_of(&scratch.path("")), reply_of(&fixture("models/lfm2-hf")));
}

/// A file may state that the output matrix is the embedding, and still contain another one, because it was trained.
#[test]
fn an_output_matrix_that_differs_from_the_embedding_is_not_tied_to_it() {
    let expect = reply_of(&fixture("models/lfm2-hf"));
    let with_head = |name: &str, change: &dyn Fn(&mut [u8])| {
        let scratch = folder(name);
        weights_with(&scratch, |header, weights| {
            let embedding = header["model.embed_tokens.weight"].clone();
            let [start, end] = [0, 1].map(|at| embedding["data_offsets"][at].as_u64().unwrap() as usize);
            let mut head = weights[start..end].to_vec();
            change(&mut head);
            let offsets = json!([weights.len(), weights.len() + head.len()]);
            header["lm_head.weight"] =
                json!({"dtype": embedding["dtype"], "shape": embedding["shape"], "data_offsets": offsets});
            weights.extend(head);
        });
        reply_of(&scratch.path(""))
    };
    assert_eq!(with_head("tied", &|_| ()), expect);
    assert_ne!(with_head("untied", &|head| head.rotate_left(6400)), expect);
}

/// Scaling that begins after the context has no effect within it.
#[test]
fn dynamic_scaling_has_no_effect_within_the_context() {
    let scratch = folder("dynamic");
    let config = fs::read_to_string(scratch.path("config.json")).unwrap();
    let mut config: serde_json::Value = serde_json::from_str(&config).unwrap();
    config["rope_scaling"] = json!({"rope_type": "dynamic", "factor": 4.0});
    fs::write(scratch.path("config.json"), config.to_string()).unwrap();
    assert_eq!(reply_of(&scratch.path("")), reply_of(&fixture("models/lfm2-hf")));
}

#[test]
fn old_names_of_scaling_are_read() {
    let file = Gguf::read(&fs::read(fixture("models/llama-linear-f32.gguf")).unwrap());
    let expect = reply(&load_bytes(file.bytes()).unwrap());
    let factor = file.values.iter().find(|(key, ..)| key == "llama.rope.scaling.factor").unwrap().2.clone();
    let old = file.without("llama.rope.scaling.factor").with("llama.rope.scale_linear", F32, factor);
    let old = old.with("llama.rope.scaling.type", TEXT, text("linear"));
    assert_eq!(reply(&load_bytes(old.bytes()).unwrap()), expect);
}
