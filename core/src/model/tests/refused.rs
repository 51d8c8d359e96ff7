//! Descriptions of models that cannot be computed. Each is refused with an error that names the fault.

use serde_json::{Value as Json, json};

use super::*;
use crate::checkpoint::Architecture;
use crate::checkpoint::{FAMILIES, read_config as read_unchecked};

#[track_caller]
pub(super) fn check(result: Result<impl Sized>, expect: &str) {
    let err = result.err().expect("it is refused");
    assert_eq!(err.kind(), ErrorKind::ModelLoad);
    assert!(err.to_string().contains(expect), "{err}");
}

/// The config.json of a fixture with changed keys.
fn config_of(folder: &str, changes: Json) -> Json {
    let text = std::fs::read(fixture(folder).join("config.json")).unwrap();
    let mut config: Json = serde_json::from_slice(&text).unwrap();
    for (key, value) in changes.as_object().unwrap() {
        config[key] = value.clone();
    }
    config
}

#[track_caller]
fn check_config(folder: &str, changes: Json, expect: &str) {
    check(read_config(&config_of(folder, changes)), expect);
}

fn read_config(config: &Json) -> Result<Architecture> {
    let architecture = read_unchecked(config)?;
    architecture.check()?;
    Ok(architecture)
}

/// A GGUF fixture in which the bytes of a value are overwritten.
#[track_caller]
fn check_metadata(file: &str, key: &str, value: &[u8], expect: &str) {
    check(load_patched(file, key, value), expect);
}

fn load_patched(file: &str, key: &str, value: &[u8]) -> Result<Model> {
    load_from(&Weights::from_bytes(patched(file, key, value).into())?)
}

pub(super) fn patched(file: &str, key: &str, value: &[u8]) -> Vec<u8> {
    let mut bytes = std::fs::read(fixture(file)).unwrap();
    let key_at = bytes.windows(key.len()).position(|window| window == key.as_bytes()).expect("the key is there");
    let at = key_at + key.len() + size_of::<u32>(); // after the type
    bytes[at..at + value.len()].copy_from_slice(value);
    bytes
}

/// A string in the form of the file.
fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
}

#[test]
fn architectures_that_are_unknown_are_named() {
    check_config("llama3", json!({"model_type": "gemma3"}), "architecture \"gemma3\" is not supported");
    check_config("llama3", json!({"model_type": null}), "must have a model_type");
    let key = "general.architecture";
    check_metadata("qwen2-f32.gguf", key, &text("qwen9"), "architecture \"qwen9\" is not supported");
}

#[test]
fn ways_of_scaling_that_are_unknown_are_named() {
    let warp = json!({"rope_scaling": {"type": "warp", "factor": 2.0}});
    check_config("smollm2", warp, "rope scaling \"warp\" is not supported");
    let longrope = json!({"rope_scaling": {"type": "longrope", "factor": 2.0}});
    check_config("smollm2", longrope, "config.json must have short_factor");
    check_config("smollm2", json!({"rope_scaling": {"rope_type": 3}}), "rope_type in config.json must be a string");
    check_config("smollm2", json!({"rope_scaling": "linear"}), "rope_scaling in config.json must be an object");
    check_config("smollm2", json!({"rope_scaling": {"type": "linear"}}), "must have factor");
    check_config("smollm2", json!({"partial_rotary_factor": 0.5}), "a part of each head");
    let key = "qwen2.rope.scaling.type";
    check_metadata("qwen2-f32.gguf", key, &text("warp"), "rope scaling \"warp\" is not supported");
}

