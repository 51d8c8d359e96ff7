//! A decision model that scores options: a network that reads in both directions, with a part of its own.

use serde_json::Value as Json;

use super::networks::lfm2;
use super::tiny::{Naming, TinyModel};
use crate::checkpoint::{EmbeddingCheckpoint, OptionTemperatures};
use crate::error::ErrorKind;
use crate::model::{Compute, EmbeddingModelNetwork};
use crate::options::CacheType;
use crate::weights::{MetadataValue, Weights};

/// The tiny model of the reference: four layers, and two that score.
fn tiny() -> TinyModel {
    let mut model = lfm2(true);
    let replaced = ["block_count", "attention.head_count_kv"];
    model.metadata.retain(|(key, _)| !replaced.iter().any(|name| key.ends_with(name)));
    for (key, value) in [
        ("block_count", MetadataValue::Count(6)),
        ("attention.head_count_kv", MetadataValue::Integers(vec![0, 2, 0, 2, 4, 4])),
        ("feed_forward_length", MetadataValue::Integers(vec![128, 128, 128, 128, 256, 256])),
        ("attention.layer_norm_epsilon", MetadataValue::Float(1e-5)),
        ("decision.type", "lfm2-d1-omni".into()),
        ("decision.block_count", MetadataValue::Count(2)),
        ("decision.temperature.choice.3_5", MetadataValue::Float(1.5)),
        ("decision.temperature.noul", MetadataValue::Float(0.75)),
    ] {
        model.metadata.push((format!("lfm2.{key}"), value));
    }
    let mut add = |name: &str, shape: &[usize]| model.add(Naming::Gguf, name, "unused", shape);
    add("token_types.weight", &[3, 64]);
    for layer in [4, 5] {
        for (name, n_rows, width) in [
            ("attn_norm", 64, 0),
            ("attn_qkv", 192, 64),
            ("attn_output", 64, 64),
            ("ffn_norm", 64, 0),
            ("ffn_up", 256, 64),
            ("ffn_down", 64, 256),
        ] {
            let shape = if width == 0 { vec![n_rows] } else { vec![n_rows, width] };
            add(&format!("blk.{layer}.{name}.weight"), &shape);
            add(&format!("blk.{layer}.{name}.bias"), &[n_rows]);
        }
    }
    for (name, shape) in [("cls.norm", &[64][..]), ("cls", &[64, 64]), ("cls.output", &[1, 64])] {
        add(&format!("{name}.weight"), shape);
        add(&format!("{name}.bias"), &shape[..1]);
    }
    model
}

fn network(files: &Weights) -> EmbeddingModelNetwork {
    let checkpoint = EmbeddingCheckpoint::read_scorer(files).unwrap();
    Compute::native(2, CacheType::F16).load_embedding(&checkpoint).unwrap()
}

#[test]
fn scores_are_those_of_other_implementations() {
    let golden = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/decisions.json")).unwrap();
    let golden: Json = serde_json::from_slice(&golden).unwrap();
    let network = network(&tiny().gguf(&[]));
    for name in ["a", "b"] {
        let ids: Vec<u32> = serde_json::from_value(golden["ids"][name].clone()).unwrap();
        let expect: Vec<f32> = serde_json::from_value(golden["scores"][name].clone()).unwrap();
        let all: Vec<usize> = (0..ids.len()).collect();
        for question_type in 0..3 {
            let found = network.scores(&ids, question_type, &all).unwrap();
            let expect = expect.iter().skip(question_type as usize).step_by(3);
            // f32 against double precision, for scores up to 1.
            let furthest = found.iter().zip(expect).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(furthest < 1e-5, "{name}, type {question_type}: {furthest}");
        }
    }
    assert_eq!(network.scores(&[1, 2], 0, &[2]).unwrap_err().kind(), ErrorKind::Internal);
    assert_eq!(network.scores(&[1, 384], 0, &[0]).unwrap_err().kind(), ErrorKind::Internal);
}

#[test]
fn temperatures_are_found_by_type_and_number_of_options() {
    let temperatures = OptionTemperatures::read(&tiny().gguf(&[])).unwrap();
    for (question_type, n_options, expect) in
        [("choice", 2, 1.0), ("choice", 3, 1.5), ("choice", 5, 1.5), ("choice", 6, 1.0), ("noul", 2, 0.75), ("score", 3, 1.0)]
    {
        assert_eq!(temperatures.of(question_type, n_options), expect, "{question_type}, {n_options}");
    }
    let wrong = tiny().gguf(&[("lfm2.decision.temperature.score", MetadataValue::Float(0.0))]);
    assert!(OptionTemperatures::read(&wrong).unwrap_err().message().contains("decision.temperature.score must be"));
}

#[test]
fn a_model_that_scores_options_is_described_whole() {
    for (key, value, expect) in [
        ("decision.block_count", MetadataValue::Count(6), "decision.block_count must be from 1 to less than 6, found 6"),
        ("attention.causal", true.into(), "lfm2.attention.causal must be false"),
        ("attention.layer_norm_epsilon", MetadataValue::Float(0.0), "layer_norm_epsilon must be above 0"),
    ] {
        let mut model = tiny();
        let key = format!("lfm2.{key}");
        model.metadata.retain(|(known, _)| *known != key);
        let err = EmbeddingCheckpoint::read_scorer(&model.gguf(&[(&key, value)])).err().unwrap();
        assert!(err.message().contains(expect), "{err}");
    }
    let mut model = tiny();
    model.tensors.retain(|(name, ..)| name != "blk.5.attn_qkv.bias");
    let checkpoint = EmbeddingCheckpoint::read_scorer(&model.gguf(&[])).unwrap();
    let err = Compute::native(1, CacheType::F16).load_embedding(&checkpoint).err().unwrap();
    assert!(err.message().contains("blk.5.attn_qkv.bias"), "{err}");
}
