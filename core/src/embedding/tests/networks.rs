//! Networks, pooling and maps.

use std::ops::ControlFlow;

use serde_json::{Value as Json, json};

use super::tiny::{Naming, TinyModel, values};
use super::{assert_near, floats, golden, ids};
use crate::checkpoint::EmbeddingCheckpoint;
use crate::embedding::pooling::{pooled, wanted};
use crate::embedding::vectors::{late_interaction, normalise};
use crate::error::ErrorKind;
use crate::model::{Compute, EmbeddingModelNetwork, TextTokens};
use crate::options::CacheType;
use crate::weights::testing::TinyFolder;
use crate::weights::{MetadataValue, Weights};

fn network(files: &Weights) -> (EmbeddingModelNetwork, EmbeddingCheckpoint) {
    let checkpoint = EmbeddingCheckpoint::read(files).unwrap();
    (
        Compute::native(2, CacheType::F16).load_embedding(&checkpoint, &mut |_| ControlFlow::Continue(())).unwrap(),
        checkpoint,
    )
}

/// The vectors of texts after pooling and maps, as files say.
fn vectors(files: &Weights, texts: &[Vec<u32>]) -> Vec<Vec<f32>> {
    let (network, checkpoint) = network(files);
    let pooling = checkpoint.facts.pooling.unwrap();
    let of_batch = |texts: &[Vec<u32>]| -> Vec<Vec<f32>> {
        let tokens: Vec<_> = texts.iter().map(|ids| TextTokens { ids, types: &[] }).collect();
        let rows = network.rows(&tokens, wanted(pooling)).unwrap();
        rows.into_iter().map(|rows| network.map(pooled(pooling, rows, network.hidden(), 0)).unwrap()).collect()
    };
    let together = of_batch(texts);
    let alone: Vec<Vec<f32>> = texts.iter().flat_map(|text| of_batch(std::slice::from_ref(text))).collect();
    assert_eq!(together, alone, "the same bits alone and in a batch");
    together
}

fn bert(labels: usize) -> TinyModel {
    let config = json!({
        "model_type": "bert", "num_hidden_layers": 3, "num_attention_heads": 4, "hidden_size": 64,
        "layer_norm_eps": 1e-12, "max_position_embeddings": 64, "hidden_act": "gelu",
    });
    let metadata = [
        ("block_count", MetadataValue::Count(3)),
        ("context_length", MetadataValue::Count(64)),
        ("attention.head_count", MetadataValue::Count(4)),
        ("attention.layer_norm_epsilon", MetadataValue::Float(1e-12)),
        ("attention.causal", false.into()),
    ];
    let mut model = TinyModel::new("bert", config, &metadata);
    let mut add = |gguf: &str, folder: &str, shape: &[usize]| model.add(Naming::HuggingFace, gguf, folder, shape);
    add("token_embd.weight", "embeddings.word_embeddings.weight", &[384, 64]);
    add("position_embd.weight", "embeddings.position_embeddings.weight", &[64, 64]);
    add("token_types.weight", "embeddings.token_type_embeddings.weight", &[2, 64]);
    let mut pair = |gguf: &str, folder: &str, shape: &[usize]| {
        add(&format!("{gguf}.weight"), &format!("{folder}.weight"), shape);
        add(&format!("{gguf}.bias"), &format!("{folder}.bias"), &shape[..1]);
    };
    pair("token_embd_norm", "embeddings.LayerNorm", &[64]);
    for layer in 0..3 {
        for (gguf, folder, shape) in [
            ("attn_q", "attention.self.query", &[64, 64][..]),
            ("attn_k", "attention.self.key", &[64, 64]),
            ("attn_v", "attention.self.value", &[64, 64]),
            ("attn_output", "attention.output.dense", &[64, 64]),
            ("attn_output_norm", "attention.output.LayerNorm", &[64]),
            ("ffn_up", "intermediate.dense", &[128, 64]),
            ("ffn_down", "output.dense", &[64, 128]),
            ("layer_output_norm", "output.LayerNorm", &[64]),
        ] {
            pair(&format!("blk.{layer}.{gguf}"), &format!("encoder.layer.{layer}.{folder}"), shape);
        }
    }
    if labels != 0 {
        pair("cls", "pooler.dense", &[64, 64]);
        pair("cls.output", "classifier", &[labels, 64]);
    }
    model
}

