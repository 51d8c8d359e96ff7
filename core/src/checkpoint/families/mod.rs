//! The families of models: one file says in prose and in facts how a family differs from the plain decoder.
//!
//! Tensors are looked up by their names in GGUF files, which are the same in all families.

mod family;
mod gemma;
mod granite;
mod lfm2;
mod lfm2_audio;
mod lfm3;
mod lfm3_audio;
mod llama;
mod phi;
mod plain;
mod qwen;

pub(crate) use family::{Activation, Family, OUTPUT_NORMS, WindowRule};
pub(crate) use lfm2_audio::{DEPTHFORMER, DETOKENIZER};
pub(crate) use lfm3_audio::{LEVEL_CODEC, MASKED_FRAMES, SOUND_STACK};

/// All families. If several have the same GGUF name, the first one reads the file.
pub(crate) static FAMILIES: [Family; 16] = [
    lfm2::LFM2,
    lfm2::LFM2_MOE,
    lfm3::LFM3,
    gemma::GEMMA3,
    gemma::GEMMA4,
    gemma::GEMMA_EMBEDDING,
    qwen::QWEN2,
    qwen::QWEN3,
    qwen::QWEN35,
    llama::LLAMA,
    llama::MISTRAL,
    llama::MINISTRAL3,
    llama::SMOLLM3,
    phi::PHI3,
    granite::GRANITE,
    granite::GRANITE_HYBRID,
];