#[test]
fn numbers_out_of_range_are_refused() {
    for (key, value, expect) in [
        ("num_hidden_layers", json!(0), "the number of layers must be from 1 to 1024, found 0"),
        ("num_hidden_layers", json!(u64::MAX), "the number of layers must be from 1 to 1024"),
        ("num_hidden_layers", json!(-1), "num_hidden_layers in config.json must be an integer"),
        ("num_hidden_layers", json!("3"), "num_hidden_layers in config.json must be an integer"),
        ("max_position_embeddings", json!(1u64 << 40), "the context size must be"),
        ("rms_norm_eps", json!(0), "the epsilon of norms must be above 0 and at most 0.1, found 0"),
        ("rms_norm_eps", json!(1e300), "the epsilon of norms must be above 0 and at most 0.1, found inf"),
        ("head_dim", json!(0), "the size of a head must be from 1 to 65536, found 0"),
        ("num_attention_heads", json!(u32::MAX), "the number of heads must be from 1 to"),
        ("rope_theta", json!(0), "settings of rotary positions must be above 0"),
        ("hidden_act", json!("gelu"), "activation \"gelu\" is not supported"),
        ("quantization_config", json!({"quant_method": "gptq"}), "weights quantised by \"gptq\" are not supported"),
    ] {
        check_config("smollm2", json!({ key: value }), expect);
    }
    let zero = json!({"rope_scaling": {"type": "linear", "factor": 0.0}});
    check_config("smollm2", zero, "settings of rotary positions must be above 0");
    let crossed = json!({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 4.0, "high_freq_factor": 4.0});
    check_config("llama3", json!({ "rope_scaling": crossed }), "settings of rotary positions must be above 0");
}

#[test]
fn what_would_be_computed_in_another_way_is_named() {
    for (folder, changes, expect) in [
        (
            "gemma4",
            json!({"use_bidirectional_attention": true}),
            "attention in both directions is not supported in architecture",
        ),
        ("gemma3", json!({"attn_logit_softcapping": 50.0}), "attn_logit_softcapping is not supported"),
        ("gemma3", json!({"hidden_activation": "silu"}), "activation \"silu\" is not supported"),
        ("gemma3", json!({"sliding_window": null}), "must have sliding_window, because layer 0"),
        ("gemma3", json!({"query_pre_attn_scalar": 0}), "scales must be between 0.000001 and 1000000, found inf"),
        ("gemma3", json!({"final_logit_softcapping": -1.0}), "scales must be between 0.000001 and 1000000, found -1"),
        ("gemma3", json!({"model_type": "gemma3n_text"}), "architecture \"gemma3n_text\" is not supported"),
        ("lfm3", json!({"layer_types": null}), "config.json must have layer_types"),
        ("lfm3", json!({"use_sandwich_norm": false}), "use_sandwich_norm must be true for architecture \"lfm3\""),
        ("lfm3", json!({"use_attention_gate": false}), "use_attention_gate must be true for architecture \"lfm3\""),
        (
            "lfm2-sliding",
            json!({"use_attention_gate": true}),
            "use_attention_gate must be false for architecture \"lfm2\"",
        ),
    ] {
        check_config(folder, changes, expect);
    }
    let quantised = json!({"quant_method": "modelopt", "quant_algo": "NVFP4"});
    check_config(
        "lfm3",
        json!({ "quantization_config": quantised }),
        "weights quantised by \"NVFP4\" are not supported",
    );
    let quantised = json!({"quant_method": "compressed-tensors", "format": "mxfp8-quantized"});
    let whole = json!({"text_config": config_of("lfm3", json!({})), "quantization_config": quantised});
    check(read_config(&whole), "weights quantised by \"mxfp8-quantized\" are not supported");
    check_metadata("lfm3-f32.gguf", "general.architecture", &text("clip"), "only a model's part for images");
}

#[test]
fn tensors_that_a_family_needs_are_named() {
    let without = |file: &str, tensor: &str| {
        let mut bytes = std::fs::read(fixture(file)).unwrap();
        let at =
            bytes.windows(tensor.len()).rposition(|window| window == tensor.as_bytes()).expect("the tensor is there");
        bytes[at] = b'x';
        load_from(&Weights::from_bytes(bytes.into())?)
    };
    for (file, tensor) in [
        ("lfm3-f32.gguf", "rope_freqs.weight"),
        ("lfm3-f32.gguf", "blk.1.attn_gate.weight"),
        ("lfm3-f32.gguf", "blk.0.post_attention_norm.weight"),
        ("gemma3-f32.gguf", "blk.3.post_ffw_norm.weight"),
    ] {
        check(without(file, tensor), &format!("tensor {tensor} is missing"));
    }
    let key = "lfm3.attention.sliding_window_pattern";
    check(without("lfm3-f32.gguf", key), &format!("metadata {key} is missing"));
}

