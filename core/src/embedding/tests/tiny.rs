//! Tiny models in both forms of files.

use serde_json::Value as Json;

use crate::weights::testing::{TinyFolder, TinyTensor};
use crate::weights::{MetadataValue, ModelBytes, TensorLayout, TensorType, Weights, gguf_header, padding};

/// Which values a tensor's name gives.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Naming {
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

pub(super) fn values(name: &str, shape: &[usize], naming: Naming) -> Vec<f32> {
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
        if is_norm {
            1.0 + v / 4.0
        } else if is_bias {
            v / 4.0
        } else if is_table {
            v
        } else {
            v * scale
        }
    };
    hashed(name, shape.iter().product()).map(|u| value(u) as f32).collect()
}

/// A tiny model in both forms of files.
pub(super) struct TinyModel {
    pub(super) config: Json,
    pub(super) metadata: Vec<(String, MetadataValue)>,
    /// The names in GGUF files and in folders, the shape, and the values, whose folders may lack one.
    pub(super) tensors: Vec<(String, String, Vec<usize>, Vec<f32>)>,
    pub(super) folder_norms_lack_one: bool,
}

impl TinyModel {
    pub(super) fn new(architecture: &str, config: Json, metadata: &[(&str, MetadataValue)]) -> Self {
        let named = |(key, value): &(&str, MetadataValue)| (format!("{architecture}.{key}"), value.clone());
        let general = ("general.architecture".to_owned(), MetadataValue::from(architecture));
        let metadata = std::iter::once(general).chain(metadata.iter().map(named)).collect();
        Self { config, metadata, tensors: Vec::new(), folder_norms_lack_one: false }
    }

    pub(super) fn add(&mut self, naming: Naming, gguf: &str, folder: &str, shape: &[usize]) {
        let values = values(if naming == Naming::Gguf { gguf } else { folder }, shape, naming);
        self.tensors.push((gguf.to_owned(), folder.to_owned(), shape.to_vec(), values));
    }

    pub(super) fn folder(&self) -> TinyFolder {
        let tensor = |(_, name, shape, values): &(String, String, Vec<usize>, Vec<f32>)| -> TinyTensor {
            let lacks_one = self.folder_norms_lack_one && shape.len() == 1;
            let values = values.iter().map(|value| if lacks_one { value - 1.0 } else { *value });
            // Convolutions have a middle dimension in folders.
            let shape = if name.ends_with("conv.conv.weight") { vec![shape[0], 1, shape[1]] } else { shape.clone() };
            (name.clone(), shape, values.collect())
        };
        TinyFolder::new(&self.config.to_string(), &self.tensors.iter().map(tensor).collect::<Vec<_>>())
    }

    pub(super) fn gguf(&self, more: &[(&str, MetadataValue)]) -> Weights {
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
