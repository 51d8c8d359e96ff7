//! Llama of Meta and what is built like it: Mistral and Ministral with a window, SmolLM3 with layers without positions. Their GGUF files
//! order the rows of queries and keys so that neighbours make a pair.

use crate::checkpoint::families::family::{Family, WindowRule};
use crate::checkpoint::families::plain::PLAIN;
use crate::checkpoint::rope::RopePairing;

pub(super) const LLAMA: Family =
    Family { gguf: "llama", model_type: "llama", pairing: RopePairing::Neighbours, ..PLAIN };

/// Mistral, whose GGUF files have the form of Llama's.
pub(super) const MISTRAL: Family =
    Family { model_type: "mistral", window: WindowRule::All, default_window: Some(4096), ..LLAMA };

/// Ministral 3, whose queries grow with their position.
pub(super) const MINISTRAL3: Family =
    Family { gguf: "mistral3", model_type: "ministral3", window: WindowRule::All, ..LLAMA };

/// SmolLM3 of Hugging Face: every fourth layer has no positional encoding.
pub(super) const SMOLLM3: Family = Family {
    gguf: "smollm3",
    model_type: "smollm3",
    default_theta: 2_000_000.0,
    no_rope_interval: Some(4),
    window: WindowRule::WithoutRope,
    ..LLAMA
};
