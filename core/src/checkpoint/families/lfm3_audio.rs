//! The parts of LFM3-Audio that hear and speak: stacks of layers as LFM3 has them, with full rotary positions. The encoder has neither
//! norms of outputs nor gates. What writes frames has a position for each codebook, and all of them attend to each other.

use crate::checkpoint::families::family::Family;
use crate::checkpoint::families::plain::PLAIN;

const LAYERS: Family = Family { default_theta: 1_000_000.0, has_head_norms: true, ..PLAIN };

pub(crate) static MASKED_FRAMES: Family =
    Family { gguf: "lfm3-frames", has_output_norms: true, has_head_gates: true, is_two_way: true, ..LAYERS };

pub(crate) static SOUND_STACK: Family = Family { gguf: "lfm3-encoder", ..LAYERS };

pub(crate) static LEVEL_CODEC: Family =
    Family { gguf: "lfm3-codec", has_output_norms: true, has_head_gates: true, ..LAYERS };
