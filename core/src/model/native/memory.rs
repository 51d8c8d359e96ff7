//! What a model takes in memory on the CPU.

use causerie_backend::CacheShape;

use crate::checkpoint::{CodecCheckpoint, FrameCheckpoint, is_sound_encoder, is_vision};
use crate::model::heads::Heads;
use crate::model::native::kernel_names::stored_cache_type;
use crate::model::native::storage;
use crate::model::per_layer::TABLE;
use crate::options::CacheType;
use crate::weights::{Tensors, Weights};

/// Bytes of the weights that have been read from a checkpoint, once loaded.
pub(crate) fn weight_bytes(tensors: &Tensors) -> u64 {
    // The table stays in the file.
    let loaded = tensors.iter().filter(|tensor| tensor.name != TABLE && tensors.is_read(tensor.name));
    loaded.map(|tensor| storage::n_bytes_loaded(&tensor)).sum()
}

/// Bytes of one layer's keys and values, which lie in whole pages.
pub(crate) fn key_value_bytes(heads: &Heads, cache_type: CacheType, n_positions: usize) -> u64 {
    let (n_heads, head_dim) = (heads.n_keys, heads.head_dim);
    let page = CacheShape { n_heads, head_dim, cache_type: stored_cache_type(cache_type) };
    (page.page_bytes() as u64).saturating_mul(n_positions.div_ceil(page.page_tokens()) as u64)
}

/// Bytes of the parts that speak once loaded.
pub(crate) fn speech_bytes(frames: &FrameCheckpoint, codec: &CodecCheckpoint) -> u64 {
    let n_codebooks = frames.sizes().n_codebooks;
    let loaded = |tensors: &Tensors, is_read: &dyn Fn(&str) -> bool| {
        let tensors = tensors.iter().filter(|tensor| is_read(tensor.name));
        tensors.map(|tensor| storage::n_bytes_loaded(&tensor)).fold(0, u64::saturating_add)
    };
    let frames = loaded(frames.tensors(), &|_| true);
    frames.saturating_add(loaded(codec.tensors(), &|name| codec.reads(name, n_codebooks)))
}

/// Bytes of a vision tower and its projector once loaded.
pub(crate) fn vision_bytes(files: &Weights) -> u64 {
    let tensors = files.tensors().filter(|tensor| is_vision(tensor.name));
    tensors.map(|tensor| storage::n_bytes_loaded(&tensor)).sum()
}

/// Bytes of an encoder of sound and its adapter once loaded.
pub(crate) fn hearing_bytes(files: &Weights) -> u64 {
    let tensors = files.tensors().filter(|tensor| is_sound_encoder(tensor.name));
    tensors.map(|tensor| storage::n_bytes_loaded(&tensor)).sum()
}