#[test]
fn bert_gives_the_vectors_of_transformers() {
    let (ids, golden) = (ids("others"), golden("bert"));
    let folder = bert(0).folder();
    assert_near(&vectors(&folder.open(), &ids).concat(), &floats(&golden["mean"]));
    for (pooling, name) in [(1, "mean"), (2, "cls")] {
        let file = bert(0).gguf(&[("bert.pooling_type", MetadataValue::Count(pooling))]);
        assert_near(&vectors(&file, &ids).concat(), &floats(&golden[name]));
    }
}

fn qwen3() -> TinyModel {
    let config = json!({
        "model_type": "qwen3", "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
        "hidden_size": 64, "intermediate_size": 128, "rms_norm_eps": 1e-6, "rope_theta": 1e6, "vocab_size": 384,
        "max_position_embeddings": 64, "tie_word_embeddings": true,
    });
    let metadata = [
        ("block_count", MetadataValue::Count(3)),
        ("context_length", MetadataValue::Count(64)),
        ("attention.head_count", MetadataValue::Count(4)),
        ("attention.head_count_kv", MetadataValue::Count(2)),
        ("attention.key_length", MetadataValue::Count(16)),
        ("attention.value_length", MetadataValue::Count(16)),
        ("attention.layer_norm_rms_epsilon", MetadataValue::Float(1e-6)),
        ("rope.freq_base", MetadataValue::Float(1e6)),
    ];
    let mut model = TinyModel::new("qwen3", config, &metadata);
    decoder_tensors(&mut model, Naming::HuggingFace, 3, "model.", (64, 32));
    model
}

/// The tensors of attention layers with gated blocks.
fn decoder_tensors(model: &mut TinyModel, naming: Naming, n_layers: usize, prefix: &str, (q, k): (usize, usize)) {
    let is_gemma = model.config["model_type"] == "gemma3_text";
    model.add(naming, "token_embd.weight", &format!("{prefix}embed_tokens.weight"), &[384, 64]);
    model.add(naming, "output_norm.weight", &format!("{prefix}norm.weight"), &[64]);
    for layer in 0..n_layers {
        let feed_forward_norm = if is_gemma { "pre_feedforward_layernorm" } else { "post_attention_layernorm" };
        let mut parts = vec![
            ("attn_norm", "input_layernorm", vec![64]),
            ("ffn_norm", feed_forward_norm, vec![64]),
            ("attn_q", "self_attn.q_proj", vec![q, 64]),
            ("attn_k", "self_attn.k_proj", vec![k, 64]),
            ("attn_v", "self_attn.v_proj", vec![k, 64]),
            ("attn_output", "self_attn.o_proj", vec![64, q]),
            ("attn_q_norm", "self_attn.q_norm", vec![16]),
            ("attn_k_norm", "self_attn.k_norm", vec![16]),
            ("ffn_gate", "mlp.gate_proj", vec![128, 64]),
            ("ffn_up", "mlp.up_proj", vec![128, 64]),
            ("ffn_down", "mlp.down_proj", vec![64, 128]),
        ];
        if is_gemma {
            parts.push(("post_attention_norm", "post_attention_layernorm", vec![64]));
            parts.push(("post_ffw_norm", "post_feedforward_layernorm", vec![64]));
        }
        for (gguf, folder, shape) in parts {
            let names = (format!("blk.{layer}.{gguf}.weight"), format!("{prefix}layers.{layer}.{folder}.weight"));
            model.add(naming, &names.0, &names.1, &shape);
        }
    }
}