#[test]
fn lists_of_layers_fit_the_layers() {
    check_config("lfm2-sliding", json!({"layer_types": ["conv"]}), "must have an entry for each of 4 layers");
    check_config("lfm2-sliding", json!({"layer_types": ["conv", "conv", "conv", "ring"]}), "type \"ring\"");
    check_config("lfm2-sliding", json!({"sliding_window": null}), "must have sliding_window, because layer 1");
    check_config("lfm2-sliding", json!({"sliding_window": 0}), "the attention window must be from 1 to");
    check_config("smollm3", json!({"no_rope_layers": [1, 1]}), "must have 0 or 1 for each of 4 layers");
}

#[test]
fn numbers_of_experts_fit_the_router() {
    let key = "lfm2moe.expert_used_count";
    for count in [0, 6, u32::MAX] {
        let expect = format!("a token must use 1 to 5 of the experts in layer 1, found {count}");
        check_metadata("lfm2moe-f32.gguf", key, &count.to_le_bytes(), &expect);
    }
    let key = "lfm2moe.expert_gating_func";
    check_metadata("lfm2moe-f32.gguf", key, &1u32.to_le_bytes(), "expert gating function must be 2, found 1");
    let key = "lfm2moe.expert_weights_scale";
    check_metadata("lfm2moe-f32.gguf", key, &f32::NAN.to_le_bytes(), "the scale of experts must be between");
}

#[test]
fn heads_of_delta_nets_fit_the_tensors() {
    let key = "qwen35.ssm.group_count";
    for count in [0, 3, 8, u32::MAX] {
        let expect =
            format!("the 256 channels of layer 0 must divide into {count} queries and keys, and 4 values of 32");
        check_metadata("qwen35-f32.gguf", key, &count.to_le_bytes(), &expect);
    }
    let file = "qwen35-f32.gguf";
    check_metadata(file, "qwen35.rope.dimension_count", &9u32.to_le_bytes(), "must be pairs of these, found 9");
    check_metadata(file, "qwen35.nextn_predict_layers", &4u32.to_le_bytes(), "the number of layers must be from 1");
    check_config("qwen35", json!({"text_config": {}}), "must have a model_type");
    let mut config = config_of("qwen35", json!({}));
    config["text_config"]["attn_output_gate"] = json!(false);
    check(read_config(&config), "attn_output_gate must be true");
}

#[test]
fn metadata_that_contradicts_the_tensors_is_refused() {
    let three = 3u32.to_le_bytes();
    check_metadata("smollm2-f32.gguf", "llama.rope.dimension_count", &three, "must divide into heads of 3");
    check_metadata(
        "smollm2-f32.gguf",
        "llama.rope.dimension_count",
        &[0; 4],
        "the size of a head must be from 1 to 65536, found 0",
    );
    check_metadata("smollm2-f32.gguf", "llama.block_count", &9u32.to_le_bytes(), "blk.3.attn_q.weight is missing");
    check_metadata("smollm2-f32.gguf", "llama.block_count", &[0xFF; 4], "the number of layers must be from 1 to 1024");
    check_metadata("llama3-f32.gguf", "llama.attention.value_length", &three, "are not supported");
    check_metadata("lfm2-f32.gguf", "general.architecture", &text("lama"), "architecture \"lama\" is not supported");
}

#[test]
fn stacked_tensors_have_the_rows_of_their_parts() {
    let nine = 9u32.to_le_bytes();
    let expect = "blk.0.attn_qkv.weight must have 27 rows for queries and as many for keys as for values, found 64";
    check_metadata("phi4-f32.gguf", "phi3.attention.head_count", &nine, expect);
    let three = 3u32.to_le_bytes();
    check_metadata(
        "phi4-f32.gguf",
        "phi3.attention.head_count",
        &three,
        "must divide into heads of 10, found 30 and 17",
    );
}

