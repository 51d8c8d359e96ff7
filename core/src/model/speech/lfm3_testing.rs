//! A tiny LFM3-Audio, whose weights come from a hash of their names in GGUF files, for values that llama.cpp 0.8.0 computes with it.

use crate::media::sound::testing::hashed;
use crate::weights::testing::TinyTensor;

/// The decoder's config.json.
pub(crate) const LFM3_CONFIG: &str = r#"{
    "model_type": "lfm3", "vocab_size": 265, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4,
    "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32, "conv_L_cache": 7, "norm_eps": 1e-5,
    "layer_types": ["conv", "full_attention", "conv", "sliding_attention"], "sliding_window": 16,
    "max_position_embeddings": 1024, "tie_word_embeddings": true,
    "rope_parameters": {
        "sliding_attention": { "rope_type": "default", "rope_theta": 10000.0 },
        "full_attention": { "rope_type": "default", "rope_theta": 1000000.0, "partial_rotary_factor": 0.5 }
    }
}"#;

/// Tensors of one part, each with the name that its values come from.
#[derive(Default)]
struct Tensors(Vec<TinyTensor>);

impl Tensors {
    fn add(&mut self, name: &str, shape: &[usize], scale: f64, mean: f64) {
        self.add_as(name, name, shape, scale, mean);
    }

    fn add_as(&mut self, in_folder: &str, name: &str, shape: &[usize], scale: f64, mean: f64) {
        let values = hashed(name, 0..shape.iter().product(), scale, mean);
        self.0.push((in_folder.to_owned(), shape.to_vec(), values));
    }

    fn norm(&mut self, name: &str, shape: &[usize]) {
        self.add(name, shape, 0.2, 1.0);
    }

    /// A map whose values fall with its inputs.
    fn map(&mut self, name: &str, shape: [usize; 2], factor: f64) {
        self.add(name, &shape, factor / (shape[1] as f64).sqrt(), 0.0);
    }

    fn map_with_bias(&mut self, name: &str, shape: [usize; 2], factor: f64) {
        self.map(&format!("{name}.weight"), shape, factor);
        self.add(&format!("{name}.bias"), &shape[..1], 0.2, 0.0);
    }

    fn layer(&mut self, prefix: &str, is_attention: bool, sizes: &LayerSizes) {
        let LayerSizes { width, inner, heads: [n_queries, n_keys, head_dim], n_taps, has_gates, has_output_norms } =
            *sizes;
        let name = |part: &str| format!("{prefix}{part}.weight");
        self.norm(&name("ln1"), &[width]);
        self.norm(&name("ln2"), &[width]);
        if has_output_norms {
            self.norm(&name("attn_post_norm"), &[width]);
            self.norm(&name("ffn_post_norm"), &[width]);
        }
        self.map(&name("ffn_gate"), [inner, width], 1.2);
        self.map(&name("ffn_up"), [inner, width], 1.2);
        self.map(&name("ffn_down"), [width, inner], 1.2);
        if is_attention {
            self.map(&name("attn_q"), [n_queries * head_dim, width], 1.2);
            self.map(&name("attn_k"), [n_keys * head_dim, width], 1.2);
            self.map(&name("attn_v"), [n_keys * head_dim, width], 1.2);
            if has_gates {
                self.map(&name("attn_gate"), [n_queries, width], 1.2);
            }
            self.map(&name("attn_out"), [width, n_queries * head_dim], 1.2);
            self.norm(&name("attn_q_norm"), &[head_dim]);
            self.norm(&name("attn_k_norm"), &[head_dim]);
        } else {
            self.map(&name("conv_pw1"), [3 * width, width], 1.2);
            self.add(&name("conv_dw"), &[width, n_taps], 0.6, 0.0);
            self.map(&name("conv_pw2"), [width, width], 1.2);
        }
    }
}

struct LayerSizes {
    width: usize,
    inner: usize,
    /// Query heads, key heads, and the elements of each.
    heads: [usize; 3],
    n_taps: usize,
    has_gates: bool,
    has_output_norms: bool,
}

/// What writes frames: 12 codebooks of 82 codes.
pub(crate) fn lfm3_frames() -> Vec<TinyTensor> {
    let mut tensors = Tensors::default();
    let sizes =
        LayerSizes { width: 32, inner: 48, heads: [4, 2, 8], n_taps: 0, has_gates: true, has_output_norms: true };
    (0..2).for_each(|layer| tensors.layer(&format!("a.gen.code.blk.{layer}."), true, &sizes));
    tensors.map_with_bias("a.gen.code.proj_in", [12 * 32, 64], 2.0);
    tensors.add("a.gen.code.embd.weight", &[12, 82, 32], 0.8, 0.0);
    tensors.add("a.gen.code.out_embd.weight", &[12 * 82, 64], 0.1, 0.0);
    tensors.norm("a.gen.code.output_norm.weight", &[32]);
    tensors.norm("a.gen.code.head_norm.weight", &[12, 32]);
    tensors.add("a.gen.code.mask_embd", &[32], 0.8, 0.0);
    tensors.0
}

