//! Tiny models whose weights follow from the names of their tensors, compared with what other implementations gave.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::checkpoint::EmbeddingCheckpoint;
use crate::embedding::pooling::{pooled, wanted};
use crate::embedding::vectors::{late_interaction, normalise};
use crate::embedding::{EmbedOptions, EmbeddingModel, EmbeddingModelOptions, RerankOptions, TextUse};
use crate::error::ErrorKind;
use crate::model::{Compute, EmbeddingModelNetwork, TextTokens};
use crate::options::{CacheType, LoadOptions};
use crate::runner::{ModelRunner, Prompt};
use crate::weights::testing::{TinyFolder, TinyTensor};
use crate::weights::{MetadataValue, ModelBytes, TensorLayout, TensorType, Weights, gguf_header, padding};

/// The vectors of F32 weights agree up to rounding: values of up to 4, of which sums over 64 to 128 products are taken six times.
const TOLERANCE: f32 = 1e-4;

fn golden(name: &str) -> Json {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/embeddings.json");
    let all: Json = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    all[name].clone()
}

fn floats(json: &Json) -> Vec<f32> {
    match json {
        Json::Array(values) => values.iter().flat_map(floats).collect(),
        value => vec![value.as_f64().unwrap() as f32],
    }
}

fn ids(kind: &str) -> [Vec<u32>; 2] {
    serde_json::from_value(golden("ids")[kind].clone()).unwrap()
}

#[track_caller]
fn assert_near(found: &[f32], expect: &[f32]) {
    assert_eq!(found.len(), expect.len());
    let largest = found.iter().zip(expect).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(largest <= TOLERANCE, "found a difference of {largest}");
}

/// Which values a tensor's name gives.
#[derive(Clone, Copy, PartialEq)]
enum Naming {
    Gguf,
    HuggingFace,
}