#[test]
fn qwen3_gives_the_last_row_and_the_logits_of_labels_of_transformers() {
    let (ids, golden) = (ids("others"), golden("qwen3"));
    let last = ("qwen3.pooling_type", MetadataValue::Count(3));
    assert_near(&vectors(&qwen3().gguf(&[last]), &ids).concat(), &floats(&golden["last"]));
    // The rows of the labels as a head of their own, and the labels in the other order.
    let mut ranker = qwen3();
    let rows = ranker.tensors[0].3[100 * 64..102 * 64].to_vec();
    ranker.tensors.push(("cls.output.weight".to_owned(), "score.weight".to_owned(), vec![2, 64], rows));
    let labels = MetadataValue::Texts(vec!["yes".to_owned(), "no".to_owned()]);
    let rank = [("qwen3.pooling_type", MetadataValue::Count(4)), ("qwen3.classifier.output_labels", labels)];
    assert_near(&vectors(&ranker.gguf(&rank), &ids).concat(), &floats(&golden["labels"]));
    // The same by modules of a folder.
    let folder = qwen3().folder();
    let modules = json!([
        { "idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer" },
        { "idx": 1, "name": "1", "path": "1_LogitScore", "type": "sentence_transformers.models.LogitScore" },
    ]);
    write(&folder, "modules.json", &modules);
    write(&folder, "1_LogitScore/config.json", &json!({ "true_token_id": 100, "false_token_id": 101 }));
    assert_near(&vectors(&folder.open(), &ids).concat(), &floats(&golden["labels"]));
    let pooling = json!({ "pooling_mode_lasttoken": true, "pooling_mode_mean_tokens": false });
    write(&folder, "1_Pooling/config.json", &pooling);
    write(&folder, "modules.json", &pooling_modules());
    assert_near(&vectors(&folder.open(), &ids).concat(), &floats(&golden["last"]));
}

fn pooling_modules() -> Json {
    json!([
        { "idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer" },
        { "idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling" },
    ])
}

fn write(folder: &TinyFolder, name: &str, json: &Json) {
    let path = folder.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, json.to_string()).unwrap();
}

#[test]
fn a_long_text_that_is_read_from_left_to_right_is_computed_in_chunks() {
    let mut model = qwen3();
    model
        .metadata
        .iter_mut()
        .filter(|(key, _)| key.ends_with("context_length"))
        .for_each(|(_, value)| *value = MetadataValue::Count(2048));
    let (network, _) = network(&model.gguf(&[("qwen3.pooling_type", MetadataValue::Count(3))]));
    let long: Vec<u32> = (0..1300).map(|at| (at * 7 % 384) as u32).collect();
    let tokens = [TextTokens { ids: &long, types: &[] }];
    let last = network.rows(&tokens, crate::model::WantedRows::Last).unwrap().concat();
    let all = network.rows(&tokens, crate::model::WantedRows::All).unwrap().concat();
    assert_eq!(last, all[1299 * 64..]);
}

fn embedding_gemma() -> TinyModel {
    let config = json!({
        "model_type": "gemma3_text", "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads": 1,
        "head_dim": 16, "hidden_size": 64, "intermediate_size": 128, "rms_norm_eps": 1e-6, "rope_theta": 1e6,
        "rope_local_base_freq": 1e4, "vocab_size": 384, "max_position_embeddings": 64, "sliding_window": 8,
        "query_pre_attn_scalar": 16, "use_bidirectional_attention": true,
    });
    let metadata = [
        ("block_count", MetadataValue::Count(6)),
        ("context_length", MetadataValue::Count(64)),
        ("embedding_length", MetadataValue::Count(64)),
        ("attention.head_count", MetadataValue::Count(4)),
        ("attention.head_count_kv", MetadataValue::Count(1)),
        ("attention.key_length", MetadataValue::Count(16)),
        ("attention.value_length", MetadataValue::Count(16)),
        ("attention.layer_norm_rms_epsilon", MetadataValue::Float(1e-6)),
        ("attention.sliding_window", MetadataValue::Count(8)),
        ("rope.freq_base", MetadataValue::Float(1e6)),
        ("pooling_type", MetadataValue::Count(1)),
    ];
    let mut model = TinyModel::new("gemma-embedding", config, &metadata);
    model.folder_norms_lack_one = true;
    decoder_tensors(&mut model, Naming::HuggingFace, 6, "", (64, 16));
    model
}

