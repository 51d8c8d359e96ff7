//! What is read from the descriptions of published models, where their keys are ambiguous.

use serde_json::{Value as Json, json};

use super::*;
use crate::checkpoint::{Architecture, Rope, RopePairing, RopeSettings, read_config};
use crate::weights::TensorDescription;

fn read(config: &Json) -> Architecture {
    let architecture = read_config(config).unwrap();
    architecture.check().unwrap();
    architecture
}

fn lfm3(changes: &Json) -> Architecture {
    let mut config = json!({
        "model_type": "lfm3", "norm_eps": 1e-5, "num_hidden_layers": 3, "max_position_embeddings": 262144,
        "head_dim": 128, "sliding_window": 256, "layer_types": ["conv", "full_attention", "sliding_attention"],
    });
    changes.as_object().unwrap().iter().for_each(|(key, value)| config[key] = value.clone());
    read(&config)
}

/// Checks the frequencies of some pairs. The sines of small angles show the angles.
#[track_caller]
fn check_frequencies(settings: &RopeSettings, head_dim: usize, expect: &[(usize, f64)]) {
    let rope = Rope::new(settings, None, RopePairing::Halves, head_dim).unwrap();
    let (mut cosines, mut sines) = (Vec::new(), Vec::new());
    rope.angles([1; 3], &mut cosines, &mut sines);
    for (pair, frequency) in expect {
        let (sine, expect) = (f64::from(sines[*pair]), frequency.sin());
        assert!((sine - expect).abs() <= 2e-6 * expect, "pair {pair}: {sine}, expected {expect}");
    }
    assert_eq!(sines.len(), head_dim / 2);
}

/// Half of the pairs are rotated, whether the settings are called proportional, or default as in published files, or are
/// missing.
#[test]
fn lfm3_rotates_the_fast_half_of_pairs() {
    let sliding = json!({"rope_type": "default", "rope_theta": 1e4});
    for kind in ["default", "proportional"] {
        let full = json!({"rope_type": kind, "rope_theta": 1e6, "partial_rotary_factor": 0.5});
        check_lfm3(&json!({"rope_parameters": {"sliding_attention": sliding, "full_attention": full}}));
    }
    check_lfm3(&json!({}));
}

#[track_caller]
fn check_lfm3(changes: &Json) {
    let architecture = lfm3(changes);
    let full = [(0, 1.0), (1, 0.805842221), (15, 0.0392418988), (31, 0.00124093785), (32, 0.0), (63, 0.0)];
    check_frequencies(&architecture.rope, 128, &full);
    let sliding = [(1, 0.865964353), (32, 0.01), (63, 1.15478193e-4)];
    check_frequencies(&architecture.sliding_rope, 128, &sliding);
    assert_eq!(architecture.layers.iter().map(|layer| layer.window).collect::<Vec<_>>(), [None, None, Some(256)]);
}

/// As the file of 4 billion parameters: most keys are left out, and the decoder is one of several parts.
#[test]
fn gemma3_has_the_defaults_of_its_class() {
    let architecture = read(&json!({
        "model_type": "gemma3", "vision_config": {"num_hidden_layers": 27},
        "text_config": {
            "model_type": "gemma3_text", "num_hidden_layers": 7, "sliding_window": 1024,
            "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
        },
    }));
    let window = Some(1024);
    let windows: Vec<_> = architecture.layers.iter().map(|layer| layer.window).collect();
    assert_eq!(windows, [window, window, window, window, window, None, window]);
    assert_eq!((architecture.context_size, architecture.norm_eps), (131_072, 1e-6));
    check_frequencies(&architecture.rope, 256, &[(0, 1.0 / 8.0), (1, 0.897687137 / 8.0), (64, 1e-3 / 8.0)]);
    check_frequencies(&architecture.sliding_rope, 256, &[(0, 1.0), (1, 0.930572033), (64, 1e-2)]);
}

