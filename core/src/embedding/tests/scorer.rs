//! A decision model that scores options: a network that reads in both directions, with a part of its own.

use std::cell::Cell;
use std::ops::ControlFlow;

use serde_json::{Value as Json, json};

use super::networks::lfm2;
use super::tiny::{Naming, TinyModel, values};
use crate::checkpoint::{DecisionType, EmbeddingCheckpoint, OptionTemperatures, decision_type};
use crate::decide::{DecisionOptions, DecisionQuestion, DecisionState, decide_scored};
use crate::error::{ErrorKind, Result, SdkError};
use crate::model::{Compute, EmbeddingModelNetwork, Inputs, Model};
use crate::options::{CacheType, GenerationOptions, LoadOptions};
use crate::runner::{EngineSettings, ModelRunner};
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
    model.config["model_type"] = "d1_omni".into();
    model.config["calibration"] = json!({ "choice:3-5": 1.5, "noul": 0.75, "score:11+": 2.0 });
    model.tensors.iter_mut().for_each(|(_, in_folder, ..)| *in_folder = format!("encoder.{in_folder}"));
    let mut add = |name: &str, folder: &str, shape: &[usize]| model.add(Naming::Gguf, name, folder, shape);
    add("token_types.weight", "head.type_emb.weight", &[3, 64]);
    for layer in [0, 1] {
        for (name, folder, n_rows, width) in [
            ("attn_norm", "norm1.", 64, 0),
            ("attn_qkv", "self_attn.in_proj_", 192, 64),
            ("attn_output", "self_attn.out_proj.", 64, 64),
            ("ffn_norm", "norm2.", 64, 0),
            ("ffn_up", "linear1.", 256, 64),
            ("ffn_down", "linear2.", 64, 256),
        ] {
            let shape = if width == 0 { vec![n_rows] } else { vec![n_rows, width] };
            for (kind, shape) in [("weight", &shape[..]), ("bias", &shape[..1])] {
                let folder = format!("head.head.layers.{layer}.{folder}{kind}");
                add(&format!("blk.{}.{name}.{kind}", 4 + layer), &folder, shape);
            }
        }
    }
    for (name, at, shape) in [("cls.norm", 0, &[64][..]), ("cls", 1, &[64, 64]), ("cls.output", 3, &[1, 64])] {
        for (kind, shape) in [("weight", shape), ("bias", &shape[..1])] {
            add(&format!("{name}.{kind}"), &format!("head.scorer.{at}.{kind}"), shape);
        }
    }
    model
}

/// The tiny lfm3 of the reference: convolutions, a window in the second layer and full attention in the fourth.
fn lfm3(decision_type: &str) -> TinyModel {
    let metadata = [
        ("block_count", MetadataValue::Count(5)),
        ("context_length", MetadataValue::Count(64)),
        ("embedding_length", MetadataValue::Count(64)),
        ("attention.head_count", MetadataValue::Count(4)),
        ("attention.head_count_kv", MetadataValue::Integers(vec![0, 2, 0, 2, 0])),
        ("attention.key_length", MetadataValue::Count(16)),
        ("attention.value_length", MetadataValue::Count(16)),
        ("attention.layer_norm_rms_epsilon", MetadataValue::Float(1e-5)),
        ("attention.causal", false.into()),
        ("attention.sliding_window", MetadataValue::Count(4)),
        ("attention.sliding_window_pattern", MetadataValue::Flags(vec![false, true, false, false, false])),
        ("rope.freq_base", MetadataValue::Float(1e6)),
        ("rope.freq_base_swa", MetadataValue::Float(1e4)),
        ("decision.type", decision_type.into()),
    ];
    let mut model = TinyModel::new("lfm3", Json::Null, &metadata);
    let mut add = |name: &str, shape: &[usize]| model.add(Naming::Gguf, &format!("{name}.weight"), "unused", shape);
    add("token_embd", &[384, 64]);
    add("output_norm", &[64]);
    for layer in 0..5 {
        let mut parts = vec![
            ("attn_norm", vec![64]),
            ("ffn_norm", vec![64]),
            ("post_attention_norm", vec![64]),
            ("post_ffw_norm", vec![64]),
            ("ffn_gate", vec![128, 64]),
            ("ffn_up", vec![128, 64]),
            ("ffn_down", vec![64, 128]),
        ];
        parts.extend(match layer % 2 {
            0 => vec![
                ("shortconv.in_proj", vec![192, 64]),
                ("shortconv.conv", vec![64, 3]),
                ("shortconv.out_proj", vec![64, 64]),
            ],
            _ => vec![
                ("attn_q", vec![64, 64]),
                ("attn_k", vec![32, 64]),
                ("attn_v", vec![32, 64]),
                ("attn_output", vec![64, 64]),
                ("attn_gate", vec![4, 64]),
                ("attn_q_norm", vec![16]),
                ("attn_k_norm", vec![16]),
            ],
        });
        parts.iter().for_each(|(name, shape)| add(&format!("blk.{layer}.{name}"), shape));
    }
    // From 1 to 4.
    let values = values("rope_freqs.weight", &[8], Naming::HuggingFace);
    let values = values.iter().map(|value| 1.0 + 3.0 * (2.0 * (value - 1.0) + 0.5)).collect();
    model.tensors.push(("rope_freqs.weight".to_owned(), "unused".to_owned(), vec![8], values));
    model
}