#[test]
fn embedding_gemma_gives_the_vectors_of_transformers() {
    let (ids, golden) = (ids("others"), golden("embeddinggemma"));
    assert_near(&vectors(&embedding_gemma().gguf(&[]), &ids).concat(), &floats(&golden["mean"]));
    let mut model = embedding_gemma();
    let dense =
        [("dense_2.weight", "2_Dense.linear.weight", [96, 64]), ("dense_3.weight", "3_Dense.linear.weight", [64, 96])];
    for (gguf, folder, shape) in dense {
        model.add(Naming::HuggingFace, gguf, folder, &shape);
    }
    let check = |files: &Weights| {
        let mut found = vectors(files, &ids);
        assert_near(&found.concat(), &floats(&golden["dense"]));
        found.iter_mut().for_each(|vector| normalise(vector));
        assert_near(&found.concat(), &floats(&golden["normalised"]));
    };
    check(&model.gguf(&[]));
    let folder = embedding_gemma().folder();
    let mut modules = pooling_modules();
    for (at, (_, _, shape)) in [2, 3].into_iter().zip(&dense) {
        let path = format!("{at}_Dense");
        let named = (format!("{path}.linear.weight"), shape.to_vec());
        let tensor = ("linear.weight".to_owned(), named.1.clone(), values(&named.0, &named.1, Naming::HuggingFace));
        write(
            &folder,
            &format!("{path}/config.json"),
            &json!({ "activation_function": "torch.nn.modules.linear.Identity" }),
        );
        let inner = TinyFolder::empty().with_file("model.safetensors", &[tensor]);
        std::fs::copy(inner.path().join("model.safetensors"), folder.path().join(&path).join("model.safetensors"))
            .unwrap();
        let entry =
            json!({ "idx": at, "name": at.to_string(), "path": path, "type": "sentence_transformers.models.Dense" });
        modules.as_array_mut().unwrap().push(entry);
    }
    write(&folder, "modules.json", &modules);
    write(&folder, "1_Pooling/config.json", &json!({ "pooling_mode": "mean", "embedding_dimension": 64 }));
    check(&folder.open());
    // A map whose activation the file does not state is Tanh.
    write(&folder, "3_Dense/config.json", &json!({}));
    let squashed: Vec<f32> = floats(&golden["dense"]).iter().map(|x| x.tanh()).collect();
    assert_near(&vectors(&folder.open(), &ids).concat(), &squashed);
}

pub(super) fn lfm2(is_bidirectional: bool) -> TinyModel {
    let class = if is_bidirectional { "Lfm2BidirectionalModel" } else { "Lfm2ForCausalLM" };
    let config = json!({
        "model_type": "lfm2", "architectures": [class], "num_hidden_layers": 4, "num_attention_heads": 4,
        "num_key_value_heads": 2, "hidden_size": 64, "norm_eps": 1e-5, "rope_theta": 1e6, "vocab_size": 384,
        "max_position_embeddings": 64, "layer_types": ["conv", "full_attention", "conv", "full_attention"],
    });
    let metadata = [
        ("block_count", MetadataValue::Count(4)),
        ("context_length", MetadataValue::Count(64)),
        ("attention.head_count", MetadataValue::Count(4)),
        ("attention.head_count_kv", MetadataValue::Integers(vec![0, 2, 0, 2])),
        ("attention.layer_norm_rms_epsilon", MetadataValue::Float(1e-5)),
        ("attention.causal", (!is_bidirectional).into()),
        ("rope.freq_base", MetadataValue::Float(1e6)),
    ];
    let mut model = TinyModel::new("lfm2", config, &metadata);
    let mut add = |gguf: &str, folder: &str, shape: &[usize]| model.add(Naming::Gguf, gguf, folder, shape);
    add("token_embd.weight", "embed_tokens.weight", &[384, 64]);
    add("token_embd_norm.weight", "embedding_norm.weight", &[64]);
    for layer in 0..4 {
        let mut parts = vec![
            ("attn_norm", "operator_norm", vec![64]),
            ("ffn_norm", "ffn_norm", vec![64]),
            ("ffn_gate", "feed_forward.w1", vec![128, 64]),
            ("ffn_down", "feed_forward.w2", vec![64, 128]),
            ("ffn_up", "feed_forward.w3", vec![128, 64]),
        ];
        parts.extend(match layer % 2 {
            0 => vec![
                ("shortconv.in_proj", "conv.in_proj", vec![192, 64]),
                ("shortconv.conv", "conv.conv", vec![64, 3]),
                ("shortconv.out_proj", "conv.out_proj", vec![64, 64]),
            ],
            _ => vec![
                ("attn_q", "self_attn.q_proj", vec![64, 64]),
                ("attn_k", "self_attn.k_proj", vec![32, 64]),
                ("attn_v", "self_attn.v_proj", vec![32, 64]),
                ("attn_output", "self_attn.out_proj", vec![64, 64]),
                ("attn_q_norm", "self_attn.q_layernorm", vec![16]),
                ("attn_k_norm", "self_attn.k_layernorm", vec![16]),
            ],
        });
        for (gguf, folder, shape) in parts {
            add(&format!("blk.{layer}.{gguf}.weight"), &format!("layers.{layer}.{folder}.weight"), &shape);
        }
    }
    model
}

