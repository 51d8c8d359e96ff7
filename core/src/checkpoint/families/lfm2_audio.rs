//! The parts of LFM2-Audio that speak. The depthformer turns a vector of the decoder into the codes of a frame: a small decoder with
//! one position for each codebook. The detokenizer turns codes into sound: an LFM2 decoder whose attention has a window of 30 positions.

use crate::checkpoint::families::family::Family;
use crate::checkpoint::families::lfm2::LFM2;
use crate::checkpoint::families::plain::PLAIN;
use crate::checkpoint::rope::RopePairing;

/// Its folders keep the order of rows that neighbours as pairs need.
pub(crate) static DEPTHFORMER: Family = Family {
    gguf: "lfm2-depthformer",
    keeps_stacks: true,
    pairing: RopePairing::Neighbours,
    default_theta: 1_000_000.0,
    has_head_norms: true,
    ..PLAIN
};

pub(crate) static DETOKENIZER: Family = Family { gguf: "lfm2-detokenizer", ..LFM2 };
