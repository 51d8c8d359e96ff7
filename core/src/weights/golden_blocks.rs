//! Blocks of every type with the values that gguf-py reads, for tests.

use crate::weights::tensor_type::TensorType;

pub(crate) struct GoldenBlocks {
    pub(crate) tensor_type: TensorType,
    pub(crate) blocks: Vec<u8>,
    pub(crate) values: Vec<f32>,
}

#[derive(serde::Deserialize)]
struct GoldenEntry {
    number: u32,
    blocks: String,
    values: String,
}

/// Blocks of every type that can be read.
pub(crate) fn golden_blocks() -> Vec<GoldenBlocks> {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/tensor_types.json");
    let golden = std::fs::read_to_string(golden).unwrap();
    let entries: std::collections::BTreeMap<String, GoldenEntry> = serde_json::from_str(&golden).unwrap();
    assert!(TensorType::all().filter(|known| known.is_quantised()).all(|known| entries.contains_key(known.name())));
    let read = |(name, entry): (String, GoldenEntry)| {
        let tensor_type = TensorType::of_gguf(entry.number).unwrap();
        assert_eq!(tensor_type.name(), name);
        let values =
            hex::decode(&entry.values).unwrap().as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        GoldenBlocks { tensor_type, blocks: hex::decode(&entry.blocks).unwrap(), values }
    };
    entries.into_iter().map(read).collect()
}
