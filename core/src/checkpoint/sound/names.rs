//! Which tensors of a model belong to its audio part.

/// How the names of the encoder's and the adapter's tensors begin in GGUF files, and in folders.
const GGUF_PREFIXES: [&str; 6] = ["a.conv1d.", "a.pre_encode.", "a.input_projection.", "a.blk.", "a.post_ln.", "mm.a."];
const FOLDER_PREFIXES: [&str; 4] = ["conformer.", "audio_adapter.", "model.audio_tower.", "model.embed_audio."];
/// How the names of other tensors for sound begin, which belong to parts for speech.
const OTHER_PREFIXES: [&str; 1] = ["a."];

/// Whether a tensor belongs to an encoder of sound or its adapter.
pub(crate) fn is_sound_encoder(name: &str) -> bool {
    GGUF_PREFIXES.iter().chain(&FOLDER_PREFIXES).any(|prefix| name.starts_with(prefix))
}

/// Whether a tensor belongs to the audio part or a speech part of a model.
pub(crate) fn is_sound(name: &str) -> bool {
    is_sound_encoder(name) || OTHER_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}