#[test]
fn factors_of_rotary_positions_fit_the_heads() {
    let eight = 8u32.to_le_bytes();
    let expect = "LongRoPE must have a factor for each of 4 pairs, found 6";
    check_metadata("phi4-f32.gguf", "phi3.rope.dimension_count", &eight, expect);
    let expect = "settings of rotary positions must be above 0";
    check_config("phi4", json!({"original_max_position_embeddings": 0}), expect);
    check_config("phi4", json!({"original_max_position_embeddings": 1}), expect);
    let factors = json!({"type": "longrope", "long_factor": [1.0, 0.0], "short_factor": [1.0]});
    check_config("phi4", json!({ "rope_scaling": factors }), expect);
    let factors = json!({"type": "longrope", "long_factor": ["1"], "short_factor": [1.0]});
    check_config("phi4", json!({ "rope_scaling": factors }), "long_factor in config.json must be an array of numbers");
    check_metadata("ministral3-f32.gguf", "mistral3.attention.temperature_scale", &f32::NAN.to_le_bytes(), expect);
}

#[test]
fn parts_of_granite_that_are_not_supported_are_named() {
    let layers = json!({"layer_types": ["attention", "mamba", "attention"]});
    check_config("granite4", layers, "layer 1 is a Mamba layer, which is not supported");
    check_config("granite4", json!({"num_local_experts": 8}), "experts are not supported in architecture");
    check_config("granite4", json!({"logits_scaling": 0}), "scales must be between 0.000001 and 1000000, found inf");
    let mut bytes = std::fs::read(fixture("granite4-f32.gguf")).unwrap();
    let at = bytes.windows(12).position(|window| window == b"blk.1.attn_q").unwrap();
    bytes[at..at + 12].copy_from_slice(b"blk.1.ssm_in");
    let weights = Weights::from_bytes(bytes.into()).unwrap();
    check(load_from(&weights), "layer 1 is a Mamba layer, which is not supported");
    check(
        Checkpoint::read(&weights).and_then(|it| Sizes::read(&it)),
        "layer 1 is a Mamba layer, which is not supported",
    );
}

#[test]
fn parts_of_gemma4_that_are_not_supported_are_named() {
    check_config("gemma4", json!({"attention_k_eq_v": true}), "attention_k_eq_v is not supported");
    check_config("gemma4", json!({"enable_moe_block": true}), "enable_moe_block is not supported");
    let expect = "layer 1 must have an earlier layer of its kind with keys and values, found 4 of 5 layers without";
    let kinds = json!(["full_attention", "sliding_attention", "full_attention", "full_attention", "full_attention"]);
    check_config("gemma4", json!({"num_kv_shared_layers": 4, "layer_types": kinds}), expect);
    let key = "gemma4.attention.shared_kv_layers";
    let expect = "layer 0 must have an earlier layer of its kind with keys and values, found 4294967295 of 5 layers";
    check_metadata("gemma4-f32.gguf", key, &u32::MAX.to_le_bytes(), expect);
}

/// Qwen's windows begin at a layer; Mistral and SmolLM3 have other rules.
#[test]
fn windows_are_where_config_json_puts_them() {
    let windows = |folder: &str, changes: Json| {
        let architecture = read_config(&config_of(folder, changes)).unwrap();
        architecture.layers.iter().map(|layer| layer.window).collect::<Vec<_>>()
    };
    assert_eq!(windows("qwen2", json!({})), [None; 3]);
    assert_eq!(windows("qwen2", json!({"use_sliding_window": true})), [None, None, Some(16)]);
    let listed = json!(["sliding_attention", "full_attention", "full_attention"]);
    let changes = json!({"use_sliding_window": true, "layer_types": listed});
    assert_eq!(windows("qwen3", json!({"sliding_window": 8, "use_sliding_window": true})), [None; 3]);
    assert_eq!(windows("qwen2", changes), [Some(16), None, None]);
    assert_eq!(windows("mistral", json!({})), [Some(16); 3]);
    assert_eq!(windows("mistral", json!({"sliding_window": null})), [None; 3]);
    let changes = json!({"sliding_window": 8, "use_sliding_window": true, "no_rope_layers": null});
    assert_eq!(windows("smollm3", changes), [None, None, None, Some(8)]);
}