fn network(files: &Weights) -> EmbeddingModelNetwork {
    let checkpoint = EmbeddingCheckpoint::read_scorer(files).unwrap();
    Compute::native(2, CacheType::F16).load_embedding(&checkpoint, &mut |_| ControlFlow::Continue(())).unwrap()
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
fn logits_after_whole_prompts_are_those_of_other_implementations() {
    let golden = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/decisions.json")).unwrap();
    let golden: Json = serde_json::from_slice(&golden).unwrap();
    let go_on = &mut |_| ControlFlow::Continue(());
    let compute = Compute::native(2, CacheType::F32);
    let model = Model::load_whole(&lfm3("lfm3-d1").gguf(&[]), compute.clone(), 64, go_on).unwrap();
    for name in ["a", "b"] {
        let ids: Vec<u32> = serde_json::from_value(golden["ids"][name].clone()).unwrap();
        let expect: Vec<f32> = serde_json::from_value(golden["whole_logits"][name].clone()).unwrap();
        let mut logits = Vec::new();
        model.forward_one(Inputs::Tokens(&ids), &mut *model.start().unwrap(), &mut logits).unwrap();
        // f32 against double precision, for logits up to 19.
        let furthest = logits.iter().zip(&expect).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(furthest < 1e-4, "{name}: {furthest}");
    }
    // It writes nothing, and its type belongs to its architecture.
    assert!(Model::load(&lfm3("lfm3-d1").gguf(&[]), None, compute.clone(), 64, go_on).is_err());
    let other = Model::load_whole(&lfm3("lfm2-d1").gguf(&[]), compute, 64, go_on).err().unwrap();
    assert!(other.message().contains("lfm3.decision.type must be \"lfm3-d1\", found \"lfm2-d1\""), "{other}");
}

#[test]
fn folders_are_known_by_their_class() {
    let of_class = |class: &str| {
        let mut model = lfm2(false);
        model.config["auto_map"] = json!({ "AutoModel": class });
        decision_type(&model.folder().open())
    };
    assert_eq!(of_class("modeling_d1.D1Model").unwrap(), Some(DecisionType::Logits));
    assert_eq!(of_class("modeling.Lfm2Model").unwrap(), None);
    assert_eq!(decision_type(&tiny().folder().open()).unwrap(), Some(DecisionType::Options));
    let mut other = lfm2(false);
    other.config["model_type"] = "lfm3".into();
    other.config["auto_map"] = json!({ "AutoModel": "modeling_d1.D1Model" });
    let err = decision_type(&other.folder().open()).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::ModelLoad);
    assert!(err.message().contains("of architecture \"lfm3\" must be a GGUF file"), "{err}");
}

