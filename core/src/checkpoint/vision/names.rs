//! Which tensors of a model belong to its vision part.

/// How the names of the tower's and the projector's tensors begin in GGUF files, and which words they contain in folders.
const GGUF_PREFIXES: [&str; 2] = ["v.", "mm."];
const FOLDER_PARTS: [&str; 4] = ["vision_tower.", "multi_modal_projector.", "embed_vision.", "visual."];

/// How the names of adapters of sound begin, which are no part of a tower.
const SOUND: &str = "mm.a.";

/// Whether a tensor belongs to a vision tower or its projector.
pub(crate) fn is_vision(name: &str) -> bool {
    GGUF_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) && !name.starts_with(SOUND)
        || FOLDER_PARTS.iter().any(|part| name.contains(part))
}