/// What turns frames into sound: 81 codes, which are four levels with three values.
pub(crate) fn lfm3_codec() -> Vec<TinyTensor> {
    let mut tensors = Tensors::default();
    let level = |code: usize, at: u32| (code / 3usize.pow(at) % 3) as f32 - 1.0;
    let levels = (0..81).flat_map(|code| (0..4).map(move |at| level(code, at))).collect();
    tensors.0.push(("a.gen.wav.quant.first.codebook.weight".to_owned(), vec![81, 4], levels));
    tensors.map_with_bias("a.gen.wav.quant.first.out_proj", [40, 12 * 4], 2.0);
    tensors.map_with_bias("a.gen.wav.tfm.in_proj", [512, 40], 2.0);
    let sizes =
        LayerSizes { width: 512, inner: 32, heads: [4, 2, 16], n_taps: 3, has_gates: true, has_output_norms: true };
    (0..8).for_each(|layer| tensors.layer(&format!("a.gen.wav.tfm.blk.{layer}."), layer % 2 == 1, &sizes));
    tensors.norm("a.gen.wav.tfm.output_norm.weight", &[512]);
    tensors.map_with_bias("a.gen.wav.tfm.out_proj", [1282, 512], 2.0);
    tensors.0
}

/// The encoder of sound and its adapter.
pub(crate) fn lfm3_encoder() -> Vec<TinyTensor> {
    let mut tensors = Tensors::default();
    for (at, shape) in [(0, [8, 1, 3, 3]), (2, [8, 1, 3, 3]), (3, [8, 8, 1, 1]), (5, [8, 1, 3, 3]), (6, [8, 8, 1, 1])] {
        let n_inputs: usize = shape[1..].iter().product();
        tensors.add(&format!("a.conv1d.{at}.weight"), &shape, 1.5 / (n_inputs as f64).sqrt(), 0.0);
        tensors.add(&format!("a.conv1d.{at}.bias"), &[8, 1, 1], 0.2, 0.0);
    }
    tensors.map_with_bias("a.pre_encode.out", [32, 8 * 16], 1.2);
    let sizes =
        LayerSizes { width: 32, inner: 48, heads: [4, 2, 8], n_taps: 3, has_gates: false, has_output_norms: false };
    (0..4).for_each(|layer| tensors.layer(&format!("a.blk.{layer}."), layer % 2 == 1, &sizes));
    tensors.norm("a.post_ln.weight", &[32]);
    tensors.norm("mm.a.mlp.0.weight", &[32]);
    tensors.add("mm.a.mlp.0.bias", &[32], 0.2, 0.0);
    tensors.map_with_bias("mm.a.mlp.1", [40, 32], 1.2);
    tensors.map_with_bias("mm.a.mlp.3", [64, 40], 1.2);
    tensors.0
}

/// The decoder, under the names of folders.
pub(crate) fn lfm3_decoder() -> Vec<TinyTensor> {
    let mut tensors = Tensors::default();
    tensors.add_as("model.embed_tokens.weight", "token_embd.weight", &[265, 64], 0.25, 0.0);
    tensors.add_as("model.embedding_norm.weight", "output_norm.weight", &[64], 0.2, 1.0);
    for layer in 0..4 {
        let mut add = |in_folder: &str, part: &str, shape: &[usize], scale: f64, mean: f64| {
            let in_folder = format!("model.layers.{layer}.{in_folder}.weight");
            tensors.add_as(&in_folder, &format!("blk.{layer}.{part}.weight"), shape, scale, mean);
        };
        for (in_folder, part) in [
            ("operator_norm", "attn_norm"),
            ("ffn_norm", "ffn_norm"),
            ("post_operator_norm", "post_attention_norm"),
            ("post_ffn_norm", "post_ffw_norm"),
        ] {
            add(in_folder, part, &[64], 0.2, 1.0);
        }
        let mut map = |in_folder: &str, part: &str, shape: [usize; 2]| {
            add(in_folder, part, &shape, 1.2 / (shape[1] as f64).sqrt(), 0.0);
        };
        map("feed_forward.w1", "ffn_gate", [96, 64]);
        map("feed_forward.w3", "ffn_up", [96, 64]);
        map("feed_forward.w2", "ffn_down", [64, 96]);
        if layer % 2 == 0 {
            map("conv.in_proj", "shortconv.in_proj", [192, 64]);
            map("conv.out_proj", "shortconv.out_proj", [64, 64]);
            add("conv.conv", "shortconv.conv", &[64, 1, 7], 0.6, 0.0);
        } else {
            map("self_attn.q_proj", "attn_q", [64, 64]);
            map("self_attn.k_proj", "attn_k", [32, 64]);
            map("self_attn.v_proj", "attn_v", [32, 64]);
            map("self_attn.gate_proj", "attn_gate", [2, 64]);
            map("self_attn.o_proj", "attn_output", [64, 64]);
            add("self_attn.q_norm", "attn_q_norm", &[32], 0.2, 1.0);
            add("self_attn.k_norm", "attn_k_norm", &[32], 0.2, 1.0);
        }
    }
    tensors.0
}
