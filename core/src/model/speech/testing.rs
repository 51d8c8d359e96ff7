//! Tiny models that speak, whose weights come from a hash, and what the reference computes with them: liquid-audio 1.3.0 on
//! transformers 5.24.

use std::path::Path;
use std::sync::Arc;

use causerie_backend::Cpu;
use safetensors::SafeTensors;

use crate::media::sound::testing::hashed;
use crate::model::native::Native;
use crate::options::CacheType;
use crate::weights::testing::TinyTensor;

/// Numbers of a golden file.
pub(crate) struct Golden(Vec<u8>);

impl Golden {
    pub(crate) fn read(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/speech").join(name);
        Self(std::fs::read(path).unwrap())
    }

    fn bytes(&self, name: &str) -> Vec<[u8; 4]> {
        let tensor = SafeTensors::deserialize(&self.0).unwrap().tensor(name).unwrap();
        tensor.data().chunks_exact(4).map(|bytes| bytes.try_into().unwrap()).collect()
    }

    pub(crate) fn floats(&self, name: &str) -> Vec<f32> {
        self.bytes(name).into_iter().map(f32::from_le_bytes).collect()
    }

    pub(crate) fn integers(&self, name: &str) -> Vec<u32> {
        self.bytes(name).into_iter().map(u32::from_le_bytes).collect()
    }
}

pub(crate) fn native() -> Native {
    Native::new(Arc::new(Cpu::new(2)), CacheType::F32)
}

/// A depthformer of two layers with a width of 64, in a model of the same width.
pub(crate) fn depthformer() -> Vec<TinyTensor> {
    let mut tensors = Vec::new();
    let mut add = |name: &str, shape: &[usize]| {
        let n_columns = shape[1..].iter().product::<usize>() as f64;
        let (scale, mean) = match name {
            _ if name.ends_with("embedding.weight") => (1.0, 0.0),
            _ if name.contains("norm") => (0.2, 1.0),
            _ if shape.len() == 1 => (0.2, 0.0),
            _ => (1.2 / n_columns.sqrt(), 0.0),
        };
        tensors.push((name.to_owned(), shape.to_vec(), hashed(name, 0..shape.iter().product(), scale, mean)));
    };
    add("depth_linear.weight", &[512, 64]);
    add("depth_linear.bias", &[512]);
    add("audio_embedding.embedding.weight", &[8 * 2049, 64]);
    for codebook in 0..8 {
        add(&format!("depth_embeddings.{codebook}.embedding.weight"), &[2049, 64]);
        add(&format!("depth_embeddings.{codebook}.embedding_norm.weight"), &[64]);
    }
    for layer in 0..2 {
        for (part, shape) in [
            ("operator_norm", &[64][..]),
            ("operator.qkv_proj", &[96, 64]),
            ("operator.out_proj", &[64, 64]),
            ("operator.bounded_attention.q_layernorm", &[2]),
            ("operator.bounded_attention.k_layernorm", &[2]),
            ("ffn_norm", &[64]),
            ("feed_forward.w1", &[256, 64]),
            ("feed_forward.w2", &[64, 256]),
            ("feed_forward.w3", &[256, 64]),
        ] {
            add(&format!("depthformer.layers.{layer}.{part}.weight"), shape);
        }
    }
    tensors
}

/// A detokenizer of four layers with the real width and spectrum. Of its table, only the rows of these codes are there.
pub(crate) fn detokenizer(codes: &[u32], n_frames: usize) -> Vec<TinyTensor> {
    let mut tensors = Vec::new();
    let mut add = |name: &str, shape: &[usize]| {
        let n_columns = shape[1..].iter().product::<usize>() as f64;
        let (scale, mean) = match name {
            "lin.weight" => (0.4 / 512f64.sqrt(), 0.0),
            "lin.bias" => (0.3, 0.0),
            _ if name.contains("norm") => (0.2, 1.0),
            _ => (1.2 / n_columns.sqrt(), 0.0),
        };
        let values = hashed(&format!("detokenizer.{name}"), 0..shape.iter().product(), scale, mean);
        tensors.push((name.to_owned(), shape.to_vec(), values));
    };
    add("lin.weight", &[1282, 512]);
    add("lin.bias", &[1282]);
    add("lfm.embedding_norm.weight", &[512]);
    for layer in 0..4 {
        let mut part = |part: &str, shape: &[usize]| add(&format!("lfm.layers.{layer}.{part}.weight"), shape);
        part("operator_norm", &[512]);
        part("ffn_norm", &[512]);
        part("feed_forward.w1", &[256, 512]);
        part("feed_forward.w2", &[512, 256]);
        part("feed_forward.w3", &[256, 512]);
        if layer % 2 == 0 {
            part("conv.in_proj", &[1536, 512]);
            part("conv.conv", &[512, 1, 3]);
            part("conv.out_proj", &[512, 512]);
        } else {
            part("self_attn.q_proj", &[512, 512]);
            part("self_attn.k_proj", &[256, 512]);
            part("self_attn.v_proj", &[256, 512]);
            part("self_attn.out_proj", &[512, 512]);
            part("self_attn.q_layernorm", &[32]);
            part("self_attn.k_layernorm", &[32]);
        }
    }
    let mut table = vec![0.0; 8 * 2048 * 512];
    for (at, code) in codes.iter().enumerate() {
        let row = at / n_frames * 2048 + *code as usize;
        let values = hashed("detokenizer.emb.emb.weight", 512 * row..512 * (row + 1), 1.0, 0.0);
        table[512 * row..512 * (row + 1)].copy_from_slice(&values);
    }
    tensors.push(("emb.emb.weight".to_owned(), vec![8 * 2048, 512], table));
    tensors
}