#[test]
fn lfm2_reads_in_both_directions() {
    let (ids, golden) = (ids("lfm2"), golden("lfm2"));
    for (pooling, name) in [(1, "mean"), (2, "cls")] {
        let file = lfm2(true).gguf(&[("lfm2.pooling_type", MetadataValue::Count(pooling))]);
        assert_near(&vectors(&file, &ids).concat(), &floats(&golden[name]));
    }
    let folder = lfm2(true).folder();
    write(&folder, "modules.json", &pooling_modules());
    write(&folder, "1_Pooling/config.json", &json!({ "pooling_mode_cls_token": true }));
    let found = vectors(&folder.open(), &ids);
    assert_near(&found.concat(), &floats(&golden["cls"]));
    // From left to right, the first row is the same for all texts.
    let causal = lfm2(false).gguf(&[("lfm2.pooling_type", MetadataValue::Count(2))]);
    let found = vectors(&causal, &ids);
    assert_eq!(found[0], found[1]);
    assert_near(&found[0], &floats(&golden["causal_cls"]));
}

#[test]
fn colbert_gives_a_vector_for_each_token() {
    let (ids, golden) = (ids("lfm2"), golden("lfm2"));
    let mut model = lfm2(true);
    model.add(Naming::Gguf, "dense_2.weight", "unused", &[32, 64]);
    let found = vectors(&model.gguf(&[]), &ids);
    for (found, expect) in found.iter().zip(golden["rows"].as_array().unwrap()) {
        assert_near(found, &floats(expect));
    }
    let unit = |rows: &Vec<f32>| {
        let mut rows: Vec<Vec<f32>> = rows.chunks_exact(32).map(<[f32]>::to_vec).collect();
        rows.iter_mut().for_each(|row| normalise(row));
        rows
    };
    let [a, b] = [unit(&found[0]), unit(&found[1])];
    assert_near(&[late_interaction(&a, &b), late_interaction(&b, &a)], &floats(&golden["maxsim"]));
}

#[test]
fn decoders_that_read_in_both_directions_write_nothing() {
    for weights in [lfm2(true).gguf(&[]), embedding_gemma().gguf(&[]), bert(0).gguf(&[])] {
        let loaded = crate::model::Model::load(&weights, None, Compute::native(1, CacheType::F16), 64, &mut |_| {
            std::ops::ControlFlow::Continue(())
        });
        let err = loaded.err().unwrap();
        assert_eq!(err.kind(), ErrorKind::ModelLoad);
        assert!(err.message().contains("it is loaded as an EmbeddingModel"), "{err}");
    }
}