/// The values of a tensor, from 0 to 1: SplitMix64 of the name's FNV-1a hash.
fn hashed(name: &str, n: usize) -> impl Iterator<Item = f64> {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    name.bytes().for_each(|byte| hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    (1..=n as u64).map(move |i| {
        let mut x = hash.wrapping_add(i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^= x >> 31;
        (x >> 40) as f64 / (1u64 << 24) as f64
    })
}

fn values(name: &str, shape: &[usize], naming: Naming) -> Vec<f32> {
    let (is_norm, is_bias) = match naming {
        Naming::Gguf => (name.contains("norm") && name.ends_with(".weight"), name.ends_with(".bias")),
        Naming::HuggingFace => (shape.len() == 1 && !name.ends_with("bias"), name.ends_with("bias")),
    };
    let is_table = match naming {
        Naming::Gguf => name.starts_with("token_embd") || name.starts_with("token_types"),
        Naming::HuggingFace => name.to_lowercase().contains("embed") && shape.len() == 2,
    };
    let scale = (3.0 / *shape.last().unwrap() as f64).sqrt();
    let value = |u: f64| {
        let v = 2.0 * u - 1.0;
        match () {
            () if is_norm => 1.0 + v / 4.0,
            () if is_bias => v / 4.0,
            () if is_table => v,
            () => v * scale,
        }
    };
    hashed(name, shape.iter().product()).map(|u| value(u) as f32).collect()
}

/// A tiny model in both forms of files.
struct TinyModel {
    config: Json,
    metadata: Vec<(String, MetadataValue)>,
    /// The names in GGUF files and in folders, the shape, and the values, whose folders may lack one.
    tensors: Vec<(String, String, Vec<usize>, Vec<f32>)>,
    folder_norms_lack_one: bool,
}

impl TinyModel {
    fn new(architecture: &str, config: Json, metadata: &[(&str, MetadataValue)]) -> Self {
        let named = |(key, value): &(&str, MetadataValue)| (format!("{architecture}.{key}"), value.clone());
        let general = ("general.architecture".to_owned(), MetadataValue::from(architecture));
        let metadata = std::iter::once(general).chain(metadata.iter().map(named)).collect();
        Self { config, metadata, tensors: Vec::new(), folder_norms_lack_one: false }
    }

    fn add(&mut self, naming: Naming, gguf: &str, folder: &str, shape: &[usize]) {
        let values = values(if naming == Naming::Gguf { gguf } else { folder }, shape, naming);
        self.tensors.push((gguf.to_owned(), folder.to_owned(), shape.to_vec(), values));
    }

    fn folder(&self) -> TinyFolder {
        let tensor = |(_, name, shape, values): &(String, String, Vec<usize>, Vec<f32>)| -> TinyTensor {
            let lacks_one = self.folder_norms_lack_one && shape.len() == 1;
            let values = values.iter().map(|value| if lacks_one { value - 1.0 } else { *value });
            // Convolutions have a middle dimension in folders.
            let shape = if name.ends_with("conv.conv.weight") { vec![shape[0], 1, shape[1]] } else { shape.clone() };
            (name.clone(), shape, values.collect())
        };
        TinyFolder::new(&self.config.to_string(), &self.tensors.iter().map(tensor).collect::<Vec<_>>())
    }

    fn gguf(&self, more: &[(&str, MetadataValue)]) -> Weights {
        let more = more.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
        let metadata: Vec<_> = self.metadata.iter().cloned().chain(more).collect();
        let layout = |(name, _, shape, _): &(String, String, Vec<usize>, Vec<f32>)| TensorLayout {
            name: name.clone(),
            shape: shape.clone(),
            tensor_type: TensorType::F32,
        };
        let layouts: Vec<_> = self.tensors.iter().map(layout).collect();
        let mut bytes = gguf_header(&metadata, &layouts);
        for ((.., values), layout) in self.tensors.iter().zip(&layouts) {
            bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            bytes.extend(padding(layout.n_bytes()));
        }
        Weights::from_bytes(ModelBytes::from(bytes)).unwrap()
    }
}

fn network(files: &Weights) -> (EmbeddingModelNetwork, EmbeddingCheckpoint) {
    let checkpoint = EmbeddingCheckpoint::read(files).unwrap();
    (Compute::native(2, CacheType::F16).load_embedding(&checkpoint).unwrap(), checkpoint)
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
        ("block_count", 3.into()),
        ("context_length", 64.into()),
        ("attention.head_count", 4.into()),
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
        ("block_count", 3.into()),
        ("context_length", 64.into()),
        ("attention.head_count", 4.into()),
        ("attention.head_count_kv", 2.into()),
        ("attention.key_length", 16.into()),
        ("attention.value_length", 16.into()),
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
    model.metadata.iter_mut().filter(|(key, _)| key.ends_with("context_length")).for_each(|(_, value)| *value = 2048.into());
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
        ("block_count", 6.into()),
        ("context_length", 64.into()),
        ("embedding_length", 64.into()),
        ("attention.head_count", 4.into()),
        ("attention.head_count_kv", 1.into()),
        ("attention.key_length", 16.into()),
        ("attention.value_length", 16.into()),
        ("attention.layer_norm_rms_epsilon", MetadataValue::Float(1e-6)),
        ("attention.sliding_window", 8.into()),
        ("rope.freq_base", MetadataValue::Float(1e6)),
        ("pooling_type", 1.into()),
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
    let dense = [("dense_2.weight", "2_Dense.linear.weight", [96, 64]), ("dense_3.weight", "3_Dense.linear.weight", [64, 96])];
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
        write(&folder, &format!("{path}/config.json"), &json!({ "activation_function": "torch.nn.modules.linear.Identity" }));
        let inner = TinyFolder::empty().with_file("model.safetensors", &[tensor]);
        std::fs::copy(inner.path().join("model.safetensors"), folder.path().join(&path).join("model.safetensors")).unwrap();
        let entry = json!({ "idx": at, "name": at.to_string(), "path": path, "type": "sentence_transformers.models.Dense" });
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

fn lfm2(is_bidirectional: bool) -> TinyModel {
    let class = if is_bidirectional { "Lfm2BidirectionalModel" } else { "Lfm2ForCausalLM" };
    let config = json!({
        "model_type": "lfm2", "architectures": [class], "num_hidden_layers": 4, "num_attention_heads": 4,
        "num_key_value_heads": 2, "hidden_size": 64, "norm_eps": 1e-5, "rope_theta": 1e6, "vocab_size": 384,
        "max_position_embeddings": 64, "layer_types": ["conv", "full_attention", "conv", "full_attention"],
    });
    let metadata = [
        ("block_count", 4.into()),
        ("context_length", 64.into()),
        ("attention.head_count", 4.into()),
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
    assert!(ModelRunner::load_with(&fixture("bert"), LoadOptions::default()).is_err());
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
    for (modules, pooling, expect) in [
        (json!({}), json!({}), "modules.json must be an array"),
        (json!([{ "type": "a.Transformer", "path": "0_Transformer" }]), json!({}), "module 0 in modules.json"),
        (json!([{ "type": "a.CNN", "path": "" }]), json!({}), "module 0 in modules.json (CNN) is not supported"),
        (json!([{ "type": "a.Pooling", "path": "../1" }]), json!({}), "must have a path in the folder"),
        (pooling_modules(), json!({ "pooling_mode": ["cls", "mean"] }), "must be mean, cls or lasttoken"),
        (pooling_modules(), json!({ "pooling_mode_max_tokens": true }), "must be mean, cls or lasttoken"),
    ] {
        write(&folder, "modules.json", &modules);
        write(&folder, "1_Pooling/config.json", &pooling);
        let found = refused(&folder.open());
        assert!(found.contains(expect), "{found}");
    }
}

fn fixture(name: &str) -> String {
    format!("{}/../tests/fixtures/models/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn load(name: &str) -> EmbeddingModel {
    EmbeddingModel::load(fixture(name)).unwrap()
}

#[test]
fn texts_become_the_tokens_of_the_reference_in_both_forms_of_files() {
    let golden = golden("tokens");
    for model in ["bert", "bert-f16.gguf"] {
        let weights = Weights::open(&fixture(model)).unwrap();
        let tokenizer = crate::tokenizer::ModelTokenizer::load(&weights).unwrap();
        let frames = tokenizer.frames();
        for case in golden["single"].as_array().unwrap() {
            let text = tokenizer.encode_plain(case["text"].as_str().unwrap()).unwrap();
            let found = [&frames.before[..], &text, &frames.after].concat();
            assert_eq!(json!(found), case["ids"], "{model}: {case}");
        }
        let pair = frames.pair.as_ref().unwrap();
        for case in golden["pairs"].as_array().unwrap() {
            let [first, second] =
                ["first", "second"].map(|name| tokenizer.encode_plain(case[name].as_str().unwrap()).unwrap());
            let found = [&pair.before[..], &first, &pair.between, &second, &pair.after].concat();
            assert_eq!(json!(found), case["ids"], "{model}: {case}");
            let n_first = pair.before.len() + first.len() + pair.between.len();
            let types: Vec<u32> = (0..found.len()).map(|at| if at < n_first { 0 } else { pair.second_type }).collect();
            assert_eq!(json!(types), case["types"], "{model}: {case}");
        }
    }
}

#[test]
fn texts_become_the_vectors_and_the_scores_of_the_reference() {
    let golden = golden("tokens");
    let texts: Vec<&str> = golden["single"].as_array().unwrap()[..2].iter().map(|case| case["text"].as_str().unwrap()).collect();
    let found = load("bert").embed(texts, EmbedOptions::default()).unwrap();
    assert_near(&found.vectors.concat(), &floats(&golden["unit_means"]));
    let ranker = load("bert-rank-f16.gguf");
    for case in golden["pairs"].as_array().unwrap() {
        let [first, second] = ["first", "second"].map(|name| case[name].as_str().unwrap());
        let found = ranker.rerank(first, [second], RerankOptions::default()).unwrap();
        assert_near(&[found.results[0].relevance], &floats(&case["relevance"]));
        assert_eq!(found.n_tokens, case["ids"].as_array().unwrap().len());
    }
}

#[test]
fn a_folder_and_a_file_give_the_same_vectors() {
    let texts = ["a man eats bread", "the rocket", "reading ÉTÉ!"];
    let options = |text_use| EmbedOptions { text_use, ..EmbedOptions::default() };
    let [folder, file] = ["bert", "bert-f16.gguf"].map(|name| load(name).embed(texts, options(TextUse::Unspecified)).unwrap());
    assert_eq!(folder.n_tokens, file.n_tokens);
    for (a, b) in folder.vectors.iter().zip(&file.vectors) {
        assert_near(a, b);
    }
    // The file has no prompts: they are given instead.
    let query = load("bert").embed(texts, options(TextUse::Query)).unwrap();
    let prompt = Some("query: ".to_owned());
    let given = load("bert-f16.gguf").embed(texts, EmbedOptions { prompt, ..EmbedOptions::default() }).unwrap();
    assert_eq!(query.vectors, given.vectors);
    assert_ne!(query.vectors, folder.vectors);
}

#[test]
fn a_text_that_is_too_long_keeps_its_closing_token() {
    let model = load("bert");
    let long = "man ".repeat(100);
    let embedded = model.embed(["a", &long, "b"], EmbedOptions::default()).unwrap();
    assert_eq!(embedded.truncated, [1]);
    let max_tokens = model.info().max_tokens;
    assert_eq!(embedded.n_tokens, 3 + max_tokens + 3);
    // [CLS] and [SEP] of the fixture.
    let man = golden("tokens")["man"].as_u64().unwrap() as u32;
    let ids: Vec<u32> = [2].into_iter().chain(vec![man; max_tokens - 2]).chain([3]).collect();
    let by_ids = model.embed([Prompt::Tokens(ids)], EmbedOptions::default()).unwrap();
    assert_eq!(embedded.vectors[1], by_ids.vectors[0]);
    let options = EmbedOptions { truncates: false, ..EmbedOptions::default() };
    let err = model.embed(["a", &long], options).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::PromptExceedsContext { needed: 102, available: max_tokens });
    assert!(err.message().starts_with("texts[1]: "), "{err}");
}

#[test]
fn shorter_vectors_have_the_length_1_again() {
    let model = load("bert");
    let whole = model.embed(["a man"], EmbedOptions::default()).unwrap();
    let part = model.embed(["a man"], EmbedOptions { dimensions: Some(8), ..EmbedOptions::default() }).unwrap();
    let mut expect = whole.vectors[0][..8].to_vec();
    normalise(&mut expect);
    assert_near(&part.vectors[0], &expect);
    for dimensions in [0, 33] {
        let options = EmbedOptions { dimensions: Some(dimensions), ..EmbedOptions::default() };
        assert_eq!(model.embed(["a"], options).unwrap_err().kind(), ErrorKind::InvalidOption("dimensions"));
    }
}

#[test]
fn what_a_model_cannot_do_is_an_error() {
    let model = load("bert");
    assert!(model.info().embeds && !model.info().ranks && !model.info().embeds_tokens);
    let err = model.rerank("a", ["b"], RerankOptions::default()).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::UnsupportedContent);
    assert_eq!(model.embed_tokens(["a"], EmbedOptions::default()).unwrap_err().kind(), ErrorKind::UnsupportedContent);
    let unknown = model.embed([Prompt::Tokens(vec![2, 100_000])], EmbedOptions::default()).unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::InvalidMessage);
    let none = model.embed([Prompt::Tokens(Vec::new())], EmbedOptions::default()).unwrap_err();
    assert_eq!(none.kind(), ErrorKind::InvalidMessage);
    let ranker = load("bert-rank-f16.gguf");
    assert!(ranker.info().ranks && !ranker.info().embeds);
    assert_eq!(ranker.embed(["a"], EmbedOptions::default()).unwrap_err().kind(), ErrorKind::UnsupportedContent);
    let options = RerankOptions { instruction: Some("x".to_owned()), ..RerankOptions::default() };
    assert_eq!(ranker.rerank("a", ["b"], options).unwrap_err().kind(), ErrorKind::InvalidOption("instruction"));
    assert!(model.embed(Vec::<String>::new(), EmbedOptions::default()).unwrap().vectors.is_empty());
    let small = EmbeddingModelOptions { context_size: Some(16), ..EmbeddingModelOptions::default() };
    assert_eq!(EmbeddingModel::load_with(fixture("bert"), small).unwrap().info().max_tokens, 16);
}

#[test]
fn documents_are_ranked_and_a_score_does_not_depend_on_the_others() {
    let ranker = load("bert-rank-f16.gguf");
    let documents = ["the rocket", "a man eats bread", "reading", "bread"];
    let ranking = ranker.rerank("who eats", documents, RerankOptions::default()).unwrap();
    assert!(ranking.results.windows(2).all(|pair| pair[1].relevance <= pair[0].relevance));
    for result in &ranking.results {
        let alone = ranker.rerank("who eats", [documents[result.index]], RerankOptions::default()).unwrap();
        assert_eq!(alone.results[0].relevance, result.relevance);
        assert!((0.0..=1.0).contains(&result.relevance));
    }
    let best = ranker.rerank("who eats", documents, RerankOptions { top_n: Some(2), ..Default::default() }).unwrap();
    assert_eq!(best.results, ranking.results[..2]);
    let cut = ranker.rerank("who", ["man ".repeat(200)], RerankOptions::default()).unwrap();
    assert_eq!((cut.truncated, cut.n_tokens), (vec![0], ranker.info().max_tokens));
}

#[test]
fn the_types_of_two_segments_count() {
    let (network, _) = network(&bert(1).gguf(&[("bert.pooling_type", MetadataValue::Count(4))]));
    let ids = ids("others").concat();
    let first = |types: &[u32]| network.rows(&[TextTokens { ids: &ids, types }], crate::model::WantedRows::First).unwrap();
    let types: Vec<u32> = (0..ids.len()).map(|at| u32::from(23 <= at)).collect();
    assert_ne!(first(&[]), first(&types));
    assert_eq!(first(&[]), first(&vec![0; ids.len()]));
}

#[test]
fn calls_on_several_threads_give_the_same() {
    let model = Arc::new(load("bert"));
    let expect = model.embed(["a man eats"], EmbedOptions::default()).unwrap();
    let threads = [(); 4].map(|()| {
        let model = Arc::clone(&model);
        std::thread::spawn(move || model.embed(["bread", "a man eats"], EmbedOptions::default()).unwrap())
    });
    for thread in threads {
        assert_eq!(thread.join().unwrap().vectors[1], expect.vectors[0]);
    }
}