#[test]
fn every_family_has_a_name_of_its_own() {
    // Folders of a family that only embeds have the type of another one.
    for family in FAMILIES.iter().filter(|family| !family.is_encoder) {
        assert!(!family.gguf.is_empty());
        assert_eq!(
            FAMILIES.iter().filter(|other| !other.is_encoder && other.model_type == family.model_type).count(),
            1
        );
    }
}

/// Loading a damaged header and computing a token ends in a value or in an error.
#[test]
fn headers_changed_at_random_never_panic() {
    let mut random = 1u64;
    let mut next = |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    let files = [
        "lfm2moe-q8_0",
        "lfm2-sliding-q4_0",
        "llama3-q8_0",
        "qwen2-q5_1",
        "smollm3-q5_0",
        "lfm3-q8_0",
        "gemma3-linear-q4_0",
        "ministral3-q8_0",
        "granite4-q8_0",
        "gemma4-q8_0",
    ];
    let mut n_read = 0;
    for file in files.map(|name| fixture(&format!("{name}.gguf"))) {
        let whole = std::fs::read(file).unwrap();
        // The vocabulary lies between the settings and the descriptions of tensors, which are changed more often.
        let (settings, tensors) =
            (1200, whole.windows(11).rposition(|window| window == b"attn_k.bias" || window == b"attn_k.weig"));
        let tensors = tensors.unwrap();
        for _ in 0..300 {
            let mut bytes = whole.clone();
            for _ in 0..1 + next(3) {
                let at = if next(2) == 0 { next(settings) } else { tensors - 1000 + next(1500) };
                bytes[at] = [0, 1, 0xFF, 0x7F, 0x80, next(256) as u8][next(6)];
            }
            let Ok(weights) = Weights::from_bytes(bytes.into()) else { continue };
            if let Ok(sizes) = Checkpoint::read(&weights).and_then(|it| Sizes::read(&it)) {
                let _ = sizes.key_value_bytes(1 << 24) + sizes.convolution_bytes() + sizes.working_bytes(128);
            }
            let Ok(model) = load_from(&weights) else { continue };
            let mut state = model.start().unwrap();
            n_read += usize::from(model.forward_one(Inputs::Tokens(&[3, 1]), &mut *state, &mut Vec::new()).is_ok());
        }
    }
    assert!(100 < n_read, "some changes are harmless: {n_read}");
}

/// Reading any config.json ends in a value or in an error.
#[test]
fn no_value_in_config_json_panics() {
    let values = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1),
        json!(u64::MAX),
        json!(1e308),
        json!(1e-320),
        json!("x"),
        json!([]),
        json!([0, "sliding_attention", null, {}]),
        json!({}),
        json!({"full_attention": 3, "rope_type": "yarn", "factor": 0.5}),
    ];
    let mut n_read = 0;
    let folders = [
        "lfm2moe",
        "lfm2-sliding",
        "llama-linear",
        "llama3",
        "qwen2",
        "smollm3",
        "mistral",
        "lfm3",
        "gemma3",
        "ministral3",
        "phi4",
        "granite4",
        "gemma4",
    ];
    for folder in folders {
        let config = config_of(folder, json!({}));
        let keys = config.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let more = [
            "head_dim",
            "rope_scaling",
            "rope_parameters",
            "partial_rotary_factor",
            "use_sliding_window",
            "text_config",
        ];
        for key in keys.iter().map(String::as_str).chain(more) {
            for value in &values {
                n_read += usize::from(read_config(&config_of(folder, json!({ key: value }))).is_ok());
            }
        }
    }
    assert!(100 < n_read, "some values are harmless: {n_read}");
}