#[test]
fn descriptions_that_would_be_computed_in_another_way_are_named() {
    let refused = |files: &Weights| EmbeddingCheckpoint::read(files).err().unwrap().message().to_owned();
    for (key, value, expect) in [
        ("bert.pooling_type", MetadataValue::Count(9), "must be from 0 to 4, found 9"),
        ("bert.pooling_type", MetadataValue::Count(4), "tensor cls.output.weight is missing"),
        ("bert.attention.causal", true.into(), "must be false"),
        ("bert.decision.type", "lev".into(), "a decision model (\"lev\") embeds no texts"),
    ] {
        let mut model = bert(0);
        model.metadata.retain(|(known, _)| known != key);
        let found = refused(&model.gguf(&[(key, value)]));
        assert!(found.contains(expect), "{found}");
    }
    let rank = [("bert.pooling_type", MetadataValue::Count(4))];
    assert!(refused(&bert(3).gguf(&rank)).contains("must have one row"), "three labels");
    let folder = bert(0).folder();
    let mean = || json!({ "pooling_mode": "mean" });
    let modules = |kinds: &[&str]| -> Json {
        let module = |kind: &&str| json!({ "type": format!("a.{kind}"), "path": if *kind == "Transformer" { "" } else { "1_Pooling" } });
        kinds.iter().map(module).collect()
    };
    for (modules, pooling, expect) in [
        (json!({}), json!({}), "modules.json must be an array"),
        (json!([{ "type": "a.Transformer", "path": "0_Transformer" }]), json!({}), "module 0 in modules.json"),
        (json!([]), json!({}), "modules.json must be an array of 1 to"),
        (modules(&["CNN"]), json!({}), "module 0 in modules.json must be a Transformer: CNN is not supported"),
        (modules(&["Pooling"]), json!({}), "module 0 in modules.json must be a Transformer: Pooling"),
        (modules(&["Transformer", "CNN"]), json!({}), "module 1 in modules.json (CNN) is not supported"),
        (modules(&["Transformer", "Transformer"]), json!({}), "(Transformer) is not supported after Transformer"),
        (modules(&["Transformer", "Normalize", "Pooling"]), mean(), "(Pooling) is not supported after Normalize"),
        (
            modules(&["Transformer", "Pooling", "Pooling"]),
            mean(),
            "module 2 in modules.json (Pooling) is not supported",
        ),
        (modules(&["Transformer", "Normalize", "Dense"]), mean(), "(Dense) is not supported after Normalize"),
        (modules(&["Transformer", "Pooling", "LogitScore"]), mean(), "(LogitScore) is not supported after Pooling"),
        (json!([{ "type": "a.Transformer", "path": "../1" }]), json!({}), "must have a path in the folder"),
        (pooling_modules(), json!({ "pooling_mode": ["cls", "mean"] }), "must be mean, cls or lasttoken"),
        (pooling_modules(), json!({ "pooling_mode_max_tokens": true }), "must be mean, cls or lasttoken"),
    ] {
        write(&folder, "modules.json", &modules);
        write(&folder, "1_Pooling/config.json", &pooling);
        let found = refused(&folder.open());
        assert!(found.contains(expect), "{found}");
    }
}

#[test]
fn the_types_of_two_segments_count() {
    let (network, _) = network(&bert(1).gguf(&[("bert.pooling_type", MetadataValue::Count(4))]));
    let ids = ids("others").concat();
    let first =
        |types: &[u32]| network.rows(&[TextTokens { ids: &ids, types }], crate::model::WantedRows::First).unwrap();
    let types: Vec<u32> = (0..ids.len()).map(|at| u32::from(23 <= at)).collect();
    assert_ne!(first(&[]), first(&types));
    assert_eq!(first(&[]), first(&vec![0; ids.len()]));
}

#[test]
fn layers_that_the_description_does_not_count_are_refused() {
    let refused = |files: &Weights| {
        let checkpoint = EmbeddingCheckpoint::read(files).unwrap();
        Compute::native(1, CacheType::F16)
            .load_embedding(&checkpoint, &mut |_| ControlFlow::Continue(()))
            .err()
            .unwrap()
            .message()
            .to_owned()
    };
    let mut model = bert(0);
    model.config["num_hidden_layers"] = json!(2);
    model.metadata.retain(|(key, _)| key != "bert.block_count");
    let count = [("bert.block_count", MetadataValue::Count(2)), ("bert.pooling_type", MetadataValue::Count(1))];
    for (found, name) in [
        (refused(&model.gguf(&count)), "blk.2.attn_q.weight"),
        (refused(&model.folder().open()), "encoder.layer.2.attention.self.query.weight"),
    ] {
        assert!(found.contains("must count all layers") && found.contains(name), "{found}");
    }
    let mut model = bert(0);
    model.tensors.retain(|(name, ..)| name != "blk.1.ffn_up.bias");
    let mean = [("bert.pooling_type", MetadataValue::Count(1))];
    assert!(refused(&model.gguf(&mean)).contains("blk.1.ffn_up.bias"), "a missing bias is named");
}
