//! Descriptions that contradict the tensors, and tensors that nothing reads.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value as Json, json};

use super::refused::{check, patched};
use super::*;
use crate::tokenizer::ModelTokenizer;

/// A copy of a folder of the fixtures with a changed config.json; removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(fixture_name: &str, test: &str, change: impl FnOnce(&mut Json)) -> Self {
        let folder = std::env::temp_dir().join(format!("causerie-agreement-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        for entry in fs::read_dir(fixture(fixture_name)).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
        }
        let mut config: Json = serde_json::from_slice(&fs::read(folder.join("config.json")).unwrap()).unwrap();
        change(&mut config);
        fs::write(folder.join("config.json"), config.to_string()).unwrap();
        Self(folder)
    }

    /// Adds a tensor of one value at the end of the weights.
    fn add_tensor(&self, name: &str) {
        let path = self.0.join("model.safetensors");
        let bytes = fs::read(&path).unwrap();
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let mut header: Json = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
        let n_bytes = bytes.len() - 8 - length;
        header[name] = json!({"dtype": "F32", "shape": [1], "data_offsets": [n_bytes, n_bytes + 4]});
        let header = header.to_string();
        let parts = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &bytes[8 + length..], &[0; 4]];
        fs::write(path, parts.concat()).unwrap();
    }

    /// Makes a tensor refer to new values at the end of the weights, a column of zeros in a sparse file.
    fn replace_tensor(&self, name: &str, n_rows: usize) {
        let path = self.0.join("model.safetensors");
        let bytes = fs::read(&path).unwrap();
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let mut header: Json = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
        let n_bytes = bytes.len() - 8 - length;
        header["replaced"] = header[name].take();
        header[name] = json!({"dtype": "F32", "shape": [n_rows, 1], "data_offsets": [n_bytes, n_bytes + 4 * n_rows]});
        let header = header.to_string();
        let parts = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &bytes[8 + length..]].concat();
        let n_all = parts.len() + 4 * n_rows;
        fs::write(&path, parts).unwrap();
        fs::File::options().write(true).open(path).unwrap().set_len(n_all as u64).unwrap();
    }

    fn sizes(&self) -> Result<Sizes> {
        Sizes::read(&Checkpoint::read(&Weights::open(self.0.to_str().unwrap())?)?)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn sizes(file: &str, key: &str, value: &[u8]) -> Result<Sizes> {
    Sizes::read(&Checkpoint::read(&Weights::from_bytes(patched(file, key, value).into())?)?)
}

#[test]
fn sizes_of_metadata_are_those_of_the_tensors() {
    let (three, many) = (3u32.to_le_bytes(), u32::MAX.to_le_bytes());
    for (file, key, value, expect) in [
        (
            "lfm2-f32.gguf",
            "lfm2.block_count",
            three,
            "must count all layers that have tensors, found 3 and tensor blk.",
        ),
        (
            "llama3-q8_0.gguf",
            "llama.attention.head_count",
            [0; 4],
            "llama.attention.head_count must be above 0, found 0",
        ),
        (
            "llama3-q8_0.gguf",
            "llama.attention.head_count_kv",
            three,
            "head_count_kv must be 2, as the tensors of layer 0",
        ),
        ("llama3-q8_0.gguf", "llama.feed_forward_length", three, "feed_forward_length must be 64, as the tensors"),
        (
            "qwen2-q5_1.gguf",
            "qwen2.embedding_length",
            many,
            "qwen2.embedding_length must be 32, as the embedding has it",
        ),
        ("qwen2-q5_1.gguf", "qwen2.embedding_length", [0; 4], "qwen2.embedding_length must be above 0, found 0"),
        ("llama3-q8_0.gguf", "llama.vocab_size", many, "vocab_size must be at most"),
        ("lfm2moe-q8_0.gguf", "lfm2moe.expert_count", three, "expert_count must be"),
        ("lfm2moe-q8_0.gguf", "lfm2moe.expert_feed_forward_length", three, "expert_feed_forward_length must be"),
        ("granite-f32.gguf", "granite.residual_scale", 1e30f32.to_le_bytes(), "scales must be between"),
        ("granite-f32.gguf", "granite.logit_scale", 1e-30f32.to_le_bytes(), "scales must be between"),
        ("llama3-q8_0.gguf", "llama.rope.freq_base", 1e30f32.to_le_bytes(), "settings of rotary positions must be"),
        ("llama3-q8_0.gguf", "llama.attention.layer_norm_rms_epsilon", 9f32.to_le_bytes(), "epsilon of norms must be"),
    ] {
        check(sizes(file, key, &value), expect);
    }
}

#[test]
fn sizes_of_config_json_are_those_of_the_tensors() {
    for (folder, key, value, expect) in [
        (
            "lfm2-hf",
            "num_hidden_layers",
            json!(3),
            "must count all layers that have tensors, found 3 and tensor model.",
        ),
        (
            "llama3",
            "hidden_size",
            json!(64),
            "hidden_size in config.json must be 32, as the embedding has it, found 64",
        ),
        ("llama3", "intermediate_size", json!(63), "intermediate_size in config.json must be"),
        ("llama3", "num_key_value_heads", json!(1), "num_key_value_heads in config.json must be 2"),
        ("llama3", "vocab_size", json!(1 << 30), "vocab_size in config.json must be at most"),
        ("granite4", "shared_intermediate_size", json!(1), "shared_intermediate_size in config.json must be"),
        ("lfm2moe", "num_experts", json!(9), "num_experts in config.json must be"),
        ("lfm2moe", "routed_scaling_factor", json!(0), "the scale of experts must be between"),
        ("qwen3", "num_attention_heads", json!(3), "num_attention_heads in config.json must be"),
    ] {
        let folder = Folder::new(folder, &format!("{folder}-{key}"), |config| config[key] = value);
        check(folder.sizes(), expect);
    }
}

/// An order of rows is a list, so a sparse file must not make it long.
#[test]
fn tensors_with_too_many_rows_to_reorder_are_refused() {
    let folder = Folder::new("llama3", "rows", |_| {});
    let n_rows = (1 << 20) + 32;
    folder.replace_tensor("model.layers.0.self_attn.q_proj.weight", n_rows);
    check(folder.sizes(), "q_proj.weight must have at most 1048576 rows, found 1048608");
}

#[test]
fn ids_of_tokens_are_in_the_vocabulary() {
    for key in ["bos_token_id", "eos_token_id", "padding_token_id"] {
        let key = format!("tokenizer.ggml.{key}");
        for id in [u32::MAX, 1 << 20] {
            let bytes = patched("lfm2-q4_k.gguf", &key, &id.to_le_bytes());
            let tokenizer = ModelTokenizer::load(&Weights::from_bytes(bytes.into()).unwrap());
            check(tokenizer, &format!("metadata {key} must be a token of the vocabulary"));
        }
    }
}

/// Blocks that predict further tokens, rotary tables and vision models are left alone, and listed.
#[test]
fn tensors_that_nothing_reads_are_listed() {
    let unread = |name: &str| load_sizes(name).unread;
    assert_eq!(unread("llama3-f32.gguf"), Vec::<String>::new());
    assert_eq!(unread("llama3"), Vec::<String>::new());
    assert_eq!(unread("qwen35"), ["model.visual.merger.norm.weight", "mtp.norm.weight"]);
    let further = sizes("qwen35-f32.gguf", "qwen35.nextn_predict_layers", &1u32.to_le_bytes()).unwrap().unread;
    assert!(further.len() == 11 && further.iter().all(|name| name.starts_with("blk.3.")), "{further:?}");
    // Early folders of Llama have a table of frequencies in each layer.
    let rotary = Folder::new("llama3", "rotary", |_| {});
    rotary.add_tensor("model.layers.0.self_attn.rotary_emb.inv_freq");
    assert_eq!(rotary.sizes().unwrap().unread, ["model.layers.0.self_attn.rotary_emb.inv_freq"]);
    let beyond = Folder::new("llama3", "beyond", |_| {});
    beyond.add_tensor("model.layers.9.input_layernorm.weight");
    check(beyond.sizes(), "found 3 and tensor model.layers.9.input_layernorm.weight");
    let counted = Folder::new("llama3", "counted", |config| config["num_nextn_predict_layers"] = json!(7));
    counted.add_tensor("model.layers.9.input_layernorm.weight");
    assert_eq!(counted.sizes().unwrap().unread, ["model.layers.9.input_layernorm.weight"]);
}

fn load_sizes(file: &str) -> Sizes {
    let weights = Weights::open(fixture(file).to_str().unwrap()).unwrap();
    Sizes::read(&Checkpoint::read(&weights).unwrap()).unwrap()
}