#[test]
fn a_folder_that_scores_options_is_the_same_model() {
    let mut model = longer(tiny());
    model.config["max_position_embeddings"] = 512.into();
    let folder = model.folder();
    let write = |name: &str, json: Json| std::fs::write(folder.path().join(name), json.to_string()).unwrap();
    let metadata = vocabulary();
    let MetadataValue::Texts(tokens) = &metadata[2].1 else { panic!("the tokens are texts") };
    let is_control = |token: &str| token.starts_with("<|");
    let added: Vec<Json> = (0..).zip(tokens).filter(|(_, token)| is_control(token)).map(added_token).collect();
    let vocabulary: serde_json::Map<String, Json> =
        tokens.iter().zip(0..).map(|(token, id): (_, u32)| (token.clone(), id.into())).collect();
    let pieces = json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true });
    write(
        "tokenizer.json",
        json!({
            "added_tokens": added, "pre_tokenizer": pieces, "decoder": pieces,
            "model": { "type": "BPE", "vocab": vocabulary, "merges": [] },
        }),
    );
    write(
        "tokenizer_config.json",
        json!({ "bos_token": "<|startoftext|>", "eos_token": "<|im_end|>", "mask_token": "<|mask|>" }),
    );
    let questions = [
        DecisionQuestion::predicate("Is the water hot?"),
        DecisionQuestion::choice("Which?", ["hall", "kitchen", "garden"]),
        DecisionQuestion::score("How urgent?", (0..11).map(|level| level.to_string())),
    ];
    let decide = |runner: ModelRunner| runner.decide("The kettle boils.", &questions).unwrap();
    let from_folder = decide(load(folder.open(), LoadOptions::default()).unwrap());
    let score = [("lfm2.decision.temperature.score.11", MetadataValue::Float(2.0))];
    assert_eq!(from_folder, decide(runner(&model, &score).unwrap()));
    let embeds = EmbeddingCheckpoint::read(&folder.open()).err().unwrap();
    assert!(embeds.message().contains("a decision model embeds no texts"), "{embeds}");
    // Without its layers and its temperatures.
    model.tensors.retain(|(_, in_folder, ..)| !in_folder.starts_with("head.head."));
    let err = EmbeddingCheckpoint::read_scorer(&model.folder().open()).err().unwrap();
    assert!(err.message().contains("tensor head.head.layers.0.norm1.weight is missing"), "{err}");
    model.config["calibration"]["noul"] = 0.into();
    let err = OptionTemperatures::read(&model.folder().open()).unwrap_err();
    assert!(err.message().contains("the temperature noul in config.json must be"), "{err}");
}

fn added_token((id, content): (u32, &String)) -> Json {
    json!({
        "id": id, "content": content, "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
    })
}

#[test]
fn temperatures_are_found_by_type_and_number_of_options() {
    let temperatures = OptionTemperatures::read(&tiny().gguf(&[])).unwrap();
    for (question_type, n_options, expect) in [
        ("choice", 2, 1.0),
        ("choice", 3, 1.5),
        ("choice", 5, 1.5),
        ("choice", 6, 1.0),
        ("noul", 2, 0.75),
        ("score", 3, 1.0),
    ] {
        assert_eq!(temperatures.of(question_type, n_options), expect, "{question_type}, {n_options}");
    }
    let wrong = tiny().gguf(&[("lfm2.decision.temperature.score", MetadataValue::Float(0.0))]);
    assert!(OptionTemperatures::read(&wrong).unwrap_err().message().contains("decision.temperature.score must be"));
}

