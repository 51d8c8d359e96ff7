//! Phi of Microsoft: one tensor stacks queries, keys and values, and one the gate and what it gates, in folders and in GGUF files.

use crate::checkpoint::families::family::{Family, WindowRule};
use crate::checkpoint::families::plain::PLAIN;

pub(super) const PHI3: Family = Family {
    gguf: "phi3",
    model_type: "phi3",
    keeps_stacks: true,
    window: WindowRule::All,
    rotates_part: true,
    ..PLAIN
};