/// As the folder of 27 billion parameters, whose scores have another scale than the head size gives.
#[test]
fn gemma3_has_its_own_scale_of_scores() {
    let config = json!({
        "model_type": "gemma3_text", "num_hidden_layers": 3, "sliding_window": 1024, "query_pre_attn_scalar": 168,
        "final_logit_softcapping": 30.0, "sliding_window_pattern": 2,
    });
    let architecture = read(&config);
    assert_eq!(architecture.scales.attention, Some(168f64.powf(-0.5) as f32));
    assert_eq!(architecture.scales.logit_softcap, Some(30.0));
    let windows: Vec<_> = architecture.layers.iter().map(|layer| layer.window).collect();
    assert_eq!(windows, [Some(1024), None, Some(1024)]);
}

/// The vision model is not loaded, and not counted.
#[test]
fn only_the_decoder_counts() {
    let weights = Weights::open(fixture("gemma3-linear").to_str().unwrap()).unwrap();
    let checkpoint = Checkpoint::read(&weights).unwrap();
    let _ = survey(&checkpoint).unwrap();
    let n_values = |tensor: TensorDescription<'_>| tensor.n_values();
    let all: u64 = weights.tensors().map(n_values).sum();
    let tensors = &checkpoint.tensors;
    let read = tensors.iter().filter(|tensor| tensors.is_read(tensor.name));
    assert_eq!(read.map(n_values).sum::<u64>(), all - 8);
    assert_eq!(checkpoint.unread().len(), weights.tensors().count() - tensors.iter().count());
}

/// A quarter of each head is rotated, whether config.json says so or not.
#[test]
fn qwen35_rotates_a_quarter_of_each_head() {
    for parameters in [json!(null), json!({"rope_type": "default", "rope_theta": 1e7, "partial_rotary_factor": 0.25})] {
        let architecture = read(&json!({
            "model_type": "qwen3_5", "vision_config": {}, "text_config": {
                "model_type": "qwen3_5_text", "num_hidden_layers": 2, "rms_norm_eps": 1e-6, "head_dim": 256,
                "max_position_embeddings": 262144, "layer_types": ["linear_attention", "full_attention"],
                "linear_num_key_heads": 16, "rope_parameters": parameters,
            },
        }));
        assert_eq!((architecture.n_delta_keys, architecture.layers[1].window), (Some(16), None));
        let rope = Rope::new(&architecture.rope, None, RopePairing::Halves, 256).unwrap();
        let (mut cosines, mut sines) = (Vec::new(), Vec::new());
        rope.angles([1; 3], &mut cosines, &mut sines);
        assert_eq!((sines.len(), cosines.len()), (32, 32));
        for (pair, frequency) in [(0, 1.0f64), (1, 0.604296386), (15, 5.23299095e-4), (31, 1.65481708e-7)] {
            let (sine, expect) = (f64::from(sines[pair]), frequency.sin());
            assert!((sine - expect).abs() <= 2e-6 * expect, "pair {pair}: {sine}, expected {expect}");
        }
    }
}

/// As the folder of E2B: every fifth layer has full attention, and the last twenty read keys and values of others.
#[test]
fn gemma4_shares_keys_and_values_by_kind() {
    let kind = |layer: usize| if layer % 5 == 4 { "full_attention" } else { "sliding_attention" };
    let kinds: Vec<_> = (0..35).map(kind).collect();
    let architecture = read(&json!({
        "model_type": "gemma4", "vision_config": {}, "audio_config": {},
        "text_config": {
            "model_type": "gemma4_text", "num_hidden_layers": 35, "sliding_window": 512, "num_kv_shared_layers": 20,
            "hidden_activation": "gelu_pytorch_tanh", "final_logit_softcapping": 30.0, "layer_types": kinds,
            "rope_parameters": {
                "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
                "full_attention": {"rope_type": "proportional", "rope_theta": 1e6, "partial_rotary_factor": 0.25},
            },
        },
    }));
    for (at, layer) in architecture.layers.iter().enumerate() {
        let source = if layer.window.is_some() { 13 } else { 14 };
        assert_eq!(layer.key_values_of, (15 <= at).then_some(source), "layer {at}");
    }
    let scales = architecture.scales;
    assert_eq!((scales.attention, scales.logit_softcap), (Some(1.0), Some(30.0)));
    let full = [(1, 0.947463512), (63, 0.0333762467), (64, 0.0), (255, 0.0)];
    check_frequencies(&architecture.rope, 512, &full);
    check_frequencies(&architecture.sliding_rope, 256, &[(1, 0.930572033), (64, 1e-2)]);
}

