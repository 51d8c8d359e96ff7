//! Frames and sound compared with those of the reference, liquid-audio 1.3.0 on transformers 5.24, for tiny models whose weights come
//! from a hash.

use std::path::Path;
use std::sync::Arc;

use causerie_backend::Cpu;
use safetensors::SafeTensors;

use super::*;
use crate::checkpoint::{CodecCheckpoint, FrameCheckpoint};
use crate::model::native::Native;
use crate::model::speech::depthformer::Depthformer;
use crate::options::CacheType;
use crate::weights::Weights;

/// Numbers of a golden file.
struct Golden(Vec<u8>);

impl Golden {
    fn read(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/speech").join(name);
        Self(std::fs::read(path).unwrap())
    }

    fn bytes(&self, name: &str) -> Vec<[u8; 4]> {
        let tensor = SafeTensors::deserialize(&self.0).unwrap().tensor(name).unwrap();
        tensor.data().chunks_exact(4).map(|bytes| bytes.try_into().unwrap()).collect()
    }

    fn floats(&self, name: &str) -> Vec<f32> {
        self.bytes(name).into_iter().map(f32::from_le_bytes).collect()
    }

    fn integers(&self, name: &str) -> Vec<u32> {
        self.bytes(name).into_iter().map(u32::from_le_bytes).collect()
    }
}