#[test]
fn a_model_that_scores_options_is_described_whole() {
    for (key, value, expect) in [
        (
            "decision.block_count",
            MetadataValue::Count(6),
            "decision.block_count must be from 1 to less than 6, found 6",
        ),
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
    let err = Compute::native(1, CacheType::F16)
        .load_embedding(&checkpoint, &mut |_| ControlFlow::Continue(()))
        .err()
        .unwrap();
    assert!(err.message().contains("blk.5.attn_qkv.bias"), "{err}");
}

/// A vocabulary whose tokens are bytes: ASCII from 256 on, as in the reference, and delimiters among the first ids.
fn vocabulary() -> Vec<(&'static str, MetadataValue)> {
    let hidden = (0..=255u8).filter(|byte| !matches!(byte, 33..=126 | 161..=172 | 174..=255));
    let stand_ins: Vec<(u8, char)> = hidden.zip('\u{100}'..).collect();
    let symbol = |byte: u8| {
        let stand_in = stand_ins.iter().find(|(hidden, _)| *hidden == byte);
        stand_in.map_or(char::from(byte), |(_, symbol)| *symbol)
    };
    let control = |id: usize| match id {
        1 => "<|startoftext|>".to_owned(),
        2 => "<|im_start|>".to_owned(),
        3 => "<|im_end|>".to_owned(),
        7..=11 => format!("<|reserved_{id}|>"),
        12 => "<|mask|>".to_owned(),
        _ => format!("<|unused_{id}|>"),
    };
    let token = |id: usize| match id {
        13..=140 => symbol((id - 13 + 128) as u8).to_string(), // 128 to 255
        256..=383 => symbol((id - 256) as u8).to_string(),     // ASCII
        id => control(id),
    };
    let is_text = |id: usize| matches!(id, 13..=140 | 256..=383);
    vec![
        ("tokenizer.ggml.model", "gpt2".into()),
        ("tokenizer.ggml.pre", "lfm2".into()),
        ("tokenizer.ggml.tokens", MetadataValue::Texts((0..384).map(token).collect())),
        (
            "tokenizer.ggml.token_type",
            MetadataValue::Integers((0..384).map(|id| if is_text(id) { 1 } else { 3 }).collect()),
        ),
        ("tokenizer.ggml.merges", MetadataValue::Texts(Vec::new())),
        ("tokenizer.ggml.bos_token_id", MetadataValue::Count(1)),
        ("tokenizer.ggml.eos_token_id", MetadataValue::Count(3)),
        ("tokenizer.ggml.mask_token_id", MetadataValue::Count(12)),
        ("tokenizer.ggml.add_bos_token", false.into()),
    ]
}

/// The same model for more tokens than the reference's texts have.
fn longer(mut model: TinyModel) -> TinyModel {
    let length = model.metadata.iter_mut().find(|(key, _)| key.ends_with("context_length"));
    length.unwrap().1 = MetadataValue::Count(512);
    model
}

fn runner(model: &TinyModel, more: &[(&str, MetadataValue)]) -> Result<ModelRunner> {
    load(model.gguf(&[vocabulary(), more.to_vec()].concat()), LoadOptions::default())
}

fn load(files: Weights, options: LoadOptions) -> Result<ModelRunner> {
    let go_on = &mut |_, _| ControlFlow::Continue(());
    ModelRunner::from_weights(files, options, EngineSettings::default(), go_on)
}

#[test]
fn a_model_that_scores_options_decides_and_writes_nothing() {
    let runner = runner(&longer(tiny()), &[]).unwrap();
    let state = "The kettle boils.";
    let questions = [
        DecisionQuestion::predicate("Is the water hot?"),
        DecisionQuestion::choice("Which?", ["hall", "kitchen", "garden"]),
        DecisionQuestion::score("How urgent?", ["calm", "soon"]),
    ];
    let decisions = runner.decide(state, &questions).unwrap();
    // The sequences, byte by byte, and the scores by the network, whose values are compared above.
    let bytes = |text: &str| text.bytes().map(|byte| 256 + u32::from(byte)).collect::<Vec<u32>>();
    let network = network(&longer(tiny()).gguf(&[]));
    for (at, (question, options, question_type, temperature)) in [
        (
            "Is the water hot?",
            &[" false: no, the statement does not hold", " true: yes, the statement holds"][..],
            2,
            0.75,
        ),
        ("Which?", &[" hall", " kitchen", " garden"], 0, 1.5),
        ("How urgent?", &[" level 0: calm", " level 1: soon"], 1, 1.0),
    ]
    .into_iter()
    .enumerate()
    {
        let mut ids = [vec![1, 7], bytes(state), vec![8], bytes(question)].concat();
        let mut marks = Vec::new();
        for option in options {
            marks.push(ids.len() + 1);
            ids.extend([vec![9, 12], bytes(option), vec![10]].concat());
        }
        ids.push(11);
        let scores = network.scores(&ids, question_type, &marks).unwrap();
        let powers: Vec<f64> = scores.iter().map(|score| (f64::from(*score) / temperature).exp()).collect();
        let mut expect: Vec<f64> = powers.iter().map(|power| power / powers.iter().sum::<f64>()).collect();
        if question_type == 2 {
            expect.reverse(); // yes comes first in answers
        }
        let answer = &decisions.answers[at];
        let found = answer.outcome.probabilities();
        assert!(found.iter().zip(&expect).all(|(a, b)| (a - b).abs() < 1e-12), "{question}: {found:?}, {expect:?}");
        assert!(answer.is_answered && answer.label_probability == 1.0);
    }
    assert_eq!(decisions.usage.cached_tokens, 0);
    let reply = runner.complete("The kettle", GenerationOptions::default()).into_iter().find_map(|event| event.err());
    assert_eq!(reply.unwrap().kind(), ErrorKind::UnsupportedContent);
    let pictured = runner.decide(DecisionState::from("At noon:").with_image(b"GIF89a".to_vec()), &questions[..1]);
    assert_eq!(pictured.unwrap_err().kind(), ErrorKind::UnsupportedContent);
}

#[test]
fn the_rotations_of_a_model_that_scores_options_are_limited() {
    let runner = runner(&longer(tiny()), &[]).unwrap();
    let choice = DecisionQuestion::choice("?", (0..50).map(|n| n.to_string()));
    let options = DecisionOptions { rotations: Some(50), ..Default::default() };
    let err = runner.decide_with("", &vec![choice; 21], options).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::InvalidArgument);
    assert!(err.message().contains("at most 1024, found 1050"), "{err}");
}