/// The context that a model is loaded with chooses the factors, whatever the model was made for.
#[test]
fn the_context_of_a_sequence_chooses_the_factors_of_longrope() {
    let mut architecture = read(&json!({
        "model_type": "phi3", "rms_norm_eps": 1e-5, "num_hidden_layers": 1, "max_position_embeddings": 131072,
        "original_max_position_embeddings": 4096, "hidden_size": 8, "num_attention_heads": 1,
        "rope_scaling": {"type": "longrope", "short_factor": [1.0, 1.0, 1.0, 1.0], "long_factor": [2.0, 2.0, 2.0, 2.0]},
    }));
    let slowest = 1e4f32.powf(-0.75);
    // Queries and keys have the factor that the whole context recommends.
    let factor = (1.0 + 32f32.ln() / 4096f32.ln()).sqrt();
    for (context_size, divisor) in [(usize::MAX, 2.0), (4097, 2.0), (4096, 1.0)] {
        architecture.limit_context(context_size);
        let rope = Rope::new(&architecture.rope, None, RopePairing::Halves, 8).unwrap();
        let (mut cosines, mut sines) = (Vec::new(), Vec::new());
        rope.angles([1; 3], &mut cosines, &mut sines);
        let expect = factor * (slowest / divisor).sin();
        assert!((sines[3] - expect).abs() <= 1e-6 * expect, "{context_size}: {}, expected {expect}", sines[3]);
    }
}

/// Queries keep their size in the original context, and grow after each further one.
#[test]
fn queries_of_ministral_grow_with_their_position() {
    let architecture = read(&json!({
        "model_type": "mistral3", "vision_config": {},
        "text_config": {
            "model_type": "ministral3", "rms_norm_eps": 1e-5, "num_hidden_layers": 1, "max_position_embeddings": 262144,
            "rope_parameters": {
                "type": "yarn", "rope_theta": 1e6, "factor": 16.0, "original_max_position_embeddings": 16384,
                "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1,
            },
        },
    }));
    let growth = architecture.rope.query_growth.unwrap();
    for (position, expect) in [(0, 1.0), (16383, 1.0), (16384, 1.0693147), (65535, 1.1386294)] {
        assert!((growth.factor(position) - expect).abs() < 1e-6, "{position}");
    }
}

/// The table stays in the file, and layers that read the keys and values of others store none.
#[test]
fn what_gemma4_does_not_load_is_not_counted_as_memory() {
    let weights = Weights::open(fixture("gemma4-f32.gguf").to_str().unwrap()).unwrap();
    let n_bytes = |tensor: &TensorDescription<'_>| tensor.n_bytes as u64;
    let table: u64 =
        weights.tensors().filter(|tensor| tensor.name.contains("per_layer_token")).map(|it| n_bytes(&it)).sum();
    let all: u64 = weights.tensors().map(|tensor| n_bytes(&tensor)).sum();
    let sizes = Sizes::read(&Checkpoint::read(&weights).unwrap()).unwrap();
    // Matrices are stored in whole tiles.
    assert!(
        all / 3 < table && sizes.n_weight_bytes < all - table + all / 10,
        "{}, {table}, {all}",
        sizes.n_weight_bytes
    );
    let mut all_heads = sizes.clone();
    all_heads.n_sharing = 0;
    // One key head of 16 or 32 elements in each of five layers; the last two have one of each size.
    assert_eq!(sizes.key_value_bytes(512) * 112, all_heads.key_value_bytes(512) * 64);
}