/// The random sequence of this name: values around `mean`, at most `scale` away.
fn hashed(name: &str, n: usize, scale: f64, mean: f64) -> Vec<f32> {
    let seed = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let value = |index: usize| {
        let mut bits = seed.wrapping_add(index as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let unit = ((bits ^ bits >> 31) >> 40) as f64 / f64::from(1 << 24);
        (mean + scale * (2.0 * unit - 1.0)) as f32
    };
    (0..n).map(value).collect()
}

/// A folder of a model with these tensors, which is removed with the value.
struct TinyFolder(std::path::PathBuf);

impl TinyFolder {
    fn new(name: &str, tensors: &[(String, Vec<usize>, Vec<f32>)]) -> Self {
        let path = std::env::temp_dir().join(format!("causerie-speech-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("config.json"), "{}").unwrap();
        let bytes: Vec<Vec<u8>> =
            tensors.iter().map(|(_, _, values)| values.iter().flat_map(|value| value.to_le_bytes()).collect()).collect();
        let views = tensors.iter().zip(&bytes).map(|((name, shape, _), bytes)| {
            let view = safetensors::tensor::TensorView::new(safetensors::Dtype::F32, shape.clone(), bytes).unwrap();
            (name.clone(), view)
        });
        std::fs::write(path.join("model.safetensors"), safetensors::serialize(views, None).unwrap()).unwrap();
        Self(path)
    }

    fn open(&self) -> Weights {
        Weights::open(self.0.to_str().unwrap()).unwrap()
    }
}

impl Drop for TinyFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn native() -> Native {
    Native::new(Arc::new(Cpu::new(2)), CacheType::F32)
}

/// A depthformer of two layers with a width of 64, in a model of the same width.
fn depthformer() -> TinyFolder {
    let mut tensors = Vec::new();
    let mut add = |name: &str, shape: &[usize]| {
        let n_columns = shape[1..].iter().product::<usize>() as f64;
        let (scale, mean) = match name {
            _ if name.ends_with("embedding.weight") => (1.0, 0.0),
            _ if name.contains("norm") => (0.2, 1.0),
            _ if shape.len() == 1 => (0.2, 0.0),
            _ => (1.2 / n_columns.sqrt(), 0.0),
        };
        tensors.push((name.to_owned(), shape.to_vec(), hashed(name, shape.iter().product(), scale, mean)));
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
    TinyFolder::new("depthformer", &tensors)
}

fn best(logits: &[f32]) -> u32 {
    let (at, _) = logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
    at as u32
}

#[test]
fn frames_are_those_of_the_reference() {
    let (golden, folder) = (Golden::read("lfm2-audio.safetensors"), depthformer());
    let checkpoint = FrameCheckpoint::read(&folder.open()).unwrap().unwrap();
    let depthformer = Depthformer::load(native(), &checkpoint).unwrap();
    assert_eq!((depthformer.n_codebooks(), depthformer.end_code()), (8, 2048));
    let (first_64, sums) = (golden.floats("depthformer.logits_first_64"), golden.floats("depthformer.logits_sum"));
    let expected = golden.integers("depthformer.codes");
    for (frame, hidden) in golden.floats("depthformer.hidden").chunks_exact(64).enumerate() {
        let codes = depthformer.frame(hidden, &mut |codebook, logits| {
            let at = 8 * frame + codebook;
            for (logit, expected) in logits.iter().zip(&first_64[64 * at..64 * (at + 1)]) {
                assert!((logit - expected).abs() < 1e-4, "frame {frame}, codebook {codebook}: {logit} and {expected}");
            }
            // Of 2,049 values up to 22.
            assert!((logits.iter().sum::<f32>() - sums[at]).abs() < 1e-2);
            Ok(best(logits))
        });
        assert_eq!(codes.unwrap(), expected[8 * frame..8 * (frame + 1)], "frame {frame}");
    }
}

#[test]
fn the_row_of_a_frame_is_the_sum_of_its_codes_embeddings() {
    let folder = depthformer();
    let checkpoint = FrameCheckpoint::read(&folder.open()).unwrap().unwrap();
    let depthformer = Depthformer::load(native(), &checkpoint).unwrap();
    let table = hashed("audio_embedding.embedding.weight", 8 * 2049 * 64, 1.0, 0.0);
    let frame = [3, 2048, 0, 17, 1000, 5, 6, 7];
    let sum = |column: usize| {
        let rows = frame.iter().enumerate().map(|(at, code)| at * 2049 + *code as usize);
        rows.map(|row| table[64 * row + column]).sum::<f32>()
    };
    assert_eq!(depthformer.row(&frame).unwrap(), (0..64).map(sum).collect::<Vec<_>>());
}

/// A detokenizer of four layers with the real width and spectrum. Of its table, only the rows of these codes are there.
fn detokenizer(codes: &[u32], n_frames: usize) -> TinyFolder {
    let mut tensors = Vec::new();
    let mut add = |name: &str, shape: &[usize]| {
        let n_columns = shape[1..].iter().product::<usize>() as f64;
        let (scale, mean) = match name {
            "lin.weight" => (0.4 / 512f64.sqrt(), 0.0),
            "lin.bias" => (0.3, 0.0),
            _ if name.contains("norm") => (0.2, 1.0),
            _ => (1.2 / n_columns.sqrt(), 0.0),
        };
        let values = hashed(&format!("detokenizer.{name}"), shape.iter().product(), scale, mean);
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
        let values = hashed_from("detokenizer.emb.emb.weight", 512 * row, 512);
        table[512 * row..512 * (row + 1)].copy_from_slice(&values);
    }
    tensors.push(("emb.emb.weight".to_owned(), vec![8 * 2048, 512], table));
    TinyFolder::new("detokenizer", &tensors)
}

/// Some values of a random sequence.
fn hashed_from(name: &str, start: usize, n: usize) -> Vec<f32> {
    hashed(name, start + n, 1.0, 0.0).split_off(start)
}

#[test]
fn sound_frame_by_frame_is_that_of_the_reference() {
    let golden = Golden::read("detokenizer.safetensors");
    let (codes, expected) = (golden.integers("codes"), golden.floats("samples"));
    let folder = detokenizer(&codes, 9);
    let files = folder.open();
    let checkpoint = CodecCheckpoint::read(&[&files]).unwrap().unwrap();
    let codec = Codec::load(native(), &checkpoint).unwrap();
    let (mut stream, mut samples) = (codec.begin().unwrap(), Vec::new());
    for frame in 0..9 {
        let frame: Vec<u32> = (0..8).map(|codebook| codes[9 * codebook + frame]).collect();
        let complete = stream.push(&frame).unwrap();
        assert_eq!(complete.len(), if samples.is_empty() { 1440 } else { 1920 });
        samples.extend(complete);
    }
    samples.extend(stream.finish());
    assert_eq!((samples.len(), codec.sample_rate()), (17280, 24000));
    let largest = samples.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(largest < 1e-6, "{largest}");
}