/// Mimi's decoder with its real ratios: `n_codes` codes in each of some codebooks, and a transformer of two layers with `width` values.
pub(crate) fn mimi(n_codebooks: usize, n_codes: usize, width: usize) -> Vec<TinyTensor> {
    let mut tensors = Vec::new();
    let mut add = |name: &str, shape: &[usize]| {
        let n_columns = shape[1..].iter().product::<usize>().max(1) as f64;
        let n_values = shape.iter().product();
        let hashed = |scale, mean| hashed(&format!("mimi.{name}"), 0..n_values, scale, mean);
        let values = match name {
            // Some codes have hardly been used.
            _ if name.ends_with("cluster_usage") => {
                hashed(2.0, 2.0).into_iter().map(|value| (value * 1000.0).round_ties_even() / 1000.0).collect()
            }
            _ if name.ends_with("embedding_sum") => hashed(1.0, 0.0),
            _ if name.contains("norm") && name.ends_with("weight") => hashed(0.2, 1.0),
            _ if name.contains("layer_scale") => hashed(0.6, 0.0),
            _ if 1 < shape.len() => hashed(1.5 / n_columns.sqrt(), 0.0),
            _ => hashed(0.1, 0.0),
        };
        tensors.push((name.to_owned(), shape.to_vec(), values));
    };
    let code_width = width / 2;
    for codebook in 0..n_codebooks {
        let layer =
            if codebook == 0 { "first.vq.layers.0".to_owned() } else { format!("rest.vq.layers.{}", codebook - 1) };
        let name = |part: &str| format!("quantizer.rvq_{layer}._codebook.{part}");
        add(&name("embedding_sum"), &[n_codes, code_width]);
        add(&name("cluster_usage"), &[n_codes]);
    }
    add("quantizer.rvq_first.output_proj.weight", &[width, code_width, 1]);
    add("quantizer.rvq_rest.output_proj.weight", &[width, code_width, 1]);
    add("upsample.convtr.convtr.convtr.weight", &[width, 1, 4]);
    for layer in 0..2 {
        let mut part = |part: &str, shape: &[usize]| {
            add(&format!("decoder_transformer.transformer.layers.{layer}.{part}"), shape);
        };
        part("norm1.weight", &[width]);
        part("norm1.bias", &[width]);
        part("norm2.weight", &[width]);
        part("norm2.bias", &[width]);
        part("linear1.weight", &[48, width]);
        part("linear2.weight", &[width, 48]);
        part("layer_scale_1.scale", &[width]);
        part("layer_scale_2.scale", &[width]);
        part("self_attn.in_projs.0.weight", &[3 * width, width]);
        part("self_attn.out_projs.0.weight", &[width, width]);
    }
    let mut convolution = |name: &str, shape: &[usize], n_outputs: usize| {
        add(&format!("decoder.model.{name}.weight"), shape);
        add(&format!("decoder.model.{name}.bias"), &[n_outputs]);
    };
    convolution("0.conv.conv", &[32, width, 7], 32);
    for (at, (ratio, n)) in [2, 5, 8, 11].into_iter().zip([(8, 16), (6, 8), (5, 4), (4, 2)]) {
        convolution(&format!("{at}.convtr.convtr"), &[2 * n, n, 2 * ratio], n);
        convolution(&format!("{}.block.1.conv.conv", at + 1), &[n / 2, n, 3], n / 2);
        convolution(&format!("{}.block.3.conv.conv", at + 1), &[n, n / 2, 1], n);
    }
    convolution("14.conv.conv", &[1, 2, 3], 1);
    tensors
}