/// A token of text would let texts bring rows that are scored.
#[test]
fn the_token_that_is_scored_must_be_a_control_token_of_its_own() {
    for id in [9, 1, 300] {
        let mut metadata = vocabulary();
        metadata.retain(|(key, _)| !key.ends_with("mask_token_id"));
        metadata.push(("tokenizer.ggml.mask_token_id", MetadataValue::Count(id)));
        let err = load(tiny().gguf(&metadata), LoadOptions::default()).unwrap_err();
        assert_eq!(err.kind(), ErrorKind::ModelLoad);
        assert!(err.message().contains("a control token of its own"), "{id}: {err}");
    }
}

#[test]
fn loading_a_model_that_scores_options_reports_and_can_be_cancelled() {
    let load = |most: usize| {
        let mut shares = Vec::new();
        let progress = &mut |_, share| {
            shares.push(share);
            if shares.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let files = longer(tiny()).gguf(&vocabulary());
        let loaded = ModelRunner::from_weights(files, LoadOptions::default(), EngineSettings::default(), progress);
        (loaded.map(drop).map_err(|err| err.kind()), shares)
    };
    let (loaded, shares) = load(usize::MAX);
    loaded.unwrap();
    // Before each of four layers, and at the end.
    assert!(shares.len() == 5 && shares.is_sorted() && shares[4] == 1.0, "{shares:?}");
    assert_eq!(load(2).0, Err(ErrorKind::LoadCancelled));
}

/// Each sequence asks whether the model is still wanted, also within one question.
#[test]
fn a_question_ends_between_its_rotations() {
    let runner = runner(&longer(tiny()), &[]).unwrap();
    let options = DecisionOptions { rotations: Some(3), ..Default::default() };
    let question = DecisionQuestion::choice("Which?", ["hall", "kitchen", "garden"]);
    let n_steps = Cell::new(0);
    let model = || {
        n_steps.set(n_steps.get() + 1);
        match n_steps.get() {
            5 => Err(SdkError::new(ErrorKind::ModelUnloaded, "the model was unloaded")),
            _ => runner.loaded(),
        }
    };
    // The state, the question, and two of three sequences.
    let err = decide_scored(&model, (&"The kettle boils.".into(), &[question]), &options).unwrap_err();
    assert_eq!((err.kind(), n_steps.get()), (ErrorKind::ModelUnloaded, 5));
}

#[test]
fn a_model_that_is_read_after_whole_prompts_needs_its_template() {
    let missing = runner(&longer(lfm3("lfm3-d1")), &[]).unwrap_err();
    assert!(missing.message().contains("tokenizer.chat_template.systemone is missing"), "{missing}");
    let template = "{{ bos_token }}{{ state }} {{ instructions }} ";
    let template = ("tokenizer.chat_template.systemone", template.into());
    let runner = runner(&longer(lfm3("lfm3-d1")), &[template]).unwrap();
    let question = DecisionQuestion::choice("Which?", ["hall", "garden"]);
    let answer = runner.decide("It boils.", &[question]).unwrap().answers.remove(0);
    let go_on = &mut |_| ControlFlow::Continue(());
    let model =
        Model::load_whole(&longer(lfm3("lfm3-d1")).gguf(&[]), Compute::native(1, CacheType::F16), 512, go_on).unwrap();
    let ids: Vec<u32> = [1].into_iter().chain("It boils. Which? ".bytes().map(|byte| 256 + u32::from(byte))).collect();
    let mut logits = Vec::new();
    model.forward_one(Inputs::Tokens(&ids), &mut *model.start().unwrap(), &mut logits).unwrap();
    let logit = |code: u8| f64::from(logits[256 + usize::from(code)]);
    let expect = 1.0 / (1.0 + (logit(b'B') - logit(b'A')).exp());
    let found = answer.outcome.probabilities();
    assert!((found[0] - expect).abs() < 1e-12, "{found:?}, {expect}");
}

#[test]
fn prompts_that_are_computed_in_one_step_are_limited() {
    let mut model = lfm3("lfm3-d1");
    let length = model.metadata.iter_mut().find(|(key, _)| key.ends_with("context_length"));
    length.unwrap().1 = MetadataValue::Count(100_000);
    let template = ("tokenizer.chat_template.systemone", "{{ bos_token }}{{ state }}".into());
    let files = model.gguf(&[vocabulary(), vec![template]].concat());
    let runner = load(files, LoadOptions { context_size: Some(100_000), ..Default::default() }).unwrap();
    let err = runner.decide("x".repeat(16_384), &[DecisionQuestion::predicate("Ok?")]).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::PromptExceedsContext { needed: 16_385, available: 16_384 });
}
