//! A decision model of type lfm2-d1 is an ordinary lfm2: its logits equal the logits of other implementations (tests/golden/README.md).

use super::*;
use crate::weights::TinyGguf;

const HIDDEN: usize = 64;
const VOCABULARY: usize = 384;

/// The element of a tensor, from its name: SplitMix64, seeded by FNV-1a of the name, counted from 1.
fn uniform(name: &str, at: usize) -> f64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let seed = name.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    let mut bits = seed.wrapping_add((at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ bits >> 31) >> 40) as f64 / (1u64 << 24) as f64
}

/// A tensor's shape, the last axis first as in the file, and its values.
fn tensor(file: &mut TinyGguf, name: &str, shape: &[usize]) {
    let n_values = shape.iter().product();
    let value = |at: usize| {
        let signed = 2.0 * uniform(name, at) - 1.0;
        let value = match name {
            name if name.contains("norm") => 1.0 + signed / 4.0,
            name if name.starts_with("token_embd") => signed,
            _ => signed * (3.0 / shape[0] as f64).sqrt(),
        };
        value as f32
    };
    file.tensor(name, shape, (0..n_values).map(value).collect());
}

/// The tiny model with this type of decisions: convolution, attention, convolution, attention.
fn tiny(decision_type: &str) -> TinyGguf {
    let mut file = TinyGguf::new();
    file.text("general.architecture", "lfm2").text("lfm2.decision.type", decision_type);
    for (key, value) in [
        ("block_count", 4),
        ("context_length", 512),
        ("embedding_length", 64),
        ("feed_forward_length", 128),
        ("attention.head_count", 4),
        ("vocab_size", 384),
        ("shortconv.l_cache", 3),
    ] {
        file.count(&format!("lfm2.{key}"), value);
    }
    file.counts("lfm2.attention.head_count_kv", &[0, 2, 0, 2]);
    file.float("lfm2.rope.freq_base", 1e6).float("lfm2.attention.layer_norm_rms_epsilon", 1e-5);
    tensor(&mut file, "token_embd.weight", &[HIDDEN, VOCABULARY]);
    tensor(&mut file, "token_embd_norm.weight", &[HIDDEN]);
    for layer in 0..4 {
        let mut add = |name: &str, shape: &[usize]| tensor(&mut file, &format!("blk.{layer}.{name}.weight"), shape);
        add("attn_norm", &[HIDDEN]);
        add("ffn_norm", &[HIDDEN]);
        add("ffn_gate", &[HIDDEN, 128]);
        add("ffn_up", &[HIDDEN, 128]);
        add("ffn_down", &[128, HIDDEN]);
        if layer % 2 == 0 {
            add("shortconv.conv", &[3, HIDDEN]);
            add("shortconv.in_proj", &[HIDDEN, 3 * HIDDEN]);
            add("shortconv.out_proj", &[HIDDEN, HIDDEN]);
        } else {
            add("attn_q", &[HIDDEN, HIDDEN]);
            add("attn_k", &[HIDDEN, 32]);
            add("attn_v", &[HIDDEN, 32]);
            add("attn_output", &[HIDDEN, HIDDEN]);
            add("attn_q_norm", &[16]);
            add("attn_k_norm", &[16]);
        }
    }
    file
}

#[derive(Deserialize)]
struct DecisionGolden {
    ids: std::collections::BTreeMap<String, Vec<u32>>,
    logits: std::collections::BTreeMap<String, Vec<f32>>,
}

#[test]
fn logits_of_a_decision_model_are_those_of_other_implementations() {
    let golden = std::fs::read(tests_folder().join("golden/decisions.json")).unwrap();
    let golden: DecisionGolden = serde_json::from_slice(&golden).unwrap();
    let model = load_from(&Weights::from_bytes(tiny("lfm2-d1").bytes().into()).unwrap()).unwrap();
    for (name, ids) in &golden.ids {
        let logits = read(&model, ids, &mut model.start().unwrap());
        // f32 against double precision, for logits up to 18.
        let furthest = logits.iter().zip(&golden.logits[name]).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(furthest < 5e-5, "{name}: {furthest}");
    }
}

#[test]
fn other_types_of_decision_models_are_refused_by_name() {
    for name in ["lfm3-d1", "openjev", ""] {
        let weights = Weights::from_bytes(tiny(name).bytes().into()).unwrap();
        let err = load_from(&weights).err().expect("the type is not supported");
        assert_eq!(err.kind(), ErrorKind::ModelLoad);
        assert!(err.message().contains("lfm2.decision.type") && err.message().contains(&format!("{name:?}")), "{err}");
    }
}
